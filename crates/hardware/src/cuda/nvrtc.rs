//! NVIDIA's run-time compiler, `libnvrtc`: CUDA C++ to PTX, without a GPU.
#![allow(unsafe_code)] // the compiler is a foreign library

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use bitmma_engine::catalogue::Vendor;

use crate::gpu::dynamic::{Opened, functions};

type Program = *mut c_void;

functions! {
    /// NVIDIA, "NVRTC", the library's reference. A status of zero is success.
    Api {
        version: "nvrtcVersion" = fn(*mut c_int, *mut c_int) -> c_int;
        create: "nvrtcCreateProgram" = fn(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> c_int;
        destroy: "nvrtcDestroyProgram" = fn(*mut Program) -> c_int;
        add_name: "nvrtcAddNameExpression" = fn(Program, *const c_char) -> c_int;
        compile: "nvrtcCompileProgram" = fn(Program, c_int, *const *const c_char) -> c_int;
        lowered_name: "nvrtcGetLoweredName" = fn(Program, *const c_char, *mut *const c_char) -> c_int;
        log_size: "nvrtcGetProgramLogSize" = fn(Program, *mut usize) -> c_int;
        log: "nvrtcGetProgramLog" = fn(Program, *mut c_char) -> c_int;
        text_size: "nvrtcGetPTXSize" = fn(Program, *mut usize) -> c_int;
        text: "nvrtcGetPTX" = fn(Program, *mut c_char) -> c_int;
        reason: "nvrtcGetErrorString" = fn(c_int) -> *const c_char;
    }
}

/// The variable that names the library. Without it the library is searched for.
const VARIABLE: &str = "BITMMA_LIBNVRTC";

/// The library's names, the newest release first.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// Where its headers are, from the folder of the library: in a toolkit, and in wheels of CUDA 13 and 12.
const HEADERS: [&str; 4] =
    ["../include", "../include/cccl", "../../cuda_runtime/include", "../../cuda_cccl/include"];

/// Standard headers, which NVRTC has not, and the one of libcu++ that each is; none where the compiler knows what it declares.
const STANDARD: [(&str, &str); 26] = [
    ("assert.h", ""),
    ("cassert", ""),
    ("stdio.h", ""),
    ("cstdio", ""),
    ("math.h", ""),
    ("cmath", "cmath"),
    ("stdint.h", "cstdint"),
    ("cstdint", "cstdint"),
    ("stddef.h", "cstddef"),
    ("cstddef", "cstddef"),
    ("limits.h", "climits"),
    ("climits", "climits"),
    ("float.h", "cfloat"),
    ("cfloat", "cfloat"),
    ("string.h", "cstring"),
    ("cstring", "cstring"),
    ("stdlib.h", "cstdlib"),
    ("cstdlib", "cstdlib"),
    ("algorithm", "algorithm"),
    ("array", "array"),
    ("functional", "functional"),
    ("initializer_list", "initializer_list"),
    ("limits", "limits"),
    ("tuple", "tuple"),
    ("type_traits", "type_traits"),
    ("utility", "utility"),
];

/// Constants that C's math.h has besides functions.
const MATH: &str = "#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000)
#endif
";

/// `NVRTC_ERROR_COMPILATION`
const COMPILATION: c_int = 6;

/// The compiler, opened.
pub struct Nvrtc {
    api: Api,
    /// The folders of NVIDIA's own headers that were found beside it.
    headers: Vec<PathBuf>,
}

/// What is to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// CUDA C++.
    pub text: &'s str,
    /// What messages and lines call it.
    pub name: &'s str,
    /// The target, as in `sm_90a`.
    pub target: &'s str,
    /// Further options of NVRTC.
    pub options: &'s [String],
    /// Names whose lowered names are wanted, as in `scale<float>`: templates are made for them.
    pub expressions: &'s [String],
}

/// What it was compiled to.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// PTX.
    pub text: String,
    /// The entry of each expression.
    pub names: Vec<String>,
    /// Warnings.
    pub log: String,
}

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvrtcError {
    /// The library was not found, or is too old.
    #[error(
        "NVRTC, which compiles CUDA C++, was not found ({0}): pip install nvidia-cuda-nvrtc nvidia-cuda-runtime \
         nvidia-cuda-crt nvidia-cuda-cccl, or set CUDA_HOME, or name the library in {VARIABLE}"
    )]
    Missing(String),
    /// The source has errors: what NVRTC prints.
    #[error("{0}")]
    Source(String),
    /// Something that is given is wrong.
    #[error("{0}")]
    Given(String),
    /// It failed otherwise.
    #[error("{call} failed: {reason}")]
    Failed {
        /// What was called.
        call: &'static str,
        /// What NVRTC says.
        reason: String,
    },
}

/// A program of the library's, which is given back when dropped.
struct Owned<'a> {
    program: Program,
    api: &'a Api,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: made once, given back once, while the library is open.
        unsafe { (self.api.destroy)(&raw mut self.program) };
    }
}

/// A text that ends with a zero.
fn with_zero(what: &str, text: &str) -> Result<CString, NvrtcError> {
    CString::new(text).map_err(|_| NvrtcError::Given(format!("{what} has a zero byte")))
}

/// The text of a standard header.
fn header(name: &str, other: &str) -> String {
    let own = if name == "math.h" { MATH } else { "" };
    let first = if name == "cmath" { "#include <math.h>\n" } else { "" };
    match other {
        "" => own.to_owned(),
        _ => format!("{first}#include <cuda/std/{other}>\nnamespace std {{ using namespace cuda::std; }}\n"),
    }
}

/// The errors of a log, without its warnings.
fn errors(log: &str) -> String {
    let all = log.trim();
    let mut errors: Vec<&str> = all.split("\n\n").filter(|part| part.contains("error")).collect();
    if errors.is_empty() {
        errors.push(all);
    }
    if all.contains("<<<") || all.contains("runtime APIs are not declared") {
        errors.push("NVRTC compiles no code of the host: nvcc does (compiler=\"nvcc\" in Python)");
    }
    errors.join("\n\n")
}

impl Nvrtc {
    /// The library that `BITMMA_LIBNVRTC` names; or the first one in these folders, or in `lib` or `lib64` beside them, as a
    /// toolkit's `bin` has it; or the system's.
    ///
    /// # Errors
    ///
    /// There is none, or one without a function that is needed.
    pub fn find(folders: &[PathBuf]) -> Result<Nvrtc, NvrtcError> {
        let places =
            folders.iter().flat_map(|folder| ["", "../lib", "../lib64"].map(|place| folder.join(place)));
        let found = places.flat_map(|place| NAMES.map(|name| place.join(name))).find(|path| path.is_file());
        let found = found.filter(|_| std::env::var_os(VARIABLE).is_none());
        let missing = |error: crate::gpu::Error| NvrtcError::Missing(error.to_string());
        let opened = Opened::open(Vendor::Nvidia, found.as_deref(), VARIABLE, &NAMES).map_err(missing)?;
        let beside = Path::new(&opened.name).parent().map(Path::to_owned).unwrap_or_default();
        let own = HEADERS.iter().map(|place| beside.join(place)).filter(|folder| folder.is_dir());
        // what these lack (wheels of PyTorch have no mma.h) may lie beside ptxas
        let others = folders.iter().map(|folder| folder.join("../include"));
        let headers = own.chain(others.filter(|folder| folder.join("crt").is_dir())).collect();
        Ok(Nvrtc { api: Api::of(&opened).map_err(missing)?, headers })
    }

    /// Its release, as in `13.2`.
    #[must_use]
    pub fn version(&self) -> String {
        let [mut major, mut minor] = [0; 2];
        // SAFETY: the library writes two numbers.
        unsafe { (self.api.version)(&raw mut major, &raw mut minor) };
        format!("{major}.{minor}")
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), NvrtcError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the library gives a text of its own for every code.
        let reason = unsafe { CStr::from_ptr((self.api.reason)(code)) }.to_string_lossy().into_owned();
        Err(NvrtcError::Failed { call, reason })
    }

    /// A text of a program: its size with the zero behind it is asked first.
    fn read(
        &self,
        program: &Owned<'_>,
        (call, size, get): (
            &'static str,
            unsafe extern "C" fn(Program, *mut usize) -> c_int,
            unsafe extern "C" fn(Program, *mut c_char) -> c_int,
        ),
    ) -> Result<String, NvrtcError> {
        let mut bytes = 0;
        // SAFETY: the program lives, and the library writes one number.
        self.check(call, unsafe { size(program.program, &raw mut bytes) })?;
        let mut text = vec![0u8; bytes.max(1)];
        // SAFETY: the library writes as many bytes as it said.
        self.check(call, unsafe { get(program.program, text.as_mut_ptr().cast()) })?;
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Compiles it, with the lines of the source in the text.
    ///
    /// # Errors
    ///
    /// The source has errors, an option or a name expression is wrong, or the compiler does not know the target.
    pub fn compile(&self, source: &Source<'_>) -> Result<Compiled, NvrtcError> {
        let Source { text, name, target, options, expressions } = source;
        let [text, name] =
            [("the source", text), ("its name", name)].map(|(what, text)| with_zero(what, text));
        let (text, name) = (text?, name?);
        let names = expressions.iter().map(|one| with_zero("a name expression", one));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let mut all = vec![format!("--gpu-architecture={}", target.replacen("sm_", "compute_", 1))];
        all.push("-lineinfo".to_owned());
        let says = |option: &str| options.iter().any(|one| one.trim_start_matches('-').starts_with(option));
        if !says("std") {
            all.push("--std=c++17".to_owned());
        }
        if !says("default-device") {
            all.push("-default-device".to_owned());
        }
        all.extend_from_slice(options);
        all.extend(self.headers.iter().map(|folder| format!("-I{}", folder.display())));
        let all = all.iter().map(|one| with_zero("an option", one)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = all.iter().map(|one| one.as_ptr()).collect();
        let mut program = Owned { program: std::ptr::null_mut(), api: &self.api };
        let headers = STANDARD.iter().map(|(name, other)| {
            Ok((with_zero("a header", name)?, with_zero("a header", &header(name, other))?))
        });
        let headers = headers.collect::<Result<Vec<_>, NvrtcError>>()?;
        let (called, texts): (Vec<_>, Vec<_>) =
            headers.iter().map(|(name, text)| (name.as_ptr(), text.as_ptr())).unzip();
        // SAFETY: all texts end with a zero and are copied; there are as many headers as names.
        let made = unsafe {
            (self.api.create)(
                &raw mut program.program,
                text.as_ptr(),
                name.as_ptr(),
                headers.len() as c_int,
                texts.as_ptr(),
                called.as_ptr(),
            )
        };
        self.check("nvrtcCreateProgram", made)?;
        for one in &names {
            // SAFETY: the program lives; the name ends with a zero and is copied.
            let added = unsafe { (self.api.add_name)(program.program, one.as_ptr()) };
            self.check("nvrtcAddNameExpression", added)?;
        }
        // SAFETY: as many options as are said, each with a zero at its end, which outlive the call.
        let code = unsafe { (self.api.compile)(program.program, pointers.len() as c_int, pointers.as_ptr()) };
        let log = self.read(&program, ("nvrtcGetProgramLog", self.api.log_size, self.api.log))?;
        if code == COMPILATION || code != 0 && !log.trim().is_empty() {
            return Err(NvrtcError::Source(errors(&log)));
        }
        self.check("nvrtcCompileProgram", code)?;
        let text = self.read(&program, ("nvrtcGetPTX", self.api.text_size, self.api.text))?;
        let lowered = |one: &CString| {
            let mut lowered = std::ptr::null();
            // SAFETY: the name was added before; what the library writes lives as long as the program.
            let code = unsafe { (self.api.lowered_name)(program.program, one.as_ptr(), &raw mut lowered) };
            self.check("nvrtcGetLoweredName", code)?;
            // SAFETY: it ends with a zero.
            Ok(unsafe { CStr::from_ptr(lowered) }.to_string_lossy().into_owned())
        };
        let names = names.iter().map(lowered).collect::<Result<_, NvrtcError>>()?;
        Ok(Compiled { text, names, log: log.trim().to_owned() })
    }
}
