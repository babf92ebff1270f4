//! The questions that show whether elements stand in their places: every model answers them exactly, a unit that
//! mixes places up does not; and they are put to the GPU of this machine, where there is one.

use crate::common::tools::all;
use bitmma_engine::catalogue::catalogue;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::{Error, Matrix, MmaUnit, Operands, Revision, Signature, Simulator};
use bitmma_hardware::gpu::check_places;
use bitmma_hardware::{cuda, hip};

#[test]
fn every_model_answers_exactly() {
    // there are no kernels of integers to ask
    for row in catalogue().iter().filter(|row| row.unknown.is_none() && !row.d.is_integer()) {
        let found = Found { instruction: row, m: row.m.first, n: row.n.first };
        let unit = Simulator::found(&found, Revision::Hardware).expect("has a model");
        assert_eq!(check_places(&unit).expect("answers"), None, "{}", found.name());
    }
}

/// A unit that takes two elements of one operand for each other.
struct Mixed {
    unit: Simulator,
    operand: usize,
    places: [usize; 2],
}

impl MmaUnit for Mixed {
    fn signature(&self) -> &Signature {
        self.unit.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let mut operands = *operands;
        let of = [Some(operands.a), Some(operands.b), operands.c, operands.scale_a, operands.scale_b];
        let Some(matrix) = of[self.operand] else { return self.unit.multiply(&operands) };
        let mut codes: Vec<u64> = matrix.iter().collect();
        codes.swap(self.places[0], self.places[1]);
        let mixed = Matrix::new(matrix.format(), matrix.shape(), codes)?;
        match self.operand {
            0 => operands.a = &mixed,
            1 => operands.b = &mixed,
            2 => operands.c = Some(&mixed),
            3 => operands.scale_a = Some(&mixed),
            _ => operands.scale_b = Some(&mixed),
        }
        self.unit.multiply(&operands)
    }
}

#[test]
fn two_elements_that_change_places_are_seen() {
    use bitmma_engine::Architecture::{Cdna1, RtxBlackwell};
    let block_scaled = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3";
    let (mut seen, mut tried) = (0, 0);
    for (architecture, name, sizes) in [
        (Cdna1, "v_mfma_f32_4x4x4f16", [256, 256, 256, 0, 0]),
        (RtxBlackwell, block_scaled, [1024, 512, 128, 64, 32]),
    ] {
        for (operand, size) in sizes.into_iter().enumerate().filter(|(_, size)| *size > 0) {
            for first in (0..size - 1).step_by(7) {
                let unit = Simulator::instruction(architecture, name, Revision::Hardware).expect("known");
                let places = [first, (first * 5 + 13) % size];
                let mixed = Mixed { unit, operand, places };
                tried += usize::from(places[0] != places[1]);
                seen += usize::from(check_places(&mixed).expect("answers").is_some());
            }
        }
    }
    // two equal numbers may change places unseen: one of five of B and C, a third of the factors, most of A's zeros
    println!("{seen} of {tried} seen");
    assert!(seen * 2 > tried, "{seen} of {tried}");
}

/// Asks every instruction of a device; the line of each that mixes something up.
fn ask<D>(
    instructions: impl Iterator<Item = &'static bitmma_engine::Instruction>,
    device: &D,
    open: impl Fn(&D, &str) -> Result<bitmma_hardware::gpu::Unit, cuda::Error>,
) -> Vec<String> {
    let (mut wrong, mut asked) = (vec![], 0);
    for row in instructions {
        for (index, n) in row.n.sizes().enumerate() {
            if row.n.is_range() && !all() && ![0, 1, 7, 31].contains(&index) {
                continue;
            }
            for m in row.m.sizes() {
                let name = row.name_for(m, n);
                let said = match open(device, &name) {
                    Ok(unit) => check_places(&unit).map_err(|error| error.to_string()),
                    Err(cuda::Error::NoKernel { .. }) => continue,
                    Err(error) => Err(error.to_string()),
                };
                asked += 1;
                match said {
                    Ok(None) => {}
                    Ok(Some(misplaced)) => wrong.push(format!("{name}: {misplaced:?}")),
                    Err(error) => wrong.push(format!("{name}: {error}")),
                }
            }
        }
    }
    println!("{asked} instructions asked, {} wrong", wrong.len());
    wrong
}

#[test]
fn the_gpu_of_this_machine_has_every_element_in_its_place() {
    match cuda::Device::open(0) {
        Ok(device) => {
            println!("{:?}", device.about);
            let wrong = ask(device.instructions(), &device, |device, name| device.unit(name));
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
        Err(error) => println!("skipped: {error}"),
    }
    match hip::Device::open(0) {
        Ok(device) => {
            println!("{:?}", device.about);
            let wrong = ask(device.instructions(), &device, |device, name| device.unit(name));
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
        Err(error) => println!("skipped: {error}"),
    }
}
