//! Branches, barriers, and what lanes exchange.

use super::Decoder;
use super::form::{Form, operands};
use crate::error::Error;
use crate::program::{Integer2, Logic, Op, Reduction, Shuffle, Slot, Type, Vote};
use crate::text::{Instruction, Operand};

impl Decoder<'_> {
    pub(super) fn warp(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Option<Op>, Error> {
        let op = match form.name {
            "bra" => {
                form.flag("uni");
                match at.operands.as_slice() {
                    [Operand::Label(target)] => {
                        Op::Branch { target: *target as u32, reconverge: u32::MAX, spins: false }
                    }
                    _ => return Err(form.unsupported()),
                }
            }
            "ret" | "exit" => {
                form.flag("uni");
                Op::Exit
            }
            "trap" | "brkpt" => Op::Trap,
            "call" => return Err(form.refuse("calls of functions are not")),
            "brx" => return Err(form.refuse("indirect branches are not")),
            "nanosleep" | "setmaxnreg" | "griddepcontrol" | "pmevent" => {
                form.drop_if(|_| true);
                Op::Nothing
            }
            "membar" | "fence" => {
                // fences of proxies, and of what a barrier object's start writes, order no accesses of threads
                let fences = form.flag("acq_rel") || form.flag("sc") || form.flag("acquire");
                let fences = fences || form.flag("release") || form.name == "membar";
                let fences = fences && !form.flag("proxy");
                let in_block = form.flag("cta");
                form.drop_if(|_| true);
                if fences { Op::Fence { in_block } } else { Op::Nothing }
            }
            "bar" | "barrier" => self.barrier(form, at)?,
            "shfl" => self.shuffle(form, at)?,
            "vote" => self.vote(form, at)?,
            "activemask" => {
                form.need_kind()?;
                let [d] = operands(at)?;
                Op::ActiveMask { d: self.word(d, at)? }
            }
            "match" => {
                let all = form.one_of(&[("all", true), ("any", false)]).ok_or_else(|| form.unsupported())?;
                form.flag("sync");
                let kind = form.need_kind()?;
                let [d, a, mask] = operands(at)?;
                let (d, p) = self.with_predicate(d, at)?;
                let d = self.word(d, at)?;
                Op::Match { all, d, p, a: self.typed(a, kind, at)?, mask: self.word(mask, at)? }
            }
            "redux" => self.reduce(form, at)?,
            "elect" => {
                form.flag("sync");
                let [d, mask] = operands(at)?;
                let (d, p) = self.with_predicate(d, at)?;
                let d = self.any(d, Type::B32, at)?;
                if matches!(d, Slot::Wide(_)) {
                    return Err(form.refuse("its result has 32 bits"));
                }
                Op::Elect { d, p, mask: self.word(mask, at)? }
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    fn barrier(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        form.drop_if(|word| matches!(word, "cta" | "aligned"));
        if form.flag("cluster") {
            // clusters have one block; its warps need no barrier to agree with themselves
            form.drop_if(|word| matches!(word, "arrive" | "wait" | "acquire" | "release" | "relaxed"));
            return Ok(Op::Nothing);
        }
        if form.flag("warp") {
            form.flag("sync");
            let [mask] = operands(at)?;
            return Ok(Op::SyncWarp { mask: self.word(mask, at)? });
        }
        if form.flag("red") {
            let f = form.one_of(&[("popc", None), ("and", Some(Logic::And)), ("or", Some(Logic::Or))]);
            let f = f.ok_or_else(|| form.unsupported())?;
            let kind = form.need_kind()?;
            let (d, id, count, a) = match at.operands.as_slice() {
                [d, id, a] => (d, id, None, a),
                [d, id, count, a] => (d, id, Some(count), a),
                _ => return Err(form.unsupported()),
            };
            let (d, p) = match kind {
                Type::Pred => (Slot::Sink, Some(self.predicate(d, at)?)),
                _ => (Slot::Word(self.word(d, at)?, 32), None),
            };
            let reduction = Reduction { f, d, p, a: self.condition(a, at)? };
            let (id, count) = (self.word(id, at)?, count.map(|count| self.word(count, at)).transpose()?);
            return Ok(Op::Barrier { id, count, arrive: false, reduce: Some(Box::new(reduction)) });
        }
        let arrive = form.one_of(&[("sync", false), ("arrive", true)]).ok_or_else(|| form.unsupported())?;
        let (id, count) = match at.operands.as_slice() {
            [] => (&Operand::Integer(0), None),
            [id] => (id, None),
            [id, count] => (id, Some(count)),
            _ => return Err(form.unsupported()),
        };
        let (id, count) = (self.word(id, at)?, count.map(|count| self.word(count, at)).transpose()?);
        Ok(Op::Barrier { id, count, arrive, reduce: None })
    }

    fn shuffle(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if !form.flag("sync") {
            return Err(form.refuse("only shfl.sync is"));
        }
        let modes = [
            ("up", Shuffle::Up),
            ("down", Shuffle::Down),
            ("bfly", Shuffle::Butterfly),
            ("idx", Shuffle::Index),
        ];
        let f = form.one_of(&modes).ok_or_else(|| form.unsupported())?;
        if form.need_kind()? != Type::B32 {
            return Err(form.unsupported());
        }
        let [d, a, b, c, mask] = operands(at)?;
        let (d, p) = self.with_predicate(d, at)?;
        Ok(Op::Shuffle {
            f,
            d: self.word(d, at)?,
            p,
            a: self.word(a, at)?,
            b: self.word(b, at)?,
            c: self.word(c, at)?,
            mask: self.word(mask, at)?,
        })
    }

    fn vote(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if !form.flag("sync") {
            return Err(form.refuse("only vote.sync is"));
        }
        let ballot = form.flag("ballot");
        let f = form.one_of(&[("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uniform)]);
        form.need_kind()?;
        let [d, a, mask] = operands(at)?;
        let (a, mask) = (self.condition(a, at)?, self.word(mask, at)?);
        match (ballot, f) {
            (true, None) => Ok(Op::Ballot { d: self.word(d, at)?, a, mask }),
            (false, Some(f)) => Ok(Op::Vote { f, d: self.predicate(d, at)?, a, mask }),
            _ => Err(form.unsupported()),
        }
    }

    fn reduce(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        form.flag("sync");
        let ops = [
            ("add", Integer2::Add),
            ("min", Integer2::Minimum),
            ("max", Integer2::Maximum),
            ("and", Integer2::And),
            ("or", Integer2::Or),
            ("xor", Integer2::Xor),
        ];
        let f = form.one_of(&ops).ok_or_else(|| form.unsupported())?;
        let (absolute, nan) = (form.flag("abs"), form.flag("NaN"));
        let kind = form.need_kind()?;
        let [d, a, mask] = operands(at)?;
        let (d, a, mask) = (self.word(d, at)?, self.word(a, at)?, self.word(mask, at)?);
        match (kind, f) {
            (Type::F32, Integer2::Minimum | Integer2::Maximum) => {
                Ok(Op::ReduceFloat { maximum: f == Integer2::Maximum, absolute, nan, d, a, mask })
            }
            (Type::B32 | Type::U32 | Type::S32, _) if !absolute && !nan => {
                Ok(Op::Reduce { f, signed: kind.is_signed(), d, a, mask })
            }
            _ => Err(form.unsupported()),
        }
    }
}
