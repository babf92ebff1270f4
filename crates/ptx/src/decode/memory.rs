//! Loads, stores, copies and atomic operations.

use super::Decoder;
use super::convert::region;
use super::form::{Form, operands};
use crate::error::Error;
use crate::program::{Access, Address, Atomic, AtomicOp, Condition, Op, Order, Region, Slot, Type};
use crate::text::{Base, Instruction, Operand, Space};

impl Decoder<'_> {
    pub(super) fn memory(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Option<Op>, Error> {
        let op = match form.name {
            "ld" | "ldu" | "st" => self.access(form, at)?,
            "atom" | "red" => self.atomic(form, at)?,
            "cp" => self.copy(form, at)?,
            "ldmatrix" | "stmatrix" => self.matrix_access(form, at)?,
            // what only speeds up
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                form.drop_if(|_| true);
                Op::Nothing
            }
            "createpolicy" => {
                form.drop_if(|_| true);
                let Some(d) = at.operands.first() else { return Err(form.unsupported()) };
                let d = self.any(d, Type::B64, at)?;
                let zero = Slot::Wide(self.wide_constant(0));
                super::convert::move_slot(d, zero).ok_or_else(|| form.unsupported())?
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    /// The region of an access: what the form says, or, of a variable's address, where the variable is.
    fn region(&self, form: &mut Form<'_>, address: &Operand) -> Region {
        if let Some(region) = region(form) {
            return region;
        }
        let space = match address {
            Operand::Address(Base::Symbol(name), _) => self.space_of(name),
            _ => None,
        };
        match space {
            Some(Space::Shared) => Region::Shared,
            Some(Space::Local) => Region::Local,
            Some(Space::Parameter) => Region::Parameter,
            _ => Region::Generic,
        }
    }

    fn access(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let store = form.name == "st";
        let order = ordering(form);
        drop_hints(form);
        // a cache policy is one more operand
        let count = at.operands.len();
        let policy = form.flag("L2::cache_hint");
        if count != 2 + usize::from(policy) {
            return Err(form.unsupported());
        }
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let region = self.region(form, &at.operands[address]);
        let elements = form.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
        let kind = form.need_kind()?;
        let bytes = (kind.bits() / 8) as u8;
        if kind == Type::Pred || bytes == 0 {
            return Err(form.unsupported());
        }
        let list = self.list(&at.operands[data], kind, at)?;
        if list.len() != elements {
            let given = list.len();
            return Err(Error::syntax(
                at.line,
                format!("'{}' takes {elements} registers, not {given}", at.form),
            ));
        }
        let address = self.address(&at.operands[address], at)?;
        self.ordered |= order.is_some() && matches!(region, Region::Global | Region::Generic);
        let access = Access { region, bytes, signed: kind.is_signed(), order, address, elements: list };
        if store && region == Region::Parameter {
            return Err(form.refuse("parameters cannot be written"));
        }
        Ok(if store { Op::Store(Box::new(access)) } else { Op::Load(Box::new(access)) })
    }

    fn atomic(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let returns = form.name == "atom";
        let order = ordering(form).unwrap_or_default();
        drop_hints(form);
        let policy = form.flag("L2::cache_hint");
        let no_flush = form.flag("noftz");
        let ops = [
            ("add", AtomicOp::Add),
            ("min", AtomicOp::Minimum),
            ("max", AtomicOp::Maximum),
            ("and", AtomicOp::And),
            ("or", AtomicOp::Or),
            ("xor", AtomicOp::Xor),
            ("exch", AtomicOp::Exchange),
            ("cas", AtomicOp::CompareExchange),
            ("inc", AtomicOp::Increment),
            ("dec", AtomicOp::Decrement),
        ];
        let op = form.one_of(&ops).ok_or_else(|| form.unsupported())?;
        let mut list = at.operands.as_slice();
        if policy {
            list = list.split_last().map_or(list, |(_, rest)| rest);
        }
        let (d, list) = match (returns, list) {
            (true, [d, rest @ ..]) => (Some(d), rest),
            (false, rest) => (None, rest),
            _ => return Err(form.unsupported()),
        };
        let (address, b, c) = match (list, op) {
            ([address, b, c], AtomicOp::CompareExchange) => (address, b, Some(c)),
            ([address, b], _) if op != AtomicOp::CompareExchange => (address, b, None),
            _ => return Err(form.unsupported()),
        };
        let region = self.region(form, address);
        let elements = form.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
        let kind = form.need_kind()?;
        let float = kind.float().is_some();
        let known = match op {
            AtomicOp::Add => !matches!(kind.bits(), 8) && (float || kind.bits() >= 32),
            AtomicOp::Exchange | AtomicOp::CompareExchange => kind.bits() >= 16 && !float,
            AtomicOp::Increment | AtomicOp::Decrement => kind == Type::U32,
            AtomicOp::Minimum | AtomicOp::Maximum => {
                kind.bits() >= 32 && !float || float && !matches!(kind, Type::F32 | Type::F64)
            }
            _ => kind.bits() >= 32 && !float,
        };
        if !known || kind == Type::F32x2 || (elements > 1 && !float) {
            return Err(form.unsupported());
        }
        let d = match d {
            Some(d) => self.list(d, kind, at)?,
            None => Box::new([]),
        };
        let b = self.list(b, kind, at)?;
        if b.len() != elements || (!d.is_empty() && d.len() != elements && !matches!(*d, [Slot::Sink])) {
            return Err(Error::syntax(at.line, format!("'{}' takes {elements} registers", at.form)));
        }
        let c = c.map_or(Ok(Slot::Sink), |c| self.any(c, kind, at))?;
        let address = self.address(address, at)?;
        self.ordered |= matches!(region, Region::Global | Region::Generic);
        Ok(Op::Atomic(Box::new(Atomic { region, op, kind, no_flush, order, address, d, b, c })))
    }

    fn copy(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if !form.flag("async") {
            return Err(form.unsupported());
        }
        if form.flag("commit_group") {
            return Ok(Op::CommitCopies);
        }
        if form.flag("wait_all") {
            return Ok(Op::WaitAllCopies);
        }
        if form.flag("wait_group") {
            return match at.operands.as_slice() {
                [Operand::Integer(count)] => Ok(Op::WaitCopies((*count).min(1 << 20) as u32)),
                _ => Err(form.unsupported()),
            };
        }
        let through = form.one_of(&[("ca", true), ("cg", false)]);
        let (Some(_), true, true) =
            (through, form.flag("shared") || form.flag("shared::cta"), form.flag("global"))
        else {
            return Err(form.refuse("only cp.async.ca and .cg from global to shared memory are"));
        };
        drop_hints(form);
        let policy = form.flag("L2::cache_hint");
        let mut list = at.operands.as_slice();
        if policy {
            list = list.split_last().map_or(list, |(_, rest)| rest);
        }
        let (to, from, bytes, rest) = match list {
            [to, from, Operand::Integer(bytes), rest @ ..] => (to, from, *bytes, rest),
            _ => return Err(form.unsupported()),
        };
        if !matches!(bytes, 4 | 8 | 16) || through == Some(false) && bytes != 16 {
            return Err(form.refuse("it copies 4, 8 or 16 bytes, through L2 alone 16"));
        }
        let (mut size, mut ignore): (_, Option<Condition>) = (None, None);
        match rest {
            [] => {}
            [size_or_ignore] => match size_or_ignore {
                Operand::Not(_) => ignore = Some(self.condition(size_or_ignore, at)?),
                Operand::Register(id) if self.is_predicate(*id) => {
                    ignore = Some(self.condition(size_or_ignore, at)?);
                }
                _ => size = Some(self.word(size_or_ignore, at)?),
            },
            _ => return Err(form.unsupported()),
        }
        let (to, from) = (self.address(to, at)?, self.address(from, at)?);
        Ok(Op::CopyAsync { bytes: bytes as u8, to, from, size, ignore })
    }

    fn is_predicate(&self, id: u32) -> bool {
        self.function.registers[id as usize].width == crate::text::Width::Predicate
    }

    fn matrix_access(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let (sync, aligned) = (form.flag("sync"), form.flag("aligned"));
        let shape = form.one_of(&[("m8n8", 2), ("m16n8", 1)]);
        let count = form.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]).ok_or_else(|| form.unsupported())?;
        let transposed = form.flag("trans");
        let shared = form.flag("shared") || form.flag("shared::cta");
        let _ = shared; // a generic address of shared memory is one too
        let kind = form.need_kind()?;
        if !sync || !aligned || shape != Some(2) || kind != Type::B16 {
            return Err(form.unsupported());
        }
        let [first, second] = operands(at)?;
        let (registers, address) = if form.name == "ldmatrix" { (first, second) } else { (second, first) };
        let list = self.list(registers, Type::B32, at)?;
        if list.len() != count {
            let given = list.len();
            return Err(Error::syntax(
                at.line,
                format!("'{}' takes {count} registers, not {given}", at.form),
            ));
        }
        let address: Address = self.address(address, at)?;
        Ok(match form.name {
            "ldmatrix" => Op::LoadMatrix { transposed, address, d: list },
            _ => Op::StoreMatrix { transposed, address, a: list },
        })
    }
}

/// Takes the words that say how an access is ordered; none if it is weak.
fn ordering(form: &mut Form<'_>) -> Option<Order> {
    let in_block = form.flag("cta");
    let [acquire, release, both] = ["acquire", "release", "acq_rel"].map(|word| form.flag(word));
    let others = ["volatile", "relaxed", "mmio"].map(|word| form.flag(word));
    form.drop_if(|word| matches!(word, "weak" | "cluster" | "gpu" | "sys"));
    let strong = acquire || release || both || others.contains(&true);
    (strong || in_block).then_some(Order { acquire: acquire || both, release: release || both, in_block })
}

/// Takes the words that concern caches.
fn drop_hints(form: &mut Form<'_>) {
    form.drop_if(|word| {
        matches!(word, "nc" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt")
            || word.starts_with("L1::")
            || (word.starts_with("L2::") && word != "L2::cache_hint")
            || word == "unified"
    });
}
