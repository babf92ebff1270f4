//! The functions of `libcuda.so.1` that HIP has otherwise: devices, contexts, and the compiler of PTX.
#![allow(unsafe_code)] // the driver is a foreign library

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use bitmma_engine::catalogue::Vendor;

use crate::gpu::Error;
use crate::gpu::driver::{self, Handle, Held, Loaded, text};
use crate::gpu::dynamic::{Opened, functions};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];
/// `CU_JIT_ERROR_LOG_BUFFER` and its size in bytes.
const ERROR_LOG: [c_int; 2] = [5, 6];
/// Bytes for what the compiler says.
const LOG_BYTES: usize = 8192;

functions! {
    /// CUDA driver API, "Data types used by CUDA driver" and the modules of the functions' names. A
    /// status of zero is success.
    Api {
        error_name: "cuGetErrorName" = fn(c_int, *mut *const c_char) -> c_int;
        error_string: "cuGetErrorString" = fn(c_int, *mut *const c_char) -> c_int;
        device_get: "cuDeviceGet" = fn(*mut c_int, c_int) -> c_int;
        device_name: "cuDeviceGetName" = fn(*mut c_char, c_int, c_int) -> c_int;
        device_attribute: "cuDeviceGetAttribute" = fn(*mut c_int, c_int, c_int) -> c_int;
        context_retain: "cuDevicePrimaryCtxRetain" = fn(*mut Handle, c_int) -> c_int;
        context_release: "cuDevicePrimaryCtxRelease_v2" = fn(c_int) -> c_int;
        context_set: "cuCtxSetCurrent" = fn(Handle) -> c_int;
        module_load: "cuModuleLoadDataEx" = fn(*mut Handle, *const c_void, c_uint, *const c_int, *const *mut c_void) -> c_int;
    }
}

/// The driver, started.
#[derive(Clone)]
pub(super) struct Driver {
    pub(super) common: Arc<driver::Driver>,
    api: Api,
}

impl Driver {
    /// The library at `path`, or `BITMMA_LIBCUDA`, or `libcuda.so.1` wherever the system has it.
    pub(super) fn open(path: Option<&Path>) -> Result<Driver, Error> {
        let opened = Opened::open(Vendor::Nvidia, path, "BITMMA_LIBCUDA", &["libcuda.so.1"])?;
        let api = Api::of(&opened)?;
        let explain = move |code| {
            [api.error_name, api.error_string].map(|function| {
                let mut words: *const c_char = null();
                // SAFETY: the driver writes one pointer to a string that lives as long as it does, or null.
                unsafe { if function(code, &raw mut words) == 0 { text(words) } else { String::new() } }
            })
        };
        Ok(Driver { common: driver::Driver::start(&opened, Box::new(explain))?, api })
    }

    fn number(&self, call: &'static str, ask: impl FnOnce(*mut c_int) -> c_int) -> Result<c_int, Error> {
        let mut number = 0;
        self.common.check(call, ask(&raw mut number))?;
        Ok(number)
    }

    /// The driver's handle of device `ordinal`, its name and its compute capability.
    pub(super) fn device(&self, ordinal: usize) -> Result<(c_int, String, [i32; 2]), Error> {
        let ordinal = self.common.ordinal(ordinal)?;
        let handle = self.number("cuDeviceGet", |out| {
            // SAFETY: the driver writes one int; the ordinal is below the count.
            unsafe { (self.api.device_get)(out, ordinal) }
        })?;
        let mut name = [0u8; 256];
        // SAFETY: the driver writes at most the 256 bytes that it is told of, a zero at the end.
        let status = unsafe { (self.api.device_name)(name.as_mut_ptr().cast(), 256, handle) };
        self.common.check("cuDeviceGetName", status)?;
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

/// A device's primary context.
struct Context {
    driver: Driver,
    device: c_int,
    context: Handle,
}

// SAFETY: the driver's functions may be called from any thread, with any of its handles.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Held for Context {
    fn enter(&self) -> Result<(), Error> {
        // SAFETY: the handle is retained until this is dropped.
        let status = unsafe { (self.driver.api.context_set)(self.context) };
        self.driver.common.check("cuCtxSetCurrent", status)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once, given back once. A failure has no one left to hear it.
        unsafe { (self.driver.api.context_release)(self.device) };
    }
}

/// Compiles PTX text on a device the driver gave us; `kernel` is its entry and threads.
pub(super) fn load(
    driver: Driver,
    device: c_int,
    instruction: &str,
    kernel: (&str, u32),
    ptx: &str,
) -> Result<Loaded, Error> {
    let (common, api) = (Arc::clone(&driver.common), driver.api);
    let mut context = null_mut();
    // SAFETY: the driver writes one handle; the device is one it gave us.
    let status = unsafe { (api.context_retain)(&raw mut context, device) };
    common.check("cuDevicePrimaryCtxRetain", status)?;
    let context = Context { driver, device, context };
    context.enter()?;
    let text = format!("{ptx}\0");
    let mut log = vec![0u8; LOG_BYTES];
    let values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
    let (mut module, options) = (null_mut(), ERROR_LOG.as_ptr());
    // SAFETY: the text ends with a zero; two options stand in both arrays, the log buffer has the
    // size that the second says.
    let status =
        unsafe { (api.module_load)(&raw mut module, text.as_ptr().cast(), 2, options, values.as_ptr()) };
    if let Err(Error::Driver { code, name, .. }) = common.check("cuModuleLoadDataEx", status) {
        let said = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().trim().to_owned();
        let log = if said.is_empty() { "it gives no reason".to_owned() } else { said };
        return Err(Error::Compiler { instruction: instruction.to_owned(), code, name, log });
    }
    Loaded::of(common, Box::new(context), module, kernel)
}
