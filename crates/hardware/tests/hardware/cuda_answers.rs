//! The whole way through a driver and back: operands packed, the kernel's PTX run thread by thread by a
//! machine of our own, D unpacked. The machine finds every element by the manual's formulas, written
//! apart from the kernels', and computes D with the simulator; so what comes back must be what the simulator says.

use crate::common::check::check;
use crate::common::fake::gpu;
use crate::common::tools::all;
use bitmma_engine::Architecture;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::{Family, find, of};
use bitmma_hardware::cuda::Error;

/// Names of the forms tried: every row with a model; of N first, last and some between.
fn names(architecture: Architecture) -> Vec<String> {
    let mut names = vec![];
    for (index, row) in of(architecture).filter(|row| !row.d.is_integer()).enumerate() {
        if row.unknown.is_some() || row.family.is_sparse() || (row.family == Family::Wmma && !row.is_native())
        {
            continue;
        }
        let sizes: Vec<usize> = row.n.sizes().collect();
        for m in row.m.sizes() {
            // every row with a few N in turn; with all N of all rows it takes minutes
            let in_turn = [0, sizes.len() - 1, 2, 5, 7, index % sizes.len()][index % 6].min(sizes.len() - 1);
            let chosen: Vec<usize> = if all() { (0..sizes.len()).collect() } else { vec![in_turn] };
            for n in chosen.into_iter().map(|chosen| sizes[chosen]) {
                names.push(Found { instruction: row, m, n }.name());
            }
        }
    }
    names
}

fn answers(architecture: Architecture) {
    let Some((fake, device)) = gpu(architecture) else { return };
    let mut tried = 0;
    for name in names(architecture) {
        match device.unit(&name) {
            Ok(unit) => check(&unit, architecture, &name),
            Err(Error::NoKernel { .. }) => {
                let n = find(architecture, &name).expect("known").n;
                assert!(!n.is_multiple_of(16), "{name}");
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        }
        tried += 1;
    }
    println!("{architecture}: {tried} instructions");
    assert_eq!(fake.live(), 0);
}

#[test]
fn volta() {
    answers(Architecture::Volta);
}

#[test]
fn turing() {
    answers(Architecture::Turing);
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

/// All four orders of A and B in memory, which touch `m8n8k4` alone.
#[test]
fn quarters_in_every_order() {
    let Some((_fake, device)) = gpu(Architecture::Volta) else { return };
    for order in ["row.col", "row.row", "col.col", "col.row"] {
        for types in ["f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"] {
            let name = format!("mma.sync.aligned.m8n8k4.{order}.{types}");
            check(&device.unit(&name).expect("opens"), Architecture::Volta, &name);
        }
    }
}
