//! What happens to a merged FP32 number (rules 20 to 26), as the engine's schedule has it.

use bitmma_engine::arithmetic::Conversion;
use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format, Overflow, Rounding};
use bitmma_engine::gemm::schedule::{AddC, Factors, Merge, Schedule, Sums};
use bitmma_engine::gemm::{self, OutputConversion, exact, nan_code};

use crate::call::Scales;
use crate::error::Error;
use crate::plan::{Alpha, Epilogue, ScaleResult, Through};

/// Whether the format is one of those that saturate.
fn is_fp8(format: &Format) -> bool {
    [E4M3, E5M2].contains(format)
}

/// The factors of a call with these scales and this D.
pub fn factors(epilogue: &Epilogue, scales: Scales, out: Format) -> Result<Factors, Error> {
    let one = Scales::ONE.a;
    let alpha = match epilogue.alpha {
        Alpha::Scales => exact::multiply(F32, scales.a.into(), scales.b.into()),
        Alpha::Host if (scales.a, scales.b) == (one, one) => one.into(),
        Alpha::Host => {
            return Err(Error::unrecorded("scales with a plan whose factor comes from the host (rule 26)"));
        }
    };
    let used = epilogue.scale_result == ScaleResult::Fp8Only && is_fp8(&out);
    Ok(Factors::Epilogue {
        multiply: epilogue.multiply,
        alpha,
        result: scales.result.filter(|_| used).map(u64::from),
        once: epilogue.through == Through::None,
    })
}

/// The last rounding: into FP32, BF16, FP16, E4M3 or E5M2, every NaN with the code of all bits but the sign (rule 24).
pub fn output(epilogue: &Epilogue, out: Format) -> Result<OutputConversion, Error> {
    if ![F32, BF16, F16, E4M3, E5M2].contains(&out) {
        return Err(Error::Operands(format!("D in {out}; a call gives f32, bf16, f16, e4m3 or e5m2")));
    }
    let overflow = if epilogue.saturate && is_fp8(&out) { Overflow::Saturate } else { Overflow::Ieee };
    let conversion = Conversion::new(Rounding::NearestEven, out);
    Ok(OutputConversion { conversion, overflow, nan: Some(nan_code(&out)) })
}

/// The code of D that a merged number becomes, by definition.
pub fn finished(epilogue: &Epilogue, scales: Scales, out: Format, word: u32) -> Result<u64, Error> {
    let schedule = Schedule {
        working: F32,
        sums: Sums::Chains { parts: vec![], promoted: false },
        merge: Merge::default(),
        c: AddC::Never,
        scale_blocks: None,
        factors: factors(epilogue, scales, out)?,
        output: Some(output(epilogue, out)?),
    };
    Ok(gemm::finished(&schedule, word.into())?)
}
