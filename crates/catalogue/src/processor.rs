//! Instructions of processors that multiply and accumulate, with their models.
//!
//! They stand apart from the architectures of GPUs: a processor has no matrix shape of its own, so the shape
//! here is that of the unit which the crate `hardware` makes of the instruction.

use std::sync::LazyLock;

use bitmma_arithmetic::{Chains, Conversion, InputFlush, Lowering, Model, Operation, Order, ResultFlush};
use bitmma_formats::Rounding;
use bitmma_formats::table::{BF16, F16, F32, F64};

use crate::error::{LookupError, nearest};

/// An instruction of a processor.
#[derive(Clone, Debug)]
pub struct Processor {
    /// Its name in lower case.
    pub name: &'static str,
    /// What it is, and which feature of the processor it takes.
    pub about: &'static str,
    /// M, N and K of the unit made of it.
    pub shape: (usize, usize, usize),
    /// How it computes.
    pub model: Model,
    /// Why we believe that.
    pub evidence: &'static str,
}

/// Every instruction of a processor that is known.
pub fn processors() -> &'static [Processor] {
    static ROWS: LazyLock<Vec<Processor>> = LazyLock::new(rows);
    &ROWS
}

/// The instruction of that name, compared without case.
pub fn processor(name: &str) -> Option<&'static Processor> {
    processors().iter().find(|row| row.name.eq_ignore_ascii_case(name.trim()))
}

/// As [`processor`], with an error that names what there is.
pub fn find_processor(name: &str) -> Result<&'static Processor, LookupError> {
    processor(name).ok_or_else(|| {
        let names = processors().iter().map(|row| (row.name.to_owned(), row.name.to_owned()));
        let nearest = nearest(&name.trim().to_ascii_lowercase(), names, 1).pop();
        let known = processors().iter().map(|row| row.name).collect();
        LookupError::UnknownProcessorInstruction { given: name.to_owned(), nearest, known }
    })
}

const IEEE: &str = "IEEE 754 §5.4.1; compared with an Intel and an AMD server processor with FMA3";
/// Arm's A64 pages of BFDOT and BFMMLA, FPCR.EBF = 0: products, their sum and the sum with C each rounded to odd,
/// overflow to infinity, inputs and results flushed as by FPCR.{FZ, FIZ}, default NaN as by FPCR.DN (FPCR.AH = 0).
const ARM: &str = "Arm's manual (FPCR.EBF = 0); compared with the instruction under qemu-aarch64, which is not ours; not run on an Arm processor";
/// Intel's manual prints the two chains, the fused multiply-adds, DAZ, FTZ and RNE, and that MXCSR is not read; the trial
/// confirmed them, and found tininess after rounding and which NaN comes out (docs/semantics.md, rule 22).
const TDPBF16PS: &str = "Intel's manual; compared with an Intel Xeon with AMX (family 6, model 207), 100.5 million dot products, no difference, \
     where the probe finds the model with no help; the code of a NaN, which depends on the operands, is not modeled";
const TDPFP16PS: &str = "Intel's manual; not seen on any processor";
const VDPBF16PS: &str = "found on an Intel server processor with AVX512_BF16, and compared with it and an AMD EPYC (family 25, model 17)";

fn rows() -> Vec<Processor> {
    let fma32 = Model::new(F32, F32, F32, Operation::Fma, Conversion::RNE_FP32);
    let fma64 = Model::new(F64, F64, F64, Operation::Fma, Conversion::RNE_FP64);
    let pairs = Model::new(BF16, BF16, F32, Operation::FtzFma { max_length: 2 }, Conversion::RNE_FP32);
    let to_odd = Conversion::new(Rounding::ToOdd, F32);
    let dot = Model {
        nan_code: Some(0x7fc0_0000), // FPCR.DN is taken as 1
        ..Model::new(BF16, BF16, F32, Operation::FtzAddMul { pairing: 2 }, to_odd)
            .flushing(InputFlush::Signed)
    };
    // even and odd elements of K in chains of their own, C last; MXCSR is not read
    let ftz = Conversion { flush: ResultFlush::AfterRounding, ..Conversion::RNE_FP32 };
    let tiles = |format, flush_operands| Model {
        flush_operands,
        flush_accumulator: InputFlush::Signed,
        lowering: Lowering {
            order: Order::Interleaved { run: 1, period: 2 },
            chains: Some(Chains { count: 2, merge: ftz }),
            add_accumulator_last: Some(ftz),
            ..Lowering::NONE
        },
        ..Model::new(format, format, F32, Operation::Fma, ftz)
    };
    let bf16_tiles = tiles(BF16, InputFlush::Signed);
    // subnormal numbers of FP16 are normal in FP32, in which the tiles multiply
    let fp16_tiles = tiles(F16, InputFlush::Never);
    let row = |name, about, shape, model: &Model, evidence| {
        let model = model.clone();
        Processor { name, about, shape, model, evidence }
    };
    vec![
        row("fma.f32", "a chain of FP32 fused multiply-adds: FMA3, or any AArch64", (8, 8, 8), &fma32, IEEE),
        row("fma.f64", "a chain of FP64 fused multiply-adds: FMA3, or any AArch64", (8, 8, 8), &fma64, IEEE),
        row("vdpbf16ps", "VDPBF16PS: AVX512_BF16", (16, 16, 2), &pairs, VDPBF16PS),
        row("vdpbf16ps.k32", "sixteen VDPBF16PS in a chain: AVX512_BF16", (16, 16, 32), &pairs, VDPBF16PS),
        row("tdpbf16ps", "TDPBF16PS: AMX-BF16", (16, 16, 32), &bf16_tiles, TDPBF16PS),
        row("tdpfp16ps", "TDPFP16PS: AMX-FP16", (16, 16, 32), &fp16_tiles, TDPFP16PS),
        row("bfdot", "BFDOT: AArch64 with FEAT_BF16", (4, 4, 2), &dot, ARM),
        row("bfmmla", "BFMMLA: AArch64 with FEAT_BF16", (2, 2, 4), &dot, ARM),
    ]
}

#[cfg(test)]
mod tests {
    use super::{processor, processors};

    #[test]
    fn rows_are_sound() {
        for row in processors() {
            assert!(std::ptr::eq(processor(&row.name.to_uppercase()).expect("it has a name"), row));
            row.model.validate().expect("a model of the catalogue");
            assert!(row.shape.2.is_multiple_of(row.model.length(row.shape.2)), "{}", row.name);
        }
        assert!(processor("vdpbf16").is_none());
    }
}
