//! Integers and single bits: `mma.sync`, `mma.sp`, `wmma.mma`, `wgmma.mma_async` and `tcgen05.mma`. Their sums are exact; a result
//! beyond S32 wraps modulo 2^32, with `.satfinite` it is clamped.
//!
//! Of single bits only `.and.popc` is a sum of products; `.xor.popc`, which counts the bits that differ, has no row.

use bitmma_formats::{B1, Format, S4, S8, S32, U4, U8};

use super::form::Form;
use super::parameters::{self, SATURATES};
use super::sets::{FROM_AMPERE, FROM_TURING, pairs};
use crate::architecture::Architecture::{self, Blackwell, Hopper, Turing};
use crate::evidence::Evidence;
use crate::extent::Extent;
use crate::instruction::{Family, Instruction, Shape};

const INT8: &[Format] = &[S8, U8];
const INT4: &[Format] = &[S4, U4];
const BITS: &[Format] = &[B1];
const HOPPER: &[Architecture] = &[Hopper];
const BLACKWELL: &[Architecture] = &[Blackwell];

/// Family, [M, N, K], formats of A and B, kind, architectures. Every A goes with every B, with and without `.satfinite`; of
/// `wmma` every format with itself, of single bits without `.satfinite`.
type Row = (Family, &'static [[usize; 3]], &'static [Format], &'static str, &'static [Architecture]);

// columns: family, [M, N, K], A and B, kind, architectures
#[rustfmt::skip]
const ROWS: [Row; 14] = [
    (Family::MmaSync, &[[8, 8, 16]],                           INT8, "",         FROM_TURING),
    (Family::MmaSync, &[[16, 8, 16], [16, 8, 32]],             INT8, "",         FROM_AMPERE),
    (Family::MmaSync, &[[8, 8, 32]],                           INT4, "",         FROM_TURING),
    (Family::MmaSync, &[[16, 8, 32], [16, 8, 64]],             INT4, "",         FROM_AMPERE),
    (Family::MmaSync, &[[8, 8, 128], [16, 8, 128], [16, 8, 256]], BITS, "",      FROM_AMPERE),
    (Family::MmaSp,   &[[16, 8, 32], [16, 8, 64]],             INT8, "",         FROM_AMPERE),
    (Family::MmaSp,   &[[16, 8, 64], [16, 8, 128]],            INT4, "",         FROM_AMPERE),
    (Family::Wmma,    &[[16, 16, 16], [8, 32, 16], [32, 8, 16]], INT8, "",       FROM_TURING),
    (Family::Wmma,    &[[8, 8, 32]],                           INT4, "",         FROM_TURING),
    (Family::Wmma,    &[[8, 8, 128]],                          BITS, "",         FROM_AMPERE),
    (Family::Wgmma,   &[[64, 8, 32]],                          INT8, "",         HOPPER),
    (Family::Wgmma,   &[[64, 8, 256]],                         BITS, "",         HOPPER),
    (Family::WgmmaSp, &[[64, 8, 64]],                          INT8, "",         HOPPER),
    (Family::Tcgen05, &[[128, 8, 32]],                         INT8, "kind::i8", BLACKWELL),
];

/// N of `wgmma` and `tcgen05`: 8, 16, 24, 32, 48, … 256.
const N: Extent = Extent::range(8, 256, 8).doubled_from(32);
/// M of `tcgen05`.
const M: Extent = Extent::range(64, 128, 64);

/// PTX ISA 9.0, "mma", "mma.sp" and "wgmma.mma_async": without `.satfinite` "the accumulated value is wrapped", with it the
/// value is limited to the range of a signed 32-bit integer.
const ACCUMULATED: Evidence = Evidence::Defined {
    by: "the PTX ISA, mma and wgmma.mma_async: without .satfinite the accumulated value wraps, with it it is limited to the range of S32",
};
/// PTX ISA 9.0, "wmma.mma": with `.satfinite` the final values are clamped, else the value wraps.
const FINAL: Evidence = Evidence::Defined {
    by: "the PTX ISA, wmma.mma: with .satfinite the final value is clamped to S32, else it wraps",
};
/// PTX ISA 9.0, "tcgen05.mma", instruction descriptor, bit 3.
const DESCRIPTOR: Evidence =
    Evidence::Defined { by: "the PTX ISA, instruction descriptor of tcgen05.mma: bit 3 saturates integers" };

const WIDENED: &str = "A and B widened to 8 bits first";
const WIDENED_AND_SATURATED: &str = "A and B widened to 8 bits first, D saturated last";

/// What the compiler makes of a form on an architecture: how many instructions of which form, and what is around them;
/// `None` for an instruction the hardware has. Source: `ptxas` 12.9.86, disassembled.
fn parts(form: &Form, on: Architecture) -> Option<(usize, Form, &'static str)> {
    let is_blackwell = on > Hopper;
    let is_wmma = form.family == Family::Wmma;
    let [m, n] = [form.m, form.n].map(|extent| extent.first);
    let warp = Form { family: if is_wmma { Family::MmaSync } else { form.family }, ..*form };
    let is_widened = match form.a.bits() {
        4 => on >= Hopper,
        1 => is_blackwell,
        _ => false,
    };
    let rows = if is_blackwell { 16 } else { m };
    if is_widened {
        let wide = |format: Format| if format.is_signed() { S8 } else { U8 };
        let k = if form.a == B1 { 32 } else { form.k / 2 };
        let part = Form { m: Extent::one(rows), k, a: wide(form.a), b: wide(form.b), modifier: "", ..warp };
        let around = if form.modifier == SATURATES { WIDENED_AND_SATURATED } else { WIDENED };
        return Some((form.k / k, part, around));
    }
    if form.a.bits() == 8 && form.family == Family::Wmma {
        let rows = if on == Turing { 8 } else { 16 };
        let part = Form { m: Extent::one(rows), n: Extent::one(8), ..warp };
        return Some((m * n / (8 * rows), part, ""));
    }
    // what has eight rows is padded where there are only instructions of sixteen
    let part = Form { m: Extent::one(rows), ..warp };
    (form.family == Family::MmaSync && rows != m || is_wmma).then_some((1, part, ""))
}

fn row(form: &Form, on: Architecture) -> Instruction {
    let evidence = match form.family {
        Family::Wmma => FINAL,
        Family::Tcgen05 => DESCRIPTOR,
        _ => ACCUMULATED,
    };
    let parts = parts(form, on);
    let sass = parts.is_none().then(|| form.sass(on));
    let row = Instruction::with_model(form.identity(on, sass), form.shape(), evidence, |revision| {
        let shape = Shape { k: form.products(), ..form.shape() };
        parameters::model(on, shape, form.modifier, revision)
    });
    let row = if form.family.is_sparse() { row.sums_as(&form.dense().name()) } else { row };
    match parts {
        Some((count, part, around)) => row.composed(count, part.part(on), around),
        None => row,
    }
}

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    let mut rows = vec![];
    for (family, shapes, inputs, kind, on) in ROWS {
        let modifiers: &[&str] = if inputs == BITS { &[""] } else { &["", SATURATES] };
        for (shape, modifier) in shapes.iter().flat_map(|shape| modifiers.iter().map(move |one| (shape, one)))
        {
            let types = pairs(inputs).filter(|(a, b)| family != Family::Wmma || a == b);
            for form in types.map(|types| Form::plain(family, *shape, types, S32, S32)) {
                let form = Form { kind, modifier, ..form };
                let form = match family {
                    Family::Wgmma | Family::WgmmaSp => Form { n: N, ..form },
                    Family::Tcgen05 => Form { m: M, n: N, ..form },
                    _ => form,
                };
                rows.extend(on.iter().map(|on| row(&form, *on)));
            }
        }
    }
    rows
}
