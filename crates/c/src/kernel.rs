//! Kernels: entries of PTX texts.

use std::ffi::{CString, c_char};

use bitmma_ptx::{Compiler, Error, Kernel, Program, Tools};

use crate::buffer::{not_null, optional_text, required, text};
use crate::status::bitmma_status::{
    BITMMA_DOUBTFUL, BITMMA_INTERNAL, BITMMA_KERNEL, BITMMA_LAUNCH, BITMMA_PTX, BITMMA_SIZE, BITMMA_UNKNOWN,
};
use crate::status::{Failure, bitmma_status, guarded};

/// An entry of a PTX text, ready to run. It does not change: any number of threads may launch it at once.
pub struct bitmma_kernel {
    pub(crate) kernel: Kernel,
    name: CString,
    target: CString,
    fusion: CString,
    /// Names and types.
    parameters: Vec<[CString; 2]>,
}

const fn shared_between_threads<T: Send + Sync>() {}
const _: () = shared_between_threads::<bitmma_kernel>();

impl bitmma_kernel {
    fn new(kernel: Kernel) -> bitmma_kernel {
        let owned = |text: &str| CString::new(text).unwrap_or_default();
        let parameters = kernel.parameters().map(|one| [owned(one.name), owned(one.kind)]).collect();
        let (name, target) = (owned(kernel.name()), owned(kernel.target()));
        let fusion = owned(&kernel.rewrites().fusion.to_string());
        bitmma_kernel { kernel, name, target, fusion, parameters }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match error {
            Error::Engine { line, error } => {
                let Failure { status, message } = error.into();
                return Failure::new(status, format!("line {line}: {message}"));
            }
            Error::Launch(_) => BITMMA_LAUNCH,
            Error::Doubtful(_) => BITMMA_DOUBTFUL,
            Error::Kernel { .. } => BITMMA_KERNEL,
            Error::Stopped => BITMMA_INTERNAL, // nobody can
            _ => BITMMA_PTX,
        };
        Failure::new(status, error.to_string())
    }
}

/// What is known of a kernel before it runs. The kernel owns the texts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_kernel_signature {
    /// The entry.
    pub name: *const c_char,
    /// The architecture that it runs as, as in "sm_90a".
    pub target: *const c_char,
    /// How it is known what ptxas fuses and folds: "predicted", "asked (ptxas 13.0.88)", "off" or "text".
    pub fusion: *const c_char,
    /// The block that `.reqntid` requires; zeros: none.
    pub block: [u32; 3],
    /// How many parameters it has: `bitmma_describe_parameter` describes each.
    pub parameters: usize,
}

/// A parameter of a kernel. The kernel owns the texts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_parameter {
    /// Its name in the text.
    pub name: *const c_char,
    /// Its type as in "u32", or "pointer" where the text says that it is one (`.ptr`); a tensor map has type "b8".
    pub kind: *const c_char,
}

/// Opens a kernel, as it is compiled.
///
/// `ptx`: the text. `entry`: the name of an entry; NULL: the only one. `target`: an architecture such as "sm_90a"; NULL: that
/// of the text. `compiler`: how it is found out what ptxas makes of the text, where that changes bits: NULL or "predict", by
/// a rule; "ask", by running ptxas and nvdisasm, which must be found (docs/kernels.md); "off", by the rule of
/// `--fmad=false`; "text", the text as it is written. `kernel` receives the kernel, which `bitmma_close_kernel` ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_open_kernel(
    ptx: *const c_char,
    entry: *const c_char,
    target: *const c_char,
    compiler: *const c_char,
    kernel: *mut *mut bitmma_kernel,
) -> bitmma_status {
    // SAFETY: the caller's texts and the place for the kernel
    guarded(|| unsafe {
        let ptx = text("ptx", ptx)?;
        let entry = optional_text("entry", entry)?;
        let target = optional_text("target", target)?;
        let compiler = optional_text("compiler", compiler)?;
        not_null("kernel", kernel)?;
        let program = Program::parse(ptx)?;
        let compiler = match compiler {
            None | Some("predict") => Compiler::Predicted(None),
            Some("off") => Compiler::Off,
            Some("text") => Compiler::Text,
            Some("ask") => {
                let tools = Tools::find(&[], target.unwrap_or(program.target()));
                Compiler::Asked(tools.map_err(|why| Failure::new(BITMMA_PTX, why))?)
            }
            Some(other) => {
                let message = format!("unknown compiler '{other}'; one of predict, ask, off, text");
                return Err(Failure::new(BITMMA_UNKNOWN, message));
            }
        };
        let opened = program.compiled(entry, target, &compiler).map_err(|error| match error {
            Error::Launch(message) => Failure::new(BITMMA_UNKNOWN, message), // the entry or the target
            error => error.into(),
        })?;
        kernel.write(Box::into_raw(Box::new(bitmma_kernel::new(opened))));
        Ok(())
    })
}

/// Ends a kernel, which no call may be using. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_close_kernel(kernel: *mut bitmma_kernel) {
    guarded(|| {
        if !kernel.is_null() {
            // SAFETY: it came from `bitmma_open_kernel`
            drop(unsafe { Box::from_raw(kernel) });
        }
        Ok(())
    });
}

/// What is known of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_describe_kernel(
    kernel: *const bitmma_kernel,
    signature: *mut bitmma_kernel_signature,
) -> bitmma_status {
    // SAFETY: the caller's kernel and the place for the result
    guarded(|| unsafe {
        let kernel = required("kernel", kernel)?;
        not_null("signature", signature)?;
        signature.write(bitmma_kernel_signature {
            name: kernel.name.as_ptr(),
            target: kernel.target.as_ptr(),
            fusion: kernel.fusion.as_ptr(),
            block: kernel.kernel.required_block().unwrap_or_default(),
            parameters: kernel.parameters.len(),
        });
        Ok(())
    })
}

/// A parameter of a kernel, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_describe_parameter(
    kernel: *const bitmma_kernel,
    index: usize,
    parameter: *mut bitmma_parameter,
) -> bitmma_status {
    // SAFETY: the caller's kernel and the place for the result
    guarded(|| unsafe {
        let kernel = required("kernel", kernel)?;
        not_null("parameter", parameter)?;
        let Some([name, kind]) = kernel.parameters.get(index) else {
            let (name, count) = (kernel.kernel.name(), kernel.parameters.len());
            let message = format!("index is {index}; entry '{name}' has {count} parameters, counted from 0");
            return Err(Failure::new(BITMMA_SIZE, message));
        };
        parameter.write(bitmma_parameter { name: name.as_ptr(), kind: kind.as_ptr() });
        Ok(())
    })
}
