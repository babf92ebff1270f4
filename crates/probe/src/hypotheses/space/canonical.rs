//! One description for all that answer alike: what makes no difference is left out, or set to its first value.
//!
//! Each rule stands with the argument why no input tells its two sides apart; the test below holds both
//! sides against each other on the reference path.

mod sums;

use bitmma_engine::Model;
use bitmma_engine::arithmetic::family::Meeting;
use bitmma_engine::arithmetic::{Conversion, InputFlush, Operation, Parameter, Prepared, ResultFlush, Value};
use bitmma_engine::formats::{Format, Rounding};

use super::Space;
use super::operation::divisors;
use sums::{cuts_that_rho_repeats, sum_cut_is_hidden, sums_that_rho_cuts};

impl Space {
    /// The same model in the words this space uses.
    pub(crate) fn canonical(&self, model: &Model) -> Model {
        let mut model = model.clone();
        let length = Value::Number(model.length(self.signature.k) as i128);
        model.operation = model.operation.with(Parameter::MaxLength, length);
        self.order(&mut model);
        chain_of_fma(&mut model);
        exact_products(&mut model);
        signs_of_zeros(&mut model);
        if let Some(sum) = model.operation.fused_mut()
            && sum.accumulator_fraction_bits == Some(sum.fraction_bits)
        {
            sum.accumulator_fraction_bits = None;
        }
        self.thresholds(&mut model);
        self.cuts(&mut model);
        sums_that_rho_cuts(&mut model);
        self.conversion(&mut model);
        narrowing(&mut model);
        model
    }

    /// The first order whose sums take the same elements: sums are commutative, bit for bit.
    fn order(&self, model: &mut Model) {
        if model.lowering.chains.is_some() {
            return; // each order cuts K into other chains
        }
        let Some(own) = self.shape(model) else { return };
        // a chain of FTZ-FMA is one however it is cut into operations
        let lengths = match model.operation.family().meeting {
            Meeting::InTurnReversed => divisors(self.signature.k),
            _ => vec![model.operation.max_length()],
        };
        for order in self.orders() {
            for &length in &lengths {
                let mut other = model.clone();
                other.operation = other.operation.with_length(length);
                other.lowering.order = order;
                if self.shape(&other).as_ref() == Some(&own) {
                    *model = other;
                    return;
                }
            }
        }
    }

    /// What decides which elements meet where: for each operation its elements, sorted where it is commutative.
    fn shape(&self, model: &Model) -> Option<Vec<Vec<usize>>> {
        let prepared = Prepared::new(model, self.signature.k).ok()?;
        let chunks = prepared.order().chunks(prepared.length());
        let sorted = |mut elements: Vec<usize>| {
            elements.sort_unstable();
            elements
        };
        Some(match model.operation.family().meeting {
            Meeting::Together => chunks.map(|chunk| sorted(chunk.to_vec())).collect(),
            // the groups of a GST-FDPA are where its scale factors are
            Meeting::InGroups => chunks.map(<[usize]>::to_vec).collect(),
            Meeting::EvenOdd => chunks
                .flat_map(|chunk| {
                    let half = |first| sorted(chunk.iter().skip(first).step_by(2).copied().collect());
                    let (even, odd) = (half(0), half(1));
                    if even < odd { [even, odd] } else { [odd, even] }
                })
                .collect(),
            Meeting::Pairwise => chunks.map(pairwise).collect(),
            Meeting::InTurn => vec![prepared.order().to_vec()],
            Meeting::InTurnReversed => vec![chunks.flat_map(|chunk| chunk.iter().rev().copied()).collect()],
        })
    }

    /// Leaves out exponents of zeros, and limits of products, that nothing reaches.
    ///
    /// e_zero changes nothing if it lies below every term's exponent, nor if no bit of any term lies below
    /// e_zero - F: then no term is cut with it, and none without. The same of e_zero_c with F2, for a zero C
    /// decides only where the sum of products is cut.
    fn thresholds(&self, model: &mut Model) {
        let (low, _) = self.term_exponents(model);
        let last = self.last_bit(model);
        let reach = |bits: u32| low.max(last + bits as i32);
        if let Some(sum) = model.operation.fused_mut() {
            let reach = reach(sum.fraction_bits.min(sum.accumulator_bits()));
            sum.zero_exponent = sum.zero_exponent.filter(|&exponent| exponent > reach);
        }
        self.sums_that_vanish(model);
        cuts_that_rho_repeats(model);
        let highest = self.signature.a.max_exponent() + self.signature.b.max_exponent() + 1;
        if let Some(sum) = model.operation.rounded_mut() {
            let reach = reach(sum.sum_fraction_bits + u32::from(sum.renormalize));
            sum.zero_accumulator_exponent =
                sum.zero_accumulator_exponent.filter(|&exponent| exponent > reach);
            sum.product_overflow = sum.product_overflow.filter(|&limit| limit <= highest);
        }
    }

    /// Leaves out an exponent of zeros that decides only sums too small to be seen.
    ///
    /// e_zero = z changes an operation only if every other exponent in it is below z. Each product then stays at or
    /// below 2^(z + 1) and the accumulator at or below 2^z, cut or not, so the sum at or below (2L + 1)·2^z. If that is
    /// at most a quarter of the smallest number rho gives, a rounding to nearest or toward zero makes it zero either
    /// way. The zero of T-, ST- and GST-FDPA is +0; that of TR- and GTR-FDPA has the sign of the sum, which a cut down,
    /// away from zero or to odd keeps.
    fn sums_that_vanish(&self, model: &mut Model) {
        let Conversion { rounding, format, .. } = model.conversion;
        if matches!(rounding, Rounding::AwayFromZero | Rounding::Up | Rounding::Down | Rounding::ToOdd) {
            return;
        }
        let sum_of = 2 * model.operation.max_length() as u64 + 1;
        let above = (u64::BITS - sum_of.leading_zeros()) as i32;
        let seen = format.min_exponent() - format.fraction_bits as i32 - 2 - above;
        if let Some(sum) = model.operation.fused_mut() {
            sum.zero_exponent = sum.zero_exponent.filter(|&exponent| exponent > seen);
        }
        if let Some(sum) = model.operation.rounded_mut()
            && matches!(sum.sum_rounding, Rounding::Down | Rounding::AwayFromZero | Rounding::ToOdd)
        {
            sum.zero_accumulator_exponent = sum.zero_accumulator_exponent.filter(|&exponent| exponent > seen);
        }
    }

    /// Every term is a multiple of 2^this. So are sums of cut terms, for a cut leaves a term as it is or makes
    /// it a multiple of a larger power of two; and so are rounded sums, for the same reason.
    fn last_bit(&self, model: &Model) -> i32 {
        let of = |format: &Format| format.min_exponent() - format.fraction_bits as i32;
        let scales = model.scale.map_or(0, |scale| 2 * of(&scale.format));
        let products = of(&model.a) + of(&model.b) + scales;
        match model.lowering.add_accumulator_last {
            Some(_) => products,
            None => products.min(of(&model.c)),
        }
    }

    /// The least F and F2 and the first rounding where nothing is ever cut, and E-FDPA where that is all there is.
    ///
    /// Nothing is cut if F bits below the largest exponent there can be lies no bit of any term. Sums are exact then;
    /// E-FDPA differs in the sign of what rounds to zero alone, and nothing does whose last bit the format has.
    fn cuts(&self, model: &mut Model) {
        let Some((terms, sums)) = self.highest(model) else { return };
        let hidden = sum_cut_is_hidden(model);
        let last = self.last_bit(model);
        let enough = |highest: i32| (highest - last).max(0) as u32;
        let exact = match &mut model.operation {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => {
                let kept = sum.fraction_bits.min(sum.accumulator_bits());
                if sum.zero_exponent.is_some() || kept < enough(terms) {
                    return;
                }
                sum.fraction_bits = enough(terms);
                sum.accumulator_fraction_bits = None;
                sum.term_rounding = Rounding::TowardZero;
                model.scale.is_none()
            }
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => {
                if sum.zero_accumulator_exponent.is_some() || sum.fraction_bits < enough(terms) {
                    return;
                }
                sum.fraction_bits = enough(terms);
                sum.term_rounding = Rounding::TowardZero;
                // the sum is cut at its own exponent too, where it is normalized
                let enough = if sum.renormalize { enough(terms.max(sums)) } else { enough(terms) };
                if sum.sum_fraction_bits < enough && !hidden {
                    return;
                }
                sum.sum_fraction_bits = sum.fraction_bits;
                sum.renormalize = false;
                sum.sum_rounding = Rounding::TowardZero;
                sum.product_overflow.is_none()
            }
            _ => return,
        };
        let format = model.conversion.format;
        if exact && model.conversion.is_plain() && last >= format.min_exponent() - format.fraction_bits as i32
        {
            model.operation = Operation::EFdpa { max_length: model.operation.max_length() };
        }
    }

    /// Bounds of the exponents of terms and of sums where nothing is cut; `None` where there is no good one.
    ///
    /// K products below 2^(e + 2) and C below 2^(e_c + 1) stay below twice the larger of their sums, and below four
    /// times if every one of at most 64 sums is rounded up by 1 in 128 or less.
    fn highest(&self, model: &Model) -> Option<(i32, i32)> {
        let k = self.signature.k;
        let scale = model.scale.map_or(0, |scale| 2 * (scale.format.max_exponent() + 1));
        let products = model.a.max_exponent() + model.b.max_exponent() + scale;
        let accumulator = match model.lowering.add_accumulator_last {
            Some(_) => products,
            None => model.c.max_exponent(),
        };
        let all = products + 2 + k.next_power_of_two().ilog2() as i32;
        let sums = all.max(accumulator + 1) + 2;
        if model.operation.max_length() == k {
            return Some((products.max(accumulator), sums));
        }
        (model.conversion.format.fraction_bits >= 7 && k <= 64).then_some((sums, sums))
    }

    /// The first rounding, and the widest format of the same codes, where the result of every operation is exact.
    ///
    /// What overflows becomes infinity whatever the rounding; FMA and FTZ-AddMul, where it does not, are left out.
    fn conversion(&self, model: &mut Model) {
        if !model.conversion.is_plain() || !self.is_exact(model, &model.conversion.format) {
            return;
        }
        model.conversion = Conversion::new(Rounding::TowardZero, model.conversion.container());
        // what D is narrowed to then holds the same number, unless that overflows, which is as IEEE 754 says
        if model.lowering.add_accumulator_last.is_none()
            && model.lowering.chains.is_none()
            && let Some(narrow) = model.lowering.narrow_output
        {
            // one operation, exact before it is narrowed: the narrowing is its rho, unless the sum is normalized at
            // the smallest exponent of rho's format
            let normalised = model.operation.rounded_mut().is_some_and(|sum| sum.renormalize);
            if model.operation.max_length() == self.signature.k && !normalised {
                model.conversion = narrow;
                model.lowering.narrow_output = None;
                return self.conversion(model);
            }
            if !narrow.is_plain() || !self.is_exact(model, &narrow.format) {
                return;
            }
            model.lowering.narrow_output = Some(match narrow.rounding {
                // these may stop at the largest number of the format
                Rounding::TowardZero | Rounding::Up | Rounding::Down => narrow,
                _ => Conversion::new(Rounding::NearestEven, narrow.container()),
            });
        }
    }

    /// Whether the value of every fused sum, before it is converted, is a number of `format` unless it is too large.
    ///
    /// Of L products, each below 4·2^e_max, and C, below 2·2^e_max, cut F bits below e_max, the sum is a whole
    /// number, (4L + 2)·2^F at most, of units of 2^(e_max - F) or of the last bit of all terms, if that is more. A sum that
    /// is normalized keeps F2 bits below its own leading one, or below that of rho's smallest normal number.
    fn is_exact(&self, model: &Model, format: &Format) -> bool {
        let normalised = model.operation.rounded().filter(|sum| sum.renormalize);
        if normalised.is_some_and(|sum| sum.sum_fraction_bits <= format.fraction_bits)
            && model.conversion.format.min_exponent() >= format.min_exponent()
        {
            return true;
        }
        let bits = match model.operation {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) => sum.fraction_bits.max(sum.accumulator_bits()),
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => {
                sum.fraction_bits.max(sum.sum_fraction_bits + u32::from(sum.renormalize))
            }
            _ => return false,
        };
        // a sum without a product that is not zero is the accumulator, cut: a number of its own format
        let holds = |from: &Format| {
            format.fraction_bits >= from.fraction_bits
                && format.min_exponent() <= from.min_exponent()
                && format.max_exponent() >= from.max_exponent()
        };
        let accumulators = [model.c, model.conversion.container()];
        let lowest = if accumulators.iter().all(holds) {
            self.product_exponents(model).0
        } else {
            let accumulator = model.c.min_exponent().min(model.conversion.format.min_exponent());
            self.term_exponents(model).0.min(accumulator)
        };
        let unit = (lowest - bits as i32).max(self.last_bit(model));
        let length = 4 * model.operation.max_length() as u64 + 2;
        let width = bits + (u64::BITS - length.leading_zeros());
        width <= format.fraction_bits + 1 && unit >= format.min_exponent() - format.fraction_bits as i32
    }
}

/// FTZ-FMA of one product is FMA that flushes what it reads and what it gives; what it passes on is flushed already.
fn chain_of_fma(model: &mut Model) {
    if model.operation != (Operation::FtzFma { max_length: 1 }) {
        return;
    }
    model.operation = Operation::Fma;
    model.conversion.flush = ResultFlush::AfterRounding;
    model.flush_operands = match model.flush_operands {
        InputFlush::Positive => InputFlush::Positive,
        InputFlush::Never | InputFlush::Signed => InputFlush::Signed,
    };
    if model.lowering.add_accumulator_last.is_none() && model.flush_accumulator == InputFlush::Never {
        model.flush_accumulator = InputFlush::Signed;
    }
}

/// Dot-Add of one product that rho's format holds exactly is FMA.
///
/// A product of two numbers has as many bits as both together, its last bit is worth the product of theirs, and it is
/// below 2^(2 + both largest exponents): a format that holds these has the product itself, and its sign where it is zero.
fn exact_products(model: &mut Model) {
    let rho = model.conversion;
    let wide = |format: Format| model.lowering.widen_operands.unwrap_or(format);
    let (a, b, to) = (wide(model.a), wide(model.b), rho.format);
    let last = |format: &Format| format.min_exponent() - format.fraction_bits as i32;
    let exact = a.fraction_bits + b.fraction_bits < to.fraction_bits
        && last(&a) + last(&b) >= last(&to)
        && a.max_exponent() + b.max_exponent() < to.max_exponent();
    // a product that is subnormal in rho's format would be flushed
    let flushed = rho.flush != ResultFlush::Never && last(&a) + last(&b) < to.min_exponent();
    if model.operation == (Operation::DotAdd { max_length: 1 }) && exact && !flushed {
        model.operation = Operation::Fma;
    }
}

/// Zeros of one sign where their signs are not seen.
///
/// A result of zero is +0 in T-, ST- and GST-FDPA whatever the signs of the terms; FTZ-FMA itself reads subnormal numbers
/// as zeros of their sign. C that is added last is read by the addition, which does neither.
fn signs_of_zeros(model: &mut Model) {
    let family = model.operation.family();
    let from = match (family.positive_zero, family.flushes_operands) {
        (true, _) => InputFlush::Positive,
        (_, true) => InputFlush::Never,
        _ => return,
    };
    if model.flush_operands == InputFlush::Signed {
        model.flush_operands = from;
    }
    if model.flush_accumulator == InputFlush::Signed && model.lowering.add_accumulator_last.is_none() {
        model.flush_accumulator = from;
    }
}

/// The leaves of a balanced binary tree, the smaller of two halves first.
fn pairwise(elements: &[usize]) -> Vec<usize> {
    if elements.len() < 2 {
        return elements.to_vec();
    }
    let (left, right) = elements.split_at(elements.len() / 2);
    let (left, right) = (pairwise(left), pairwise(right));
    if left < right { [left, right].concat() } else { [right, left].concat() }
}

/// No narrowing into a format that holds every number it is given; its first rounding where codes change.
fn narrowing(model: &mut Model) {
    let Some(narrow) = model.lowering.narrow_output else { return };
    let last = model.lowering.add_accumulator_last.unwrap_or(model.conversion);
    let (from, to) = (last.format, narrow.format);
    let holds = to.fraction_bits >= from.fraction_bits
        && to.max_exponent() >= from.max_exponent()
        && to.min_exponent() - to.fraction_bits as i32 <= from.min_exponent() - from.fraction_bits as i32;
    if !holds || !narrow.is_plain() {
        return;
    }
    model.lowering.narrow_output = if narrow.container() == last.container() {
        None
    } else {
        Some(Conversion::new(Rounding::TowardZero, narrow.container()))
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hypotheses::answers;
    use crate::hypotheses::refine::pool;
    use crate::hypotheses::space::Coordinate;
    use crate::numbers::Random;
    use bitmma_engine::Signature;
    use bitmma_engine::formats::{
        BF16, BlockScale, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, TF32, UE4M3, UE8M0,
    };
    use bitmma_verify::inputs::Formats;

    /// Models drawn all over the space, and what they are folded into, on inputs of every kind.
    #[test]
    fn what_is_folded_answers_alike() {
        let draws: u64 =
            if std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all") { 20_000 } else { 400 };
        let mut folded = 0;
        for index in 0..draws {
            let mut random = Random::new(0xca0, index);
            let space = Space::new(&signature(&mut random));
            let Some(model) = drawn(&space, &mut random) else { continue };
            let canonical = space.canonical(&model);
            if canonical == model {
                continue;
            }
            assert!(space.allows(&canonical), "draw {index}");
            assert_eq!(space.canonical(&canonical), canonical, "draw {index}: not settled");
            folded += 1;
            let k = space.signature.k;
            let around = [model.clone(), canonical.clone()];
            let inputs = pool(&Formats::from(&space.signature), k, index, 0, &around);
            let (one, two) = (answers(&model, k, &inputs), answers(&canonical, k, &inputs));
            assert_eq!(one, two, "draw {index}:\n{}\n{}", model.to_toml(), canonical.to_toml());
        }
        assert!(folded * 10 > draws, "{folded} of {draws} folded");
    }

    fn signature(random: &mut Random) -> Signature {
        let formats = [F16, BF16, TF32, F32, E4M3, E5M2, E3M2, E2M3, E2M1];
        let a = random.one(&formats);
        let b = if a.bits() > 8 { a } else { random.one(&formats[4..]) };
        let scaled = a.bits() <= 8 && random.chance(30);
        let scale =
            scaled.then(|| BlockScale { format: random.one(&[UE8M0, UE4M3]), size: random.one(&[4, 8]) });
        let (c, d) = (random.one(&[F32, F16]), random.one(&[F32, F16]));
        let k = random.one(&[4, 8, 16]);
        let scale = scale.map(|scale| BlockScale { size: scale.size.min(k), ..scale });
        Signature { name: String::new(), m: 1, n: 1, k, blocks: 1, a, b, c, d, scale }
    }

    /// A model with a few parameters changed at random, most of them small.
    fn drawn(space: &Space, random: &mut Random) -> Option<Model> {
        let structures = space.structures();
        let bits = random.between(4, 44) as u32;
        let rounding = Rounding::ALL[random.below(11)].0;
        let mut model = space.seed(&structures[random.below(structures.len())], bits, rounding)?;
        for _ in 0..random.below(6) {
            let all = Coordinate::all();
            let parameter = all[random.below(all.len())];
            let values = space.vary(&model, &[parameter]);
            model = values[random.below(values.len())].clone();
        }
        space.allows(&model).then_some(model)
    }
}
