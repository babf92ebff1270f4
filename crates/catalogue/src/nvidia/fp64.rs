//! FP64: `mma.sync` and `wmma.mma`, each under four roundings.

use bitmma_formats::F64;

use super::form::Form;
use super::parameters;
use super::sets::FROM_AMPERE;
use crate::architecture::Architecture::{self, Blackwell, Hopper, RtxBlackwell};
use crate::evidence::Evidence;
use crate::instruction::{Family, Instruction};

const HOPPER: &[Architecture] = &[Hopper];
const AFTER_HOPPER: &[Architecture] = &[Blackwell, RtxBlackwell];

// columns: family, [M, N, K], instructions it takes (each 8×8×4 where more than one), architectures
#[rustfmt::skip]
const ROWS: [(Family, [usize; 3], usize, &[Architecture]); 8] = [
    (Family::MmaSync, [ 8, 8,  4], 1, FROM_AMPERE),
    (Family::MmaSync, [16, 8,  4], 1, HOPPER),
    (Family::MmaSync, [16, 8,  8], 1, HOPPER),
    (Family::MmaSync, [16, 8, 16], 1, HOPPER),
    (Family::MmaSync, [16, 8,  4], 2, AFTER_HOPPER),
    (Family::MmaSync, [16, 8,  8], 4, AFTER_HOPPER),
    (Family::MmaSync, [16, 8, 16], 8, AFTER_HOPPER),
    (Family::Wmma,    [ 8, 8,  4], 1, FROM_AMPERE),
];

const DIRECTED: &str = "the rounding is the one its name asks for, at every step of the same FMA chain";
const SAME: &str = "the same DMMA as mma.m8n8k4";
const SPLIT: &str = "the same FMA chain: M is split in two halves";
const ORDER: &str = "the same FMA chain: M is split in two halves, K taken in ascending order";

/// Every row.
pub(super) fn rows() -> Vec<Instruction> {
    let roundings = || parameters::FP64_ROUNDINGS.into_iter().map(|(rounding, _)| rounding);
    ROWS.iter()
        .flat_map(|row| roundings().map(move |rounding| (row, rounding)))
        .flat_map(|(row, rounding)| row.3.iter().map(move |on| instruction(row, rounding, *on)))
        .collect()
}

fn instruction(
    (family, shape, count, _): &(Family, [usize; 3], usize, &[Architecture]),
    rounding: &'static str,
    architecture: Architecture,
) -> Instruction {
    let form =
        |family, shape| Form { modifier: rounding, ..Form::plain(family, shape, (F64, F64), F64, F64) };
    let evidence = match (rounding, family, shape, count) {
        ("rn", Family::MmaSync, _, 1) => Evidence::printed(architecture),
        ("rn", Family::MmaSync, [.., 4], _) => Evidence::Inferred { why: SPLIT },
        ("rn", Family::MmaSync, ..) => Evidence::Inferred { why: ORDER },
        ("rn", ..) => Evidence::Inferred { why: SAME },
        _ => Evidence::Inferred { why: DIRECTED },
    };
    let row = form(*family, *shape).native(architecture, evidence);
    let part = form(Family::MmaSync, [8, 8, 4]);
    match count {
        1 => row,
        _ => row.composed(*count, part.part(architecture), ""),
    }
}
