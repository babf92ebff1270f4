//! Branches, barriers, and what lanes exchange.

use super::memory::touched_line;
use super::row::{Row, Since, decoded, free, refused};
use super::single;
use crate::decode::decoder::Decoder;
use crate::decode::form::{Form, operands};
use crate::error::Error;
use crate::lanes::{LANES, Lanes, Registers, WideLanes, each};
use crate::program::{Logic, Op, Reduction, Scope, Shuffle, Slot, Type, Vote, Word};
use crate::text::{Instruction, Operand};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    free("bra", |_, form, at| {
        form.flag("uni");
        match at.operands.as_slice() {
            [Operand::Label(target)] => {
                Ok(Op::Branch { target: *target as u32, reconverge: u32::MAX, spins: false })
            }
            _ => Err(form.unsupported()),
        }
    }).results(0),
    free("ret", exit).results(0),
    free("exit", exit).results(0),
    free("trap", |_, _, _| Ok(Op::Trap)).results(0),
    free("brkpt", |_, _, _| Ok(Op::Trap)).results(0),
    free("call", |decoder, form, at| {
        form.flag("uni");
        match at.operands.as_slice() {
            [Operand::Vector(d), Operand::Symbol(name, 0), Operand::Vector(given)] => match (name.as_str(), d.as_slice(), given.as_slice()) {
                ("vprintf", [d], [text, values]) => {
                    let (text, values) = (decoder.wide(text, at)?, decoder.wide(values, at)?);
                    Ok(Op::Print { d: decoder.any(d, Type::B32, at)?, text, values })
                }
                _ => Err(form.unsupported()),
            },
            [Operand::Symbol(name, 0), Operand::Vector(given)] => match (name.as_str(), given.as_slice()) {
                ("__assertfail", [message, file, line, function, _]) => {
                    let texts = [decoder.wide(message, at)?, decoder.wide(file, at)?, decoder.wide(function, at)?];
                    Ok(Op::Fail { texts, line: decoder.word(line, at)? })
                }
                _ => Err(form.unsupported()),
            },
            _ => Err(form.unsupported()),
        }
    }),
    free("brx", |decoder, form, at| {
        form.flag("uni");
        match at.operands.as_slice() {
            [index, list @ Operand::Vector(_)] if form.flag("idx") => {
                let targets = list.labels().into_iter().map(|target| target as u32).collect();
                let index = decoder.word(index, at)?;
                Ok(Op::BranchTable { index, targets, reconverge: u32::MAX, spins: false })
            }
            _ => Err(form.unsupported()),
        }
    }).results(0),
    decoded("nanosleep", &["u32"], "", |decoder, at| {
        let [time] = operands(at)?;
        decoder.word(time, at).map(|_| Op::Nothing)
    }).results(0),
    decoded("setmaxnreg", &["u32"], "=inc|dec sync aligned", |_, at| match at.operands.as_slice() {
        [Operand::Integer(count)] if (24..=256).contains(count) && count.is_multiple_of(8) => Ok(Op::Nothing),
        _ => Err(Form::of(at).refuse("a warp has 24 to 256 registers a thread, a multiple of 8")),
    }).results(0).since(Since::Hopper),
    decoded("griddepcontrol", &[], "launch_dependents|wait", nothing).results(0).since(Since::Hopper),
    decoded("pmevent", &[], "mask?", |_, at| match (operands(at)?, at.has("mask")) {
        ([Operand::Integer(0..=15)], false) | ([Operand::Integer(0..=0xffff)], true) => Ok(Op::Nothing),
        _ => Err(Form::of(at).refuse("there are 16 events")),
    }).results(0),
    decoded("membar", &[], "cta|gl|sys", fence).results(0),
    decoded("membar", &[], "=proxy alias", nothing).results(0),
    decoded("membar", &[], "=proxy async", fence_for_async).results(0).since(Since::Hopper),
    decoded("fence", &[], "sc|acq_rel? cta|gpu|sys", fence).results(0),
    decoded("fence", &[], "acquire|release cta|gpu|sys", fence).results(0).since(Since::Hopper),
    decoded("fence", &[], "sc|acq_rel|acquire|release? cluster", fence).results(0).since(Since::Hopper),
    // other fences of proxies, and of what a barrier object's start writes, order no accesses of threads; what threads write to global
    // memory is not compared with what copies read, so that a fence of that alone orders nothing
    decoded("fence", &[], "acquire&sync_restrict::shared::cluster|release&sync_restrict::shared::cta cluster", nothing).results(0).since(Since::Hopper),
    decoded("fence", &[], "mbarrier_init release cluster", |_, at| operands(at).map(|[]| Op::FenceForObjects)).results(0).since(Since::Hopper),
    decoded("fence", &[], "=proxy async&shared::cta|async&shared::cluster|async", fence_for_async).results(0).since(Since::Hopper),
    decoded("fence", &[], "=proxy async&global", nothing).results(0).since(Since::Hopper),
    decoded("fence", &[], "=proxy alias", nothing).results(0),
    decoded("fence", &[], "=proxy tensormap::generic release cta|cluster|gpu|sys", nothing).results(0).since(Since::Hopper),
    decoded("fence", &[], "=proxy tensormap::generic acquire cta|cluster|gpu|sys", touched_line).results(0).since(Since::Hopper),
    decoded("fence", &[], "=proxy async::generic acquire&sync_restrict::shared::cluster|release&sync_restrict::shared::cta cluster", fence_for_async).results(0).since(Since::Hopper),
    decoded("bar", &[], "=warp =sync", |decoder, at| {
        let [mask] = operands(at)?;
        Ok(Op::SyncWarp { mask: decoder.word(mask, at)? })
    }),
    decoded("bar", &[], "=cta? =sync|arrive", barrier),
    decoded("bar", &["u32"], "=cta? =red popc", barrier),
    decoded("bar", &["pred"], "=cta? =red and|or", barrier),
    decoded("barrier", &[], "=cta? =sync|arrive aligned?", barrier),
    decoded("barrier", &["u32"], "=cta? =red popc aligned?", barrier),
    decoded("barrier", &["pred"], "=cta? =red and|or aligned?", barrier),
    decoded("barrier", &[], "=cluster =arrive release|relaxed? aligned?", cluster_barrier).since(Since::Hopper),
    decoded("barrier", &[], "=cluster =wait acquire? aligned?", cluster_barrier).since(Since::Hopper),
    refused("fence", &[], "=proxy tensormap::generic acq_rel cta|cluster|gpu|sys", "fences that acquire and release tensor maps are not supported here"),
    decoded("shfl", &["b32"], "sync up|down|bfly|idx", |decoder, at| decoder.shuffle(&mut Form::of(at), at)),
    decoded("vote", &["pred"], "sync all|any|uni", |decoder, at| decoder.vote(&mut Form::of(at), at)),
    decoded("vote", &["b32"], "sync ballot", |decoder, at| decoder.vote(&mut Form::of(at), at)),
    decoded("activemask", &["b32"], "", |decoder, at| {
        let [d] = operands(at)?;
        Ok(Op::ActiveMask { d: decoder.word(d, at)? })
    }),
    decoded("match", &["b32 b64"], "all|any sync", |decoder, at| {
        let [d, a, mask] = operands(at)?;
        let all = at.has("all");
        if !all && matches!(d, Operand::Pair(..)) {
            return Err(Form::of(at).refuse("only .all says whether all agree"));
        }
        let (d, p) = decoder.with_predicate(d, at)?;
        let (d, a) = (decoder.word(d, at)?, decoder.typed(a, super::row::kind(at), at)?);
        Ok(Op::Match { all, d, p, a, mask: decoder.word(mask, at)? })
    }),
    decoded("redux", &["u32 s32"], "sync add|min|max", |decoder, at| decoder.reduce(&mut Form::of(at), at)),
    decoded("redux", &["b32"], "sync and|or|xor", |decoder, at| decoder.reduce(&mut Form::of(at), at)),
    decoded("redux", &["f32"], "sync min|max abs? NaN?", |decoder, at| decoder.reduce(&mut Form::of(at), at)).since(Since::Blackwell),
    decoded("elect", &[], "sync", |decoder, at| {
        let [d, mask] = operands(at)?;
        let (d, Some(p)) = decoder.with_predicate(d, at)? else {
            return Err(Form::of(at).refuse("it needs a predicate"));
        };
        let d = decoder.any(d, Type::B32, at)?;
        if matches!(d, Slot::Wide(_)) {
            return Err(Form::of(at).refuse("its result has 32 bits"));
        }
        Ok(Op::Elect { d, p, mask: decoder.word(mask, at)? })
    }).since(Since::Hopper),
];

fn exit(_: &mut Decoder<'_>, form: &mut Form<'_>, _: &Instruction) -> Result<Op, Error> {
    form.flag("uni");
    Ok(Op::Exit)
}

/// It changes no result.
fn nothing(_: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    operands(at).map(|[]| Op::Nothing)
}

fn fence(_: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    operands(at).map(|[]| Op::Fence { scope: scope(|word| at.has(word)) })
}

/// The scope that a form names: what none does is for all.
pub(crate) fn scope(mut has: impl FnMut(&str) -> bool) -> Scope {
    match (has("cta"), has("cluster")) {
        (true, _) => Scope::Block,
        (false, true) => Scope::Cluster,
        (false, false) => Scope::All,
    }
}

fn fence_for_async(_: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    operands(at).map(|[]| Op::FenceForAsync)
}

fn cluster_barrier(_: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let [arrive, aligned, relaxed] = ["arrive", "aligned", "relaxed"].map(|word| at.has(word));
    operands(at).map(|[]| Op::ClusterBarrier { arrive, aligned, orders: !relaxed })
}

/// A barrier of the block, with its number and for how many threads it waits.
fn barrier(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let refused = |why: &str| Err(Form::of(at).refuse(why));
    let (arrive, aligned) = (at.has("arrive"), at.has("aligned") || at.name() == "bar");
    let (reduced, rest) = match at.operands.as_slice() {
        [d, rest @ .., a] if at.has("red") => (Some((d, a)), rest),
        rest => (None, rest),
    };
    let (id, count) = match rest {
        [_] if arrive => return refused("an arrival needs the number of threads"),
        [id] => (id, None),
        [id, count] => (id, Some(count)),
        _ => return refused(""),
    };
    if let Operand::Integer(id @ 16..) = id {
        return refused(&format!("there is no barrier {id}: a block has 16"));
    }
    if let Some(Operand::Integer(count)) = count
        && !count.is_multiple_of(32)
    {
        return refused(&format!("it waits for a multiple of 32 threads, not {count}"));
    }
    let reduce = match reduced {
        None => None,
        Some((d, a)) => {
            let f = [("and", Logic::And), ("or", Logic::Or)].into_iter().find(|(word, _)| at.has(word));
            let (d, p) = match f {
                Some(_) => (Slot::Sink, Some(decoder.predicate(d, at)?)),
                None => (Slot::Word(decoder.word(d, at)?, 32), None),
            };
            Some(Box::new(Reduction { f: f.map(|(_, f)| f), d, p, a: decoder.condition(a, at)? }))
        }
    };
    let (id, count) = (decoder.word(id, at)?, count.map(|count| decoder.word(count, at)).transpose()?);
    Ok(Op::Barrier { id, count, arrive, aligned, reduce })
}

impl Shuffle {
    /// The lane that a lane reads, and whether it is inside of its segment.
    #[inline(always)]
    pub(crate) fn source(self, lane: usize, b: u32, control: u32) -> (usize, bool) {
        let (here, amount) = (lane as u32, b & 31);
        let segment = control >> 8 & 31;
        let clamp = control & 31;
        let greatest = here & segment | clamp & !segment & 31;
        let least = here & segment;
        let (from, inside) = match self {
            Shuffle::Up => (here.wrapping_sub(amount), here as i32 - amount as i32 >= greatest as i32),
            Shuffle::Down => (here + amount, here + amount <= greatest),
            Shuffle::Butterfly => (here ^ amount, here ^ amount <= greatest),
            Shuffle::Index => {
                let from = least | amount & !segment & 31;
                (from, from <= greatest)
            }
        };
        (if inside { from as usize } else { lane }, inside)
    }
}

impl Decoder<'_> {
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
        let name = ["add", "min", "max", "and", "or", "xor"].into_iter().find(|name| form.flag(name));
        let name = name.ok_or_else(|| form.unsupported())?;
        let (absolute, nan) = (form.flag("abs"), form.flag("NaN"));
        let kind = form.need_kind()?;
        let [d, a, mask] = operands(at)?;
        let (d, a, mask) = (self.word(d, at)?, self.word(a, at)?, self.word(mask, at)?);
        let f: fn(u32, u32) -> u32 = match (name, kind) {
            ("min", Type::F32) if nan => |a, b| single::minimum(true, a, b),
            ("min", Type::F32) => |a, b| single::minimum(false, a, b),
            (_, Type::F32) if nan => |a, b| single::maximum(true, a, b),
            (_, Type::F32) => |a, b| single::maximum(false, a, b),
            ("add", _) => u32::wrapping_add,
            ("and", _) => |a, b| a & b,
            ("or", _) => |a, b| a | b,
            ("xor", _) => |a, b| a ^ b,
            ("min", Type::S32) => |a, b| (a as i32).min(b as i32) as u32,
            ("min", _) => u32::min,
            (_, Type::S32) => |a, b| (a as i32).max(b as i32) as u32,
            _ => u32::max,
        };
        Ok(Op::Reduce { f, absolute, float: kind == Type::F32, d, a, mask })
    }
}

/// `shfl`: the result, and the lanes that read inside of their segment; an error names a lane that reads one that does not take part,
/// and that one.
pub(crate) fn shuffled(
    registers: &Registers,
    mask: u32,
    f: Shuffle,
    [a, b, c]: [Word; 3],
) -> Result<(Lanes, u32), (usize, usize)> {
    let [a, b, c] = [a, b, c].map(|word| registers.word(word));
    let (mut value, mut valid) = ([0; LANES], 0);
    for lane in each(mask) {
        let (from, inside) = f.source(lane, b[lane], c[lane]);
        if mask >> from & 1 == 0 {
            return Err((lane, from));
        }
        value[lane] = a[from];
        valid |= u32::from(inside) << lane;
    }
    Ok((value, valid))
}

/// `match`: the lanes that hold the same value, and the lanes where all do.
pub(crate) fn agreeing(a: &WideLanes, mask: u32, all: bool) -> (Lanes, u32) {
    let (mut value, mut same) = ([0; LANES], 0);
    for lane in each(mask) {
        let equal = each(mask).fold(0, |bits, other| bits | u32::from(a[other] == a[lane]) << other);
        value[lane] = if all && equal != mask { 0 } else { equal };
        same |= u32::from(equal == mask) << lane;
    }
    (value, same)
}

impl Vote {
    pub(crate) fn of(self, bits: u32, mask: u32) -> bool {
        match self {
            Vote::All => bits == mask,
            Vote::Any => bits != 0,
            Vote::Uniform => bits == 0 || bits == mask,
        }
    }
}
