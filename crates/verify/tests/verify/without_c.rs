//! Without C every kind of unit answers as with a C of zeros.

use bitmma_engine::catalogue::processors;
use bitmma_engine::explain::explain_element;
use bitmma_engine::kernel;
use bitmma_engine::{
    Architecture, Error, FastSimulator, Fault, Matrices, Matrix, MmaUnit, Operands, Revision, Simulator,
};
use bitmma_hardware::cpu::Cpu;
use bitmma_hardware::process::Process;
use bitmma_verify::inputs::{Family, matrices};
use bitmma_verify::origin::Origin;
use bitmma_verify::playback::Playback;
use bitmma_verify::recording::{Answer, Record};
use std::path::Path;
use std::sync::Arc;

/// Of every family that a kernel has a way of its own for, and one without a kernel.
const INSTRUCTIONS: [(Architecture, &str); 8] = [
    (Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna2, "v_mfma_f32_4x4x4f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::Cdna3, "v_mfma_f64_16x16x4_f64"),
    (Architecture::Ampere, "mma.m8n8k4.rz.f64.f64.f64.f64"),
    (Architecture::Volta, "mma.m8n8k4.f16.f16.f16.f16"),
];

/// Operands whose C is zeros.
fn zeroed(unit: &dyn MmaUnit, family: Family) -> Matrices {
    let drawn = matrices(unit.signature(), family, 0xc0, 0).unwrap();
    let c = Matrix::zeros(unit.signature().c, drawn.c.shape()).unwrap();
    Matrices { c, ..drawn }
}

fn same(unit: &dyn MmaUnit, family: Family) {
    let zeroed = zeroed(unit, family);
    let without = Operands { c: None, ..zeroed.operands() };
    let batch = [without, zeroed.operands(), without];
    let [one, two, three] = &unit.multiply_many(&batch).unwrap()[..] else { panic!("three answers") };
    assert!(one == two && two == three, "{}, {}", unit.signature().name, family.name());
}

#[test]
fn simulators() {
    for (architecture, name) in INSTRUCTIONS {
        let unit = Simulator::instruction(architecture, name, Revision::Hardware).unwrap();
        let fast = FastSimulator::new(unit.clone());
        for family in Family::ALL {
            same(&unit, family);
            same(&fast, family);
        }
        let zeroed = zeroed(&unit, Family::Moderate);
        let without = Operands { c: None, ..zeroed.operands() };
        let (model, place) = (unit.own_model(), (0, 1, 2));
        let explained = [without, zeroed.operands()].map(|of| explain_element(model, &of, place).unwrap());
        assert_eq!(explained[0].steps, explained[1].steps);
        let d = kernel::multiply(model, unit.signature().k, &without, None).unwrap();
        assert_eq!(explained[0].d, d.get(0, 1, 2), "{name}");
    }
}

#[test]
fn processors_and_programs() {
    for row in processors() {
        match Cpu::open(row.name) {
            Ok(unit) => Family::ALL.into_iter().for_each(|family| same(&unit, family)),
            Err(error) => println!("skipped: {error}"),
        }
    }
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/protocol/unit.py");
    let command = ["python3".to_owned(), program.display().to_string()];
    same(&Process::start(&command, Default::default()).unwrap(), Family::Moderate);
}

#[test]
fn recordings() {
    let unit = Simulator::instruction(INSTRUCTIONS[0].0, INSTRUCTIONS[0].1, Revision::Hardware).unwrap();
    let zeroed = zeroed(&unit, Family::Normal);
    let d = unit.multiply(&zeroed.operands()).unwrap();
    let origin = Arc::new(Origin::named("hopper", INSTRUCTIONS[0].1).unwrap());
    let record = |(row, column)| {
        let d = Answer::Code(d.get(0, row, column));
        Record { origin: Arc::clone(&origin), case: zeroed.case(0, row, column), d, line: 0 }
    };
    let places = (0..16).flat_map(|row| (0..8).map(move |column| (row, column)));
    let playback = Playback::new(&places.map(record).collect::<Vec<_>>(), None).unwrap();
    let without = Operands { c: None, ..zeroed.operands() };
    assert!(playback.multiply(&without).unwrap() == d);
    // another C was not recorded
    let one = Matrix::single(unit.signature().c, 16, 8, vec![unit.signature().c.one_code(); 128]).unwrap();
    let other = playback.multiply(&Operands { c: Some(&one), ..without });
    assert!(matches!(other, Err(Error::Unit { fault: Fault::Refused, .. })));
}
