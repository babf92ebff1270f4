//! Moves and conversions.

use bitmma_engine::formats::Rounding;

use super::Decoder;
use super::form::{Form, operands};
use crate::error::Error;
use crate::program::{Condition, Convert, Integer1, Logic, Op, Region, Slot, Type};
use crate::text::{Instruction, Operand, Space};

impl Decoder<'_> {
    pub(super) fn convert(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Option<Op>, Error> {
        let op = match form.name {
            "mov" => self.move_(form, at)?,
            "cvt" => self.conversion(form, at)?,
            "cvta" => {
                let to_generic = !form.flag("to");
                let region = region(form).ok_or_else(|| form.unsupported())?;
                form.need_kind()?;
                let [d, a] = operands(at)?;
                let d = self.any(d, Type::B64, at)?;
                let a = self.any(a, Type::B64, at)?;
                Op::Window { to_generic, region, d, a }
            }
            "isspacep" => {
                let region = region(form).ok_or_else(|| form.unsupported())?;
                let [d, a] = operands(at)?;
                Op::IsSpace { region, d: self.predicate(d, at)?, a: self.wide(a, at)? }
            }
            "mapa" => {
                form.drop_if(|word| word == "shared::cluster");
                form.need_kind()?;
                let [d, a, _] = operands(at)?;
                // clusters have one block
                let (d, a) = (self.any(d, Type::B64, at)?, self.any(a, Type::B64, at)?);
                move_slot(d, a).ok_or_else(|| form.unsupported())?
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    fn move_(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let kind = form.need_kind()?;
        let [d, a] = operands(at)?;
        if kind == Type::Pred {
            let a = self.condition(a, at)?;
            return Ok(Op::Logic { f: Logic::And, d: self.predicate(d, at)?, a, b: Condition::TRUE });
        }
        let parts = |count: usize| match kind.bits() as usize / count {
            bits @ (8 | 16 | 32) if kind.bits() as usize == bits * count => Ok(bits as u32),
            _ => Err(Error::syntax(at.line, format!("'{}' cannot have {count} parts", at.form))),
        };
        let part_kind = |bits: u32| match bits {
            8 => Type::B8,
            16 => Type::B16,
            _ => Type::B32,
        };
        match (d, a) {
            (Operand::Vector(_), Operand::Vector(_)) => Err(form.unsupported()),
            (d, Operand::Vector(list)) => {
                let bits = parts(list.len())?;
                let parts = self.list(a, part_kind(bits), at)?;
                Ok(Op::Pack { d: self.typed(d, kind, at)?, bits, parts })
            }
            (Operand::Vector(list), a) => {
                let bits = parts(list.len())?;
                let parts = self.list(d, part_kind(bits), at)?;
                Ok(Op::Unpack { a: self.typed(a, kind, at)?, bits, parts })
            }
            (d, Operand::Special(_)) if kind.bits() == 64 => {
                // a special register of 32 bits, widened
                let a = Slot::Word(self.word(a, at)?, 32);
                Ok(convert(Type::U64, Type::U32, self.typed(d, kind, at)?, a))
            }
            _ => {
                let (d, a) = (self.typed(d, kind, at)?, self.typed(a, kind, at)?);
                move_slot(d, a).ok_or_else(|| form.unsupported())
            }
        }
    }

    fn conversion(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if form.flag("pack") {
            return Err(form.refuse("packed integers"));
        }
        let float = |rounding| (Some(rounding), false);
        let integral = |rounding| (Some(rounding), true);
        let roundings = [
            ("rn", float(Rounding::NearestEven)),
            ("rz", float(Rounding::TowardZero)),
            ("rm", float(Rounding::Down)),
            ("rp", float(Rounding::Up)),
            ("rna", float(Rounding::NearestAway)),
            ("rni", integral(Rounding::NearestEven)),
            ("rzi", integral(Rounding::TowardZero)),
            ("rmi", integral(Rounding::Down)),
            ("rpi", integral(Rounding::Up)),
        ];
        let (rounding, integral) = form.one_of(&roundings).unwrap_or((None, false));
        let (flush, saturate) = (form.flag("ftz"), form.flag("sat"));
        let (finite, relu) = (form.flag("satfinite"), form.flag("relu"));
        let (to, from) = (form.need_kind()?, form.need_kind()?);
        let packs =
            matches!(to, Type::F16x2 | Type::BF16x2 | Type::E4M3x2 | Type::E5M2x2) && from == Type::F32;
        let (d, a, b) = match at.operands.as_slice() {
            [d, a, b] if packs => (d, a, Some(b)),
            [d, a] if !packs => (d, a, None),
            _ => return Err(form.unsupported()),
        };
        let unknown = |kind: Type| matches!(kind, Type::Pred | Type::F32x2 | Type::BF16x2 | Type::TF32);
        if unknown(from) || (to == Type::F32x2) || (to == Type::TF32 && from != Type::F32) {
            return Err(form.unsupported());
        }
        let fp8 = |kind: Type| matches!(kind, Type::E4M3x2 | Type::E5M2x2);
        if (fp8(from) && to != Type::F16x2)
            || (fp8(to) && !matches!(from, Type::F32 | Type::F16x2))
            || (from == Type::F16x2 && !fp8(to))
        {
            return Err(form.unsupported());
        }
        let d = self.any(d, to, at)?;
        let a = self.any(a, from, at)?;
        let b = b.map(|b| self.any(b, from, at)).transpose()?;
        Ok(Op::Convert(Box::new(Convert {
            to,
            from,
            rounding,
            integral,
            flush,
            saturate,
            finite,
            relu,
            d,
            a,
            b,
        })))
    }

    /// The space that a variable is in, for addresses without a space.
    pub(super) fn space_of(&self, name: &str) -> Option<Space> {
        self.symbols.get(name).map(|(space, _)| *space)
    }
}

fn convert(to: Type, from: Type, d: Slot, a: Slot) -> Op {
    Op::Convert(Box::new(Convert {
        to,
        from,
        rounding: None,
        integral: false,
        flush: false,
        saturate: false,
        finite: false,
        relu: false,
        d,
        a,
        b: None,
    }))
}

/// A move between slots of one width.
pub(super) fn move_slot(d: Slot, a: Slot) -> Option<Op> {
    match (d, a) {
        (Slot::Word(d, bits), Slot::Word(a, _)) => {
            let kind = if bits == 32 { Type::B32 } else { Type::B16 };
            Some(Op::Word1 { f: Integer1::Move, kind, d, a })
        }
        (Slot::Wide(d), Slot::Wide(a)) => Some(Op::Wide1 { f: Integer1::Move, d, a }),
        _ => None,
    }
}

/// The space that a form names.
pub(super) fn region(form: &mut Form<'_>) -> Option<Region> {
    form.one_of(&[
        ("global", Region::Global),
        ("const", Region::Global),
        ("shared", Region::Shared),
        ("shared::cta", Region::Shared),
        ("shared::cluster", Region::Shared),
        ("local", Region::Local),
        ("param", Region::Parameter),
        ("param::entry", Region::Parameter),
    ])
}
