//! Loads, stores, copies and atomic operations.

use bitmma_engine::catalogue::Architecture;

use super::convert::{copied, region};
use super::row::{Row, Since, decoded, free};
use crate::decode::decoder::Decoder;
use crate::decode::form::{Form, operands};
use crate::error::Error;
use crate::program::{
    Access, Address, Atomic, AtomicOp, Condition, Op, Order, Region, Scope, Slot, Tile, Type,
};
use crate::text::{Base, Instruction, Operand, Space};

/// What `atom`, `red` and bulk copies combine by.
pub(super) const REDUCTIONS: [(&str, AtomicOp); 8] = [
    ("add", AtomicOp::Add),
    ("min", AtomicOp::Minimum),
    ("max", AtomicOp::Maximum),
    ("inc", AtomicOp::Increment),
    ("dec", AtomicOp::Decrement),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
];

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    free("ld", |decoder, form, at| decoder.access(form, at)),
    free("ldu", |decoder, form, at| decoder.access(form, at)),
    free("st", |decoder, form, at| match () {
        () if form.flag("async") => decoder.completing(form, at),
        () if form.flag("bulk") => decoder.fill(form, at),
        () => decoder.access(form, at),
    }).results(0),
    free("atom", |decoder, form, at| decoder.atomic(form, at)),
    free("red", |decoder, form, at| match form.flag("async") {
        true => decoder.completing(form, at),
        false => decoder.atomic(form, at),
    }).results(0),
    free("cp", |decoder, form, at| decoder.copy(form, at)).results(0),
    free("ldmatrix", |decoder, form, at| decoder.matrix_access(form, at)),
    free("stmatrix", |decoder, form, at| decoder.matrix_access(form, at)).results(0).since(Since::Hopper),
    // what only speeds up
    decoded("prefetch", &[], "global|local? L1|L2", touched).results(0),
    decoded("prefetch", &[], "global? L2::evict_last|L2::evict_normal", touched).results(0),
    decoded("prefetch", &[], "param|const? tensormap", touched).results(0).since(Since::Hopper),
    decoded("prefetchu", &[], "L1", touched).results(0),
    decoded("applypriority", &[], "global? L2::evict_normal", touched_line).results(0),
    decoded("discard", &[], "global? L2", touched_line).results(0),
    decoded("createpolicy", &["b64"], "=fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_unchanged|L2::evict_first?", policy),
    decoded("createpolicy", &["b64"], "=range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_unchanged|L2::evict_first?", policy),
    decoded("createpolicy", &["b64"], "=cvt L2", policy),
];

/// An address, of which nothing is read.
fn touched(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let [a] = operands(at)?;
    decoder.address(a, at).map(|_| Op::Nothing)
}

/// The same of 128 bytes.
pub(super) fn touched_line(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    match operands(at)? {
        [a, Operand::Integer(128)] => decoder.address(a, at).map(|_| Op::Nothing),
        [..] => Err(Error::unsupported(at.line, &at.form, "it is for 128 bytes")),
    }
}

/// A cache policy, which changes no result.
fn policy(decoder: &mut Decoder<'_>, at: &Instruction) -> Result<Op, Error> {
    let refused = |why: &str| Error::unsupported(at.line, &at.form, why);
    let unsupported = || refused("");
    let (d, rest) = at.operands.split_first().ok_or_else(unsupported)?;
    match rest {
        [] if at.has("fractional") => Ok(()),
        // up to the bits of 1.0
        [Operand::Single(0 | 0x3f80_0001..) | Operand::Double(0 | 0x3ff0_0000_0000_0001..)] => {
            Err(refused("its share is above 0 and at most 1"))
        }
        [share] if at.has("fractional") => decoder.typed(share, Type::F32, at).map(drop),
        [from] if at.has("cvt") => decoder.typed(from, Type::U64, at).map(drop),
        [_, Operand::Integer(first), Operand::Integer(all)] if first > all => {
            Err(refused("its first bytes are more than all"))
        }
        [address, first, all] if at.has("range") => decoder
            .address(address, at)
            .and(decoder.typed(first, Type::U32, at))
            .and(decoder.typed(all, Type::U32, at))
            .map(drop),
        _ => Err(unsupported()),
    }?;
    let d = decoder.any(d, Type::B64, at)?;
    let zero = Slot::Wide(decoder.wide_constant(0));
    copied(d, zero).ok_or_else(unsupported)
}

impl Decoder<'_> {
    /// The region of an access: what the form says, or, of a variable's address, where the variable is.
    fn region(&self, form: &mut Form<'_>, address: &Operand) -> Region {
        let is_of_cluster = form.text().contains(".shared::cluster");
        match region(form) {
            Some(Region::Shared) if !is_of_cluster => return Region::SharedOfBlock,
            Some(region) => return region,
            None => {}
        }
        let space = match address {
            Operand::Address(Base::Symbol(name), _) => self.space_of(name),
            _ => None,
        };
        match space {
            Some(Space::Shared) => Region::SharedOfBlock,
            Some(Space::Local) => Region::Local,
            Some(Space::Parameter) => Region::Parameter,
            _ => Region::Generic,
        }
    }

    fn access(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        form.check(wrong_access)?;
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
        let wide = form.flag("b128");
        let elements =
            form.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1) * if wide { 2 } else { 1 };
        let kind = if wide { Type::B64 } else { form.need_kind()? };
        let bytes = (kind.bits() / 8) as u8;
        let since = match () {
            () if usize::from(bytes) * elements > 16 => Since::Blackwell,
            () if is_of_cluster(at) => Since::Hopper,
            () => Since::Always,
        };
        if let Some(why) = since.missing(self.architecture) {
            return Err(form.refuse(why));
        }
        if !store && at.operands[data] == Operand::Sink {
            return Err(Error::syntax(
                at.line,
                format!("'{}' takes a register for its result, not _", at.form),
            ));
        }
        if kind == Type::Pred || bytes == 0 || wide && elements > 2 {
            return Err(form.unsupported());
        }
        let list = match wide {
            true => Box::new(self.halves(&at.operands[data], at)?),
            false => self.list(&at.operands[data], kind, at)?,
        };
        if list.len() != elements {
            let given = list.len();
            return Err(Error::syntax(
                at.line,
                format!("'{}' takes {elements} registers, not {given}", at.form),
            ));
        }
        let width = |slot: &Slot| if let Slot::Word(_, bits) = slot { *bits } else { 64 };
        if let Some(slot) = list.iter().find(|slot| width(slot) < kind.bits()) {
            let (wanted, given) = (kind.bits(), width(slot));
            let what = format!("'{}' takes registers of {wanted} bits or more, not of {given}", at.form);
            return Err(Error::syntax(at.line, what));
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
        let architecture = self.architecture;
        form.check(|name, words| wrong_atomic(name, words, architecture))?;
        if is_of_cluster(at)
            && let Some(why) = Since::Hopper.missing(architecture)
        {
            return Err(form.refuse(why));
        }
        let returns = form.name == "atom";
        let order = ordering(form).unwrap_or_default();
        drop_hints(form);
        let policy = form.flag("L2::cache_hint");
        let no_flush = form.flag("noftz");
        let exchanges = [("exch", AtomicOp::Exchange), ("cas", AtomicOp::CompareExchange)];
        let op = form.one_of(&REDUCTIONS).or_else(|| form.one_of(&exchanges));
        let op = op.ok_or_else(|| form.unsupported())?;
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
        let wide = form.flag("b128");
        if wide && Since::Hopper.missing(architecture).is_some() {
            return Err(form.refuse("it needs sm_90 or later"));
        }
        let kind = if wide { Type::B64 } else { form.need_kind()? };
        let float = kind.float().is_some();
        let known = match op {
            _ if wide => elements == 1 && matches!(op, AtomicOp::Exchange | AtomicOp::CompareExchange),
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
        let elements = if wide { 2 } else { elements };
        let mut list = |operand: &Operand| match (wide, operand) {
            (true, Operand::Sink) => Ok(Box::new([Slot::Sink; 2]) as Box<[Slot]>),
            (true, _) => Ok(Box::new(self.halves(operand, at)?) as Box<[Slot]>),
            (false, _) => self.list(operand, kind, at),
        };
        let nothing: Box<[Slot]> = Box::new([]);
        let d = d.map_or(Ok(nothing.clone()), &mut list)?;
        let b = list(b)?;
        let c = c.map_or(Ok(nothing), &mut list)?;
        if b.len() != elements || (!d.is_empty() && d.len() != elements && !matches!(*d, [Slot::Sink])) {
            return Err(Error::syntax(at.line, format!("'{}' takes {elements} registers", at.form)));
        }
        let address = self.address(address, at)?;
        self.ordered |= matches!(region, Region::Global | Region::Generic);
        Ok(Op::Atomic(Box::new(Atomic {
            region,
            op,
            kind,
            no_flush,
            order,
            address,
            d,
            b,
            c,
            observes: false,
        })))
    }

    fn copy(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if !form.flag("async") {
            return Err(form.unsupported());
        }
        if form.flag("bulk") {
            return self.bulk(form, at);
        }
        if form.flag("mbarrier") {
            return self.arrive_with_copies(form, at);
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
        if let [Operand::Integer(size)] = rest
            && *size > bytes
        {
            return Err(
                form.refuse(&format!("it reads at most the {bytes} bytes that it copies, not {size}"))
            );
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
        let shape = ["m8n8", "m8n16", "m16n16", "m16n8"].into_iter().find(|shape| form.flag(shape));
        let count = form.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]).ok_or_else(|| form.unsupported())?;
        let transposed = form.flag("trans");
        // a generic address of shared memory is one too
        form.drop_if(|word| matches!(word, "shared" | "shared::cta"));
        let packed = form.one_of(&[("b6x16_p32", 6), ("b4x16_p64", 4)]).filter(|_| form.flag("b8x16"));
        let bits = match (packed, form.kind()) {
            (Some(bits), None) => bits,
            (None, Some(kind @ (Type::B8 | Type::B16))) => kind.bits(),
            _ => return Err(form.unsupported()),
        };
        let (tile, count) = match (form.name, shape, bits, transposed, count) {
            (_, Some("m8n8"), 16, ..) => (Tile::Halves { transposed }, count),
            ("ldmatrix", Some("m16n16"), 4 | 6 | 8, true, 1 | 2) => {
                (Tile::Bytes { bits, transposed }, 2 * count)
            }
            ("ldmatrix", Some("m8n16"), 4 | 6, false, _) => (Tile::Bytes { bits, transposed }, count),
            ("stmatrix", Some("m16n8"), 8, true, _) => (Tile::Bytes { bits, transposed }, count),
            _ => return Err(form.unsupported()),
        };
        let since = if matches!(tile, Tile::Bytes { .. }) { Since::Blackwell } else { Since::Always };
        if let Some(why) = since.missing(self.architecture) {
            return Err(form.refuse(why));
        }
        if !sync || !aligned {
            return Err(form.unsupported());
        }
        let [first, second] = operands(at)?;
        let (registers, address) = if form.name == "ldmatrix" { (first, second) } else { (second, first) };
        let is_register = |one: &Operand| matches!(one, Operand::Register(_) | Operand::Sink);
        if !matches!(registers, Operand::Vector(all) if all.iter().all(is_register)) {
            return Err(Error::syntax(at.line, format!("'{}' takes registers in braces", at.form)));
        }
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
            "ldmatrix" => Op::LoadMatrix { tile, address, d: list },
            _ => Op::StoreMatrix { tile, address, a: list },
        })
    }
}

/// Whether an access reaches other blocks of the cluster, or has that as its scope.
fn is_of_cluster(at: &Instruction) -> bool {
    at.has("cluster") || at.has("shared::cluster")
}

/// Takes the words that say how an access is ordered; none if it is weak.
fn ordering(form: &mut Form<'_>) -> Option<Order> {
    let scope = super::warp::scope(|word| form.flag(word));
    let [acquire, release, both] = ["acquire", "release", "acq_rel"].map(|word| form.flag(word));
    let others = ["volatile", "relaxed", "mmio"].map(|word| form.flag(word));
    form.drop_if(|word| matches!(word, "weak" | "gpu" | "sys"));
    let strong = acquire || release || both || others.contains(&true);
    let order = Order { acquire: acquire || both, release: release || both, scope, guesses: false };
    (strong || scope != Scope::All).then_some(order)
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

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// Whether one of the words is among some.
fn any(words: &[&str], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(word))
}

const HALVES: [&str; 4] = ["f16", "bf16", "f16x2", "bf16x2"];

fn vector(words: &[&str]) -> usize {
    [("v2", 2), ("v4", 4), ("v8", 8)]
        .iter()
        .find(|(word, _)| words.contains(word))
        .map_or(1, |(_, count)| *count)
}

/// Atomic operations: the types of each, and which come as vectors.
fn wrong_atomic(name: &str, words: &[&str], architecture: Architecture) -> Option<String> {
    let kind = *words.iter().rfind(|word| Type::named(word).is_some())?;
    let has = |word: &str| words.contains(&word);
    let op = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"]
        .into_iter()
        .find(|op| has(op))?;
    let (count, half) = (vector(words), HALVES.contains(&kind));
    let types: &[&str] = match op {
        "add" => &["u32", "s32", "u64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"],
        "min" | "max" => &["u32", "s32", "u64", "s64", "f16", "bf16", "f16x2", "bf16x2"],
        "and" | "or" | "xor" | "exch" => &["b32", "b64"],
        "cas" => &["b16", "b32", "b64"],
        _ => &["u32"],
    };
    if name == "red" && matches!(op, "exch" | "cas") {
        return Some(format!("red has no .{op}"));
    }
    if !types.contains(&kind) {
        return Some(format!(".{op} has no type {kind}"));
    }
    if half != has("noftz") {
        return Some(if half { ".noftz is missing" } else { ".noftz is for halves" }.to_owned());
    }
    if any(words, &["volatile", "mmio", "weak"]) || name == "red" && any(words, &["acquire", "acq_rel"]) {
        return Some("it is not ordered in this way".to_owned());
    }
    if matches!(kind, "bf16" | "bf16x2") && Since::Hopper.missing(architecture).is_some() {
        return Some(format!(".{op} of {kind} needs sm_90 or later"));
    }
    match count {
        1 if half && op != "add" => Some(format!(".{op} of halves takes vectors")),
        1 => None,
        _ if any(words, &["shared", "shared::cta", "shared::cluster"]) => {
            Some("vectors are for global memory".to_owned())
        }
        _ if !half && (kind != "f32" || op != "add") => Some(format!(".{op}.{kind} takes no vectors")),
        8 if matches!(kind, "f32" | "f16x2" | "bf16x2") => {
            Some(format!("a vector of {kind} has at most four"))
        }
        _ if Since::Hopper.missing(architecture).is_some() => Some("vectors need sm_90 or later".to_owned()),
        _ => None,
    }
}

/// Loads and stores: which orders and cache operators go together, and how long vectors are.
fn wrong_access(name: &str, words: &[&str]) -> Option<String> {
    let kind = *words.last()?;
    let bits = Type::named(kind).map_or(0, Type::bits);
    let global = words.contains(&"global");
    if ["tf32", "f16", "bf16", "u16x2", "s16x2", "f16x2", "bf16x2", "f32x2"].contains(&kind)
        || Type::named(kind).is_some_and(Type::is_narrow)
    {
        return Some(format!("it has no type {kind}"));
    }
    let count = vector(words);
    if count == 8 && (bits != 32 || !global) || count == 4 && bits == 64 && !global {
        return Some("such vectors are too long".to_owned());
    }
    let orders = ["weak", "volatile", "relaxed", "acquire", "release", "mmio"];
    let order = words.iter().copied().find(|word| orders.contains(word));
    let caches: &[&str] =
        if name == "st" { &["wb", "cg", "cs", "wt"] } else { &["ca", "cg", "cs", "lu", "cv", "nc"] };
    let cache = words.iter().find(|word| ["ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt"].contains(word));
    if let Some(cache) = cache {
        let weak = matches!(order, None | Some("weak"));
        if !caches.contains(cache) || !weak || *cache == "nc" && !global {
            return Some(format!(".{cache} does not go with this"));
        }
    }
    let scope = any(words, &SCOPES);
    let needs = matches!(order, Some("relaxed" | "acquire" | "release" | "mmio"));
    if scope != needs {
        return Some(if needs { "a scope is missing" } else { "there is no scope" }.to_owned());
    }
    let own = any(words, &["local", "const", "param", "param::entry"]);
    let is_plain =
        matches!(order, None | Some("weak")) || order == Some("volatile") && words.contains(&"local");
    if own && !is_plain {
        return Some("this memory is not ordered".to_owned());
    }
    if name == "st" && (order == Some("acquire") || words.contains(&"const"))
        || name == "ld" && order == Some("release")
    {
        return Some("it has no such form".to_owned());
    }
    None
}
