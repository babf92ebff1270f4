//! The functions of `libcuda.so.1` that we need, and what they hold.
#![allow(unsafe_code)] // the driver is a foreign library

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use bitmma::catalogue::Vendor;

use crate::gpu::dynamic::{functions, open};
use crate::gpu::{Error, Program};

/// `CUDA_ERROR_NOT_READY`: the stream is still at work.
const NOT_READY: c_int = 600;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];
/// `CU_JIT_ERROR_LOG_BUFFER` and its size in bytes.
const ERROR_LOG: [c_int; 2] = [5, 6];
/// Bytes for what the compiler says.
const LOG_BYTES: usize = 8192;

type Handle = *mut c_void;
/// `CUdeviceptr`
type Address = u64;

functions! {
    /// CUDA driver API, "Data types used by CUDA driver" and the modules of the functions' names. A
    /// status of zero is success.
    Api {
        init: "cuInit" = fn(c_uint) -> c_int;
        driver_version: "cuDriverGetVersion" = fn(*mut c_int) -> c_int;
        error_name: "cuGetErrorName" = fn(c_int, *mut *const c_char) -> c_int;
        error_string: "cuGetErrorString" = fn(c_int, *mut *const c_char) -> c_int;
        device_count: "cuDeviceGetCount" = fn(*mut c_int) -> c_int;
        device_get: "cuDeviceGet" = fn(*mut c_int, c_int) -> c_int;
        device_name: "cuDeviceGetName" = fn(*mut c_char, c_int, c_int) -> c_int;
        device_attribute: "cuDeviceGetAttribute" = fn(*mut c_int, c_int, c_int) -> c_int;
        context_retain: "cuDevicePrimaryCtxRetain" = fn(*mut Handle, c_int) -> c_int;
        context_release: "cuDevicePrimaryCtxRelease_v2" = fn(c_int) -> c_int;
        context_set: "cuCtxSetCurrent" = fn(Handle) -> c_int;
        module_load: "cuModuleLoadDataEx" = fn(*mut Handle, *const c_void, c_uint, *const c_int, *const *mut c_void) -> c_int;
        module_unload: "cuModuleUnload" = fn(Handle) -> c_int;
        module_function: "cuModuleGetFunction" = fn(*mut Handle, Handle, *const c_char) -> c_int;
        allocate: "cuMemAlloc_v2" = fn(*mut Address, usize) -> c_int;
        free: "cuMemFree_v2" = fn(Address) -> c_int;
        copy_in: "cuMemcpyHtoD_v2" = fn(Address, *const c_void, usize) -> c_int;
        copy_out: "cuMemcpyDtoH_v2" = fn(*mut c_void, Address, usize) -> c_int;
        launch: "cuLaunchKernel" = fn(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *const *mut c_void, *const *mut c_void) -> c_int;
        stream_query: "cuStreamQuery" = fn(Handle) -> c_int;
    }
}

/// The driver, started.
pub(super) struct Driver {
    api: Api,
}

impl Driver {
    /// The library at `path`, or `BITMMA_LIBCUDA`, or `libcuda.so.1` wherever the system has it.
    pub(super) fn open(path: Option<&Path>) -> Result<Arc<Driver>, Error> {
        let named = path.map(PathBuf::from).or_else(|| std::env::var_os("BITMMA_LIBCUDA").map(PathBuf::from));
        let named = named.unwrap_or_else(|| PathBuf::from("libcuda.so.1"));
        let missing = |error| Error::Library { vendor: Vendor::Nvidia, error };
        let (library, name) = open([named.as_path()]).map_err(missing)?;
        let driver = Driver { api: Api::of(library, &name).map_err(missing)? };
        // SAFETY: `cuInit` takes no pointer; it is to be called first, any number of times.
        driver
            .check("cuInit", unsafe { (driver.api.init)(0) })
            .map_err(|error| error.at_start(Vendor::Nvidia))?;
        Ok(Arc::new(driver))
    }

    /// A driver's status as a result.
    fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        let (name, text) =
            (self.explain(self.api.error_name, code), self.explain(self.api.error_string, code));
        Err(Error::Driver { call, code, name, text })
    }

    fn explain(
        &self,
        function: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
        code: c_int,
    ) -> String {
        let mut text: *const c_char = null();
        // SAFETY: the driver writes one pointer to a string that lives as long as it does, or null.
        unsafe {
            if function(code, &raw mut text) != 0 || text.is_null() {
                return String::new();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    /// As `13000`: 1000 · major + 10 · minor of the CUDA version it speaks.
    pub(super) fn version(&self) -> Result<i32, Error> {
        self.number("cuDriverGetVersion", |out| {
            // SAFETY: the driver writes one int.
            unsafe { (self.api.driver_version)(out) }
        })
    }

    /// How many devices there are.
    pub(super) fn count(&self) -> Result<usize, Error> {
        let count = self.number("cuDeviceGetCount", |out| {
            // SAFETY: the driver writes one int.
            unsafe { (self.api.device_count)(out) }
        })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn number(&self, call: &'static str, ask: impl FnOnce(*mut c_int) -> c_int) -> Result<c_int, Error> {
        let mut number = 0;
        self.check(call, ask(&raw mut number))?;
        Ok(number)
    }

    /// The driver's handle of device `ordinal`, its name and its compute capability.
    pub(super) fn device(&self, ordinal: usize) -> Result<(c_int, String, [i32; 2]), Error> {
        let count = self.count()?;
        if ordinal >= count {
            return Err(Error::NoDevice { vendor: Vendor::Nvidia, device: ordinal, count });
        }
        let handle = self.number("cuDeviceGet", |out| {
            // SAFETY: the driver writes one int; the ordinal is below the count, an int.
            unsafe { (self.api.device_get)(out, ordinal as c_int) }
        })?;
        let mut name = [0u8; 256];
        // SAFETY: the driver writes at most the 256 bytes that it is told of, a zero at the end.
        let status = unsafe { (self.api.device_name)(name.as_mut_ptr().cast(), 256, handle) };
        self.check("cuDeviceGetName", status)?;
        let name = CStr::from_bytes_until_nul(&name)
            .map_or_else(|_| String::new(), |n| n.to_string_lossy().into_owned());
        let mut capability = [0; 2];
        for (number, attribute) in capability.iter_mut().zip(CAPABILITY) {
            *number = self.number("cuDeviceGetAttribute", |out| {
                // SAFETY: the driver writes one int.
                unsafe { (self.api.device_attribute)(out, attribute, handle) }
            })?;
        }
        Ok((handle, name, capability))
    }
}

/// A device's primary context, held, and a kernel loaded in it.
pub(super) struct Loaded {
    driver: Arc<Driver>,
    device: c_int,
    context: Handle,
    module: Handle,
    function: Handle,
    threads: u32,
}

// SAFETY: the driver's functions may be called from any thread; the context is made current in the calling
// thread before every use of what belongs to it.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Compiles PTX text on a device the driver gave us; `entry` is the kernel, of `threads` threads.
    pub(super) fn load(
        driver: Arc<Driver>,
        device: c_int,
        instruction: &str,
        (entry, threads): (&str, u32),
        ptx: &str,
    ) -> Result<Loaded, Error> {
        let mut context = null_mut();
        // SAFETY: the driver writes one handle; the device is one it gave us.
        let status = unsafe { (driver.api.context_retain)(&raw mut context, device) };
        driver.check("cuDevicePrimaryCtxRetain", status)?;
        // from here on, dropping gives back what there is
        let mut loaded =
            Loaded { driver, device, context, module: null_mut(), function: null_mut(), threads };
        loaded.enter()?;
        let text = format!("{ptx}\0");
        let mut log = vec![0u8; LOG_BYTES];
        let values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        // SAFETY: the text ends with a zero; two options stand in both arrays, the log buffer has the
        // size that the second says.
        let status = unsafe {
            (loaded.driver.api.module_load)(
                &raw mut loaded.module,
                text.as_ptr().cast(),
                2,
                ERROR_LOG.as_ptr(),
                values.as_ptr(),
            )
        };
        if let Err(Error::Driver { code, name, .. }) = loaded.driver.check("cuModuleLoadDataEx", status) {
            let said =
                CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().trim().to_owned();
            let log = if said.is_empty() { "it gives no reason".to_owned() } else { said };
            return Err(Error::Compiler { instruction: instruction.to_owned(), code, name, log });
        }
        let name = format!("{entry}\0");
        // SAFETY: the module was just loaded, the name ends with a zero, the driver writes one handle.
        let status = unsafe {
            (loaded.driver.api.module_function)(&raw mut loaded.function, loaded.module, name.as_ptr().cast())
        };
        loaded.driver.check("cuModuleGetFunction", status)?;
        Ok(loaded)
    }
}

impl Program for Loaded {
    fn enter(&self) -> Result<(), Error> {
        // SAFETY: the handle is retained until this is dropped.
        self.driver.check("cuCtxSetCurrent", unsafe { (self.driver.api.context_set)(self.context) })
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut address = 0;
        // SAFETY: the driver writes one address.
        let status = unsafe { (self.driver.api.allocate)(&raw mut address, bytes) };
        self.driver.check("cuMemAlloc", status)?;
        Ok(address)
    }

    fn free(&self, address: u64) {
        // SAFETY: the address is one that `allocate` gave. A failure has no one left to hear it.
        unsafe { (self.driver.api.free)(address) };
    }

    fn write(&self, address: u64, words: &[u32]) -> Result<(), Error> {
        // SAFETY: the words are ours and initialised, the memory is long enough.
        let status = unsafe { (self.driver.api.copy_in)(address, words.as_ptr().cast(), size_of_val(words)) };
        self.driver.check("cuMemcpyHtoD", status)
    }

    fn read(&self, address: u64, words: &mut [u32]) -> Result<(), Error> {
        let bytes = size_of_val(words);
        // SAFETY: the words are ours alone while we hold them, every bit pattern is one.
        let status = unsafe { (self.driver.api.copy_out)(words.as_mut_ptr().cast(), address, bytes) };
        self.driver.check("cuMemcpyDtoH", status)
    }

    fn launch(&self, tiles: u32, mut input: u64, mut output: u64) -> Result<(), Error> {
        let arguments: [*mut c_void; 2] = [(&raw mut input).cast(), (&raw mut output).cast()];
        let (grid, block, stream) = ([tiles, 1, 1], [self.threads, 1, 1], null_mut());
        // SAFETY: the kernel takes two pointers, which the driver copies before it returns; the tiles
        // that the blocks reach lie within the memory, which the caller has measured.
        let status = unsafe {
            (self.driver.api.launch)(
                self.function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                0,
                stream,
                arguments.as_ptr(),
                null(),
            )
        };
        self.driver.check("cuLaunchKernel", status)
    }

    fn is_done(&self) -> Result<bool, Error> {
        // SAFETY: null is the default stream of the current context.
        match unsafe { (self.driver.api.stream_query)(null_mut()) } {
            NOT_READY => Ok(false),
            status => self.driver.check("cuStreamQuery", status).map(|()| true),
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded once and retained once, given back once. Failures have no one left to hear them.
        unsafe {
            if !self.module.is_null() {
                (self.driver.api.module_unload)(self.module);
            }
            (self.driver.api.context_release)(self.device);
        }
    }
}
