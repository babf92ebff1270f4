//! The tensor cores of Blackwell and their memory (PTX ISA, "TensorCore 5th Generation Family Instructions").

use super::row::{Row, Since, free};
use crate::decode::decoder::Decoder;
use crate::decode::form::Form;
use crate::error::Error;
use crate::program::{
    Condition, Op, Pattern, Tcgen05, TensorA, TensorCopy, TensorKind, TensorProduct, TensorShape, Type,
};
use crate::text::{Instruction, Operand};

pub(super) const ROWS: &[Row] =
    &[free("tcgen05", |decoder, form, at| decoder.tcgen05(form, at)).results(0).since(Since::Blackwell)];

/// Shapes of `tcgen05.ld` and `tcgen05.st`, and how many registers each has of a repetition.
const PATTERNS: [(&str, (Pattern, usize)); 5] = [
    ("32x32b", (Pattern::Lanes, 1)),
    ("16x32bx2", (Pattern::Halves(0), 1)),
    ("16x64b", (Pattern::Bits64, 1)),
    ("16x128b", (Pattern::Bits128, 2)),
    ("16x256b", (Pattern::Bits256, 4)),
];

/// Shapes of `tcgen05.cp`: where its rows go, 32 at a time.
const COPIES: [(&str, &str, TensorCopy); 5] = [
    ("128x256b", "", TensorCopy { rows: 128, chunks: 2, quarters: &[&[0], &[1], &[2], &[3]] }),
    ("128x128b", "", TensorCopy { rows: 128, chunks: 1, quarters: &[&[0], &[1], &[2], &[3]] }),
    ("64x128b", "warpx2::02_13", TensorCopy { rows: 64, chunks: 1, quarters: &[&[0, 2], &[1, 3]] }),
    ("64x128b", "warpx2::01_23", TensorCopy { rows: 64, chunks: 1, quarters: &[&[0, 1], &[2, 3]] }),
    ("32x128b", "warpx4", TensorCopy { rows: 32, chunks: 1, quarters: &[&[0, 1, 2, 3]] }),
];

impl Decoder<'_> {
    fn tcgen05(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        if form.flag("cta_group::2") {
            return Err(form.refuse("how two blocks of a cluster multiply together is not known"));
        }
        if form.flag("fence::before_thread_sync") || form.flag("fence::after_thread_sync") {
            return Ok(Op::Nothing);
        }
        let names = [
            "alloc",
            "dealloc",
            "relinquish_alloc_permit",
            "ld",
            "st",
            "wait::ld",
            "wait::st",
            "cp",
            "mma",
            "commit",
        ];
        let name = names.into_iter().find(|name| form.flag(name)).ok_or_else(|| form.unsupported())?;
        let is_of_the_warp = !matches!(name, "cp" | "mma" | "commit");
        if is_of_the_warp && !(form.flag("sync") && form.flag("aligned")) {
            return Err(form.unsupported());
        }
        if !matches!(name, "ld" | "st" | "wait::ld" | "wait::st") && !form.flag("cta_group::1") {
            return Err(form.unsupported());
        }
        let op = match (name, at.operands.as_slice()) {
            ("alloc", [to, columns]) => {
                form.flag("shared::cta");
                self.is_of(Type::B32, form)?;
                Tcgen05::Allocate { to: self.address(to, at)?, columns: self.word(columns, at)? }
            }
            ("dealloc", [from, columns]) => {
                self.is_of(Type::B32, form)?;
                Tcgen05::Free { from: self.word(from, at)?, columns: self.word(columns, at)? }
            }
            ("relinquish_alloc_permit", []) => Tcgen05::GiveUp,
            ("ld", [d, from, rest @ ..]) => {
                let (shape, count) = self.tensor_shape(form, at, rest, "pack::16b")?;
                let (d, from) = (self.list(d, Type::B32, at)?, self.address(from, at)?);
                self.has_registers(&d, count, at)?;
                Tcgen05::Load { d, from, shape }
            }
            ("st", [to, rest @ .., a]) => {
                let (shape, count) = self.tensor_shape(form, at, rest, "unpack::16b")?;
                let (a, to) = (self.list(a, Type::B32, at)?, self.address(to, at)?);
                self.has_registers(&a, count, at)?;
                Tcgen05::Store { to, a, shape }
            }
            ("wait::ld" | "wait::st", []) => Tcgen05::Wait { stores: name == "wait::st" },
            ("cp", [to, from]) => {
                let known = COPIES
                    .iter()
                    .find(|(shape, parts, _)| at.has(shape) && (parts.is_empty() || at.has(parts)));
                let Some((_, _, shape)) = known else {
                    return Err(form.refuse("which lanes its rows go to is not known here"));
                };
                form.drop_if(|word| COPIES.iter().any(|(shape, parts, _)| word == *shape || word == *parts));
                Tcgen05::Copy { to: self.address(to, at)?, from: self.wide(from, at)?, shape: *shape }
            }
            ("commit", [barrier, rest @ ..]) if rest.len() < 2 => {
                let blocks = match (form.flag("multicast::cluster"), rest) {
                    (true, [blocks]) => Some(self.half(blocks, at)?),
                    (false, []) => None,
                    _ => return Err(form.unsupported()),
                };
                let arrives = form.flag("mbarrier::arrive::one");
                form.flag("shared::cluster");
                self.is_of(Type::B64, form)?;
                if !arrives {
                    return Err(form.unsupported());
                }
                Tcgen05::Commit { barrier: self.address(barrier, at)?, blocks }
            }
            ("mma", operands) => Tcgen05::Multiply(Box::new(self.tensor_product(form, at, operands)?)),
            _ => return Err(form.unsupported()),
        };
        Ok(Op::Tcgen05(Box::new(op)))
    }

    fn is_of(&self, kind: Type, form: &mut Form<'_>) -> Result<(), Error> {
        if form.need_kind()? == kind { Ok(()) } else { Err(form.unsupported()) }
    }

    fn has_registers(
        &self,
        list: &[crate::program::Slot],
        count: usize,
        at: &Instruction,
    ) -> Result<(), Error> {
        match list.len() == count {
            true => Ok(()),
            false => {
                let what = format!("'{}' takes {count} registers, not {}", at.form, list.len());
                Err(Error::syntax(at.line, what))
            }
        }
    }

    /// The shape of a load or store, and its registers.
    fn tensor_shape(
        &mut self,
        form: &mut Form<'_>,
        at: &Instruction,
        rest: &[Operand],
        packing: &str,
    ) -> Result<(TensorShape, usize), Error> {
        let (pattern, registers) = form.one_of(&PATTERNS).ok_or_else(|| form.unsupported())?;
        let repeats = [
            ("x1", 1),
            ("x2", 2),
            ("x4", 4),
            ("x8", 8),
            ("x16", 16),
            ("x32", 32),
            ("x64", 64),
            ("x128", 128),
        ];
        let repeats = form.one_of(&repeats).ok_or_else(|| form.unsupported())?;
        let packs = form.flag(packing);
        self.is_of(Type::B32, form)?;
        let pattern = match (pattern, rest) {
            (Pattern::Halves(_), [Operand::Integer(split)]) if *split < 512 => Pattern::Halves(*split as u32),
            (Pattern::Halves(_), _) => {
                return Err(Error::unsupported(at.line, &at.form, "it takes how far its halves are apart"));
            }
            (pattern, []) => pattern,
            _ => return Err(form.unsupported()),
        };
        if repeats * registers > 128 {
            return Err(form.unsupported());
        }
        Ok((TensorShape { pattern, packs }, repeats * registers))
    }

    fn tensor_product(
        &mut self,
        form: &mut Form<'_>,
        at: &Instruction,
        operands: &[Operand],
    ) -> Result<TensorProduct, Error> {
        for (word, why) in [
            ("ws", "a stationary B is not supported"),
            ("sp", "a sparse A is not supported"),
            ("ashift", "rows of A are not shifted"),
        ] {
            if form.flag(word) {
                return Err(form.refuse(why));
            }
        }
        // which buffers keep A changes no result
        form.drop_if(|word| word.starts_with("collector::a::"));
        let scaled = form.flag("block_scale");
        let block16 = form.flag("block16") | form.flag("scale_vec::4X");
        let block32 = form.flag("block32") | form.flag("scale_vec::2X");
        let whole = form.flag("scale_vec::1X");
        let kinds = [
            ("kind::f16", TensorKind::F16),
            ("kind::tf32", TensorKind::Tf32),
            ("kind::f8f6f4", TensorKind::F8f6f4),
            ("kind::i8", TensorKind::I8),
            ("kind::mxf8f6f4", TensorKind::Mxf8f6f4),
            ("kind::mxf4", TensorKind::Mxf4),
            ("kind::mxf4nvf4", TensorKind::Mxf4nvf4 { block: if block16 { 16 } else { 32 } }),
        ];
        let kind = form.one_of(&kinds).ok_or_else(|| form.unsupported())?;
        let blocks_fit = match kind {
            TensorKind::Mxf8f6f4 => scaled && !block16 && (whole || !at.has("scale_vec::2X")),
            TensorKind::Mxf4 => scaled && !block16 && !whole,
            TensorKind::Mxf4nvf4 { .. } => scaled && (block16 != block32) && !whole,
            _ => !scaled && !block16 && !block32 && !whole,
        };
        if !blocks_fit {
            return Err(form.unsupported());
        }
        let [d, a, b, descriptor, rest @ ..] = operands else { return Err(form.unsupported()) };
        let a = match a {
            Operand::Address(..) => TensorA::Tensor(self.address(a, at)?),
            _ => TensorA::Shared(self.wide(a, at)?),
        };
        let (scales, rest) = match rest {
            [of_a, of_b, rest @ ..] if scaled => {
                (Some([self.address(of_a, at)?, self.address(of_b, at)?]), rest)
            }
            _ if scaled => return Err(form.unsupported()),
            rest => (None, rest),
        };
        let (disabled, rest): (Box<[_]>, _) = match rest {
            [Operand::Vector(lanes), rest @ ..] if !scaled && lanes.len() == 4 => {
                let words: Result<_, _> = lanes.iter().map(|word| self.word(word, at)).collect();
                (words?, rest)
            }
            rest => (Box::new([]), rest),
        };
        let adds = match rest {
            [Operand::Integer(value)] => Condition { negated: *value == 0, ..Condition::TRUE },
            [adds] => self.condition(adds, at)?,
            [_, _] => return Err(form.refuse("accumulators are not scaled")),
            _ => return Err(form.unsupported()),
        };
        let (d, b) = (self.address(d, at)?, self.wide(b, at)?);
        let descriptor = self.word(descriptor, at)?;
        Ok(TensorProduct { line: at.line, kind, d, a, b, descriptor, scales, disabled, adds })
    }
}
