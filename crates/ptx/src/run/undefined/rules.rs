//! Which bits of a result are undefined: exact for bit operations, moves and selections; an operation that mixes all bits of its
//! operands has an undefined result if one of them has an undefined bit.

use super::Shadow;
use crate::instruction::compare::outcomes;
use crate::instruction::compute::elements;
use crate::lanes::{LANES, Registers, WideLanes, map1, map2};
use crate::program::Comparison;
use crate::program::Convert;
use crate::program::{Condition, Logic, Op, Slot};

fn whole(bits: u64) -> u64 {
    if bits == 0 { 0 } else { u64::MAX }
}

fn extend(bits: u64, width: u32, signed: bool) -> u64 {
    let up = 64 - width;
    if signed { ((bits << up) as i64 >> up) as u64 } else { bits << up >> up }
}

/// Bits of a boolean operation that are undefined, where operands are undefined, and the lanes where they hold.
fn logic(f: Logic, (a, x): (u32, u32), (b, y): (u32, u32)) -> u32 {
    match f {
        Logic::And => (a | b) & (a | x) & (b | y),
        Logic::Or => (a | b) & (a | !x) & (b | !y),
        Logic::Xor => a | b,
    }
}

/// What lanes have of a number, by the bits of a word of lanes.
fn of_lanes(lanes: u32) -> WideLanes {
    let mut bits = [0; LANES];
    for (lane, bits) in bits.iter_mut().enumerate() {
        *bits = whole(u64::from(lanes >> lane & 1));
    }
    bits
}

impl Shadow {
    /// Lanes in which a condition is undefined.
    pub(super) fn condition(&self, condition: Condition) -> u32 {
        self.bits.predicates[condition.predicate.0 as usize]
    }

    /// The undefined bits of the registers that an operation writes, in the order in which they stand; `any`: those of a result
    /// that mixes all operands.
    pub(super) fn results(&self, op: &Op, registers: &Registers, any: &WideLanes) -> Vec<WideLanes> {
        let one = match op {
            Op::Computed(computed) => computed.undefined(&self.bits, registers),
            Op::Convert(convert) => self.converted(convert, any),
            Op::Select { a, b, condition, .. } => {
                let (a, b) = (self.bits.any(*a), self.bits.any(*b));
                let (holds, unknown) = (registers.condition(*condition), self.condition(*condition));
                let mut bits = [0; LANES];
                for lane in 0..LANES {
                    bits[lane] = match (unknown >> lane & 1, holds >> lane & 1) {
                        (1, _) => u64::MAX,
                        (_, 1) => a[lane],
                        _ => b[lane],
                    };
                }
                bits
            }
            Op::Pack { bits: width, parts, .. } => {
                let keep = u64::MAX >> (64 - width);
                let mut bits = [0; LANES];
                for (index, part) in parts.iter().enumerate() {
                    let shift = width * index as u32;
                    bits = map2(&bits, &self.bits.any(*part), |bits, part| bits | (part & keep) << shift);
                }
                bits
            }
            Op::Unpack { a, bits: width, parts } => {
                let (all, keep) = (self.bits.any(*a), u64::MAX >> (64 - width));
                let part = |index: usize| map1(&all, |bits| bits >> (width * index as u32) & keep);
                let written = parts.iter().enumerate().filter(|(_, part)| **part != Slot::Sink);
                return written.map(|(index, _)| part(index)).collect();
            }
            Op::Copy { a, .. } => return a.iter().map(|slot| self.bits.any(*slot)).collect(),
            Op::Window { a, .. } => map1(&self.bits.any(*a), |bits| bits | bits.wrapping_neg()),
            Op::Logic { f, a, b, .. } => {
                let side = |condition: Condition| (self.condition(condition), registers.condition(condition));
                of_lanes(logic(*f, side(*a), side(*b)))
            }
            Op::Set { compare, .. } if compare.kind.is_packed() => {
                map2(&self.bits.any(compare.a), &self.bits.any(compare.b), |a, b| elements(a | b, 16))
            }
            Op::Compare { .. } => return self.compared(op, registers),
            _ => return vec![*any; 4],
        };
        vec![one]
    }

    fn converted(&self, convert: &Convert, any: &WideLanes) -> WideLanes {
        let Convert { to, from, a, b, saturate, .. } = convert;
        let a = self.bits.any(*a);
        let undefined = |bits: u64, width: u32| if bits == 0 { 0 } else { u64::MAX >> (64 - width) };
        let half = to.bits() / 2;
        match (b, from, to) {
            // the first operand is the upper half
            (Some(b), ..) => {
                map2(&a, &self.bits.any(*b), |a, b| undefined(a, half) << half | undefined(b, half))
            }
            // two numbers into two
            (None, from, _) if from.is_packed() || from.is_narrow() => {
                let down = from.bits() / 2;
                let keep = u64::MAX >> (64 - down);
                map1(&a, |a| undefined(a >> down & keep, half) << half | undefined(a & keep, half))
            }
            _ if from.is_integer() && to.is_integer() && !saturate => {
                map1(&a, |a| extend(extend(a, from.bits(), from.is_signed()), to.bits(), to.is_signed()))
            }
            _ if from.is_integer() => map1(&a, |a| whole(extend(a, from.bits(), false))),
            _ => *any,
        }
    }

    /// A comparison: of whole numbers that differ in a defined bit it is known that they are not equal.
    fn compared(&self, op: &Op, registers: &Registers) -> Vec<WideLanes> {
        let Op::Compare { compare, .. } = op else { return vec![] };
        let (a, b) = (self.bits.any(compare.a), self.bits.any(compare.b));
        let (x, y) = (registers.any(compare.a), registers.any(compare.b));
        let packed = compare.kind.is_packed();
        let equality = compare.kind.is_integer()
            && matches!(compare.comparison, Comparison::Equal | Comparison::NotEqual);
        let (mut low, mut high) = (0, 0);
        for lane in 0..LANES {
            let bits = a[lane] | b[lane];
            let known = equality && (x[lane] ^ y[lane]) & !bits != 0;
            let keep = if packed { 0xffff } else { u64::MAX >> (64 - compare.kind.bits()) };
            let bits = if packed { bits } else { bits & keep };
            low |= u32::from(bits & keep != 0 && !known) << lane;
            high |= u32::from(if packed { bits >> 16 != 0 } else { bits != 0 && !known }) << lane;
        }
        let [holds, upper] = outcomes(registers, compare);
        let second = if packed { upper } else { !holds };
        let all = [(low, holds), (high, second)].map(|side| match compare.combine {
            None => side.0,
            Some((f, with)) => logic(f, side, (self.condition(with), registers.condition(with))),
        });
        all.map(of_lanes).to_vec()
    }
}
