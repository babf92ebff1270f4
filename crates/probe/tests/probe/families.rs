//! A model of every family of the table is recovered: whatever has a row is in the probe's space.

use crate::common;

use bitmma_engine::arithmetic::{Conversion, FAMILIES};
use bitmma_engine::formats::{BF16, BlockScale, E4M3, F32, UE8M0};
use bitmma_engine::{FastSimulator, Model, Simulator};
use bitmma_probe::{Options, Verdict, probe};

#[test]
fn a_model_of_every_family_is_recovered() {
    for family in &FAMILIES {
        let operation = family.example.with_length(2 * family.multiple);
        let input = if operation.is_scaled() { E4M3 } else { BF16 };
        let scale = operation.is_scaled().then_some(BlockScale { format: UE8M0, size: 4 });
        let model = Model { scale, ..Model::new(input, input, F32, operation, Conversion::RNE_FP32) };
        model.validate().unwrap();
        let unit = FastSimulator::new(Simulator::model(model.clone(), (16, 8, 8)).unwrap());
        let outcome = probe(&unit, &Options { tests: 20_000, ..Options::default() }, &()).unwrap();
        let Verdict::Found(found) = &outcome.verdict else {
            panic!("{}: {}", family.name, outcome.summary())
        };
        assert_eq!(common::first_difference(&unit, &found.model, 1000, 4711), None, "{}", family.name);
        let names = std::iter::once(&found.model).chain(&found.equivalent);
        let names: Vec<&str> = names.map(|model| model.operation.name()).collect();
        eprintln!("{}: found {}, {} alike", family.name, names[0], names.len());
        assert!(names.contains(&family.name), "{}: {names:?}", family.name);
    }
}
