//! Units: what computes, and what it takes and gives.

use std::ffi::{CString, c_char};

use bitmma_engine::catalogue::{Revision, find, find_processor};
use bitmma_engine::formats::{BlockScale, Format, by_name};
use bitmma_engine::gemm::Target;
use bitmma_engine::{Architecture, FastSimulator, MmaUnit, Model, Signature, Simulator};

use crate::buffer::{not_null, optional_text, required, text};
use crate::status::bitmma_status::{BITMMA_MODEL, BITMMA_SIZE, BITMMA_UNKNOWN};
use crate::status::{Failure, bitmma_status, guarded};

/// An instruction or a model, ready to compute. It does not change: any number of threads may use it at once.
pub struct bitmma_unit {
    pub(crate) simulator: FastSimulator,
    name: CString,
    target: Target,
}

const fn shared_between_threads<T: Send + Sync>() {}
const _: () = shared_between_threads::<bitmma_unit>();

impl bitmma_unit {
    pub(crate) fn signature(&self) -> &Signature {
        self.simulator.signature()
    }

    pub(crate) fn model(&self) -> &Model {
        self.simulator.model()
    }

    /// What products of any shape are made of: whole instructions along K.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    fn new(simulator: Simulator, name: &str, target: Target) -> Result<bitmma_unit, Failure> {
        let simulator = FastSimulator::new(simulator).named(name);
        simulator.prepared()?; // planned here, so that the first product takes no longer than the others
        Ok(bitmma_unit { simulator, name: CString::new(name).unwrap_or_default(), target })
    }

    /// A model as an instruction of that shape.
    fn of_model(model: Model, shape: (usize, usize, usize), name: &str) -> Result<bitmma_unit, Failure> {
        let simulator = Simulator::model(model.clone(), shape)?;
        bitmma_unit::new(simulator, name, Target::of_model(model, Some(shape.2))?)
    }
}

/// A format of numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct bitmma_format {
    /// Its name, ended by a zero, as in "f16"; empty: none.
    pub name: [c_char; 16],
    /// Bits of a code.
    pub bits: u32,
    /// Bytes of a code in memory: 1, 2, 4 or 8.
    pub bytes: u32,
}

impl bitmma_format {
    const NONE: bitmma_format = bitmma_format { name: [0; 16], bits: 0, bytes: 0 };
}

impl From<Format> for bitmma_format {
    fn from(format: Format) -> bitmma_format {
        let mut name = [0; 16];
        // the last one stays zero
        for (to, byte) in name[..15].iter_mut().zip(format.name.bytes()) {
            *to = byte as c_char;
        }
        bitmma_format { name, bits: format.bits(), bytes: format.bytes() as u32 }
    }
}

/// What a unit takes and gives: D = A·B + C, with A M×K, B K×N, C and D M×N, `blocks` times.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_signature {
    /// The instruction, as in "hopper/mma.m16n8k16.f32.f16.f16.f32", or "model". The unit owns the text.
    pub name: *const c_char,
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Independent products in one instruction.
    pub blocks: usize,
    /// Format of A.
    pub a: bitmma_format,
    /// Format of B.
    pub b: bitmma_format,
    /// Format of C.
    pub c: bitmma_format,
    /// Format of D.
    pub d: bitmma_format,
    /// Format of the scale factors; none for most units.
    pub scale: bitmma_format,
    /// Elements along K that share a scale factor; 0 without them. A has M × K/scale_size factors, B K/scale_size × N.
    pub scale_size: usize,
    /// The format of alpha and beta, in which `bitmma_gemm` adds parts.
    pub working: bitmma_format,
    /// 1 where the vendor specifies no code for NaN results, so that any NaN agrees with any other; else 0.
    pub any_nan: u32,
}

/// Opens an instruction.
///
/// `architecture`: a name ("hopper"), a compiler's target ("sm_90a", "gfx942") or a chip ("h100", "mi300x"); "cpu" for an
/// instruction of a processor. `instruction`: the name in docs/instructions.md or one of its aliases. `revision`:
/// "hardware" or "paper"; NULL: "hardware". `unit` receives the unit, which `bitmma_close` ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_open(
    architecture: *const c_char,
    instruction: *const c_char,
    revision: *const c_char,
    unit: *mut *mut bitmma_unit,
) -> bitmma_status {
    // SAFETY: the caller's texts and the place for the unit
    guarded(|| unsafe {
        let architecture = text("architecture", architecture)?;
        let instruction = text("instruction", instruction)?;
        let revision = optional_text("revision", revision)?;
        let revision: Revision = match revision {
            Some(revision) => revision.parse().map_err(bitmma_engine::Error::from)?,
            None => Revision::Hardware,
        };
        not_null("unit", unit)?;
        let opened = if architecture.eq_ignore_ascii_case("cpu") {
            let row = find_processor(instruction).map_err(bitmma_engine::Error::from)?;
            bitmma_unit::of_model(row.model.clone(), row.shape, &format!("cpu/{}", row.name))?
        } else {
            let architecture: Architecture = architecture.parse().map_err(bitmma_engine::Error::from)?;
            let found = find(architecture, instruction).map_err(bitmma_engine::Error::from)?;
            let name = Signature::found(&found).name;
            bitmma_unit::new(Simulator::found(&found, revision)?, &name, Target::found(&found, revision)?)?
        };
        unit.write(Box::into_raw(Box::new(opened)));
        Ok(())
    })
}

/// Opens a model: the text of a file as `bitmma show --toml` prints it and docs/models.md describes it, as an instruction of
/// M×N×K.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_open_model(
    toml: *const c_char,
    m: usize,
    n: usize,
    k: usize,
    unit: *mut *mut bitmma_unit,
) -> bitmma_status {
    // SAFETY: the caller's text and the place for the unit
    guarded(|| unsafe {
        let toml = text("toml", toml)?;
        not_null("unit", unit)?;
        for (name, size) in [("m", m), ("n", n), ("k", k)] {
            if !(1..=MOST).contains(&size) {
                return Err(Failure::new(BITMMA_SIZE, format!("{name} is {size}; 1 to {MOST} is allowed")));
            }
        }
        let model = Model::from_toml(toml).map_err(|error| Failure::new(BITMMA_MODEL, error.to_string()))?;
        let opened = bitmma_unit::of_model(model, (m, n, k), "model")?;
        unit.write(Box::into_raw(Box::new(opened)));
        Ok(())
    })
}

/// The largest M, N and K of a model's unit, as in the protocol of units.
const MOST: usize = 65536;

/// Ends a unit, which no call may be using. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_close(unit: *mut bitmma_unit) {
    guarded(|| {
        if !unit.is_null() {
            // SAFETY: it came from `bitmma_open` or `bitmma_open_model`
            drop(unsafe { Box::from_raw(unit) });
        }
        Ok(())
    });
}

/// What a unit takes and gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_describe(
    unit: *const bitmma_unit,
    signature: *mut bitmma_signature,
) -> bitmma_status {
    // SAFETY: the caller's unit and the place for the result
    guarded(|| unsafe {
        let unit = required("unit", unit)?;
        not_null("signature", signature)?;
        let Signature { m, n, k, blocks, a, b, c, d, scale, .. } = *unit.signature();
        let (scale, scale_size) = match scale {
            Some(BlockScale { format, size }) => (format.into(), size),
            None => (bitmma_format::NONE, 0),
        };
        signature.write(bitmma_signature {
            name: unit.name.as_ptr(),
            m,
            n,
            k,
            blocks,
            a: a.into(),
            b: b.into(),
            c: c.into(),
            d: d.into(),
            scale,
            scale_size,
            working: unit.target().working_format().into(),
            any_nan: unit.model().nan_code.is_none().into(),
        });
        Ok(())
    })
}

/// The format of a name: "f64", "f32", "tf32", "bf16", "f16", "e4m3", … (docs/formats.md).
pub(crate) fn format_of(name: &str) -> Result<Format, Failure> {
    by_name(name).ok_or_else(|| {
        let names = bitmma_engine::formats::table::names();
        Failure::new(BITMMA_UNKNOWN, format!("unknown format '{name}'; there are {names}"))
    })
}
