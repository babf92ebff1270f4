//! The functions of `libamdhip64.so` that we need, and what they hold.
#![allow(unsafe_code)] // the driver is a foreign library

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use bitmma::catalogue::Vendor;

use super::assembly::THREADS;
use crate::gpu::dynamic::{functions, open};
use crate::gpu::{Error, Program};

/// `hipErrorNotReady`: the stream is still at work.
const NOT_READY: c_int = 600;

/// More bytes than `hipDeviceProp_t` has in any version (1472 in ROCm 6).
const PROPERTIES_BYTES: usize = 16384;

type Handle = *mut c_void;

functions! {
    /// HIP runtime API reference, the modules of the functions' names. A status of zero is success.
    Api {
        init: "hipInit" = fn(c_uint) -> c_int;
        version: "hipRuntimeGetVersion" = fn(*mut c_int) -> c_int;
        error_name: "hipGetErrorName" = fn(c_int) -> *const c_char;
        error_string: "hipGetErrorString" = fn(c_int) -> *const c_char;
        device_count: "hipGetDeviceCount" = fn(*mut c_int) -> c_int;
        // ROCm 6 gave its longer structure a name of its own; both have the fields that are read
        properties: "hipGetDevicePropertiesR0600" or "hipGetDeviceProperties" = fn(*mut c_void, c_int) -> c_int;
        device_set: "hipSetDevice" = fn(c_int) -> c_int;
        module_load: "hipModuleLoadData" = fn(*mut Handle, *const c_void) -> c_int;
        module_unload: "hipModuleUnload" = fn(Handle) -> c_int;
        module_function: "hipModuleGetFunction" = fn(*mut Handle, Handle, *const c_char) -> c_int;
        allocate: "hipMalloc" = fn(*mut u64, usize) -> c_int;
        free: "hipFree" = fn(u64) -> c_int;
        copy_in: "hipMemcpyHtoD" = fn(u64, *const c_void, usize) -> c_int;
        copy_out: "hipMemcpyDtoH" = fn(*mut c_void, u64, usize) -> c_int;
        launch: "hipModuleLaunchKernel" = fn(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *const *mut c_void, *const *mut c_void) -> c_int;
        stream_query: "hipStreamQuery" = fn(Handle) -> c_int;
    }
}

/// The driver, started.
pub(super) struct Driver {
    api: Api,
}

impl Driver {
    /// The library at `path`, or `BITMMA_LIBAMDHIP64`, or the newest the system has.
    pub(super) fn open(path: Option<&Path>) -> Result<Arc<Driver>, Error> {
        let named =
            path.map(PathBuf::from).or_else(|| std::env::var_os("BITMMA_LIBAMDHIP64").map(PathBuf::from));
        let usual = [
            "libamdhip64.so",
            "libamdhip64.so.7",
            "libamdhip64.so.6",
            "libamdhip64.so.5",
            "/opt/rocm/lib/libamdhip64.so",
        ];
        let missing = |error| Error::Library { vendor: Vendor::Amd, error };
        let (library, name) = match &named {
            Some(named) => open([named.as_path()]),
            None => open(usual.map(Path::new)),
        }
        .map_err(missing)?;
        let driver = Driver { api: Api::of(library, &name).map_err(missing)? };
        // SAFETY: `hipInit` takes no pointer.
        driver
            .check("hipInit", unsafe { (driver.api.init)(0) })
            .map_err(|error| error.at_start(Vendor::Amd))?;
        Ok(Arc::new(driver))
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        let words = |function: unsafe extern "C" fn(c_int) -> *const c_char| {
            // SAFETY: the driver gives a string that lives as long as it does, or null.
            unsafe {
                let text = function(code);
                if text.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            }
        };
        match code {
            0 => Ok(()),
            _ => {
                let (name, text) = (words(self.api.error_name), words(self.api.error_string));
                // ROCm 5 explains a failure by its name
                let text = if text == name { String::new() } else { text };
                Err(Error::Driver { call, code, name, text })
            }
        }
    }

    /// The version of the HIP runtime.
    pub(super) fn version(&self) -> Result<i32, Error> {
        let mut version = 0;
        // SAFETY: the driver writes one int.
        self.check("hipRuntimeGetVersion", unsafe { (self.api.version)(&raw mut version) })?;
        Ok(version)
    }

    /// How many devices there are.
    pub(super) fn count(&self) -> Result<usize, Error> {
        let mut count = 0;
        // SAFETY: the driver writes one int.
        let status = unsafe { (self.api.device_count)(&raw mut count) };
        self.check("hipGetDeviceCount", status).map_err(|error| error.at_start(Vendor::Amd))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Name and target of a device, as in `gfx90a`.
    ///
    /// The name stands first in the properties. The target, `gcnArchName`, is somewhere among 1,500 bytes of
    /// numbers that change from version to version: it is found as the one string that begins with `gfx`.
    pub(super) fn device(&self, device: usize) -> Result<(String, String), Error> {
        let count = self.count()?;
        if device >= count {
            return Err(Error::NoDevice { vendor: Vendor::Amd, device, count });
        }
        let mut properties = vec![0u64; PROPERTIES_BYTES / 8];
        // SAFETY: the driver writes its structure, which is shorter than the bytes it is given and no more
        // aligned.
        let status = unsafe { (self.api.properties)(properties.as_mut_ptr().cast(), device as c_int) };
        self.check("hipGetDeviceProperties", status)?;
        let properties: Vec<u8> = properties.into_iter().flat_map(u64::to_ne_bytes).collect();
        let text = |bytes: &[u8]| {
            CStr::from_bytes_until_nul(bytes).unwrap_or_default().to_string_lossy().into_owned()
        };
        let at = properties.windows(4).skip(256).position(|window| window == b"\0gfx").map(|at| at + 257);
        // with its features, as in gfx90a:sramecc+:xnack-
        let target = at.map_or_else(String::new, |at| text(&properties[at..]));
        let target = target.split(':').next().unwrap_or_default().to_owned();
        Ok((text(&properties), target))
    }
}

/// A kernel loaded on a device.
pub(super) struct Loaded {
    driver: Arc<Driver>,
    device: c_int,
    module: Handle,
    function: Handle,
}

// SAFETY: the driver's functions may be called from any thread; the device is set in the calling thread
// before every use of what belongs to it.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Loads a code object on a device that is there; `entry` is the kernel.
    pub(super) fn load(
        driver: Arc<Driver>,
        device: usize,
        entry: &str,
        code: &[u8],
    ) -> Result<Loaded, Error> {
        let mut loaded = Loaded { driver, device: device as c_int, module: null_mut(), function: null_mut() };
        loaded.enter()?;
        // SAFETY: the driver writes one handle, and reads the code object, which says its own length.
        let status = unsafe { (loaded.driver.api.module_load)(&raw mut loaded.module, code.as_ptr().cast()) };
        loaded.driver.check("hipModuleLoadData", status)?;
        let name = CString::new(entry).expect("a name without a zero");
        // SAFETY: the module was just loaded, the name ends with a zero, the driver writes one handle.
        let status = unsafe {
            (loaded.driver.api.module_function)(&raw mut loaded.function, loaded.module, name.as_ptr())
        };
        loaded.driver.check("hipModuleGetFunction", status)?;
        Ok(loaded)
    }
}

impl Program for Loaded {
    fn enter(&self) -> Result<(), Error> {
        // SAFETY: takes no pointer.
        self.driver.check("hipSetDevice", unsafe { (self.driver.api.device_set)(self.device) })
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut address = 0;
        // SAFETY: the driver writes one address.
        let status = unsafe { (self.driver.api.allocate)(&raw mut address, bytes) };
        self.driver.check("hipMalloc", status)?;
        Ok(address)
    }

    fn free(&self, address: u64) {
        // SAFETY: the address is one that `allocate` gave. A failure has no one left to hear it.
        unsafe { (self.driver.api.free)(address) };
    }

    fn write(&self, address: u64, words: &[u32]) -> Result<(), Error> {
        // SAFETY: the words are ours and initialised, the memory is long enough.
        let status = unsafe { (self.driver.api.copy_in)(address, words.as_ptr().cast(), size_of_val(words)) };
        self.driver.check("hipMemcpyHtoD", status)
    }

    fn read(&self, address: u64, words: &mut [u32]) -> Result<(), Error> {
        let bytes = size_of_val(words);
        // SAFETY: the words are ours alone while we hold them, every bit pattern is one.
        let status = unsafe { (self.driver.api.copy_out)(words.as_mut_ptr().cast(), address, bytes) };
        self.driver.check("hipMemcpyDtoH", status)
    }

    fn launch(&self, tiles: u32, mut input: u64, mut output: u64) -> Result<(), Error> {
        let arguments: [*mut c_void; 2] = [(&raw mut input).cast(), (&raw mut output).cast()];
        let stream = null_mut();
        // SAFETY: the kernel takes two pointers, which the driver copies before it returns; the tiles
        // that the blocks reach lie within the memory, which the caller has measured.
        let status = unsafe {
            (self.driver.api.launch)(
                self.function,
                tiles,
                1,
                1,
                THREADS,
                1,
                1,
                0,
                stream,
                arguments.as_ptr(),
                null(),
            )
        };
        self.driver.check("hipModuleLaunchKernel", status)
    }

    fn is_done(&self) -> Result<bool, Error> {
        // SAFETY: null is the default stream of the current device.
        match unsafe { (self.driver.api.stream_query)(null_mut()) } {
            NOT_READY => Ok(false),
            status => self.driver.check("hipStreamQuery", status).map(|()| true),
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if !self.module.is_null() {
            // SAFETY: loaded once, unloaded once. A failure has no one left to hear it.
            unsafe { (self.driver.api.module_unload)(self.module) };
        }
    }
}
