//! Whether operands and options fit a target, and how K is cut.

use std::ops::Range;

use bitmma_formats::{F32, FORMATS};

use super::options::{GemmOptions, option};
use super::target::Target;
use crate::borrowed::MatrixRef;
use crate::check::Expected;
use crate::error::Error;
use crate::matrix::Matrix;
use bitmma_kernel::ScaleBlocks;

/// The parts of K and the runs in them; none where D has no elements, beside which K may be any number.
pub(super) fn parts(
    target: &Target,
    (k, is_empty): (usize, bool),
    options: &GemmOptions<'_>,
) -> Result<Vec<Vec<Range<usize>>>, Error> {
    let step = target.step;
    if target.padded(k).is_none() {
        return Err(option(
            "K",
            k,
            format!("padded to a multiple of {step} it must fit {} bits", usize::BITS),
        ));
    }
    let steps_in = |name, every: usize| match every {
        every if every > 0 && every.is_multiple_of(step) => Ok(every / step),
        every => {
            let allowed =
                format!("{} takes {step} elements along K, so it must be a multiple of that", target.name);
            Err(option(name, every, allowed))
        }
    };
    let run = match (options.promote_every, options.scale_blocks.filter(|blocks| blocks.k > 0)) {
        (None, None) => usize::MAX,
        (Some(every), None) => steps_in("promote_every", every)?,
        (None, Some(_)) if options.split_k.is_some_and(|parts| parts > 1) => {
            let allowed = "scale_blocks along K take the whole of K in one part".to_owned();
            return Err(option("split_k", options.split_k.unwrap_or(1), allowed));
        }
        (None, Some(blocks)) => steps_in("K of scale_blocks", blocks.k)?,
        (Some(every), Some(blocks)) => {
            let allowed = format!("scale_blocks already move the accumulator every {} elements", blocks.k);
            return Err(option("promote_every", every, allowed));
        }
    };
    let steps = k.div_ceil(step);
    let count = match options.split_k {
        None => 1,
        Some(0) => return Err(option("split_k", 0, "K is cut into one part or more".to_owned())),
        Some(parts) => target.parts(k, parts),
    };
    if steps == 0 || is_empty {
        return Ok(Vec::new());
    }
    let (each, more) = (steps / count, steps % count);
    let first = |part: usize| part * each + part.min(more);
    let runs = |part: usize| {
        let end = first(part + 1);
        let cuts = (first(part)..end).step_by(run);
        cuts.map(|start| start * step..start.saturating_add(run).min(end) * step).collect()
    };
    Ok((0..count).map(runs).collect())
}

/// Whether results can be converted so: they have a sign.
pub(super) fn check_output(options: &GemmOptions<'_>) -> Result<(), Error> {
    match options.output.map(|output| output.conversion.format) {
        Some(format) if !format.is_signed() => {
            let signed = FORMATS.iter().filter(|format| format.is_signed());
            let names: Vec<&str> = signed.map(|format| format.name).collect();
            let allowed = format!("it has no sign, as results do; one of {}", names.join(", "));
            Err(option("output", format, allowed))
        }
        _ => Ok(()),
    }
}

/// Whether formats and shapes fit.
pub(super) fn check_operands(
    target: &Target,
    [a, b]: [MatrixRef<'_>; 2],
    c: Option<&Matrix>,
    options: &GemmOptions<'_>,
) -> Result<(), Error> {
    let model = &target.model;
    let (blocks, m, k) = a.shape();
    let (_, _, n) = b.shape();
    // rows of A and columns of B that share a scale, and blocks along K
    let shared = match (options.scale_blocks, model.scale) {
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
        factors: &match options.scale_blocks {
            Some(sizes) => format!("scales (scale_blocks {sizes})"),
            None => "factors".to_owned(),
        },
    }
    .check_each([a, b], [c, options.scale_a, options.scale_b])
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
