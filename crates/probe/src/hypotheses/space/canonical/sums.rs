//! Cuts of a sum that rho repeats, in TR- and GTR-FDPA.

use bitmma_engine::Model;
use bitmma_engine::arithmetic::parameter::MAX_FRACTION_BITS;
use bitmma_engine::arithmetic::{Conversion, ResultFlush};
use bitmma_engine::formats::Rounding;

/// Leaves out an exponent of a zero C that cuts the sum of products as rho does after it.
///
/// e_zero_c = z cuts that sum at 2^(z - F2), or one place below; the sum is all there is. If no middle between two numbers
/// of rho's format lies between two multiples of that, the cut changes nothing that rho does not: away from zero, for
/// what is beyond a middle stays beyond it, and what is not stays where it is; the same downward; and to odd one place
/// lower, where it never makes a middle. These three keep the sign of a sum, and a sum other than zero. The cut of a
/// normalized sum at its own exponent is one of the same kind.
pub(super) fn cuts_that_rho_repeats(model: &mut Model) {
    use Rounding::{AwayFromZero, Down, NearestUp, NearestZero, ToOdd};
    let Conversion { rounding, format, flush, .. } = model.conversion;
    let Some(sum) = model.operation.rounded_mut() else { return };
    let beyond = match (sum.sum_rounding, rounding) {
        (AwayFromZero, AwayFromZero | NearestZero) | (Down, Down | NearestUp) => 1,
        (ToOdd, _) => 2,
        _ => return,
    };
    let kept = sum.sum_fraction_bits as i32 + i32::from(sum.renormalize);
    let normalised = sum.renormalize && sum.sum_fraction_bits < format.fraction_bits + beyond;
    let last = format.min_exponent() - (format.fraction_bits + beyond) as i32;
    if flush == ResultFlush::Never && !normalised {
        sum.zero_accumulator_exponent = sum.zero_accumulator_exponent.filter(|&zero| zero - kept > last);
    }
}

/// The least F2, and no normalization, where rho repeats every cut of a sum.
pub(super) fn sums_that_rho_cuts(model: &mut Model) {
    let Some(least) = hiding_bits(model).filter(|_| sum_cut_is_hidden(model)) else { return };
    if let Some(sum) = model.operation.rounded_mut() {
        sum.sum_fraction_bits = least;
        sum.renormalize = false;
    }
}

/// Whether F2, with the bit more of a normalized sum, is so large that no larger one answers otherwise.
pub(super) fn sum_cut_is_hidden(model: &Model) -> bool {
    let kept = model.operation.rounded().map(|sum| sum.sum_fraction_bits + u32::from(sum.renormalize));
    kept.zip(hiding_bits(model)).is_some_and(|(kept, least)| kept >= least)
}

/// Bits of a sum from which on its cut changes nothing that rho does not; `None` where there is no such number.
///
/// Let T be the sum of products, a multiple of 2^(e_max - F), c the accumulator, cut to a multiple of 2^(E - F) whatever F2
/// is, and G the bits kept of T below E.
/// T is cut only if e_c = E > e_max + G - F. |T| is at most 4L·2^e_max, so with G at least F + log2(4L) it is at most
/// 2^(E - 1). Then T + c is at least 2^(E - 1), or c is subnormal; either way numbers of rho's format at T + c, and the
/// middles between them, are multiples of 2^(E - G) if G is at least p + 2, of twice that if G is at least p + 3, where p is
/// the format's number of fractional bits.
/// A cut down of T is one of T + c, for c is a multiple of 2^(E - G), and so is a cut to odd, for c is a multiple of twice that.
/// Down, what is beyond a number or a middle stays beyond it or reaches it, which is the same to a rounding down, and to
/// one to nearest with ties up; to odd it never reaches one. The cut of a normalized sum at its own exponent is of the same
/// kind, with as many bits. A zero C that brings an exponent would cut T where there is no c, and a flush sees the sum
/// before or after rho, so both must be absent.
fn hiding_bits(model: &Model) -> Option<u32> {
    let Conversion { rounding, format, flush, .. } = model.conversion;
    let sum = model.operation.rounded()?;
    let beyond = match (sum.sum_rounding, rounding) {
        (Rounding::Down, Rounding::Down | Rounding::NearestUp) => 2,
        (Rounding::ToOdd, _) => 3,
        _ => return None,
    };
    let c = model.lowering.widen_accumulator.unwrap_or(model.c);
    let subnormal_is_finer =
        model.lowering.add_accumulator_last.is_none() && c.min_exponent() > format.min_exponent();
    if flush != ResultFlush::Never || sum.zero_accumulator_exponent.is_some() || subnormal_is_finer {
        return None;
    }
    let products = (4 * model.operation.max_length()).next_power_of_two().ilog2();
    let bits = (sum.fraction_bits + products).max(format.fraction_bits + beyond);
    (bits <= MAX_FRACTION_BITS).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::super::Space;
    use super::*;
    use crate::hypotheses::answers;
    use crate::hypotheses::refine::pool;
    use crate::numbers::Random;
    use bitmma_engine::Signature;
    use bitmma_engine::arithmetic::{Operation, RoundedSum};
    use bitmma_engine::formats::{BF16, E5M2, F16, F32};
    use bitmma_verify::inputs::Formats;

    /// TR- and GTR-FDPA whose sums are cut as rho cuts them: every F2 from the least on is one model, with and without
    /// normalization, and answers as the widest does; with F2 as small as rho's format it answers otherwise.
    #[test]
    fn a_cut_of_the_sum_that_rho_repeats_is_folded() {
        let pairs = [
            (Rounding::Down, Rounding::Down),
            (Rounding::Down, Rounding::NearestUp),
            (Rounding::ToOdd, Rounding::NearestEven),
            (Rounding::ToOdd, Rounding::TowardZero),
            (Rounding::ToOdd, Rounding::Up),
        ];
        let mut seen = [0; 5];
        for index in 0..120 {
            let mut random = Random::new(0xf2, index);
            let pair = index as usize % pairs.len();
            let (sum_rounding, rounding) = pairs[pair];
            let (input, length) = (random.one(&[BF16, F16, E5M2]), random.one(&[1, 2, 4, 8]));
            let (rho, c) = random.one(&[(F32, F32), (F16, F16), (F16, F32)]);
            let fraction_bits = random.between(3, 26) as u32;
            let sum = |sum_fraction_bits, renormalize| RoundedSum {
                max_length: length,
                fraction_bits,
                sum_fraction_bits,
                term_rounding: Rounding::TowardZero,
                sum_rounding,
                renormalize,
                zero_accumulator_exponent: None,
                product_overflow: None,
            };
            let grouped = length > 1 && random.chance(50);
            let model = |sum| {
                let operation = if grouped { Operation::GtrFdpa(sum) } else { Operation::TrFdpa(sum) };
                Model::new(input, input, c, operation, Conversion::new(rounding, rho))
            };
            let k = 8;
            let widest = model(sum(60, false));
            let space = Space::new(&Signature::of_model(String::new(), &widest, (1, 1, k)));
            let least = hiding_bits(&widest).expect("this pair has one");
            let folded = space.canonical(&widest);
            let narrow = model(sum(rho.fraction_bits, false));
            let all: Vec<Model> = [(least, false), (least - 1, true), (least + 1, false), (least + 4, true)]
                .map(|(bits, renormalize)| model(sum(bits, renormalize)))
                .into();
            let below = model(sum(least - 1, false));
            let around = [&all[..], &[widest.clone(), below.clone(), narrow.clone()]].concat();
            let inputs = pool(&Formats::from(&space.signature), k, index, 0, &around);
            let answered = answers(&widest, k, &inputs);
            for one in &all {
                assert_eq!(space.canonical(one), folded, "{index}:\n{}", one.to_toml());
                assert_eq!(answers(one, k, &inputs), answered, "{index}:\n{}", one.to_toml());
            }
            if folded.operation.rounded().is_some_and(|sum| sum.sum_fraction_bits == least) {
                assert_ne!(space.canonical(&below), folded, "{index}: below the least");
            }
            seen[pair] += usize::from(answers(&narrow, k, &inputs) != answered);
        }
        assert!(seen.iter().all(|&seen| seen > 0), "{seen:?} narrower sums answer otherwise");
    }
}
