//! As `cuda_answers`, for instructions with a sparse A: whatever is selected, the elements stored meet their rows
//! of B and no others (which hold NaN), so that what comes back is what the dense instruction of half the K says.

use crate::common::check::check_against;
use crate::common::fake::gpu;
use crate::common::ptx_sparse::dense_name;
use crate::common::tools::all;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::of;
use bitmma_engine::formats::table::TF32;
use bitmma_engine::{Architecture, MmaUnit, Revision, Simulator};
use bitmma_hardware::cuda::Error;
use bitmma_hardware::gpu::check_places;

fn answers(architecture: Architecture) {
    let Some((fake, device)) = gpu(architecture) else { return };
    let mut tried = 0;
    for (index, row) in
        of(architecture).filter(|row| row.family.is_sparse() && !row.d.is_integer()).enumerate()
    {
        let selections: &[&str] = match row.a {
            TF32 => &["", ".select0", ".select1", ".selectmixed"],
            _ => &[
                "",
                ".select01",
                ".select02",
                ".select03",
                ".select12",
                ".select13",
                ".select23",
                ".selectmixed",
            ],
        };
        // a few N in turn, and of many alike every selection in turn
        let sizes: Vec<usize> = row.n.sizes().filter(|n| all() || [8, 24, 64, 256].contains(n)).collect();
        for (turn, selection) in selections.iter().enumerate() {
            if !all() && index >= 8 && (index + turn) % 4 != 0 {
                continue;
            }
            let name =
                Found { instruction: row, m: row.m.first, n: sizes[(index + turn) % sizes.len()] }.name();
            let unit =
                device.unit(&format!("{name}{selection}")).unwrap_or_else(|error| panic!("{name}: {error}"));
            let called = unit.signature().name.clone();
            assert_eq!(called, format!("{architecture}/{name}{selection}"));
            let dense =
                Simulator::instruction(architecture, &dense_name(&name), Revision::Hardware).expect("known");
            check_against(&unit, &dense, &called);
            assert_eq!(check_places(&unit).expect("answers"), None, "{called}");
            tried += 1;
        }
    }
    println!("{architecture}: {tried} instructions and selections");
    assert!(tried >= 16);
    assert_eq!(fake.live(), 0);
}

#[test]
fn ampere() {
    answers(Architecture::Ampere);
}

#[test]
fn ada() {
    answers(Architecture::Ada);
}

#[test]
fn hopper() {
    answers(Architecture::Hopper);
}

#[test]
fn blackwell() {
    answers(Architecture::Blackwell);
}

#[test]
fn rtx_blackwell() {
    answers(Architecture::RtxBlackwell);
}

#[test]
fn selections_that_there_are_not() {
    let Some((_fake, device)) = gpu(Architecture::Ampere) else { return };
    for (name, expected) in [
        (
            "mma.sp.m16n8k32.f32.f16.f16.f32.select10",
            "unknown selection '10'; one of 01, 02, 03, 12, 13, 23, mixed",
        ),
        (
            "mma.sp.m16n8k32.f32.f16.f16.f32.select",
            "unknown selection ''; one of 01, 02, 03, 12, 13, 23, mixed",
        ),
        ("mma.sp.m16n8k16.f32.tf32.tf32.f32.select01", "unknown selection '01'; one of 0, 1, mixed"),
        ("mma.m16n8k16.f32.f16.f16.f32.select01", "its A is not sparse, so nothing is selected"),
    ] {
        match device.unit(name) {
            Err(Error::NoKernel { reason, .. }) => assert_eq!(reason, expected, "{name}"),
            Err(error) => panic!("{name}: {error}"),
            Ok(_) => panic!("{name} opens"),
        }
    }
}
