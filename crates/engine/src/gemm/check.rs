//! Whether operands and options fit a target.

use bitmma_formats::text::display;
use bitmma_formats::{F32, FORMATS};

use super::options::GemmOptions;
use super::target::Target;
use crate::check::{Described, Expected};
use crate::error::{Error, option};
use bitmma_kernel::ScaleBlocks;

/// Formats and shapes of a product's operands.
#[derive(Clone, Copy, Debug)]
pub struct Shapes {
    /// M×K.
    pub a: Described,
    /// K×N.
    pub b: Described,
    /// M×N.
    pub c: Option<Described>,
    /// Scale factors of A.
    pub scale_a: Option<Described>,
    /// Scale factors of B.
    pub scale_b: Option<Described>,
}

/// Whether results can be converted so: to floating-point numbers with a sign.
pub(super) fn check_output(options: &GemmOptions<'_>) -> Result<(), Error> {
    match options.output.map(|output| output.conversion.format) {
        Some(format) if format.is_integer() => {
            let allowed = "D is converted to a floating-point format, or stays as it is".to_owned();
            Err(option("output", format, allowed))
        }
        Some(format) if !format.is_signed() => {
            let signed = FORMATS.iter().filter(|format| format.is_signed());
            let names: Vec<&str> = signed.map(|format| format.name).collect();
            let allowed = format!("it has no sign, as results do; one of {}", names.join(", "));
            Err(option("output", format, allowed))
        }
        _ => Ok(()),
    }
}

/// Whether options are left out that integers do not have: D is the exact sum of the products and C, whatever the order.
pub(super) fn check_integers(target: &Target, options: &GemmOptions<'_>) -> Result<(), Error> {
    if !target.model.is_integer() {
        return Ok(());
    }
    let working = target.working_format();
    let other = |factor: Option<u64>| {
        factor.filter(|factor| *factor != working.one_code()).map(|code| display(&working, code))
    };
    let number = |count: Option<usize>| count.map(|count| count.to_string());
    let given = [
        ("split_k", number(options.split_k.filter(|parts| *parts != 1))),
        ("promote_every", number(options.promote_every)),
        ("scale_blocks", options.scale_blocks.map(|blocks| blocks.to_string())),
        ("c_last", options.c_last.then(|| "true".to_owned())),
        ("alpha", other(options.alpha)),
        ("beta", other(options.beta)),
    ];
    match given.into_iter().find_map(|(name, value)| Some((name, value?))) {
        Some((name, value)) => {
            let allowed = format!("{} sums integers and C exactly, in 32 bits; leave it out", target.name);
            Err(option(name, value, allowed))
        }
        None => Ok(()),
    }
}

/// Whether formats and shapes fit a target, with FP32 scales of such blocks.
pub fn check(target: &Target, shapes: &Shapes, scale_blocks: Option<ScaleBlocks>) -> Result<(), Error> {
    let model = &target.model;
    let (_, (blocks, m, k)) = shapes.a;
    let (_, (_, _, n)) = shapes.b;
    // rows of A and columns of B that share a scale, and blocks along K
    let shared = match (scale_blocks, model.scale) {
        (Some(sizes), _) => {
            check_blocks(target, sizes)?;
            Some((F32, (sizes.rows, sizes.columns), sizes.along(k)))
        }
        (None, Some(scale)) => Some((scale.format, (1, 1), k.div_ceil(scale.size))),
        (None, None) => None,
    };
    Expected {
        unit: &target.name,
        product: &format!("{} in this product", target.name),
        a: (model.a, (blocks, m, k)),
        b: (model.b, (blocks, k, n)),
        c: (model.c, (blocks, m, n)),
        scales: shared.map(|(format, (rows, columns), along)| {
            [(m.div_ceil(rows), along), (along, n.div_ceil(columns))]
                .map(|(rows, columns)| (format, (blocks, rows, columns)))
        }),
        factors: &match scale_blocks {
            Some(sizes) => format!("scales (scale_blocks {sizes})"),
            None => "factors".to_owned(),
        },
    }
    .check_each([shapes.a, shapes.b], [shapes.c, shapes.scale_a, shapes.scale_b])
}

/// Whether the target takes scales of such blocks.
fn check_blocks(target: &Target, sizes: ScaleBlocks) -> Result<(), Error> {
    let wrong = |allowed: String| Err(option("scale_blocks", sizes, allowed));
    if let Some(scale) = target.model.scale {
        return wrong(format!("{} takes {} factors of its own", target.name, scale.format));
    }
    if target.working_format() != F32 {
        return wrong(format!("{} sums in {}; the scales are f32", target.name, target.working_format()));
    }
    if sizes.rows == 0 || sizes.columns == 0 {
        return wrong(format!("blocks have {} rows and {} columns", sizes.rows, sizes.columns));
    }
    Ok(())
}
