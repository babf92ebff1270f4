//! Operations that compute registers from registers, lane by lane: how each is evaluated stands in the rows of its family.

use std::fmt;
use std::sync::Arc;

use bitmma_functions::Function;

use crate::lanes::{LANES, Registers, WideLanes, map1, map2, map3};
use crate::operand::{Slot, Type};

/// A lane of a register: 32 or 64 bits.
pub(crate) trait Lane: Copy + Default + Send + Sync + 'static {
    fn read(registers: &Registers, slot: Slot) -> &[Self; LANES];
    fn write(registers: &mut Registers, slot: Slot, mask: u32, value: &[Self; LANES]);
    fn widened(lanes: &[Self; LANES]) -> WideLanes;
    fn narrowed(lanes: &WideLanes) -> [Self; LANES];
}

impl Lane for u32 {
    #[inline(always)]
    fn read(registers: &Registers, slot: Slot) -> &[u32; LANES] {
        match slot {
            Slot::Word(word, _) => registers.word(word),
            _ => &[0; LANES],
        }
    }

    #[inline(always)]
    fn write(registers: &mut Registers, slot: Slot, mask: u32, value: &[u32; LANES]) {
        if let Slot::Word(word, _) = slot {
            registers.set_word(word, mask, value);
        }
    }

    fn widened(lanes: &[u32; LANES]) -> WideLanes {
        map1(lanes, u64::from)
    }

    fn narrowed(lanes: &WideLanes) -> [u32; LANES] {
        map1(lanes, |lane| lane as u32)
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn read(registers: &Registers, slot: Slot) -> &[u64; LANES] {
        match slot {
            Slot::Wide(wide) => registers.wide(wide),
            _ => &[0; LANES],
        }
    }

    #[inline(always)]
    fn write(registers: &mut Registers, slot: Slot, mask: u32, value: &[u64; LANES]) {
        if let Slot::Wide(wide) = slot {
            registers.set_wide(wide, mask, value);
        }
    }

    fn widened(lanes: &[u64; LANES]) -> WideLanes {
        *lanes
    }

    fn narrowed(lanes: &WideLanes) -> [u64; LANES] {
        *lanes
    }
}

/// A number that a lane holds.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    type Lane: Lane;
    const TYPE: Type;
    fn of(lane: Self::Lane) -> Self;
    fn lane(self) -> Self::Lane;
}

macro_rules! elements {
    ($($element:ty, $kind:ident, $lane:ty, $of:expr, $into:expr;)*) => {$(
        impl Element for $element {
            type Lane = $lane;
            const TYPE: Type = Type::$kind;

            #[inline(always)]
            fn of(lane: $lane) -> $element {
                $of(lane)
            }

            #[inline(always)]
            fn lane(self) -> $lane {
                $into(self)
            }
        }
    )*};
}

elements! {
    u16, U16, u32, |lane| lane as u16, u32::from;
    i16, S16, u32, |lane| lane as u16 as i16, |value| u32::from(value as u16);
    u32, U32, u32, |lane| lane, |value| value;
    i32, S32, u32, |lane| lane as i32, |value| value as u32;
    u64, U64, u64, |lane| lane, |value| value;
    i64, S64, u64, |lane| lane as i64, |value| value as u64;
}

/// How an undefined bit of an operand spreads to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// To every bit.
    Whole,
    /// To that bit and those above it.
    Upward,
    /// As upward, unless both operands are one register: their difference is zero.
    Difference,
    /// Each bit of the result depends on the bits of its place alone.
    Bitwise,
    /// To the bits of the same place.
    Same,
    /// To every bit of an element of so many bits.
    Elements(u32),
    /// As many operands are moved, bit by bit, to where the others say.
    Moves(usize),
}

/// What an operation does with its operands, each of its own width.
pub(crate) trait Evaluate: Send + Sync {
    fn run(&self, registers: &mut Registers, mask: u32, d: Slot, a: &[Slot]);
    /// Its result of some operands, all widened.
    fn of(&self, a: &[WideLanes]) -> WideLanes;
}

type F1<A, D> = Box<dyn Fn(&[A; LANES]) -> [D; LANES] + Send + Sync>;
type F2<A, B, D> = Box<dyn Fn(&[A; LANES], &[B; LANES]) -> [D; LANES] + Send + Sync>;
type F3<A, B, C, D> = Box<dyn Fn(&[A; LANES], &[B; LANES], &[C; LANES]) -> [D; LANES] + Send + Sync>;
type F4<A, B, C, E, D> =
    Box<dyn Fn(&[A; LANES], &[B; LANES], &[C; LANES], &[E; LANES]) -> [D; LANES] + Send + Sync>;

macro_rules! evaluated {
    ($f:ident: $($operand:ident $at:literal),*) => {
        impl<$($operand: Lane,)* R: Lane> Evaluate for $f<$($operand,)* R> {
            fn run(&self, registers: &mut Registers, mask: u32, d: Slot, a: &[Slot]) {
                let value = self($($operand::read(registers, a[$at])),*);
                R::write(registers, d, mask, &value);
            }

            fn of(&self, a: &[WideLanes]) -> WideLanes {
                R::widened(&self($(&$operand::narrowed(&a[$at])),*))
            }
        }
    };
}

evaluated!(F1: A 0);
evaluated!(F2: A 0, B 1);
evaluated!(F3: A 0, B 1, C 2);
evaluated!(F4: A 0, B 1, C 2, E 3);

/// What a form computes.
#[derive(Clone)]
pub(crate) struct Computation {
    pub(crate) f: Arc<dyn Evaluate>,
    /// Types of the result and of the operands.
    pub(crate) d: Type,
    pub(crate) a: Vec<Type>,
    /// How many operands more the text has, which are constants and part of the operation.
    pub(crate) constants: usize,
    pub(crate) spread: Spread,
    /// The function whose table it is from.
    pub(crate) table: Option<Function>,
}

impl fmt::Debug for Computation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.d, self.a)
    }
}

impl Computation {
    fn new(f: impl Evaluate + 'static, d: Type, a: Vec<Type>) -> Computation {
        Computation { f: Arc::new(f), d, a, constants: 0, spread: Spread::Whole, table: None }
    }

    /// It takes its results from the table of a function.
    pub(crate) fn by_table(self, function: Function) -> Computation {
        Computation { table: Some(function), ..self }
    }

    pub(crate) fn spreads(self, spread: Spread) -> Computation {
        Computation { spread, ..self }
    }

    pub(crate) fn with_constants(self, constants: usize) -> Computation {
        Computation { constants, ..self }
    }
}

/// A function of all lanes of a register.
pub(crate) fn lanes1<A: Lane, D: Lane>(
    f: impl Fn(&[A; LANES]) -> [D; LANES] + Send + Sync + 'static,
    d: Type,
    a: [Type; 1],
) -> Computation {
    let f: F1<A, D> = Box::new(f);
    Computation::new(f, d, a.into())
}

/// A function of all lanes of two registers.
pub(crate) fn lanes2<A: Lane, B: Lane, D: Lane>(
    f: impl Fn(&[A; LANES], &[B; LANES]) -> [D; LANES] + Send + Sync + 'static,
    d: Type,
    a: [Type; 2],
) -> Computation {
    let f: F2<A, B, D> = Box::new(f);
    Computation::new(f, d, a.into())
}

/// A function of all lanes of three registers.
pub(crate) fn lanes3<A: Lane, B: Lane, C: Lane, D: Lane>(
    f: impl Fn(&[A; LANES], &[B; LANES], &[C; LANES]) -> [D; LANES] + Send + Sync + 'static,
    d: Type,
    a: [Type; 3],
) -> Computation {
    let f: F3<A, B, C, D> = Box::new(f);
    Computation::new(f, d, a.into())
}

/// A function of one number.
pub(crate) fn of1<A: Element, D: Element>(f: impl Fn(A) -> D + Send + Sync + 'static) -> Computation {
    let f = move |a: &[A::Lane; LANES]| map1(a, |a| f(A::of(a)).lane());
    lanes1(f, D::TYPE, [A::TYPE])
}

/// A function of two numbers.
pub(crate) fn of2<A: Element, B: Element, D: Element>(
    f: impl Fn(A, B) -> D + Send + Sync + 'static,
) -> Computation {
    let f = move |a: &[A::Lane; LANES], b: &[B::Lane; LANES]| map2(a, b, |a, b| f(A::of(a), B::of(b)).lane());
    lanes2(f, D::TYPE, [A::TYPE, B::TYPE])
}

/// A function of three numbers.
pub(crate) fn of3<A: Element, B: Element, C: Element, D: Element>(
    f: impl Fn(A, B, C) -> D + Send + Sync + 'static,
) -> Computation {
    let f = move |a: &[A::Lane; LANES], b: &[B::Lane; LANES], c: &[C::Lane; LANES]| {
        map3(a, b, c, |a, b, c| f(A::of(a), B::of(b), C::of(c)).lane())
    };
    lanes3(f, D::TYPE, [A::TYPE, B::TYPE, C::TYPE])
}

/// A function of two numbers, a place and a length.
pub(crate) fn of4<A: Element, D: Element>(
    f: impl Fn(A, A, u32, u32) -> D + Send + Sync + 'static,
) -> Computation {
    let f: F4<A::Lane, A::Lane, u32, u32, D::Lane> = Box::new(move |a, b, c, e| {
        let mut d = [<D::Lane>::default(); LANES];
        for lane in 0..LANES {
            d[lane] = f(A::of(a[lane]), A::of(b[lane]), c[lane], e[lane]).lane();
        }
        d
    });
    Computation::new(f, D::TYPE, vec![A::TYPE, A::TYPE, Type::U32, Type::U32])
}

/// An operation with its registers.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    pub(crate) computation: Computation,
    pub(crate) d: Slot,
    pub(crate) a: Box<[Slot]>,
}

impl Computed {
    /// One register into another of the same width.
    pub(crate) fn copy(d: Slot, a: Slot) -> Option<Computed> {
        let computation = match (d, a) {
            (Slot::Word(_, 32), Slot::Word(..)) => of1(|a: u32| a),
            (Slot::Word(..), Slot::Word(..)) => of1(|a: u16| a),
            (Slot::Wide(_), Slot::Wide(_)) => of1(|a: u64| a),
            _ => return None,
        };
        Some(Computed { computation: computation.spreads(Spread::Moves(1)), d, a: [a].into() })
    }

    #[inline(always)]
    pub(crate) fn run(&self, registers: &mut Registers, mask: u32) {
        self.computation.f.run(registers, mask, self.d, &self.a);
    }

    /// The undefined bits of the result, of those of the operands and their values.
    pub(crate) fn undefined(&self, bits: &Registers, values: &Registers) -> WideLanes {
        let f = &self.computation.f;
        let bits: Vec<WideLanes> = self.a.iter().map(|slot| bits.any(*slot)).collect();
        let value = |at: usize| values.any(self.a[at]);
        let any = || bits.iter().fold([0; LANES], |all, one| map2(&all, one, |all, one| all | one));
        match self.computation.spread {
            Spread::Whole => map1(&any(), whole),
            Spread::Same => any(),
            Spread::Elements(width) => map1(&any(), |bits| elements(bits, width)),
            Spread::Difference if self.a[0] == self.a[1] => [0; LANES],
            Spread::Upward | Spread::Difference => map1(&any(), |bits| bits | bits.wrapping_neg()),
            Spread::Bitwise => {
                let turned = |turn: u32| {
                    let operands = (0..self.a.len()).map(|at| {
                        // one register is turned where it is first an operand
                        let first = self.a.iter().position(|slot| *slot == self.a[at]).unwrap_or(at);
                        let by = whole(u64::from(turn >> first & 1));
                        map2(&value(at), &bits[at], |value, bits| value ^ bits & by)
                    });
                    f.of(&operands.collect::<Vec<_>>())
                };
                let result = turned(0);
                (1..1 << self.a.len()).fold([0; LANES], |all, turn| {
                    let other = map2(&turned(turn), &result, |other, result| other ^ result);
                    map2(&all, &other, |all, other| all | other)
                })
            }
            Spread::Moves(count) => {
                let operands: Vec<WideLanes> =
                    (0..self.a.len()).map(|at| if at < count { bits[at] } else { value(at) }).collect();
                let unknown =
                    bits[count..].iter().fold([0; LANES], |all, one| map2(&all, one, |all, one| all | one));
                map2(&f.of(&operands), &unknown, |moved, unknown| moved | whole(unknown))
            }
        }
    }
}

fn whole(bits: u64) -> u64 {
    if bits == 0 { 0 } else { u64::MAX }
}

/// Each element of so many bits is undefined if one of its bits is.
pub(crate) fn elements(bits: u64, width: u32) -> u64 {
    let keep = u64::MAX >> (64 - width);
    (0..64 / width).fold(0, |all, index| {
        let shift = width * index;
        all | if bits >> shift & keep == 0 { 0 } else { keep << shift }
    })
}
