//! The functions of `libamdhip64.so` that CUDA has otherwise: devices and code objects.
#![allow(unsafe_code)] // the driver is a foreign library

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

use bitmma_engine::catalogue::Vendor;

use super::assembly::THREADS;
use crate::gpu::Error;
use crate::gpu::driver::{self, Handle, Held, Loaded, text};
use crate::gpu::dynamic::{Opened, functions};

/// The library's names, the newest first.
const USUAL: [&str; 5] = [
    "libamdhip64.so",
    "libamdhip64.so.7",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "/opt/rocm/lib/libamdhip64.so",
];
/// More bytes than `hipDeviceProp_t` has in any version (1472 in ROCm 6).
const PROPERTIES_BYTES: usize = 16384;

functions! {
    /// HIP runtime API reference, the modules of the functions' names. A status of zero is success.
    Api {
        error_name: "hipGetErrorName" = fn(c_int) -> *const c_char;
        error_string: "hipGetErrorString" = fn(c_int) -> *const c_char;
        // ROCm 6 gave its longer structure a name of its own; both have the fields that are read
        properties: "hipGetDevicePropertiesR0600" or "hipGetDeviceProperties" = fn(*mut c_void, c_int) -> c_int;
        device_set: "hipSetDevice" = fn(c_int) -> c_int;
        module_load: "hipModuleLoadData" = fn(*mut Handle, *const c_void) -> c_int;
    }
}

/// The driver, started.
#[derive(Clone)]
pub(super) struct Driver {
    pub(super) common: Arc<driver::Driver>,
    api: Api,
}

impl Driver {
    /// The library at `path`, or `BITMMA_LIBAMDHIP64`, or the newest the system has.
    pub(super) fn open(path: Option<&Path>) -> Result<Driver, Error> {
        let opened = Opened::open(Vendor::Amd, path, "BITMMA_LIBAMDHIP64", &USUAL)?;
        let api = Api::of(&opened)?;
        let explain = move |code| {
            // SAFETY: the driver gives strings that live as long as it does, or null.
            let [name, words] = [api.error_name, api.error_string].map(|of| unsafe { text(of(code)) });
            // ROCm 5 explains a failure by its name
            let words = if words == name { String::new() } else { words };
            [name, words]
        };
        Ok(Driver { common: driver::Driver::start(&opened, Box::new(explain))?, api })
    }

    /// Name and target of a device, as in `gfx90a`.
    ///
    /// The name stands first in the properties. The target, `gcnArchName`, is somewhere among 1,500 bytes of
    /// numbers that change from version to version: it is found as the one string that begins with `gfx`.
    pub(super) fn device(&self, device: usize) -> Result<(String, String), Error> {
        let device = self.common.ordinal(device)?;
        let mut properties = vec![0u64; PROPERTIES_BYTES / 8];
        // SAFETY: the driver writes its structure, which is shorter than the bytes it is given and no more
        // aligned.
        let status = unsafe { (self.api.properties)(properties.as_mut_ptr().cast(), device) };
        self.common.check("hipGetDeviceProperties", status)?;
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

/// A device by its number.
struct Selected {
    driver: Driver,
    device: c_int,
}

impl Held for Selected {
    fn enter(&self) -> Result<(), Error> {
        // SAFETY: takes no pointer.
        let status = unsafe { (self.driver.api.device_set)(self.device) };
        self.driver.common.check("hipSetDevice", status)
    }
}

/// Loads a code object on a device that is there; `entry` is the kernel.
pub(super) fn load(driver: Driver, device: usize, entry: &str, code: &[u8]) -> Result<Loaded, Error> {
    let (common, api) = (Arc::clone(&driver.common), driver.api);
    let device = Selected { driver, device: device as c_int };
    device.enter()?;
    let mut module = null_mut();
    // SAFETY: the driver writes one handle, and reads the code object, which says its own length.
    let status = unsafe { (api.module_load)(&raw mut module, code.as_ptr().cast()) };
    common.check("hipModuleLoadData", status)?;
    Loaded::of(common, Box::new(device), module, (entry, THREADS))
}
