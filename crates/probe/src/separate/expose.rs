//! A difference that a conversion hides, moved to where the conversion shows it.
//!
//! Two models may make different sums of one input and still give one answer, because rho rounds the difference away.
//! Let V and W be the two sums, and B a place where rho changes its answer: a number of rho's format for the rules that
//! look to one side, the middle between two of them for the rules to nearest. The input with B - V (or B - W) added to it
//! has one of its sums at B and the other beside it, and rho tells them apart, unless what was added changes the cuts.
//! Then the new input has sums of its own, and the same is done with them.

use bitmma_engine::arithmetic::exact::Exact;
use bitmma_engine::arithmetic::{Conversion, Prepared, Step, Trace};
use bitmma_engine::formats::{Class, Real, Rounding, decode};
use bitmma_engine::{Case, Model};
use bitmma_verify::inputs::{Formats, zero};

use crate::numbers::{Random, all_exponents, normal_exponents, number, same, split};

/// Two models to be told apart.
pub(super) struct Pair<'m> {
    formats: Formats,
    models: [Prepared<'m>; 2],
}

/// One operation of a model: the elements it takes, what they sum up to, and what becomes of the sum.
struct Sum {
    elements: Vec<usize>,
    value: Option<Exact>,
    conversion: Conversion,
    code: u64,
}

/// The operations of a model.
#[derive(Default)]
struct Sums {
    elements: Vec<usize>,
    sums: Vec<Sum>,
}

impl Trace for Sums {
    const ON: bool = true;

    fn step(&mut self, step: Step) {
        match step {
            Step::Begin { elements, .. } => self.elements = elements,
            Step::Converted { value, conversion, code, .. } => {
                let elements = self.elements.clone();
                self.sums.push(Sum { elements, value: exact(value), conversion, code });
            }
            _ => {}
        }
    }
}

const ZERO: Exact = Exact { significand: 0, exponent: 0 };

/// Terms that carry what is added to a sum, at most.
const CARRIERS: usize = 6;

impl<'m> Pair<'m> {
    /// `None` if a model does not take this K.
    pub(super) fn new(formats: &Formats, k: usize, models: [&'m Model; 2]) -> Option<Pair<'m>> {
        let [one, other] = models;
        let models = [Prepared::new(one, k).ok()?, Prepared::new(other, k).ok()?];
        Some(Pair { formats: *formats, models })
    }

    /// An input that the models answer differently: this one, or one that shows what they make differently of this one,
    /// changed `moves` times at most.
    pub(super) fn expose(&self, random: &mut Random, case: Case, moves: usize) -> Option<Case> {
        let [(ones, one), (others, other)] = [&self.models[0], &self.models[1]].map(|model| {
            let mut sums = Sums::default();
            let code = model.dot_of_codes(&case.operands(), &mut sums);
            (sums.sums, code)
        });
        if !same(&self.models[0].model().d, one, other) {
            return Some(case);
        }
        if moves == 0 {
            return None;
        }
        let hidden = |(one, other): &(&Sum, &Sum)| {
            one.code == other.code && (one.value != other.value || one.conversion != other.conversion)
        };
        let hidden: Vec<(&Sum, &Sum)> = ones.iter().zip(&others).filter(hidden).collect();
        if hidden.is_empty() {
            return None;
        }
        (0..4).find_map(|side| {
            let (one, other) = hidden[random.below(hidden.len())];
            let sum = if side % 2 == 0 { one } else { other };
            let mut place = places(sum)[side / 2];
            if one.value == other.value && random.chance(60) {
                // beside the place
                let beside = Exact {
                    significand: random.one(&[-1, 1]),
                    exponent: place.exponent - random.between(1, 4),
                };
                place = plus(place, beside)?;
            }
            let by = minus(place, sum.value?)?;
            let moved = self.moved(random, &case, &sum.elements, by);
            self.expose(random, moved, moves - 1)
        })
    }

    /// The case with about `by` added to the products of `elements` and the accumulator.
    fn moved(&self, random: &mut Random, case: &Case, elements: &[usize], by: Exact) -> Case {
        let mut case = case.clone();
        let mut left = by;
        let start = random.below(elements.len());
        let mut carriers: Vec<usize> =
            (0..elements.len()).map(|at| elements[(start + at) % elements.len()]).collect();
        // products not used yet, now and then one that is
        let used = random.chance(15);
        carriers.sort_by_key(|&index| (product(&self.formats, &case, index).significand == 0) == used);
        let first = random.chance(35);
        if first {
            left = self.accumulate(&mut case, left);
        }
        for index in carriers.into_iter().take(CARRIERS) {
            if left.significand == 0 {
                break;
            }
            let before = product(&self.formats, &case, index);
            let kept = (case.a[index], case.b[index]);
            let Some(target) = plus(before, left) else { break };
            self.set(random, &mut case, index, target);
            let Some(rest) = minus(target, product(&self.formats, &case, index)) else { break };
            if before.significand != 0 && rest.significand != 0 {
                (case.a[index], case.b[index]) = kept;
                continue;
            }
            left = rest;
        }
        if !first && left.significand != 0 && case.c != zero(&self.formats.c) {
            self.accumulate(&mut case, left);
        }
        case
    }

    /// Adds `by` to the accumulator, as far as its format allows; the rest of it.
    fn accumulate(&self, case: &mut Case, by: Exact) -> Exact {
        let c = &self.formats.c;
        let of_code = |code| exact(decode(c, code).real(c));
        let Some((target, leading)) = of_code(case.c)
            .and_then(|before| plus(before, by))
            .and_then(|sum| Some((sum, sum.leading_exponent()?)))
        else {
            return by;
        };
        let (low, high) = all_exponents(c);
        if !(low..=high).contains(&leading) {
            return by;
        }
        let code = number(c, target.significand < 0, leading, fraction(target));
        let Some(rest) = of_code(code).and_then(|after| minus(target, after)) else { return by };
        case.c = code;
        rest
    }

    /// Sets product `index` to `target`, as near as two factors come, or one of many bits and a power of two; leaves
    /// it as it is where they do not reach that far.
    fn set(&self, random: &mut Random, case: &mut Case, index: usize, target: Exact) {
        let Formats { a, b, scale, .. } = self.formats;
        let Some(leading) = target.leading_exponent() else {
            (case.a[index], case.b[index]) = (zero(&a), zero(&b));
            return;
        };
        let (a_all, b_all) = (all_exponents(&a), all_exponents(&b));
        let mut exponent = leading;
        if let Some(scale) = scale {
            let block = index / scale.size;
            let elements = block * scale.size..(block + 1) * scale.size;
            let (low, high) = (a_all.0 + b_all.0, a_all.1 + b_all.1);
            if elements.into_iter().all(|at| product(&self.formats, case, at).significand == 0) {
                let range = normal_exponents(&scale.format);
                let (first, second) = split(leading - random.between(low, high), range, range);
                case.scale_a[block] = number(&scale.format, false, first, 0);
                case.scale_b[block] = number(&scale.format, false, second, 0);
            }
            let of = |code| decode(&scale.format, code).exponent;
            exponent -= of(case.scale_a[block]) + of(case.scale_b[block]);
        }
        let swap = random.chance(50);
        let ((many, many_all), (power, power_all)) =
            if swap { ((b, b_all), (a, a_all)) } else { ((a, a_all), (b, b_all)) };
        let bits = [many, power].map(|format| format.fraction_bits + 1);
        let magnitude = reduced(target).significand.unsigned_abs();
        let (fractions, exponent) = match factors(magnitude, bits) {
            Some(factors) => {
                let [x, y] = factors.map(|factor| Exact { significand: i128::from(factor), exponent: 0 });
                let tops = factors[0].ilog2() + factors[1].ilog2();
                ([fraction(x), fraction(y)], exponent + tops as i32 - magnitude.ilog2() as i32)
            }
            None => ([fraction(target), 0], exponent),
        };
        // normal numbers where there are any, for they have all their bits
        let reach = |many: (i32, i32), power: (i32, i32)| {
            let (low, high) = (many.0.max(exponent - power.1), many.1.min(exponent - power.0));
            (low <= high).then_some((low, high))
        };
        let normal = (normal_exponents(&many), normal_exponents(&power));
        let reached = reach(normal.0, normal.1).or(reach(normal.0, power_all)).or(reach(many_all, power_all));
        let Some((low, high)) = reached else { return };
        let share = random.between(low, high);
        let many_code = number(&many, target.significand < 0, share, fractions[0]);
        let power_code = number(&power, false, exponent - share, fractions[1]);
        (case.a[index], case.b[index]) = if swap { (power_code, many_code) } else { (many_code, power_code) };
    }
}

/// Two factors of that many bits each whose product is `odd`, where the first has eight bits at most.
fn factors(odd: u128, bits: [u32; 2]) -> Option<[u64; 2]> {
    let odd = u64::try_from(odd).ok().filter(|odd| *odd > 0 && odd.ilog2() < bits[0] + bits[1])?;
    let first =
        (1..1 << bits[0].min(8)).step_by(2).find(|first| odd % first == 0 && odd / first < 1 << bits[1])?;
    Some([first, odd / first])
}

/// The places next to a sum where rho changes its answer.
fn places(sum: &Sum) -> [Exact; 2] {
    let Conversion { rounding, format, .. } = sum.conversion;
    let value = sum.value.unwrap_or(ZERO);
    let leading =
        value.leading_exponent().map_or(format.min_exponent(), |leading| leading.max(format.min_exponent()));
    let last = leading - format.fraction_bits as i32;
    let below = match last.saturating_sub(value.exponent) {
        _ if value.significand == 0 => 0,
        fall_off if fall_off > 0 => value.significand >> fall_off.min(127),
        up => value.significand << -up,
    };
    use Rounding::{AwayFromZero, Down, ToOdd, TowardZero, Up};
    let (halves, exponent) = match rounding {
        TowardZero | AwayFromZero | Up | Down | ToOdd => ([below, below + 1], last),
        _ => ([2 * below + 1, 2 * below - 1], last - 1),
    };
    halves.map(|significand| Exact { significand, exponent })
}

/// Product `index` of a case with its scale factors.
fn product(formats: &Formats, case: &Case, index: usize) -> Exact {
    let Formats { a, b, scale, .. } = formats;
    let (x, y) = (decode(a, case.a[index]), decode(b, case.b[index]));
    if x.class == Class::Zero || y.class == Class::Zero {
        return ZERO;
    }
    let mut significand = i128::from(x.signed_significand()) * i128::from(y.signed_significand());
    let mut exponent = x.exponent + y.exponent - (a.fraction_bits + b.fraction_bits) as i32;
    if let Some(scale) = scale {
        for codes in [&case.scale_a, &case.scale_b] {
            let factor = decode(&scale.format, codes[index / scale.size]);
            significand *= i128::from(factor.significand);
            exponent += factor.exponent - scale.format.fraction_bits as i32;
        }
    }
    Exact { significand, exponent }
}

/// A number without what it lost below its last bit, if it lost anything.
fn exact(value: Real) -> Option<Exact> {
    let significand = i128::try_from(value.significand).ok().filter(|_| !value.inexact)?;
    let significand = if value.negative { -significand } else { significand };
    Some(reduced(Exact { significand, exponent: value.exponent }))
}

/// The same number with an odd significand.
fn reduced(number: Exact) -> Exact {
    if number.significand == 0 {
        return ZERO;
    }
    let zeros = number.significand.trailing_zeros();
    Exact { significand: number.significand >> zeros, exponent: number.exponent + zeros as i32 }
}

/// The sum of two numbers, if it has few enough bits.
fn plus(one: Exact, other: Exact) -> Option<Exact> {
    let (one, other) = (reduced(one), reduced(other));
    let last = match (one.significand, other.significand) {
        (0, _) => return Some(other),
        (_, 0) => return Some(one),
        _ => one.exponent.min(other.exponent),
    };
    let in_units = |number: Exact| {
        let up = u32::try_from(number.exponent - last).ok()?;
        (number.significand.unsigned_abs().leading_zeros() > up + 2).then(|| number.significand << up)
    };
    Some(reduced(Exact { significand: in_units(one)? + in_units(other)?, exponent: last }))
}

fn minus(one: Exact, other: Exact) -> Option<Exact> {
    plus(one, Exact { significand: -other.significand, ..other })
}

/// The 52 bits below the leading one.
fn fraction(number: Exact) -> u64 {
    let magnitude = number.significand.unsigned_abs();
    let up = magnitude.leading_zeros() + 1;
    // all but the leading bit, at the top of 128 bits
    let below = magnitude.checked_shl(up).unwrap_or(0);
    (below >> 76) as u64
}
