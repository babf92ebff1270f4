//! AMD's code object manager, `libamd_comgr`: the assembler and linker that come with its driver.
#![allow(unsafe_code)] // the assembler is a foreign library

use std::ffi::{CString, c_char, c_int};
use std::path::Path;

use bitmma_engine::Architecture;
use bitmma_engine::catalogue::Vendor;

use crate::gpu::Error;
use crate::gpu::dynamic::{Opened, functions};

type Handle = u64;

functions! {
    /// ROCm, "Code Object Manager API Reference". Handles are structs of one 64-bit field, passed as it. A
    /// status of zero is success.
    Api {
        version: "amd_comgr_get_version" = fn(*mut usize, *mut usize) -> ();
        create_data: "amd_comgr_create_data" = fn(c_int, *mut Handle) -> c_int;
        release_data: "amd_comgr_release_data" = fn(Handle) -> c_int;
        set_data: "amd_comgr_set_data" = fn(Handle, usize, *const c_char) -> c_int;
        set_name: "amd_comgr_set_data_name" = fn(Handle, *const c_char) -> c_int;
        get_data: "amd_comgr_get_data" = fn(Handle, *mut usize, *mut c_char) -> c_int;
        create_set: "amd_comgr_create_data_set" = fn(*mut Handle) -> c_int;
        destroy_set: "amd_comgr_destroy_data_set" = fn(Handle) -> c_int;
        add: "amd_comgr_data_set_add" = fn(Handle, Handle) -> c_int;
        count: "amd_comgr_action_data_count" = fn(Handle, c_int, *mut usize) -> c_int;
        get: "amd_comgr_action_data_get_data" = fn(Handle, c_int, usize, *mut Handle) -> c_int;
        create_action: "amd_comgr_create_action_info" = fn(*mut Handle) -> c_int;
        destroy_action: "amd_comgr_destroy_action_info" = fn(Handle) -> c_int;
        set_isa: "amd_comgr_action_info_set_isa_name" = fn(Handle, *const c_char) -> c_int;
        set_logging: "amd_comgr_action_info_set_logging" = fn(Handle, bool) -> c_int;
        act: "amd_comgr_do_action" = fn(c_int, Handle, Handle, Handle) -> c_int;
    }
}

/// `AMD_COMGR_DATA_KIND_*`
const SOURCE: c_int = 1;
const LOG: c_int = 5;
const RELOCATABLE: c_int = 7;
const EXECUTABLE: c_int = 8;

/// The assembler, opened.
pub(super) struct Assembler {
    api: Api,
}

/// Something of the library's that is given back when dropped.
struct Owned<'a> {
    handle: Handle,
    give_back: unsafe extern "C" fn(Handle) -> c_int,
    /// What it belongs to.
    _api: &'a Api,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: made once, given back once, while the library is open.
        unsafe { (self.give_back)(self.handle) };
    }
}

fn check(call: &'static str, code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        _ => Err(Error::Driver { call, code, name: String::new(), text: String::new() }),
    }
}

impl Assembler {
    /// The library at `path`, or `BITMMA_COMGR`, or the newest the system has.
    pub(super) fn open(path: Option<&Path>) -> Result<Assembler, Error> {
        let usual =
            ["libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so", "/opt/rocm/lib/libamd_comgr.so"];
        let opened = Opened::open(Vendor::Amd, path, "BITMMA_COMGR", &usual)?;
        Ok(Assembler { api: Api::of(&opened)? })
    }

    /// Its version, major and minor.
    fn version(&self) -> [usize; 2] {
        let [mut major, mut minor] = [0; 2];
        // SAFETY: the library writes two numbers.
        unsafe { (self.api.version)(&raw mut major, &raw mut minor) };
        [major, minor]
    }

    /// The code object of a kernel's text.
    pub(super) fn assemble(
        &self,
        architecture: Architecture,
        instruction: &str,
        text: &str,
    ) -> Result<Vec<u8>, Error> {
        // version 3 numbers its actions anew
        let (assemble, link) = if self.version()[0] >= 3 { (8, 7) } else { (10, 9) };
        let source = self.source(text)?;
        let input = self.set()?;
        // SAFETY: both are ours and alive.
        check("amd_comgr_data_set_add", unsafe { (self.api.add)(input.handle, source.handle) })?;
        let relocatable = self.act(assemble, "assembles", architecture, instruction, &input)?;
        let executable = self.act(link, "links", architecture, instruction, &relocatable)?;
        self.content(&executable, EXECUTABLE)?.ok_or_else(|| Error::Compiler {
            instruction: instruction.to_owned(),
            code: 0,
            name: "amd_comgr".to_owned(),
            log: "it gives no code object".to_owned(),
        })
    }

    fn owned(
        &self,
        call: &'static str,
        give_back: unsafe extern "C" fn(Handle) -> c_int,
        make: impl FnOnce(*mut Handle) -> c_int,
    ) -> Result<Owned<'_>, Error> {
        let mut handle = 0;
        check(call, make(&raw mut handle))?;
        Ok(Owned { handle, give_back, _api: &self.api })
    }

    fn set(&self) -> Result<Owned<'_>, Error> {
        self.owned("amd_comgr_create_data_set", self.api.destroy_set, |out| {
            // SAFETY: the library writes one handle.
            unsafe { (self.api.create_set)(out) }
        })
    }

    fn source(&self, text: &str) -> Result<Owned<'_>, Error> {
        let source = self.owned("amd_comgr_create_data", self.api.release_data, |out| {
            // SAFETY: the library writes one handle.
            unsafe { (self.api.create_data)(SOURCE, out) }
        })?;
        // SAFETY: the library copies that many bytes, and a name that ends with a zero.
        unsafe {
            check(
                "amd_comgr_set_data",
                (self.api.set_data)(source.handle, text.len(), text.as_ptr().cast()),
            )?;
            check("amd_comgr_set_data_name", (self.api.set_name)(source.handle, c"kernel.s".as_ptr()))?;
        }
        Ok(source)
    }

    fn act(
        &self,
        kind: c_int,
        what: &'static str,
        architecture: Architecture,
        instruction: &str,
        input: &Owned<'_>,
    ) -> Result<Owned<'_>, Error> {
        let action = self.owned("amd_comgr_create_action_info", self.api.destroy_action, |out| {
            // SAFETY: the library writes one handle.
            unsafe { (self.api.create_action)(out) }
        })?;
        let output = self.set()?;
        let isa = CString::new(format!("amdgcn-amd-amdhsa--{}", architecture.target())).expect("no zero");
        // SAFETY: handles of ours that are alive; the name ends with a zero and is copied.
        let code = unsafe { (self.api.set_isa)(action.handle, isa.as_ptr()) };
        if code != 0 {
            let [major, minor] = self.version();
            return Err(Error::Compiler {
                instruction: instruction.to_owned(),
                code,
                name: format!("amd_comgr {major}.{minor}"),
                log: format!("it does not know {}; a newer ROCm's does", architecture.target()),
            });
        }
        // SAFETY: as above.
        let status = unsafe {
            check("amd_comgr_action_info_set_logging", (self.api.set_logging)(action.handle, true))?;
            (self.api.act)(kind, action.handle, input.handle, output.handle)
        };
        let done = match kind {
            10 | 8 => RELOCATABLE,
            _ => EXECUTABLE,
        };
        if status == 0 && self.content(&output, done)?.is_some() {
            return Ok(output);
        }
        let log = self.content(&output, LOG)?.map(|log| String::from_utf8_lossy(&log).trim().to_owned());
        Err(Error::Compiler {
            instruction: instruction.to_owned(),
            code: status,
            name: format!("amd_comgr {what}"),
            log: log.filter(|log| !log.is_empty()).unwrap_or_else(|| "it gives no reason".to_owned()),
        })
    }

    /// The first data of a kind in a set.
    fn content(&self, set: &Owned<'_>, kind: c_int) -> Result<Option<Vec<u8>>, Error> {
        let mut count = 0;
        // SAFETY: the library writes one number.
        check("amd_comgr_action_data_count", unsafe { (self.api.count)(set.handle, kind, &raw mut count) })?;
        if count == 0 {
            return Ok(None);
        }
        let data = self.owned("amd_comgr_action_data_get_data", self.api.release_data, |out| {
            // SAFETY: the library writes one handle; there is a first one.
            unsafe { (self.api.get)(set.handle, kind, 0, out) }
        })?;
        let mut size = 0;
        // SAFETY: without a buffer the library writes the size, with one that many bytes.
        unsafe {
            check(
                "amd_comgr_get_data",
                (self.api.get_data)(data.handle, &raw mut size, std::ptr::null_mut()),
            )?;
            let mut bytes = vec![0u8; size];
            check(
                "amd_comgr_get_data",
                (self.api.get_data)(data.handle, &raw mut size, bytes.as_mut_ptr().cast()),
            )?;
            Ok(Some(bytes))
        }
    }
}
