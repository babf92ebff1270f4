//! Integer and bit operations.

use super::Decoder;
use super::form::{Form, operands};
use crate::error::Error;
use crate::program::{Carry, Condition, Integer1, Integer2, Integer3, Logic, Op, Permute, Type, Word};
use crate::text::{Instruction, Operand};

impl Decoder<'_> {
    pub(super) fn integer(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Option<Op>, Error> {
        // of the names that floats have too, the integers are those with an integer type
        let is_integer = |form: &Form<'_>| {
            let kind = form.text().rsplit('.').find_map(Type::named);
            kind.is_some_and(Type::is_integer)
        };
        let op = match form.name {
            "add" | "sub" if is_integer(form) && (at.has("cc")) => self.carry(form, at)?,
            "addc" | "subc" | "madc" => self.carry(form, at)?,
            "mad" if at.has("cc") => self.carry(form, at)?,
            "add" | "sub" | "div" | "rem" | "min" | "max" if is_integer(form) => self.arithmetic(form, at)?,
            "rem" | "shl" | "shr" | "bmsk" => self.arithmetic(form, at)?,
            "and" | "or" | "xor" if at.form.ends_with(".pred") => {
                form.flag("pred");
                let [d, a, b] = operands(at)?;
                let f = match form.name {
                    "and" => Logic::And,
                    "or" => Logic::Or,
                    _ => Logic::Xor,
                };
                let (a, b) = (self.condition(a, at)?, self.condition(b, at)?);
                Op::Logic { f, d: self.predicate(d, at)?, a, b }
            }
            "and" | "or" | "xor" => self.arithmetic(form, at)?,
            "not" if at.has("pred") => {
                form.flag("pred");
                let [d, a] = operands(at)?;
                let a = self.condition(a, at)?;
                let a = Condition { negated: !a.negated, ..a };
                Op::Logic { f: Logic::And, d: self.predicate(d, at)?, a, b: Condition::TRUE }
            }
            "neg" | "abs" if is_integer(form) => self.unary(form, at)?,
            "not" | "popc" | "clz" | "brev" | "bfind" | "cnot" => self.unary(form, at)?,
            "mul" | "mad" if is_integer(form) => self.multiply(form, at)?,
            "mul24" | "mad24" => return Err(form.refuse("24-bit products")),
            "bfe" => self.extract(form, at)?,
            "bfi" => self.insert(form, at)?,
            "lop3" => {
                let kind = form.need_kind()?;
                let Some((Operand::Integer(table), sources)) = at.operands.split_last() else {
                    return Err(form.refuse("its table must be a constant"));
                };
                let [d, a, b, c] = sources else { return Err(form.unsupported()) };
                self.three(Integer3::Logic(*table as u8), kind, [d, a, b, c], at)?
            }
            "prmt" => {
                let modes = [
                    ("f4e", Permute::Forward4),
                    ("b4e", Permute::Backward4),
                    ("rc8", Permute::Replicate8),
                    ("ecl", Permute::EdgeLeft),
                    ("ecr", Permute::EdgeRight),
                    ("rc16", Permute::Replicate16),
                ];
                let mode = form.one_of(&modes).unwrap_or(Permute::Index);
                let kind = form.need_kind()?;
                let [d, a, b, c] = operands(at)?;
                self.three(Integer3::Permute(mode), kind, [d, a, b, c], at)?
            }
            "shf" => {
                let left = form.one_of(&[("l", true), ("r", false)]).ok_or_else(|| form.unsupported())?;
                let wrap =
                    form.one_of(&[("wrap", true), ("clamp", false)]).ok_or_else(|| form.unsupported())?;
                let kind = form.need_kind()?;
                let f = match (left, wrap) {
                    (true, true) => Integer3::FunnelLeftWrap,
                    (true, false) => Integer3::FunnelLeftClamp,
                    (false, true) => Integer3::FunnelRightWrap,
                    (false, false) => Integer3::FunnelRightClamp,
                };
                let [d, a, b, c] = operands(at)?;
                self.three(f, kind, [d, a, b, c], at)?
            }
            "sad" => {
                let kind = form.need_kind()?;
                let [d, a, b, c] = operands(at)?;
                self.three(Integer3::AbsoluteDifference, kind, [d, a, b, c], at)?
            }
            "dp4a" => {
                let (a, b) = (form.need_kind()?, form.need_kind()?);
                let f = Integer3::Dot4(a.is_signed(), b.is_signed());
                let [d, x, y, c] = operands(at)?;
                self.three(f, Type::S32, [d, x, y, c], at)?
            }
            "dp2a" => {
                let high = form.one_of(&[("lo", false), ("hi", true)]).ok_or_else(|| form.unsupported())?;
                let (a, b) = (form.need_kind()?, form.need_kind()?);
                let f = Integer3::Dot2(a.is_signed(), b.is_signed(), high);
                let [d, x, y, c] = operands(at)?;
                self.three(f, Type::S32, [d, x, y, c], at)?
            }
            "slct" => {
                let (kind, by) = (form.need_kind()?, form.need_kind()?);
                if kind.bits() != 32 || by != Type::S32 {
                    return Err(form.unsupported());
                }
                let [d, a, b, c] = operands(at)?;
                self.three(Integer3::Select, kind, [d, a, b, c], at)?
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    fn three(
        &mut self,
        f: Integer3,
        kind: Type,
        operands: [&Operand; 4],
        at: &Instruction,
    ) -> Result<Op, Error> {
        if kind.bits() != 32 {
            return Err(Error::unsupported(at.line, &at.form, "only on 32 bits"));
        }
        let [d, a, b, c] = operands;
        Ok(Op::Word3 {
            f,
            kind,
            d: self.word(d, at)?,
            a: self.word(a, at)?,
            b: self.word(b, at)?,
            c: self.word(c, at)?,
        })
    }

    /// A word of the type: constants of 16-bit types lose their upper bits.
    fn narrow(&mut self, operand: &Operand, kind: Type, at: &Instruction) -> Result<Word, Error> {
        if kind.bits() == 16 { self.half(operand, at) } else { self.word(operand, at) }
    }

    fn arithmetic(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let saturating = form.flag("sat");
        let wrap = form.one_of(&[("wrap", true), ("clamp", false)]);
        let kind = form.need_kind()?;
        let f = match (form.name, saturating) {
            ("add", false) => Integer2::Add,
            ("add", true) => Integer2::AddSaturating,
            ("sub", false) => Integer2::Subtract,
            ("sub", true) => Integer2::SubtractSaturating,
            ("div", false) => Integer2::Divide,
            ("rem", false) => Integer2::Remainder,
            ("min", false) => Integer2::Minimum,
            ("max", false) => Integer2::Maximum,
            ("and", false) => Integer2::And,
            ("or", false) => Integer2::Or,
            ("xor", false) => Integer2::Xor,
            ("shl", false) => Integer2::ShiftLeft,
            ("shr", false) => Integer2::ShiftRight,
            ("bmsk", false) if wrap == Some(true) => Integer2::BitMaskWrap,
            ("bmsk", false) => Integer2::BitMaskClamp,
            _ => return Err(form.unsupported()),
        };
        if saturating && kind != Type::S32 || !kind.is_integer() || kind.bits() == 8 {
            return Err(form.unsupported());
        }
        let [d, a, b] = operands(at)?;
        if kind.bits() == 64 {
            let (d, a) = (self.wide(d, at)?, self.wide(a, at)?);
            return Ok(match f {
                Integer2::ShiftLeft | Integer2::ShiftRight => {
                    Op::WideShift { f, kind, d, a, b: self.word(b, at)? }
                }
                _ => Op::Wide2 { f, kind, d, a, b: self.wide(b, at)? },
            });
        }
        let b = match f {
            Integer2::ShiftLeft | Integer2::ShiftRight => self.word(b, at)?,
            _ => self.narrow(b, kind, at)?,
        };
        Ok(Op::Word2 { f, kind, d: self.narrow(d, kind, at)?, a: self.narrow(a, kind, at)?, b })
    }

    fn unary(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let shift = form.flag("shiftamt");
        let kind = form.need_kind()?;
        let f = match form.name {
            "not" => Integer1::Not,
            "neg" => Integer1::Negate,
            "abs" => Integer1::Absolute,
            "popc" => Integer1::Population,
            "clz" => Integer1::LeadingZeros,
            "brev" => Integer1::Reverse,
            "cnot" => Integer1::LogicalNot,
            _ if shift => Integer1::FindShift,
            _ => Integer1::Find,
        };
        let counts =
            matches!(f, Integer1::Population | Integer1::LeadingZeros | Integer1::Find | Integer1::FindShift);
        let [d, a] = operands(at)?;
        match (kind.bits(), counts) {
            (64, true) => Ok(Op::WideCount { f, kind, d: self.word(d, at)?, a: self.wide(a, at)? }),
            (64, false) => Ok(Op::Wide1 { f, d: self.wide(d, at)?, a: self.wide(a, at)? }),
            (16 | 32, _) => {
                Ok(Op::Word1 { f, kind, d: self.narrow(d, kind, at)?, a: self.narrow(a, kind, at)? })
            }
            _ => Err(form.unsupported()),
        }
    }

    fn multiply(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let part = form.one_of(&[("lo", 0), ("hi", 1), ("wide", 2)]).ok_or_else(|| form.unsupported())?;
        let kind = form.need_kind()?;
        let signed = kind.is_signed();
        if !matches!(kind.bits(), 16 | 32 | 64) || (part == 2 && kind.bits() == 64) {
            return Err(form.unsupported());
        }
        let bits = kind.bits();
        let wide = if bits == 32 { Type::B64 } else { Type::B32 };
        if form.name == "mul" {
            let [d, a, b] = operands(at)?;
            let f = if part == 0 { Integer2::MultiplyLow } else { Integer2::MultiplyHigh };
            return Ok(match (bits, part) {
                (_, 2) => Op::MultiplyWide {
                    signed,
                    bits,
                    d: self.typed(d, wide, at)?,
                    a: self.narrow(a, kind, at)?,
                    b: self.narrow(b, kind, at)?,
                },
                (64, _) => {
                    Op::Wide2 { f, kind, d: self.wide(d, at)?, a: self.wide(a, at)?, b: self.wide(b, at)? }
                }
                _ => Op::Word2 {
                    f,
                    kind,
                    d: self.narrow(d, kind, at)?,
                    a: self.narrow(a, kind, at)?,
                    b: self.narrow(b, kind, at)?,
                },
            });
        }
        let [d, a, b, c] = operands(at)?;
        Ok(match (bits, part) {
            (_, 2) => Op::MadWide {
                signed,
                bits,
                d: self.typed(d, wide, at)?,
                a: self.narrow(a, kind, at)?,
                b: self.narrow(b, kind, at)?,
                c: self.typed(c, wide, at)?,
            },
            (64, _) => Op::WideMad {
                high: part == 1,
                signed,
                d: self.wide(d, at)?,
                a: self.wide(a, at)?,
                b: self.wide(b, at)?,
                c: self.wide(c, at)?,
            },
            _ => {
                let f = if part == 0 { Integer3::MultiplyAddLow } else { Integer3::MultiplyAddHigh };
                Op::Word3 {
                    f,
                    kind,
                    d: self.narrow(d, kind, at)?,
                    a: self.narrow(a, kind, at)?,
                    b: self.narrow(b, kind, at)?,
                    c: self.narrow(c, kind, at)?,
                }
            }
        })
    }

    fn carry(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let gives = form.flag("cc");
        let takes = matches!(form.name, "addc" | "subc" | "madc");
        let high = form.one_of(&[("lo", false), ("hi", true)]);
        let kind = form.need_kind()?;
        let f = Carry {
            subtract: form.name.starts_with("sub"),
            product: high.map(|high| (high, kind.is_signed())),
            takes,
            gives,
        };
        let (d, a, b, c) = match at.operands.as_slice() {
            [d, a, b] if high.is_none() => (d, a, b, None),
            [d, a, b, c] if high.is_some() => (d, a, b, Some(c)),
            _ => return Err(form.unsupported()),
        };
        match kind.bits() {
            32 => {
                let (d, a, b) = (self.word(d, at)?, self.word(a, at)?, self.word(b, at)?);
                let c = c.map_or(Ok(a), |c| self.word(c, at))?;
                Ok(Op::Carry { f, d, a, b, c })
            }
            64 => {
                let (d, a, b) = (self.wide(d, at)?, self.wide(a, at)?, self.wide(b, at)?);
                let c = c.map_or(Ok(a), |c| self.wide(c, at))?;
                Ok(Op::WideCarry { f, d, a, b, c })
            }
            _ => Err(form.unsupported()),
        }
    }

    fn extract(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let kind = form.need_kind()?;
        let [d, a, b, c] = operands(at)?;
        if kind.bits() == 64 {
            return Ok(Op::WideExtract {
                signed: kind.is_signed(),
                d: self.wide(d, at)?,
                a: self.wide(a, at)?,
                b: self.word(b, at)?,
                c: self.word(c, at)?,
            });
        }
        self.three(Integer3::Extract, kind, [d, a, b, c], at)
    }

    fn insert(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let kind = form.need_kind()?;
        let [d, a, b, c, e] = operands(at)?;
        let (c, e) = (self.word(c, at)?, self.word(e, at)?);
        Ok(match kind.bits() {
            64 => Op::WideInsert { d: self.wide(d, at)?, a: self.wide(a, at)?, b: self.wide(b, at)?, c, e },
            _ => Op::Insert { d: self.word(d, at)?, a: self.word(a, at)?, b: self.word(b, at)?, c, e },
        })
    }
}
