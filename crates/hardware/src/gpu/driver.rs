//! What the drivers of both vendors have in common, under other names: kernels, memory, launches.
#![allow(unsafe_code)] // the driver is a foreign library

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use bitmma_engine::catalogue::Vendor;

use super::dynamic::{Opened, functions};
use super::error::Error;

/// `CUDA_ERROR_NOT_READY`, `hipErrorNotReady`: the stream is still at work.
const NOT_READY: c_int = 600;

/// A pointer to something of the driver's.
pub(crate) type Handle = *mut c_void;
/// `CUdeviceptr`, `hipDeviceptr_t`
type Address = u64;

functions! {
    /// CUDA driver API, "Data types used by CUDA driver", and HIP runtime API reference, both in the modules of the
    /// functions' names. A status of zero is success.
    Api {
        init: "cuInit" / "hipInit" = fn(c_uint) -> c_int;
        version: "cuDriverGetVersion" / "hipRuntimeGetVersion" = fn(*mut c_int) -> c_int;
        device_count: "cuDeviceGetCount" / "hipGetDeviceCount" = fn(*mut c_int) -> c_int;
        module_unload: "cuModuleUnload" / "hipModuleUnload" = fn(Handle) -> c_int;
        module_function: "cuModuleGetFunction" / "hipModuleGetFunction" = fn(*mut Handle, Handle, *const c_char) -> c_int;
        allocate: "cuMemAlloc_v2" / "hipMalloc" = fn(*mut Address, usize) -> c_int;
        free: "cuMemFree_v2" / "hipFree" = fn(Address) -> c_int;
        copy_in: "cuMemcpyHtoD_v2" / "hipMemcpyHtoD" = fn(Address, *const c_void, usize) -> c_int;
        copy_out: "cuMemcpyDtoH_v2" / "hipMemcpyDtoH" = fn(*mut c_void, Address, usize) -> c_int;
        launch: "cuLaunchKernel" / "hipModuleLaunchKernel" = fn(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *const *mut c_void, *const *mut c_void) -> c_int;
        stream_query: "cuStreamQuery" / "hipStreamQuery" = fn(Handle) -> c_int;
    }
}

/// Name and explanation of a failure, in the vendor's words; either may be empty.
type Explain = Box<dyn Fn(c_int) -> [String; 2] + Send + Sync>;

/// The driver, started.
pub(crate) struct Driver {
    vendor: Vendor,
    api: Api,
    explain: Explain,
}

/// A text of the driver's.
///
/// # Safety
///
/// The pointer is null, or to a string that lives as long as the driver does.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as above
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

impl Driver {
    /// Starts the driver in that library.
    pub(crate) fn start(opened: &Opened, explain: Explain) -> Result<Arc<Driver>, Error> {
        let driver = Driver { vendor: opened.vendor, api: Api::of(opened)?, explain };
        // SAFETY: it takes no pointer; it is to be called first, any number of times.
        let status = unsafe { (driver.api.init)(0) };
        driver.check_either(["cuInit", "hipInit"], status).map_err(|error| error.at_start(driver.vendor))?;
        Ok(Arc::new(driver))
    }

    /// A status as a result.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        let [name, text] = (self.explain)(code);
        Err(Error::Driver { call, code, name, text })
    }

    /// The status of a call that has one name in CUDA and another in HIP.
    fn check_either(&self, [cuda, hip]: [&'static str; 2], code: c_int) -> Result<(), Error> {
        self.check(if self.vendor == Vendor::Nvidia { cuda } else { hip }, code)
    }

    /// The version that it speaks, as CUDA (`13000`: 13.0) or HIP (`60342134`: 6.3.42134) writes it.
    pub(crate) fn version(&self) -> Result<i32, Error> {
        let mut version = 0;
        // SAFETY: the driver writes one int.
        let status = unsafe { (self.api.version)(&raw mut version) };
        self.check_either(["cuDriverGetVersion", "hipRuntimeGetVersion"], status)?;
        Ok(version)
    }

    /// How many devices there are.
    pub(crate) fn count(&self) -> Result<usize, Error> {
        let mut count = 0;
        // SAFETY: the driver writes one int.
        let status = unsafe { (self.api.device_count)(&raw mut count) };
        match self.check_either(["cuDeviceGetCount", "hipGetDeviceCount"], status) {
            // without a GPU HIP starts, and fails here
            Err(error) if self.vendor == Vendor::Amd => Err(error.at_start(Vendor::Amd)),
            checked => checked.map(|()| usize::try_from(count).unwrap_or(0)),
        }
    }

    /// The number of a device, if it is below their count.
    pub(crate) fn ordinal(&self, device: usize) -> Result<c_int, Error> {
        let count = self.count()?;
        match device < count {
            true => Ok(device as c_int),
            false => Err(Error::NoDevice { vendor: self.vendor, device, count }),
        }
    }
}

/// A device as a kernel needs it; dropping gives back what is held of it.
pub(crate) trait Held: Send + Sync {
    /// Makes the device the calling thread's.
    fn enter(&self) -> Result<(), Error>;
}

/// A kernel loaded on a device, and the device's memory. Dropping it gives all back but memory.
pub(crate) struct Loaded {
    driver: Arc<Driver>,
    module: Handle,
    function: Handle,
    threads: u32,
    /// Given back after the module.
    device: Box<dyn Held>,
}

// SAFETY: the driver's functions may be called from any thread; the device is made the calling thread's
// before every use of what belongs to it.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// The kernel `entry`, of `threads` threads, of a module that was loaded on an entered device.
    pub(crate) fn of(
        driver: Arc<Driver>,
        device: Box<dyn Held>,
        module: Handle,
        (entry, threads): (&str, u32),
    ) -> Result<Loaded, Error> {
        let mut loaded = Loaded { driver, module, function: null_mut(), threads, device };
        let name = CString::new(entry).expect("a name without a zero");
        // SAFETY: the module was just loaded, the name ends with a zero, the driver writes one handle.
        let status = unsafe {
            (loaded.driver.api.module_function)(&raw mut loaded.function, loaded.module, name.as_ptr())
        };
        loaded.driver.check_either(["cuModuleGetFunction", "hipModuleGetFunction"], status)?;
        Ok(loaded)
    }

    /// Makes the device the calling thread's; to be called before the others.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        self.device.enter()
    }

    /// The address of `bytes` of device memory.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut address = 0;
        // SAFETY: the driver writes one address.
        let status = unsafe { (self.driver.api.allocate)(&raw mut address, bytes) };
        self.driver.check_either(["cuMemAlloc", "hipMalloc"], status)?;
        Ok(address)
    }

    /// Gives memory back.
    pub(crate) fn free(&self, address: u64) {
        // SAFETY: the address is one that `allocate` gave. A failure has no one left to hear it.
        unsafe { (self.driver.api.free)(address) };
    }

    /// Copies words to device memory that has room for them.
    pub(crate) fn write(&self, address: u64, words: &[u32]) -> Result<(), Error> {
        // SAFETY: the words are ours and initialised, the memory is long enough.
        let status = unsafe { (self.driver.api.copy_in)(address, words.as_ptr().cast(), size_of_val(words)) };
        self.driver.check_either(["cuMemcpyHtoD", "hipMemcpyHtoD"], status)
    }

    /// Copies words from device memory that holds them.
    pub(crate) fn read(&self, address: u64, words: &mut [u32]) -> Result<(), Error> {
        let bytes = size_of_val(words);
        // SAFETY: the words are ours alone while we hold them, every bit pattern is one.
        let status = unsafe { (self.driver.api.copy_out)(words.as_mut_ptr().cast(), address, bytes) };
        self.driver.check_either(["cuMemcpyDtoH", "hipMemcpyDtoH"], status)
    }

    /// Starts a block for each tile.
    pub(crate) fn launch(&self, tiles: u32, mut input: u64, mut output: u64) -> Result<(), Error> {
        let arguments: [*mut c_void; 2] = [(&raw mut input).cast(), (&raw mut output).cast()];
        let (launch, stream) = (self.driver.api.launch, null_mut());
        let (function, threads) = (self.function, self.threads);
        // SAFETY: the kernel takes two pointers, which the driver copies before it returns; the tiles
        // that the blocks reach lie within the memory, which the caller has measured.
        let status =
            unsafe { launch(function, tiles, 1, 1, threads, 1, 1, 0, stream, arguments.as_ptr(), null()) };
        self.driver.check_either(["cuLaunchKernel", "hipModuleLaunchKernel"], status)
    }

    /// Whether all that was started has ended.
    pub(crate) fn is_done(&self) -> Result<bool, Error> {
        // SAFETY: null is the default stream of the current context or device.
        match unsafe { (self.driver.api.stream_query)(null_mut()) } {
            NOT_READY => Ok(false),
            status => self.driver.check_either(["cuStreamQuery", "hipStreamQuery"], status).map(|()| true),
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded once, unloaded once. A failure has no one left to hear it.
        unsafe { (self.driver.api.module_unload)(self.module) };
    }
}
