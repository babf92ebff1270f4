//! The fake driver, compiled by the C compiler, each in a file of its own so that each has its own state.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::Command;

use bitmma_engine::Architecture;
use bitmma_hardware::cuda::Device;
use bitmma_ptx::{Argument, Buffer, Launch, Mode, Program};
use libloading::Library;

use super::ptx_machine;

/// What answers a launch: the text of a kernel, entry point, blocks, threads, tiles in, tiles out.
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

/// A machine that runs kernels.
pub(crate) trait Machine {
    /// Bytes of a tile that goes in and of one that comes out, as the kernel's text has them.
    fn tile(code: &str) -> [usize; 2];

    /// Runs `blocks` blocks of `threads` threads of an entry point.
    fn run(code: &str, entry: &str, blocks: usize, threads: usize, input: &[u8], output: &mut [u8]);
}

/// A launch, answered by a machine.
pub(crate) unsafe extern "C" fn launched<M: Machine>(
    code: *const c_char,
    entry: *const c_char,
    blocks: c_uint,
    threads: c_uint,
    input: *const c_void,
    output: *mut c_void,
) -> c_int {
    let answered = std::panic::catch_unwind(|| {
        // SAFETY: the fake hands on the text and the name that it was given, both ended by a zero.
        let (code, entry) = unsafe { (CStr::from_ptr(code), CStr::from_ptr(entry)) };
        let (code, entry) = (code.to_str().expect("text"), entry.to_str().expect("a name"));
        let (blocks, [tile_in, tile_out]) = (blocks as usize, M::tile(code));
        // SAFETY: the unit allocates a tile of that size for each block, the fake hands on the addresses.
        let (input, output) = unsafe {
            (
                std::slice::from_raw_parts(input.cast::<u8>(), blocks * tile_in),
                std::slice::from_raw_parts_mut(output.cast::<u8>(), blocks * tile_out),
            )
        };
        M::run(code, entry, blocks, threads as usize, input, output);
    });
    if answered.is_ok() { 0 } else { 719 }
}

/// The machine that runs PTX.
struct Ptx;

impl Machine for Ptx {
    fn tile(code: &str) -> [usize; 2] {
        ["input", "output"].map(|register| {
            let (_, rest) =
                code.split_once(&format!("mad.wide.u32 {register}, tile, ")).expect("the tile's size");
            rest.split(',').next().expect("a number").parse().expect("a number")
        })
    }

    fn run(code: &str, entry: &str, blocks: usize, threads: usize, input: &[u8], output: &mut [u8]) {
        // whose sums nobody has published: the machine computes them as those of dense ones
        if code.contains("mma.sp") && !code.contains(".target sm_90a") {
            return ptx_machine::run(code, entry, blocks, threads, input, output);
        }
        let program = Program::parse(code).unwrap_or_else(|error| panic!("{entry}: {error}"));
        let kernel = program.kernel(Some(entry), None, Mode::Text);
        let kernel = kernel.unwrap_or_else(|error| panic!("{entry}: {error}"));
        let buffer = |name: &str, bytes: &[u8]| Buffer {
            name: name.to_owned(),
            bytes: bytes.to_vec(),
            written: false,
        };
        let mut buffers = [buffer("input", input), buffer("output", output)];
        let launch =
            Launch { block: Some([threads as u32, 1, 1]), ..Launch::new(&kernel, [blocks as u32, 1, 1]) };
        let arguments = [0, 1].map(|buffer| Argument::Pointer { buffer, offset: 0 });
        let ran = launch.run(&arguments, &mut buffers, &mut || false);
        ran.unwrap_or_else(|error| panic!("{entry}: {error}"));
        output.copy_from_slice(&buffers[1].bytes);
    }
}

/// A fake GPU of an architecture, whose launches the machine that runs PTX answers; `None` as [`Fake::new`].
pub(crate) fn gpu(architecture: Architecture) -> Option<(Fake, Device)> {
    let fake = Fake::cuda()?;
    let capability = architecture.target().trim_start_matches("sm_").trim_end_matches('a');
    let capability: c_int = capability.parse().expect("a number");
    fake.capability(capability / 10, capability % 10);
    fake.kernel(launched::<Ptx>);
    let device = Device::open_with(&fake.path, 0).expect("opens");
    assert_eq!(device.architecture, architecture);
    Some((fake, device))
}
