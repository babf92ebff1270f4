//! Comparisons and selections.

use super::Decoder;
use super::form::{Form, operands};
use crate::error::Error;
use crate::program::{Compare, Comparison, Condition, Logic, Op, Type};
use crate::text::{Instruction, Operand};

const COMPARISONS: [(&str, Comparison); 18] = [
    ("eq", Comparison::Equal),
    ("ne", Comparison::NotEqual),
    ("lt", Comparison::Less),
    ("le", Comparison::LessEqual),
    ("gt", Comparison::Greater),
    ("ge", Comparison::GreaterEqual),
    ("lo", Comparison::Less),
    ("ls", Comparison::LessEqual),
    ("hi", Comparison::Greater),
    ("hs", Comparison::GreaterEqual),
    ("equ", Comparison::EqualUnordered),
    ("neu", Comparison::NotEqualUnordered),
    ("ltu", Comparison::LessUnordered),
    ("leu", Comparison::LessEqualUnordered),
    ("gtu", Comparison::GreaterUnordered),
    ("geu", Comparison::GreaterEqualUnordered),
    ("num", Comparison::Ordered),
    ("nan", Comparison::Unordered),
];

impl Decoder<'_> {
    pub(super) fn compare(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Option<Op>, Error> {
        let op = match form.name {
            "setp" => {
                let (d, q) = match at.operands.first() {
                    Some(Operand::Pair(d, q)) => (d.as_ref(), Some(q.as_ref())),
                    Some(d) => (d, None),
                    None => return Err(form.unsupported()),
                };
                let compare = Box::new(self.comparison(form, at)?);
                // setp.gt.f16x2 p|q: the lower half's outcome and the upper's
                let d = self.outcome(d, at)?;
                let q = q.map(|q| self.outcome(q, at)).transpose()?;
                Op::Compare { compare, d, q }
            }
            "set" => {
                let comparison = form.one_of(&COMPARISONS).ok_or_else(|| form.unsupported())?;
                let flush = form.flag("ftz");
                let (kind, from) = (form.need_kind()?, form.need_kind()?);
                let [d, a, b] = operands(at)?;
                if kind.bits() == 64 {
                    return Err(form.unsupported());
                }
                let compare = Compare {
                    comparison,
                    kind: from,
                    flush,
                    a: self.typed(a, from, at)?,
                    b: self.typed(b, from, at)?,
                    combine: None,
                };
                Op::Set { compare: Box::new(compare), kind, d: self.word(d, at)? }
            }
            "selp" => {
                let kind = form.need_kind()?;
                let [d, a, b, c] = operands(at)?;
                let condition = self.condition(c, at)?;
                if kind == Type::Pred {
                    return Err(form.unsupported());
                }
                Op::Select {
                    d: self.typed(d, kind, at)?,
                    a: self.typed(a, kind, at)?,
                    b: self.typed(b, kind, at)?,
                    condition,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    fn outcome(&mut self, operand: &Operand, at: &Instruction) -> Result<crate::program::Predicate, Error> {
        match operand {
            // nobody looks at it
            Operand::Sink => Ok(self.unused()),
            _ => self.predicate(operand, at),
        }
    }

    fn comparison(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Compare, Error> {
        let comparison = form.one_of(&COMPARISONS).ok_or_else(|| form.unsupported())?;
        let logic = form.one_of(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
        let flush = form.flag("ftz");
        let kind = form.need_kind()?;
        if kind == Type::Pred || kind.bits() == 8 {
            return Err(form.unsupported());
        }
        let (a, b, combine) = match (at.operands.as_slice(), logic) {
            ([_, a, b], None) => (a, b, None),
            ([_, a, b, c], Some(logic)) => (a, b, Some((logic, self.condition(c, at)?))),
            _ => return Err(form.unsupported()),
        };
        Ok(Compare {
            comparison,
            kind,
            flush,
            a: self.typed(a, kind, at)?,
            b: self.typed(b, kind, at)?,
            combine,
        })
    }

    /// A predicate that nothing reads.
    pub(super) fn unused(&mut self) -> crate::program::Predicate {
        self.predicates += 1;
        crate::program::Predicate(self.predicates - 1)
    }

    /// A condition that holds always.
    pub(super) fn always() -> Condition {
        Condition::TRUE
    }
}
