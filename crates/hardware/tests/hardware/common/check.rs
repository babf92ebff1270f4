//! A unit whose kernel a machine of the tests runs, held against the simulator.

use bitmma_engine::{Architecture, MmaUnit, Operands, Revision, Simulator};
use bitmma_hardware::gpu::Unit;
use bitmma_verify::inputs::{Family, matrices};

/// Asks for two tiles of random operands and one without C, and compares.
pub(crate) fn check(unit: &Unit, architecture: Architecture, name: &str) {
    let model = Simulator::instruction(architecture, name, Revision::Hardware).expect("has a model");
    assert_eq!(unit.signature().name, format!("{architecture}/{}", model.signature().name));
    check_against(unit, &model, name);
}

/// The same, against a model by another name.
pub(crate) fn check_against(unit: &Unit, model: &Simulator, name: &str) {
    let tiles: Vec<_> = [Family::Bits, Family::Normal]
        .iter()
        .zip(3..)
        .map(|(family, index)| matrices(model.signature(), *family, 7, index).expect("drawn"))
        .collect();
    let mut batch: Vec<Operands<'_>> = tiles.iter().map(|tile| tile.operands()).collect();
    batch.push(Operands { c: None, ..batch[1] });
    let answers = unit.multiply_many(&batch).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (index, (answer, operands)) in answers.iter().zip(&batch).enumerate() {
        assert_eq!(answer, &model.multiply(operands).expect("simulated"), "{name}, tile {index}, seed 7");
    }
}
