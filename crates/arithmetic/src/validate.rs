//! Whether the parameters of a model make sense together.

use bitmma_formats::Format;

use crate::convert::{Conversion, ResultFlush};
use crate::error::ModelError;
use crate::family::{self, Family, Operation, Scale};
use crate::lowering::{Chains, Lowering, Order};
use crate::model::Model;
use crate::parameter::{MAX_LENGTH, Parameter};

/// That a parameter has a value it may not have.
fn wrong(parameter: &'static str, value: String, allowed: &str) -> Result<(), ModelError> {
    Err(ModelError::Parameter { parameter, value, allowed: allowed.to_owned() })
}

impl Model {
    /// Whether the parameters make sense together; the error names the first that does not.
    pub fn validate(&self) -> Result<(), ModelError> {
        validate(self)
    }
}

fn validate(model: &Model) -> Result<(), ModelError> {
    if let Some((parameter, value, allowed)) = model.operation.out_of_range() {
        return wrong(parameter.key(), value.to_string(), &allowed);
    }
    let operands = [("A", &model.a), ("B", &model.b), ("C", &model.c)];
    if model.is_integer() || operands.iter().any(|(_, format)| format.is_integer()) {
        validate_integers(model, operands)?;
    }
    for (parameter, format) in operands {
        if !format.is_operand() {
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

    if model.conversion.format.infinity_code().is_none() && !model.is_integer() {
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
        && (nan > model.d.max_code() || !model.d.is_nan(nan))
    {
        return wrong("nan", format!("{nan:#x}"), &format!("it must be a NaN of {}", model.d));
    }
    Ok(())
}

/// What integers ask: nothing but integers, an exact sum, and nothing around it.
fn validate_integers(model: &Model, operands: [(&'static str, &Format); 3]) -> Result<(), ModelError> {
    if let Some((parameter, format)) = operands.into_iter().find(|(_, format)| !format.is_integer()) {
        return wrong(parameter, format.to_string(), "A, B, C and D are integers together or not at all");
    }
    let (rho, flushes) = (model.conversion, model.flush_operands.is_on() || model.flush_accumulator.is_on());
    if model.c != rho.format {
        return wrong("rho", rho.to_string(), "A, B, C and D are integers together, C and D of one format");
    }
    match model.operation {
        Operation::EFdpa { .. } if model.lowering == Lowering::NONE && !flushes => Ok(()),
        Operation::EFdpa { .. } => wrong(
            "lowering",
            model.operation.name().to_owned(),
            "integers have no subnormal numbers and no lowering",
        ),
        _ => wrong("model", model.operation.name().to_owned(), "integers are summed by E-FDPA"),
    }
}

/// What a family asks of the model around its operation, and of its parameters together.
fn validate_operation(model: &Model) -> Result<(), ModelError> {
    let (family, rho) = (model.operation.family(), model.conversion);
    let Family { name, multiple, widest_result, .. } = family;
    if family.flushes_results && rho.flush != ResultFlush::Never {
        return wrong("rho", rho.to_string(), &format!("{name} flushes its results by itself"));
    }
    if rho.format.bits() > *widest_result {
        let allowed = format!("{name} rounds into formats of {widest_result} bits or fewer");
        return wrong("rho", rho.to_string(), &allowed);
    }
    if family.adds_in_rho {
        let allowed = format!("{name} adds in the format of rho");
        if model.c != rho.container() {
            return wrong("C", model.c.to_string(), &allowed);
        }
        if let Some(wide) = model.lowering.widen_accumulator {
            return wrong("widen_accumulator", wide.to_string(), &allowed);
        }
    }
    let length = model.operation.max_length();
    if !length.is_multiple_of(*multiple) {
        let allowed = match multiple {
            2 => format!("{name} takes an even number of products"),
            _ => format!("{name} takes a multiple of {multiple} products"),
        };
        return wrong("L_max", length.to_string(), &allowed);
    }
    if let Some(group) = model.operation.number::<usize>(Parameter::Group) {
        // the exact dot product of a group, times two scale factors of at most 4 bits, in 127 bits
        let bits =
            |format: &Format| format.max_exponent() - format.min_exponent() + 1 + format.fraction_bits as i32;
        let span = bits(&model.a) + bits(&model.b) + 8 + group.ilog2() as i32;
        if span > 100 {
            let allowed = format!(
                "an exact dot product of {} and {} in groups of {group} takes {span} bits; 100 are allowed",
                model.a, model.b
            );
            return wrong("G", group.to_string(), &allowed);
        }
    }
    Ok(())
}

fn validate_scale(model: &Model) -> Result<(), ModelError> {
    let wrong = |value: String, allowed: &str| wrong("scale", value, allowed);
    let family = model.operation.family();
    let scaled = || family::names(|family| family.scale != Scale::None).join(" and ");
    let Some(scale) = model.scale else {
        if family.scale != Scale::None {
            return wrong("none".to_owned(), &format!("{} take scale factors", scaled()));
        }
        return Ok(());
    };
    let text = format!("{} in blocks of {}", scale.format, scale.size);
    if scale.format.is_operand() {
        return wrong(text, "scale factors are ue8m0 or ue4m3");
    }
    if scale.size == 0 || scale.size > MAX_LENGTH {
        return wrong(text, "a block has 1 to 65536 elements");
    }
    let group = model.operation.group();
    let power_of_two = scale.format.fraction_bits == 0;
    match family.scale {
        Scale::None => wrong(text, &format!("only {} take scale factors", scaled())),
        Scale::Exponents if !power_of_two => {
            wrong(text, &format!("{} adds the exponents of ue8m0 factors", family.name))
        }
        _ if !scale.size.is_multiple_of(group) => {
            wrong(text, &format!("a block must be a multiple of G = {group}"))
        }
        _ if model.lowering != Lowering::NONE => wrong(text, "a composed form takes no scale factors"),
        _ => Ok(()),
    }
}

fn validate_lowering(model: &Model) -> Result<(), ModelError> {
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
    let unbounded =
        |conversion: Option<Conversion>| conversion.is_none_or(|c| c.format.infinity_code().is_some());
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
