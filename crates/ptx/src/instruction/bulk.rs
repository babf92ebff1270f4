//! Barrier objects, bulk copies and tensor maps (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", "Data
//! Movement and Conversion Instructions: Asynchronous copy", "Tensor Map Proxy").

use bitmma_engine::catalogue::Architecture;

use super::memory::REDUCTIONS;
use super::row::{Row, Since, free};
use crate::decode::decoder::Decoder;
use crate::decode::form::{Form, operands};
use crate::error::Error;
use crate::program::{
    Access, Action, Address, Atomic, AtomicOp, Boxes, Bulk, Compare, Comparison, Field, Object, Op, Order,
    Part, Phase, Region, Slot, Type, Word,
};
use crate::text::{Instruction, Operand};

pub(super) const ROWS: &[Row] = &[
    free("mbarrier", |decoder, form, at| decoder.object(form, at)),
    free("tensormap", |decoder, form, at| decoder.tensor_map(form, at)).results(0).since(Since::Hopper),
    free("clusterlaunchcontrol", |decoder, form, at| decoder.cancel(form, at)).since(Since::Blackwell),
    free("multimem", |_, form, _| Err(form.refuse("memory of several GPUs is not"))),
];

impl Decoder<'_> {
    fn object(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let actions = [
            "init",
            "inval",
            "arrive_drop",
            "arrive",
            "complete_tx",
            "test_wait",
            "try_wait",
            "expect_tx",
            "pending_count",
        ];
        let action =
            actions.into_iter().find(|action| form.flag(action)).ok_or_else(|| form.unsupported())?;
        let words: Vec<&str> = at.form.split('.').skip(1).collect();
        wrong_object(action, &words).map_or(Ok(()), |why| Err(form.refuse(&why)))?;
        let arrives = matches!(action, "arrive" | "arrive_drop");
        let counts = arrives && at.operands.len() == 3 && !at.has("noComplete");
        let is_new =
            ["expect_tx", "relaxed", "cluster", "shared::cluster"].into_iter().any(|word| at.has(word))
                || matches!(action, "try_wait" | "complete_tx")
                || counts;
        self.needs_hopper(is_new, form)?;
        let (expects, parity) = (action != "expect_tx" && form.flag("expect_tx"), form.flag("parity"));
        let relaxed = form.flag("relaxed");
        form.drop_if(|word| {
            matches!(word, "release" | "acquire" | "cta" | "noComplete" | "shared" | "shared::cta")
        });
        form.drop_if(|word| matches!(word, "cluster" | "shared::cluster"));
        if form.need_kind()? != Type::B64 {
            return Err(form.unsupported());
        }
        let all = at.operands.as_slice();
        if arrives && at.has("shared::cluster") && all.first() != Some(&Operand::Sink) {
            return Err(form.refuse("an arrival at another block has no state: its result is _"));
        }
        if arrives && (expects || at.has("noComplete")) && all.len() != 3 {
            return Err(form.refuse("it needs a count"));
        }
        if let ("pending_count", [d, state]) = (action, all) {
            let action = Action::Pending { d: self.word(d, at)?, state: self.wide(state, at)? };
            let address = Address { base: Slot::Sink, offset: 0 };
            return Ok(Op::Object(Box::new(Object { address, action })));
        }
        let (address, action) = match (action, all) {
            ("init", [address, count]) => (address, Action::Initialize(self.word(count, at)?)),
            ("inval", [address]) => (address, Action::Invalidate),
            ("arrive" | "arrive_drop", [state, address, rest @ ..]) if rest.len() < 2 => {
                let count = rest.first().map(|count| self.word(count, at)).transpose()?;
                let state = self.any(state, Type::B64, at)?;
                let (count, expects) = if expects { (None, count) } else { (count, None) };
                (address, Action::Arrive { state, count, expects, drops: action == "arrive_drop", relaxed })
            }
            ("expect_tx", [address, bytes]) => (address, Action::Expect(self.word(bytes, at)?)),
            ("complete_tx", [address, bytes]) => (address, Action::Complete(self.word(bytes, at)?)),
            // how long it may be suspended changes no result
            ("test_wait" | "try_wait", [d, address, phase, rest @ ..])
                if rest.is_empty() || rest.len() == 1 && action == "try_wait" =>
            {
                if let (true, Operand::Integer(value @ 2..)) = (parity, phase) {
                    return Err(form.refuse(&format!("a parity is 0 or 1, not {}", *value as i64)));
                }
                if let [time] = rest {
                    self.word(time, at)?;
                }
                let phase = match parity {
                    true => Phase::Parity(self.word(phase, at)?),
                    false => Phase::State(self.wide(phase, at)?),
                };
                (address, Action::Test { d: self.predicate(d, at)?, phase, relaxed })
            }
            _ => return Err(form.unsupported()),
        };
        Ok(Op::Object(Box::new(Object { address: self.address(address, at)?, action })))
    }

    /// `clusterlaunchcontrol`: no block is cancelled, so a request is answered by zeros.
    fn cancel(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        form.flag("b128");
        if form.flag("try_cancel") {
            let words = ["async", "mbarrier::complete_tx::bytes"];
            let has_all = words.into_iter().all(|word| form.flag(word));
            form.drop_if(|word| matches!(word, "shared::cta" | "multicast::cluster::all"));
            let ([address, barrier], true) = (operands(at)?, has_all) else { return Err(form.unsupported()) };
            let zero = Slot::Wide(self.wide_constant(0));
            let (address, barrier) = (self.address(address, at)?, self.address(barrier, at)?);
            let elements = Box::new([zero; 2]);
            let access =
                Access { region: Region::Shared, bytes: 8, signed: false, order: None, address, elements };
            return Ok(Op::Completing { op: Op::Store(access.into()).into(), bytes: 16, barrier });
        }
        let [d, a] = operands(at)?;
        let a = self.halves(a, at)?;
        if !form.flag("query_cancel") {
            return Err(form.unsupported());
        }
        if form.flag("is_canceled") && form.need_kind()? == Type::Pred {
            let b = Slot::Wide(self.wide_constant(0));
            let (comparison, kind) = (Comparison::NotEqual, Type::U64);
            let compare = Compare { comparison, kind, flush: false, a: a[0], b, combine: None };
            return Ok(Op::Compare { compare: compare.into(), d: self.predicate(d, at)?, q: None });
        }
        // where no block was cancelled, the manual leaves the results open
        let (all, one) = (
            form.flag("get_first_ctaid"),
            ["x", "y", "z"].into_iter().any(|axis| form.flag(&format!("get_first_ctaid::{axis}"))),
        );
        let d = self.list(d, Type::B32, at)?;
        if form.need_kind()? != Type::B32 || !(all && form.flag("v4") && d.len() == 4 || one && d.len() == 1)
        {
            return Err(form.unsupported());
        }
        Ok(Op::Unpack { a: a[0], bits: 16, parts: d })
    }

    /// `st.async`, `red.async`: a store, or an operation, whose bytes complete at an object.
    pub(super) fn completing(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        self.needs_hopper(true, form)?;
        if !form.flag("mbarrier::complete_tx::bytes") {
            return Err(form.refuse("without a barrier object it is not"));
        }
        let [address, value, barrier] = operands(at)?;
        let is_near = form.flag("shared::cluster");
        let elements = form.one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let op = form.one_of(&REDUCTIONS);
        let kind = form.need_kind()?;
        let region = if is_near { Region::Shared } else { Region::Generic };
        let bytes = (kind.bits() / 8) as u8;
        let size = u32::from(bytes) * elements;
        let has_order = [form.flag("relaxed"), form.flag("cluster")] == [true; 2];
        let is_known = match op {
            None => {
                let is_packed = matches!(kind, Type::F32x2 | Type::U16x2 | Type::S16x2 | Type::TF32);
                bytes >= 4 && size <= 16 && !has_order && !is_packed && !kind.is_packed()
            }
            Some(AtomicOp::Add) => matches!(kind, Type::U32 | Type::S32 | Type::U64) && has_order,
            Some(AtomicOp::Minimum | AtomicOp::Maximum) => matches!(kind, Type::U32 | Type::S32) && has_order,
            Some(AtomicOp::Increment | AtomicOp::Decrement) => kind == Type::U32 && has_order,
            Some(_) => kind == Type::B32 && has_order,
        };
        form.drop_if(|word| op.is_none() && word == "weak");
        let list = self.list(value, kind, at)?;
        if !is_known || (form.name == "red") != op.is_some() || list.len() != elements as usize {
            return Err(form.unsupported());
        }
        let (address, barrier) = (self.address(address, at)?, self.address(barrier, at)?);
        let op = match op {
            None => {
                let store = Bulk::StoreAcross { to: address, elements: list, bytes, barrier };
                return Ok(Op::Bulk(Box::new(store)));
            }
            Some(op) => {
                let nothing: Box<[Slot]> = Box::new([]);
                let (d, c, order) = (nothing.clone(), nothing, Order::default());
                let atomic = Atomic {
                    region,
                    op,
                    kind,
                    no_flush: false,
                    order,
                    address,
                    d,
                    b: list,
                    c,
                    observes: false,
                };
                Op::Atomic(atomic.into())
            }
        };
        Ok(Op::Completing { op: op.into(), bytes: size, barrier })
    }

    /// `st.bulk`: zeros in shared memory.
    pub(super) fn fill(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if let Some(why) = Since::Blackwell.missing(self.architecture) {
            return Err(form.refuse(why));
        }
        form.drop_if(|word| matches!(word, "weak" | "shared::cta"));
        match operands(at)? {
            [address, bytes, Operand::Integer(0)] => {
                if let Operand::Integer(bytes) = bytes
                    && !bytes.is_multiple_of(8)
                {
                    return Err(form.refuse(&format!("it stores a multiple of 8 bytes, not {bytes}")));
                }
                let bytes = self.any(bytes, Type::B64, at)?;
                Ok(Op::Fill { address: self.address(address, at)?, bytes })
            }
            _ => Err(form.refuse("it stores zeros alone")),
        }
    }

    /// An error where the target is older than what is new.
    fn needs_hopper(&self, is_new: bool, form: &Form<'_>) -> Result<(), Error> {
        let missing = if is_new { Since::Hopper.missing(self.architecture) } else { None };
        missing.map_or(Ok(()), |why| Err(form.refuse(why)))
    }

    fn tensor_map(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if form.flag("cp_fenceproxy") {
            form.drop_if(|_| true);
            return match at.operands.as_slice() {
                [to, from, Operand::Integer(128)] => {
                    let (to, from) = (self.address(to, at)?, self.address(from, at)?);
                    Ok(Op::Bulk(Box::new(Bulk::CopyMap { to, from })))
                }
                _ => Err(form.unsupported()),
            };
        }
        if !form.flag("replace") || !form.flag("tile") {
            return Err(form.unsupported());
        }
        let (address, ordinal, value) = match at.operands.as_slice() {
            [address, value] => (address, None, value),
            [address, Operand::Integer(ordinal @ 0..5), value] => (address, Some(*ordinal as u8), value),
            _ => return Err(form.unsupported()),
        };
        let along = |field: fn(u8) -> Field| ordinal.map(field);
        let fields = [
            ("global_address", Some(Field::Address)),
            ("rank", Some(Field::Rank)),
            ("global_dim", along(Field::Dimension)),
            ("global_stride", along(Field::Stride)),
            ("box_dim", along(Field::Box)),
            ("element_stride", along(Field::ElementStride)),
            ("elemtype", Some(Field::Type)),
            ("interleave_layout", Some(Field::Interleave)),
            ("swizzle_mode", Some(Field::Swizzle)),
            ("fill_mode", Some(Field::Fill)),
        ];
        let field = form.one_of(&fields).flatten().ok_or_else(|| form.unsupported())?;
        if !form.flag("shared::cta") {
            return Err(form.refuse("a tensor map in global memory is not changed"));
        }
        form.drop_if(|word| word == "b1024");
        let kind = form.need_kind()?;
        let (address, value) = (self.address(address, at)?, self.typed(value, kind, at)?);
        Ok(Op::Bulk(Box::new(Bulk::Replace { address, field, value })))
    }

    /// `cp.async.mbarrier.arrive`
    pub(super) fn arrive_with_copies(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let counts = !form.flag("noinc");
        form.drop_if(|word| matches!(word, "arrive" | "shared" | "shared::cta"));
        match (form.need_kind()?, at.operands.as_slice()) {
            (Type::B64, [address]) => {
                let (address, action) = (self.address(address, at)?, Action::ArriveWithCopies { counts });
                Ok(Op::Object(Box::new(Object { address, action })))
            }
            _ => Err(form.unsupported()),
        }
    }

    /// What the boxes of a copy are; an error where the target has none such.
    fn boxes(&self, form: &mut Form<'_>, at: &Instruction, is_load: bool) -> Result<Boxes, Error> {
        let word = |boxes: Boxes| if is_load { boxes.name() } else { "im2col_no_offs" };
        let all = if is_load { &Boxes::ALL[1..] } else { &Boxes::ALL[1..2] };
        let boxes = all.iter().copied().find(|boxes| form.flag(word(*boxes))).unwrap_or_default();
        let missing = match (boxes, self.architecture) {
            (Boxes::Tiled | Boxes::Im2col, _) => None,
            (Boxes::Im2colWide, Architecture::RtxBlackwell) if !at.has("shared::cluster") => None,
            (_, Architecture::RtxBlackwell) => Some("sm_120 does not have it"),
            (_, architecture) => Since::Blackwell.missing(architecture),
        };
        missing.map_or(Ok(boxes), |why| Err(form.refuse(why)))
    }

    /// `cp.async.bulk`, `cp.reduce.async.bulk`
    pub(super) fn bulk(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        self.needs_hopper(true, form)?;
        let done = |bulk: Bulk| Ok(Op::Bulk(Box::new(bulk)));
        if form.flag("commit_group") {
            return done(Bulk::Commit);
        }
        if form.flag("wait_group") {
            let reads = form.flag("read");
            return match at.operands.as_slice() {
                [Operand::Integer(left)] => done(Bulk::Wait { left: (*left).min(1 << 20) as u32, reads }),
                _ => Err(form.unsupported()),
            };
        }
        let prefetches = form.flag("prefetch");
        if prefetches && !form.flag("L2") {
            return Err(form.refuse("it needs .L2"));
        }
        let op = if form.flag("reduce") { form.one_of(&REDUCTIONS) } else { None };
        self.ordered |= op.is_some();
        let policy = form.flag("L2::cache_hint");
        let multicasts = form.flag("multicast::cluster");
        let across = at.has("shared::cluster") && at.has("shared::cta") && !at.has("global");
        if multicasts && !at.has("shared::cluster") {
            return Err(form.refuse(".multicast::cluster is for .shared::cluster"));
        }
        let in_ = form.flag("mbarrier::complete_tx::bytes") || prefetches;
        let out = form.flag("bulk_group");
        let tensor = form.flag("tensor");
        let dimensions = form.one_of(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)]);
        form.drop_if(|word| {
            matches!(word, "global" | "shared::cta" | "shared::cluster" | "tile" | "cta_group::1")
        });
        let has_rows = form.flag(if in_ { "tile::gather4" } else { "tile::scatter4" });
        if has_rows && let Some(why) = Since::Blackwell.missing(self.architecture) {
            return Err(form.refuse(why));
        }
        let boxes = self.boxes(form, at, in_)?;
        // four rows have one coordinate of the column, and their numbers
        let wanted = match (has_rows, boxes) {
            (true, _) => dimensions.filter(|count| *count == 2).map(|_| 5),
            (_, Boxes::Tiled) => dimensions,
            _ => dimensions.filter(|count| *count >= 3),
        };
        let no_flush = form.flag("noftz");
        let kind = if op.is_some() && !tensor { Some(form.need_kind()?) } else { None };
        let mut all = at.operands.as_slice();
        if policy {
            all = all.split_last().map_or(all, |(_, rest)| rest);
        }
        let blocks = match all.split_last() {
            Some((blocks, rest)) if multicasts => {
                all = rest;
                Some(self.half(blocks, at)?)
            }
            _ => None,
        };
        let mut offsets: Box<[Word]> = Box::new([]);
        if in_ && boxes != Boxes::Tiled {
            let count = if boxes == Boxes::Im2col { wanted.map(|count| count - 2) } else { Some(2) };
            match all.split_last() {
                Some((Operand::Vector(list), rest)) if Some(list.len()) == count => {
                    all = rest;
                    offsets = list.iter().map(|offset| self.half(offset, at)).collect::<Result<_, _>>()?;
                }
                _ => {
                    let count = count.unwrap_or(0);
                    return Err(form.refuse(&format!("its last operand has {count} offsets")));
                }
            }
        }
        let part = |decoder: &mut Self, operand: &Operand| match operand {
            Operand::Vector(list) => match list.as_slice() {
                [map, Operand::Vector(coordinates)] => {
                    if wanted != Some(coordinates.len()) {
                        return Err(Error::syntax(
                            at.line,
                            format!(
                                "'{}' takes {} coordinates, not {}",
                                at.form,
                                wanted.unwrap_or(0),
                                coordinates.len()
                            ),
                        ));
                    }
                    let words: Result<Box<[Word]>, Error> =
                        coordinates.iter().map(|coordinate| decoder.word(coordinate, at)).collect();
                    Ok(Part { map: decoder.address(map, at)?, coordinates: words?, has_rows, boxes, offsets })
                }
                _ => Err(Error::unsupported(at.line, &at.form, "")),
            },
            _ => Err(Error::unsupported(at.line, &at.form, "")),
        };
        let size = match (tensor, prefetches, all) {
            (false, true, [_, size]) | (false, false, [_, _, size, ..]) => Some(size),
            _ => None,
        };
        if let Some(Operand::Integer(bytes)) = size
            && !bytes.is_multiple_of(16)
        {
            return Err(form.refuse(&format!("its size is a multiple of 16 bytes, not {bytes}")));
        }
        match (tensor, in_, out, all) {
            (true, true, false, [source]) if prefetches && op.is_none() => {
                part(self, source).map(|_| Op::Nothing)
            }
            (false, true, false, [from, bytes]) if prefetches && op.is_none() => {
                self.address(from, at).and(self.word(bytes, at)).map(|_| Op::Nothing)
            }
            _ if prefetches => Err(form.unsupported()),
            (true, true, false, [to, source, barrier]) if op.is_none() => {
                let part = part(self, source)?;
                let (to, barrier) = (self.address(to, at)?, self.address(barrier, at)?);
                done(Bulk::Load { to, part, barrier, blocks })
            }
            (true, false, true, [target, from]) => {
                let part = part(self, target)?;
                done(Bulk::Store { part, from: self.address(from, at)?, op })
            }
            (false, true, false, [to, from, bytes, barrier]) if op.is_none() => {
                let (to, from) = (self.address(to, at)?, self.address(from, at)?);
                let (bytes, barrier) = (self.word(bytes, at)?, self.address(barrier, at)?);
                match across {
                    true => done(Bulk::CopyAcross { to, from, bytes, barrier }),
                    false => done(Bulk::CopyIn { to, from, bytes, barrier, blocks }),
                }
            }
            (false, false, true, [to, from, bytes]) => {
                let op = op.zip(kind);
                if let Some((op, kind)) = op {
                    reduces(op, kind, false).map_err(|why| form.refuse(&why))?;
                    let half = matches!(kind, Type::F16 | Type::BF16);
                    if no_flush != (half && op == AtomicOp::Add) {
                        return Err(form.refuse("sums of halves, and no others, have .noftz"));
                    }
                }
                let (to, from) = (self.address(to, at)?, self.address(from, at)?);
                done(Bulk::CopyOut { to, from, bytes: self.word(bytes, at)?, op })
            }
            _ => Err(form.unsupported()),
        }
    }
}

/// Why the words of an operation on a barrier object do not go together, if they do not (PTX ISA, "mbarrier").
fn wrong_object(action: &str, words: &[&str]) -> Option<String> {
    let has = |word: &str| words.contains(&word);
    let orders: &[&str] = match action {
        "arrive" | "arrive_drop" => &["release", "relaxed"],
        "test_wait" | "try_wait" => &["acquire", "relaxed"],
        "expect_tx" | "complete_tx" => &["relaxed"],
        _ => &[],
    };
    let order = ["release", "acquire", "relaxed"].into_iter().find(|word| has(word));
    let scope = ["cta", "cluster"].into_iter().find(|word| has(word));
    let reaches = matches!(action, "arrive" | "arrive_drop" | "expect_tx" | "complete_tx");
    // what follows the name of the operation
    let second = ["parity", "expect_tx"].into_iter().find(|word| *word != action && has(word));
    match (order, scope) {
        _ if words.first() != Some(&action) => Some(format!(".{action} comes first")),
        _ if second.is_some_and(|word| words.get(1) != Some(&word)) => {
            second.map(|word| format!(".{word} comes behind .{action}"))
        }
        (Some(order), _) if !orders.contains(&order) => Some(format!(".{action} has no .{order}")),
        (Some(order), None) => Some(format!(".{order} needs a scope: .cta or .cluster")),
        (None, Some(scope)) => Some(format!(".{scope} needs .{}", orders.first().unwrap_or(&"release"))),
        _ if has("shared::cluster") && !reaches => {
            Some(format!(".{action} does not reach other blocks: it has no .shared::cluster"))
        }
        _ if action == "pending_count" && (has("shared") || has("shared::cta")) => {
            Some(".pending_count has no state space".to_owned())
        }
        _ if has("noComplete") => {
            let other = ["relaxed", "cluster", "shared::cluster"].into_iter().find(|word| has(word));
            other.map(|word| format!(".noComplete does not go with .{word}"))
        }
        _ => None,
    }
}

/// An error if bulk copies do not combine elements of a type so (PTX ISA, "cp.reduce.async.bulk"). Elements of a tensor (`of_map`) have
/// no types without a sign of their bits: integers are what `and`, `or` and `xor` combine.
pub(crate) fn reduces(op: AtomicOp, kind: Type, of_map: bool) -> Result<(), String> {
    use Type::{B32, B64, BF16, F16, F32, F64, S32, S64, U32, U64};
    let (name, types): (_, &[Type]) = match op {
        AtomicOp::Add => ("add", &[U32, S32, U64, F32, F64, F16, BF16]),
        AtomicOp::Minimum => ("min", &[U32, S32, U64, S64, F16, BF16]),
        AtomicOp::Maximum => ("max", &[U32, S32, U64, S64, F16, BF16]),
        AtomicOp::Increment => ("inc", &[U32]),
        AtomicOp::Decrement => ("dec", &[U32]),
        _ if of_map => ("and, or, xor", &[U32, S32, U64, S64]),
        _ => ("and, or, xor", &[B32, B64]),
    };
    if types.contains(&kind) {
        return Ok(());
    }
    let name_of = |kind: Type| format!("{kind:?}").to_lowercase();
    let types: Vec<String> = types.iter().map(|kind| name_of(*kind)).collect();
    Err(format!("{name} of a bulk copy takes {}, not {}", types.join(", "), name_of(kind)))
}
