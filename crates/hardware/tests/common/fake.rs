//! The fake driver, compiled by the C compiler, each in a file of its own so that each has its own state.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::Command;

use libloading::Library;

use super::ptx_machine;

/// What answers a launch: PTX text, entry point, blocks, threads, tiles in, tiles out.
pub(crate) type Kernel =
    unsafe extern "C" fn(*const c_char, *const c_char, c_uint, c_uint, *const c_void, *mut c_void) -> c_int;

pub(crate) struct Fake {
    pub(crate) path: PathBuf,
    library: Library,
    _folder: tempfile::TempDir,
}

impl Fake {
    /// `None`, with a line that says so, where there is no C compiler.
    pub(crate) fn new(source: &str, name: &str, options: &[&str]) -> Option<Fake> {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, path) = (folder.path().join("fake.c"), folder.path().join(name));
        std::fs::write(&input, source).expect("written");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-o"])
            .arg(&path)
            .arg(&input)
            .args(options)
            .status();
        let Ok(status) = status else {
            println!("skipped: no C compiler `cc` for the fake driver");
            return None;
        };
        assert!(status.success(), "the fake driver does not compile");
        // SAFETY: our own library, without initialisers.
        let library = unsafe { Library::new(&path) }.expect("just built");
        Some(Fake { path, library, _folder: folder })
    }

    pub(crate) fn cuda() -> Option<Fake> {
        Fake::new(include_str!("fake_cuda.c"), "libcuda.so.1", &[])
    }

    pub(crate) fn hip() -> Option<Fake> {
        Fake::new(include_str!("fake_hip.c"), "libamdhip64.so", &[])
    }

    pub(crate) fn comgr(major: u32) -> Option<Fake> {
        Fake::new(include_str!("fake_comgr.c"), "libamd_comgr.so", &[&format!("-DMAJOR={major}")])
    }

    fn set<A: Copy>(&self, function: &str, argument: A) {
        // SAFETY: every `fake_*` that is called so takes one argument of that type and gives nothing.
        unsafe {
            self.library.get::<unsafe extern "C" fn(A)>(function.as_bytes()).expect("in the fake")(argument);
        };
    }

    fn set_two<A: Copy, B: Copy>(&self, function: &str, first: A, second: B) {
        // SAFETY: as above, with two arguments.
        unsafe {
            self.library.get::<unsafe extern "C" fn(A, B)>(function.as_bytes()).expect("in the fake")(
                first, second,
            );
        };
    }

    pub(crate) fn fails(&self, call: &str, code: c_int) {
        let call = CString::new(call).expect("no zero");
        self.set_two("fake_fails", call.as_ptr(), code);
    }

    pub(crate) fn log(&self, text: &str) {
        let text = CString::new(text).expect("no zero");
        self.set("fake_log", text.as_ptr());
    }

    pub(crate) fn devices(&self, count: c_int) {
        self.set("fake_devices", count);
    }

    pub(crate) fn capability(&self, major: c_int, minor: c_int) {
        self.set_two("fake_capability", major, minor);
    }

    pub(crate) fn target(&self, target: &str) {
        let target = CString::new(target).expect("no zero");
        self.set("fake_target", target.as_ptr());
    }

    pub(crate) fn hangs(&self, yes: bool) {
        self.set("fake_hangs", c_int::from(yes));
    }

    pub(crate) fn kernel(&self, kernel: Kernel) {
        self.set("fake_kernel", kernel);
    }

    /// Contexts, modules and memory that were not given back.
    pub(crate) fn live(&self) -> c_int {
        // SAFETY: takes nothing and gives an int.
        unsafe { self.library.get::<unsafe extern "C" fn() -> c_int>(b"fake_live").expect("in the fake")() }
    }
}

/// A launch, answered by the machine that runs PTX.
pub(crate) unsafe extern "C" fn ptx_block(
    ptx: *const c_char,
    entry: *const c_char,
    blocks: c_uint,
    threads: c_uint,
    input: *const c_void,
    output: *mut c_void,
) -> c_int {
    let answered = std::panic::catch_unwind(|| {
        // SAFETY: the fake hands on the text and the name that it was given, both ended by a zero.
        let (ptx, entry) = unsafe { (CStr::from_ptr(ptx), CStr::from_ptr(entry)) };
        let (ptx, entry) = (ptx.to_str().expect("text"), entry.to_str().expect("a name"));
        let tile = |register: &str| -> usize {
            let (_, rest) =
                ptx.split_once(&format!("mad.wide.u32 {register}, tile, ")).expect("the tile's size");
            rest.split(',').next().expect("a number").parse().expect("a number")
        };
        let blocks = blocks as usize;
        // SAFETY: the unit allocates a tile of that size for each block, the fake hands on the addresses.
        let (input, output) = unsafe {
            (
                std::slice::from_raw_parts(input.cast::<u8>(), blocks * tile("input")),
                std::slice::from_raw_parts_mut(output.cast::<u8>(), blocks * tile("output")),
            )
        };
        ptx_machine::run(ptx, entry, blocks, threads as usize, input, output);
    });
    if answered.is_ok() { 0 } else { 719 }
}
