//! Whether the parameters of a model make sense together.

use bitmma_formats::{Class, Format, Specials, decode};

use crate::convert::{Conversion, ResultFlush};
use crate::error::ModelError;
use crate::ftz::MAX_PAIRING;
use crate::lowering::{Chains, Lowering, Order};
use crate::model::{FusedSum, Model, Operation, RoundedSum};

/// Largest L_max; sums of that many terms of 2^62 stay far below the 127 bits they are kept in.
const MAX_LENGTH: usize = 1 << 16;
/// Largest F and F2.
const MAX_FRACTION_BITS: u32 = 60;

/// Whether the parameters of a model make sense together.
pub(crate) fn validate(model: &Model) -> Result<(), ModelError> {
    let wrong = |parameter, value: String, allowed: &str| {
        Err(ModelError::Parameter { parameter, value, allowed: allowed.to_owned() })
    };
    let length = model.operation.max_length();
    if length == 0 || length > MAX_LENGTH {
        return wrong("L_max", length.to_string(), "it may be 1 to 65536");
    }
    for (parameter, format) in [("A", &model.a), ("B", &model.b), ("C", &model.c)] {
        if !format.is_signed() {
            return wrong(
                parameter,
                format.to_string(),
                "operands have a sign; ue8m0 and ue4m3 are for scale factors",
            );
        }
    }
    validate_operation(model)?;
    validate_scale(model)?;
    validate_lowering(model)?;

    if !model.conversion.format.has_infinity() {
        return wrong(
            "rho",
            model.conversion.to_string(),
            "it must round into a format with infinity and NaN",
        );
    }
    let d = model.last_conversion().container();
    if d != model.d {
        return wrong("D", model.d.to_string(), &format!("the last conversion gives {d}"));
    }
    if let Some(nan) = model.nan_code
        && (nan > model.d.max_code() || decode(&model.d, nan).class != Class::Nan)
    {
        return wrong("nan", format!("{nan:#x}"), &format!("it must be a NaN of {}", model.d));
    }
    Ok(())
}

fn validate_operation(model: &Model) -> Result<(), ModelError> {
    let wrong = |parameter, value: String, allowed: &str| {
        Err(ModelError::Parameter { parameter, value, allowed: allowed.to_owned() })
    };
    let fraction_bits = |parameter, bits: u32| {
        if bits <= MAX_FRACTION_BITS {
            Ok(())
        } else {
            wrong(parameter, bits.to_string(), "it may be 0 to 60")
        }
    };
    let zero_exponent = |parameter, exponent: Option<i32>| match exponent {
        Some(exponent) if exponent.unsigned_abs() > 1 << 16 => {
            wrong(parameter, exponent.to_string(), "it may be -65536 to 65536")
        }
        _ => Ok(()),
    };
    let fused = |sum: &FusedSum| {
        fraction_bits("F", sum.fraction_bits)?;
        fraction_bits("F_c", sum.accumulator_bits())?;
        zero_exponent("e_zero", sum.zero_exponent)
    };
    let rounded = |sum: &RoundedSum| {
        fraction_bits("F", sum.fraction_bits)?;
        fraction_bits("F2", sum.sum_fraction_bits)?;
        zero_exponent("e_zero_c", sum.zero_accumulator_exponent)
    };
    match &model.operation {
        Operation::FtzAddMul { pairing } if !pairing.is_power_of_two() || *pairing > MAX_PAIRING => {
            wrong("P", pairing.to_string(), "it must be a power of two, 64 at most")
        }
        Operation::FtzAddMul { .. } | Operation::FtzFma { .. }
            if model.conversion.flush != ResultFlush::Never =>
        {
            let family = model.operation.name();
            wrong("rho", model.conversion.to_string(), &format!("{family} flushes its results by itself"))
        }
        Operation::FtzAddMul { .. } if model.c != model.chained_format() => {
            wrong("C", model.c.to_string(), "FTZ-AddMul adds in the format of rho")
        }
        Operation::FtzAddMul { .. } if model.lowering.widen_accumulator.is_some() => {
            let wide = model.lowering.widen_accumulator.map_or(String::new(), |wide| wide.to_string());
            wrong("widen_accumulator", wide, "FTZ-AddMul adds in the format of rho")
        }
        Operation::FtzFma { .. } if model.conversion.format.bits() > 32 => {
            wrong("rho", model.conversion.to_string(), "FTZ-FMA rounds into formats of 32 bits or fewer")
        }
        Operation::FtzAddMul { .. } | Operation::Fma | Operation::FtzFma { .. } | Operation::EFdpa { .. } => {
            Ok(())
        }
        Operation::TFdpa(sum) | Operation::StFdpa(sum) => fused(sum),
        Operation::GstFdpa { sum, group } => {
            fused(sum)?;
            if *group == 0 || !sum.max_length.is_multiple_of(*group) {
                return wrong("G", group.to_string(), &format!("it must divide L_max = {}", sum.max_length));
            }
            // the exact dot product of a group, times two scale factors of at most 4 bits, in 127 bits
            let bits = |format: &Format| {
                format.max_exponent() - format.min_exponent() + 1 + format.fraction_bits as i32
            };
            let span = bits(&model.a) + bits(&model.b) + 8 + group.ilog2() as i32;
            if span > 100 {
                return wrong(
                    "G",
                    group.to_string(),
                    &format!(
                        "an exact dot product of {} and {} in groups of {group} takes {span} bits; 100 are allowed",
                        model.a, model.b
                    ),
                );
            }
            Ok(())
        }
        Operation::TrFdpa(sum) => rounded(sum),
        Operation::GtrFdpa(sum) => {
            rounded(sum)?;
            if sum.max_length.is_multiple_of(2) {
                return Ok(());
            }
            wrong("L_max", sum.max_length.to_string(), "GTR-FDPA takes an even number of products")
        }
    }
}

fn validate_scale(model: &Model) -> Result<(), ModelError> {
    let wrong = |value: String, allowed: &str| {
        Err(ModelError::Parameter { parameter: "scale", value, allowed: allowed.to_owned() })
    };
    let Some(scale) = model.scale else {
        if model.operation.is_scaled() {
            return wrong("none".to_owned(), "ST-FDPA and GST-FDPA take scale factors");
        }
        return Ok(());
    };
    let text = format!("{} in blocks of {}", scale.format, scale.size);
    if scale.format.is_signed() {
        return wrong(text, "scale factors are ue8m0 or ue4m3");
    }
    if scale.size == 0 || scale.size > MAX_LENGTH {
        return wrong(text, "a block has 1 to 65536 elements");
    }
    match model.operation {
        Operation::StFdpa(_)
            if scale.format.specials == Specials::AllOnesNan && scale.format.fraction_bits > 0 =>
        {
            wrong(text, "ST-FDPA adds the exponents of ue8m0 factors")
        }
        Operation::GstFdpa { group, .. } if !scale.size.is_multiple_of(group) => {
            wrong(text, &format!("a block must be a multiple of G = {group}"))
        }
        Operation::StFdpa(_) | Operation::GstFdpa { .. } if model.lowering != Lowering::NONE => {
            wrong(text, "a composed form takes no scale factors")
        }
        Operation::StFdpa(_) | Operation::GstFdpa { .. } => Ok(()),
        _ => wrong(text, "only ST-FDPA and GST-FDPA take scale factors"),
    }
}

fn validate_lowering(model: &Model) -> Result<(), ModelError> {
    let wrong = |parameter, value: String, allowed: &str| {
        Err(ModelError::Parameter { parameter, value, allowed: allowed.to_owned() })
    };
    if let Order::Interleaved { run, period } = model.lowering.order
        && (run == 0 || period == 0 || period > MAX_LENGTH || !period.is_multiple_of(run))
    {
        return wrong("order", format!("{run} of every {period}"), "the run must divide the period");
    }
    let pairs = [
        ("widen_operands", model.a, model.lowering.widen_operands),
        ("widen_operands", model.b, model.lowering.widen_operands),
        ("widen_accumulator", model.c, model.lowering.widen_accumulator),
    ];
    for (parameter, from, to) in pairs {
        if let Some(to) = to
            && !holds_all(&to, &from)
        {
            return wrong(parameter, to.to_string(), &format!("it must hold every number of {from}"));
        }
    }
    let flushed = [
        ("flush_operands", model.flush_operands, model.lowering.widen_operands),
        ("flush_accumulator", model.flush_accumulator, model.lowering.widen_accumulator),
    ];
    for (parameter, flush, wide) in flushed {
        if flush.is_on() && wide.is_some() {
            let value = format!("{flush:?}").to_ascii_lowercase();
            return wrong(parameter, value, "an operand that is widened is not flushed");
        }
    }
    let Lowering { chains, add_accumulator_last, narrow_output, .. } = model.lowering;
    if let Some(Chains { count, .. }) = chains {
        let passes = model.lowering.order.passes();
        if !(2..=MAX_LENGTH).contains(&count) {
            return wrong("chains", count.to_string(), "there may be 2 to 65536");
        }
        if !count.is_multiple_of(passes) && !passes.is_multiple_of(count) {
            let allowed = format!("an order of {passes} passes takes a multiple or a divisor of that");
            return wrong("chains", count.to_string(), &allowed);
        }
    }
    let merge = chains.map(|chains| chains.merge);
    let unbounded = |conversion: Option<Conversion>| conversion.is_none_or(|c| c.format.has_infinity());
    if !unbounded(merge) || !unbounded(add_accumulator_last) || !unbounded(narrow_output) {
        return wrong(
            "lowering",
            "a conversion".to_owned(),
            "it must round into a format with infinity and NaN",
        );
    }
    Ok(())
}

/// Whether every finite number of `narrow` is one of `wide`.
pub(crate) fn holds_all(wide: &Format, narrow: &Format) -> bool {
    wide.is_signed()
        && wide.fraction_bits >= narrow.fraction_bits
        && wide.max_exponent() >= narrow.max_exponent()
        && wide.min_exponent() - wide.fraction_bits as i32
            <= narrow.min_exponent() - narrow.fraction_bits as i32
}
