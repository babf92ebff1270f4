//! Instruction descriptors of `tcgen05.mma` (PTX ISA, "Instruction descriptor"), and its matrix descriptors.

use bitmma_engine::catalogue::Architecture;
use bitmma_engine::formats::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, TF32};

use crate::matrix::{Multiplier, Sizes};
use crate::program::TensorKind;
use crate::run::descriptor::Descriptor;

/// A and B as they lie in memory.
#[derive(Clone, Copy)]
pub(in crate::run) struct Side {
    /// Rows of A, or columns of B.
    pub(super) lines: usize,
    pub(super) k: usize,
    /// Bits of an element, and how many it takes in shared memory.
    pub(super) bits: usize,
    /// Sixteen elements of fewer bits than 8 take 16 bytes.
    pub(super) is_padded: bool,
    pub(super) transposed: bool,
    /// What turns the sign of an element.
    pub(super) sign: u32,
    /// Where the first of its scale factors is in a word.
    pub(super) factor: u32,
}

/// What a multiplication is.
#[derive(Clone, Copy)]
pub(in crate::run) struct Shape {
    pub(super) sides: [Side; 2],
    /// Scale factors of a line; none is zero.
    pub(super) factors: usize,
    /// Bits of an element of D.
    pub(super) d_bits: usize,
}

impl Shape {
    pub(super) fn sizes(&self) -> Sizes {
        let [a, b] = self.sides;
        Sizes { m: a.lines, n: b.lines, k: a.k }
    }
}

fn format(kind: TensorKind, code: u32) -> Option<Format> {
    Some(match (kind, code) {
        (TensorKind::F16, 0) => F16,
        (TensorKind::F16, 1) => BF16,
        (TensorKind::Tf32, 2) => TF32,
        (TensorKind::F8f6f4 | TensorKind::Mxf8f6f4, code) => {
            *[Some(E4M3), Some(E5M2), None, Some(E2M3), Some(E3M2), Some(E2M1)]
                .get(code as usize)?
                .as_ref()?
        }
        (TensorKind::Mxf4 | TensorKind::Mxf4nvf4 { .. }, 1) => E2M1,
        _ => return None,
    })
}

/// What a descriptor says of a multiplication of a kind, and how it is computed.
pub(in crate::run) fn shape(kind: TensorKind, descriptor: u32) -> Result<Shape, String> {
    let field = |low: u32, bits: u32| descriptor >> low & ((1 << bits) - 1);
    let error = |what: &str| format!("the instruction descriptor {descriptor:#010x} of tcgen05.mma {what}");
    let wrong = |what: &str| Err(error(what));
    let scaled = kind.block().is_some();
    if field(2, 1) == 1 {
        return wrong("is of a sparse A, which is not supported");
    }
    let reserved = match scaled {
        true => field(0, 2) | field(3, 1) | field(6, 1) | field(24, 3),
        false => field(0, 2) | field(6, 1) | field(23, 1) | field(29, 1),
    };
    if reserved != 0 {
        return wrong("has bits that must be zero");
    }
    if !scaled && field(30, 2) != 0 {
        return wrong("shifts rows, which is not supported");
    }
    if kind != TensorKind::I8 && !scaled && field(3, 1) == 1 {
        return wrong("saturates, which integers do only");
    }
    if scaled && field(31, 1) == 1 {
        return wrong("has K = 96, which is not supported");
    }
    let k = kind.k();
    let (n, m) = (8 * field(17, 6) as usize, 16 * field(24, 5) as usize);
    let step = if m == 128 && !scaled { 16 } else { 8 };
    if !(m == 128 || m == 64 && !scaled) || !(8..=256).contains(&n) || !n.is_multiple_of(step) {
        return wrong(&format!("has M = {m} and N = {n}, which tcgen05.mma does not have"));
    }
    let side = |at: u32, lines: usize, factor: u32| -> Result<Side, String> {
        let (negated, transposed) = (field(13 + at, 1) == 1, field(15 + at, 1) == 1);
        let code = field(7 + 3 * at, 3);
        let (bits, sign) = match (kind, format(kind, code)) {
            (TensorKind::I8, _) if code < 2 && !negated => (8, 0),
            (_, Some(format)) => (format.bits() as usize, format.sign_bit() as u32),
            _ => return Err(error(&format!("has the format {code} of {}", ["A", "B"][at as usize]))),
        };
        let is_padded = bits < 8 && matches!(kind, TensorKind::F8f6f4 | TensorKind::Mxf8f6f4);
        if transposed && !matches!(bits, 8 | 16) {
            return Err(error(&format!("transposes elements of {bits} bits, which is not supported")));
        }
        let sign = if negated { sign } else { 0 };
        Ok(Side { lines, k, bits, is_padded, transposed, sign, factor })
    };
    let factors = kind.block().map_or(0, |block| k / block);
    let [id_a, id_b] = if scaled { [field(29, 2), field(4, 2)] } else { [0; 2] };
    if id_a as usize + factors > 4 || id_b as usize + factors > 4 {
        return wrong(&format!("takes the scale factors {id_a} and {id_b} of each word, which has four"));
    }
    let d_bits = match (kind, field(4, 2)) {
        _ if scaled => 32,
        (TensorKind::F16 | TensorKind::F8f6f4, 0) => 16,
        (TensorKind::I8, 2) => 32,
        (TensorKind::I8, _) => return wrong("has a D that is no integer"),
        (_, 1) => 32,
        (_, code) => return wrong(&format!("has the format {code} of D")),
    };
    Ok(Shape { sides: [side(0, m, id_a)?, side(1, n, id_b)?], factors, d_bits })
}

/// How a multiplication is computed.
pub(super) fn multiplier(
    architecture: Architecture,
    kind: TensorKind,
    descriptor: u32,
) -> Result<Multiplier, String> {
    let shape = shape(kind, descriptor)?;
    let Sizes { m, n, k } = shape.sizes();
    let [a, b] = [7, 10].map(|low| descriptor >> low & 7);
    let word = kind.word();
    if kind == TensorKind::I8 {
        let [a, b] = [a, b].map(|code| if code == 1 { "s8" } else { "u8" });
        let saturates = if descriptor >> 3 & 1 == 1 { "satfinite." } else { "" };
        let name = format!("tcgen05.mma.m{m}n{n}k{k}.{word}.{saturates}s32.{a}.{b}");
        return Multiplier::named(architecture, name, shape.sizes(), [8, 32])
            .map_err(|error| error.to_string());
    }
    let name = |code| format(kind, code).map_or(String::new(), |format| format.to_string());
    let (a, b) = (name(a), name(b));
    let d = if shape.d_bits == 32 { "f32" } else { "f16" };
    let types = match kind.block() {
        None => format!("{d}.{a}.{b}"),
        Some(block) => {
            let factor = if descriptor >> 23 & 1 == 1 { "ue8m0" } else { "ue4m3" };
            format!("block{block}.{d}.{a}.{b}.{factor}")
        }
    };
    let name = format!("tcgen05.mma.m{m}n{n}k{k}.{word}.{types}");
    let bits = shape.sides[0].bits;
    Multiplier::named(architecture, name, shape.sizes(), [bits, shape.d_bits])
        .map_err(|error| error.to_string())
}

/// The descriptor of a matrix in shared memory: as that of `wgmma`, but for the bits that tell them apart.
pub(in crate::run) fn matrix(bits: u64) -> Result<Descriptor, String> {
    let wrong = |what: &str| Err(format!("the matrix descriptor {bits:#018x} of tcgen05 {what}"));
    if bits >> 46 & 7 != 1 {
        return wrong("has other bits than 0b001 from the 46th on");
    }
    if bits >> 52 & 1 == 1 {
        return wrong("has an absolute address as its leading distance, which is not supported");
    }
    if bits >> 61 & 1 == 1 {
        return wrong("swizzles 128 bytes in chunks of 32, which is not supported");
    }
    Descriptor::of(bits & !(7 << 46))
}
