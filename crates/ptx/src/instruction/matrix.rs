//! Matrix instructions.

use std::sync::Arc;

use super::row::{Row, Since, decoded, free};
use crate::decode::decoder::Decoder;
use crate::decode::form::{Form, operands};
use crate::error::Error;
use crate::matrix::Multiplier;
use crate::program::{Condition, Mma, Op, Slot, Type, Wgmma, WgmmaA, Word};
use crate::text::{Instruction, Operand};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    free("mma", |decoder, form, at| decoder.mma(form, at)),
    free("wgmma", |decoder, form, at| decoder.wgmma(form, at)).since(Since::HopperAlone),
    decoded("wgmma", &[], "=fence sync aligned?", |_, at| operands(at).map(|[]| Op::FenceForProducts)).since(Since::HopperAlone),
    decoded("wgmma", &[], "=commit_group sync aligned?", |_, at| operands(at).map(|[]| Op::CommitProducts)).since(Since::HopperAlone),
    decoded("wgmma", &[], "=wait_group sync aligned?", |_, at| match operands(at)? {
        [Operand::Integer(left)] => match *left as i64 {
            left @ 0.. => Ok(Op::WaitProducts(left.min(1 << 20) as u32)),
            left => Err(Error::syntax(at.line, format!("'{}' takes a number of groups from 0 on, not {left}", at.form))),
        },
        [_] => Err(Form::of(at).refuse("its operand must be a constant")),
    }).since(Since::HopperAlone),
    free("wmma", |decoder, form, at| decoder.mma(form, at)),
];

impl Decoder<'_> {
    fn multiplier(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Arc<Multiplier>, Error> {
        let text = form.text();
        form.drop_if(|_| true);
        if let Some(known) = self.multipliers.get(text) {
            return Ok(known.clone());
        }
        let multiplier = Arc::new(Multiplier::new(self.architecture, text, at.line)?);
        self.multipliers.insert(text.to_owned(), multiplier.clone());
        Ok(multiplier)
    }

    fn fragment(
        &mut self,
        operand: &Operand,
        count: usize,
        bits: u32,
        at: &Instruction,
    ) -> Result<Box<[Slot]>, Error> {
        let kind = if bits == 64 { Type::B64 } else { Type::B32 };
        let list = self.list(operand, kind, at)?;
        let fits = list.iter().all(|slot| match slot {
            Slot::Word(_, width) => *width == 32 && bits == 32,
            Slot::Wide(_) => bits == 64,
            Slot::Sink => false,
        });
        match fits && list.len() == count {
            true => Ok(list),
            false => Err(Error::syntax(
                at.line,
                format!("'{}' takes {count} registers of {bits} bits here, not {}", at.form, list.len()),
            )),
        }
    }

    fn mma(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let multiplier = self.multiplier(form, at)?;
        let ([d, a, b, c], sparse) = match (at.operands.as_slice(), multiplier.stored) {
            ([d, a, b, c], None) if multiplier.factors() == 0 => ([d, a, b, c], None),
            ([d, a, b, c, _, _, _, _], None) if multiplier.factors() > 0 => ([d, a, b, c], None),
            ([d, a, b, c, metadata, selector], Some(stored)) => {
                ([d, a, b, c], Some(self.sparse(metadata, selector, multiplier.stored_k() / stored, at)?))
            }
            _ => return Err(Error::unsupported(at.line, &at.form, "it has other operands")),
        };
        let factors = match &at.operands[4..] {
            [a, of_a, b, of_b] => Some([self.factors(a, of_a, 2, at)?, self.factors(b, of_b, 1, at)?]),
            _ => None,
        };
        let counts = multiplier.registers();
        // of wmma every thread has halves twice, or room for that
        let shortened = |operand: &Operand, count: usize| match operand {
            Operand::Vector(list) if at.name() == "wmma" && multiplier.a_bits == 16 && list.len() == 8 => {
                Operand::Vector(list[..count].to_vec())
            }
            operand => operand.clone(),
        };
        let (a, b) = (&shortened(a, counts.a), &shortened(b, counts.b));
        let d = self.fragment(d, counts.d, counts.d_bits, at)?;
        let a = self.fragment(a, counts.a, counts.a_bits, at)?;
        let b = self.fragment(b, counts.b, counts.a_bits, at)?;
        let c = self.fragment(c, counts.c, counts.d_bits, at)?;
        Ok(Op::Mma(Box::new(Mma { line: at.line, multiplier, d, a, b, c, sparse, factors })))
    }

    /// Metadata of a sparse A with so many chunks in a row, and which of each four threads have it: one, two or all.
    fn sparse(
        &mut self,
        metadata: &Operand,
        selector: &Operand,
        chunks: usize,
        at: &Instruction,
    ) -> Result<(Word, u32), Error> {
        let most = 16 / chunks as u64 - 1;
        match selector {
            Operand::Integer(selector) if *selector <= most => {
                Ok((self.word(metadata, at)?, *selector as u32))
            }
            Operand::Integer(selector) => {
                let what = format!("'{}' takes a selector up to {most}, not {selector}", at.form);
                Err(Error::syntax(at.line, what))
            }
            _ => Err(Error::unsupported(at.line, &at.form, "its selector must be a constant")),
        }
    }

    /// Scale factors: the register, and the byte and thread that its selectors name. `threads`: how many of each four have them.
    fn factors(
        &mut self,
        register: &Operand,
        selectors: &Operand,
        threads: u32,
        at: &Instruction,
    ) -> Result<(Word, u32, u32), Error> {
        let wrong = || {
            Error::syntax(
                at.line,
                format!(
                    "'{}' takes a register of scale factors and two constants, the byte and the thread that have them",
                    at.form
                ),
            )
        };
        let register = match register {
            Operand::Vector(list) if list.len() == 1 => &list[0],
            register => register,
        };
        let Operand::Vector(list) = selectors else { return Err(wrong()) };
        match list.as_slice() {
            [Operand::Integer(byte @ 0..4), Operand::Integer(thread)] if *thread < 4 / u64::from(threads) => {
                Ok((self.word(register, at)?, *byte as u32, threads * *thread as u32))
            }
            _ => Err(wrong()),
        }
    }

    fn wgmma(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let multiplier = self.multiplier(form, at)?;
        let counts = multiplier.registers();
        let [d, a, b, rest @ ..] = at.operands.as_slice() else {
            return Err(Error::unsupported(at.line, &at.form, ""));
        };
        let (sparse, rest) = match (multiplier.stored, rest) {
            (Some(stored), [metadata, selector, rest @ ..]) => {
                (Some(self.sparse(metadata, selector, multiplier.stored_k() / stored, at)?), rest)
            }
            (_, rest) => (None, rest),
        };
        let [accumulate, flags @ ..] = rest else {
            return Err(Error::unsupported(at.line, &at.form, ""));
        };
        let d = self.fragment(d, counts.d, 32, at)?;
        let from_registers = matches!(a, Operand::Vector(_));
        let a = match from_registers {
            true => WgmmaA::Registers(self.fragment(a, counts.a, 32, at)?),
            false => WgmmaA::Descriptor(self.wide(a, at)?),
        };
        let b = self.wide(b, at)?;
        let accumulate = match accumulate {
            Operand::Integer(value @ 0..=1) => Condition { negated: *value == 0, ..Condition::TRUE },
            Operand::Integer(value) => {
                let what =
                    format!("'{}' takes 0, 1 or a predicate as scale-d, not {}", at.form, *value as i64);
                return Err(Error::syntax(at.line, what));
            }
            _ => self.condition(accumulate, at)?,
        };
        let [negate, transposed] = flags_of(&multiplier, from_registers, flags, at)?;
        let line = at.line;
        let wgmma = Wgmma {
            line,
            multiplier,
            d,
            number: 0,
            a,
            b,
            sparse,
            reads: 0,
            unfenced: None,
            accumulate,
            negate,
            transposed,
        };
        Ok(Op::Wgmma(Box::new(wgmma)))
    }
}

/// Whether `wgmma` negates A and B, and whether they lie with M and N along memory, by the constants after scale-d: floats have a scale
/// of each, those of 16 bits also a transposition of each that is in shared memory, and integers have none.
fn flags_of(
    multiplier: &Multiplier,
    from_registers: bool,
    flags: &[Operand],
    at: &Instruction,
) -> Result<[[bool; 2]; 2], Error> {
    let names: &[&str] = match (multiplier.is_on_integers(), multiplier.a_bits, from_registers) {
        (true, ..) => &[],
        (_, 16, false) => &["scale-a", "scale-b", "trans-a", "trans-b"],
        (_, 16, true) => &["scale-a", "scale-b", "trans-b"],
        _ => &["scale-a", "scale-b"],
    };
    let wrong = |what: String| Error::syntax(at.line, format!("'{}' takes {what}", at.form));
    if flags.len() != names.len() {
        let those = if names.is_empty() { "no operands".to_owned() } else { names.join(", ") };
        return Err(wrong(format!("{those} after scale-d, not {} operands", flags.len())));
    }
    let mut found = [[false; 2]; 2];
    for (name, flag) in names.iter().zip(flags) {
        let (kind, values) = if name.starts_with("scale") { (0, [1, -1]) } else { (1, [0, 1]) };
        let given = match flag {
            Operand::Integer(value) => Ok(*value as i64),
            _ => Err("another operand"),
        };
        let which = values.iter().position(|value| given == Ok(*value)).ok_or_else(|| {
            let given = given.map_or_else(str::to_owned, |value| value.to_string());
            wrong(format!("{} or {} as {name}, not {given}", values[0], values[1]))
        })?;
        found[kind][usize::from(name.ends_with('b'))] = which == 1;
    }
    Ok(found)
}
