//! Which bits of a result are undefined: exact for bit operations, moves and selections; an operation that mixes all bits of its
//! operands has an undefined result if one of them has an undefined bit.

use super::Shadow;
use crate::instruction::integer;
use crate::lanes::{LANES, Lanes, Registers, WideLanes, map1, map2, map3};
use crate::program::{
    Comparison, Condition, Convert, Float, Integer1, Integer2, Integer3, Logic, Number, Op, Slot, Type, Wide,
    Word,
};

/// A sum of which a bit of an operand is undefined: so are that bit and those above it.
fn upward(bits: u64) -> u64 {
    bits | bits.wrapping_neg()
}

fn whole(bits: u64) -> u64 {
    if bits == 0 { 0 } else { u64::MAX }
}

/// Each element of so many bits is undefined if one of its bits is.
fn elements(bits: u64, width: u32) -> u64 {
    let keep = u64::MAX >> (64 - width);
    (0..64 / width).fold(0, |all, index| {
        let shift = width * index;
        all | if bits >> shift & keep == 0 { 0 } else { keep << shift }
    })
}

/// An operation of two operands.
fn two(f: Integer2, same: bool, (a, x): (u64, u64), (b, y): (u64, u64)) -> u64 {
    match f {
        Integer2::Xor | Integer2::Subtract if same => 0,
        Integer2::And => a & b | a & y | b & x,
        Integer2::Or => a & b | a & !y | b & !x,
        Integer2::Xor => a | b,
        Integer2::Add | Integer2::Subtract | Integer2::MultiplyLow => upward(a | b),
        _ => whole(a | b),
    }
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
    fn word(&self, word: Word) -> &Lanes {
        self.bits.word(word)
    }

    fn wide(&self, wide: Wide) -> &WideLanes {
        self.bits.wide(wide)
    }

    /// Lanes in which a condition is undefined.
    pub(super) fn condition(&self, condition: Condition) -> u32 {
        self.bits.predicates[condition.predicate.0 as usize]
    }

    /// The undefined bits of the registers that an operation writes, in the order in which they stand; `any`: those of a result
    /// that mixes all operands.
    pub(super) fn results(&self, op: &Op, registers: &Registers, any: &WideLanes) -> Vec<WideLanes> {
        let wide = |lanes: Lanes| map1(&lanes, u64::from);
        let is_undefined = |word: Word| map1(self.word(word), |bits| bits != 0);
        let one = match op {
            Op::Word1 { f: Integer1::Move | Integer1::Not, a, .. } => wide(*self.word(*a)),
            Op::Word1 { f: Integer1::Negate, a, .. } => map1(self.word(*a), |a| upward(a.into())),
            Op::Wide1 { f: Integer1::Move | Integer1::Not, a, .. } => *self.wide(*a),
            Op::Wide1 { f: Integer1::Negate, a, .. } => map1(self.wide(*a), upward),
            Op::Word2 { f: f @ (Integer2::ShiftLeft | Integer2::ShiftRight), kind, a, b, .. } => {
                let moved = integer::word2(*f, *kind, self.word(*a), registers.word(*b));
                map2(&moved, &is_undefined(*b), |moved, all| if all { u64::MAX } else { moved.into() })
            }
            Op::WideShift { f, kind, a, b, .. } => {
                let moved = integer::wide_shift(*f, *kind, self.wide(*a), registers.word(*b));
                map2(&moved, &is_undefined(*b), |moved, all| if all { u64::MAX } else { moved })
            }
            Op::Word2 { f, a, b, .. } => {
                let pair = |word: Word| {
                    map2(self.word(word), registers.word(word), |bits, value| {
                        (u64::from(bits), u64::from(value))
                    })
                };
                let (one, other) = (pair(*a), pair(*b));
                map2(&one, &other, |one, other| two(*f, a == b, one, other))
            }
            Op::Wide2 { f, a, b, .. } => {
                let pair =
                    |wide: Wide| map2(self.wide(wide), registers.wide(wide), |bits, value| (bits, value));
                let (one, other) = (pair(*a), pair(*b));
                map2(&one, &other, |one, other| two(*f, a == b, one, other))
            }
            Op::Word3 { f: Integer3::Logic(table), kind, a, b, c, .. } => {
                let f = |turn: u32| {
                    let turned = |word: Word, bit: u32| {
                        let by = if turn >> bit & 1 == 1 { u32::MAX } else { 0 };
                        map2(registers.word(word), self.word(word), |value, bits| value ^ bits & by)
                    };
                    let (a, b, c) = (turned(*a, 0), turned(*b, 1), turned(*c, 2));
                    integer::word3(Integer3::Logic(*table), *kind, &a, &b, &c)
                };
                let value = f(0);
                let turns = (1..8).map(|turn| map2(&f(turn), &value, |other, value| other ^ value));
                wide(turns.fold([0; LANES], |all, one| map2(&all, &one, |all, one| all | one)))
            }
            Op::Word3 { f: Integer3::MultiplyAddLow, a, b, c, .. } => {
                map3(self.word(*a), self.word(*b), self.word(*c), |a, b, c| upward((a | b | c).into()))
            }
            Op::Word3 { f: Integer3::Select, a, b, c, .. } => {
                let chosen = map3(self.word(*a), self.word(*b), registers.word(*c), |a, b, c| {
                    if (c as i32) < 0 { b } else { a }
                });
                map2(&chosen, &is_undefined(*c), |bits, all| if all { u64::MAX } else { bits.into() })
            }
            Op::Word3 {
                f:
                    f @ (Integer3::Permute(_)
                    | Integer3::FunnelLeftWrap
                    | Integer3::FunnelLeftClamp
                    | Integer3::FunnelRightWrap
                    | Integer3::FunnelRightClamp),
                kind,
                a,
                b,
                c,
                ..
            } => {
                let moved = integer::word3(*f, *kind, self.word(*a), self.word(*b), registers.word(*c));
                map2(&moved, &is_undefined(*c), |bits, all| if all { u64::MAX } else { bits.into() })
            }
            Op::Word3 { f: Integer3::Extract, kind, a, b, c, .. } => {
                let f = Integer3::Extract;
                let moved = integer::word3(f, *kind, self.word(*a), registers.word(*b), registers.word(*c));
                let all = map2(&is_undefined(*b), &is_undefined(*c), |b, c| b || c);
                map2(&moved, &all, |bits, all| if all { u64::MAX } else { bits.into() })
            }
            Op::WideExtract { signed, a, b, c, .. } => {
                let moved =
                    integer::wide_extract(*signed, self.wide(*a), registers.word(*b), registers.word(*c));
                let all = map2(&is_undefined(*b), &is_undefined(*c), |b, c| b || c);
                map2(&moved, &all, |bits, all| if all { u64::MAX } else { bits })
            }
            Op::Insert { a, b, c, e, .. } => {
                let (a, b) = (wide(*self.word(*a)), wide(*self.word(*b)));
                self.inserted([&a, &b], [*c, *e], registers, 32)
            }
            Op::WideInsert { a, b, c, e, .. } => {
                self.inserted([self.wide(*a), self.wide(*b)], [*c, *e], registers, 64)
            }
            Op::Float1 { a, f, .. } => {
                use crate::program::Float1;
                match f {
                    Float1::Absolute | Float1::Negate => self.bits.any(*a),
                    _ => *any,
                }
            }
            Op::Float2 { float: Float { number, packed: true }, a, b, .. } => {
                let bits = map2(&self.bits.any(*a), &self.bits.any(*b), |a, b| a | b);
                map1(&bits, |bits| elements(bits, width(*number)))
            }
            Op::Fma { float: Float { number, packed: true }, a, b, c, .. } => {
                let [a, b, c] = [a, b, c].map(|slot| self.bits.any(*slot));
                map3(&a, &b, &c, |a, b, c| elements(a | b | c, width(*number)))
            }
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
            Op::Window { a, .. } => map1(&self.bits.any(*a), upward),
            Op::Logic { f, a, b, .. } => {
                let side = |condition: Condition| (self.condition(condition), registers.condition(condition));
                of_lanes(logic(*f, side(*a), side(*b)))
            }
            Op::Set { compare, .. } if matches!(compare.kind, Type::F16x2 | Type::BF16x2) => {
                map2(&self.bits.any(compare.a), &self.bits.any(compare.b), |a, b| elements(a | b, 16))
            }
            Op::Compare { .. } => return self.compared(op, registers),
            _ => return vec![*any; 4],
        };
        vec![one]
    }

    fn inserted(
        &self,
        [a, b]: [&WideLanes; 2],
        [place, length]: [Word; 2],
        registers: &Registers,
        width: u32,
    ) -> WideLanes {
        let mut bits = [0; LANES];
        for lane in 0..LANES {
            let unknown = self.word(place)[lane] | self.word(length)[lane] != 0;
            let (place, length) = (registers.word(place)[lane], registers.word(length)[lane]);
            let moved = integer::insert(a[lane], b[lane], place, length, width);
            bits[lane] = if unknown { u64::MAX } else { moved };
        }
        bits
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
            (None, Type::E4M3x2 | Type::E5M2x2, Type::F16x2) => {
                map1(&a, |a| undefined(a >> 8 & 0xff, 16) << 16 | undefined(a & 0xff, 16))
            }
            (None, Type::F16x2, Type::E4M3x2 | Type::E5M2x2) => {
                map1(&a, |a| undefined(a >> 16 & 0xffff, 8) << 8 | undefined(a & 0xffff, 8))
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
        let packed = matches!(compare.kind, Type::F16x2 | Type::BF16x2);
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
        let [holds, upper] = crate::instruction::compare::compare(registers, compare);
        let second = if packed { upper } else { !holds };
        let all = [(low, holds), (high, second)].map(|side| match compare.combine {
            None => side.0,
            Some((f, with)) => logic(f, side, (self.condition(with), registers.condition(with))),
        });
        all.map(of_lanes).to_vec()
    }
}

fn width(number: Number) -> u32 {
    if number == Number::Single { 32 } else { 16 }
}
