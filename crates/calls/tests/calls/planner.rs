//! The planner of cuBLASLt configurations against the fixtures of bitequiv (`recordings/calls/planner/plans.csv`).

use std::collections::BTreeMap;
use std::path::Path;

use bitmma_calls::cublaslt::Assume;
use bitmma_calls::fixtures::{Fixture, Outcome, read};
use bitmma_calls::platform::known;
use bitmma_engine::catalogue::chips;

fn fixtures() -> Vec<Fixture> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/calls/planner/plans.csv");
    read(&path).expect("plans.csv is whole")
}

/// Counts by outcome; panics at a difference.
fn count(assume: Assume) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for fixture in fixtures() {
        let kind = match fixture.check(assume) {
            Outcome::Agrees => "agrees",
            Outcome::BothDecline => "both decline",
            Outcome::EmptyParts => "declined for empty parts",
            Outcome::Differs(what) => panic!("{}: {what}", fixture.id),
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

#[test]
fn every_fixture_agrees_once_empty_parts_are_left_out() {
    let counts = count(Assume { empty_parts: true, ..Assume::default() });
    println!("{counts:?}");
    assert_eq!(counts.values().sum::<usize>(), 3046);
    assert_eq!(counts.get("declined for empty parts"), None);
    assert_eq!(counts["agrees"], 2478);
}

#[test]
fn without_that_assumption_only_empty_parts_are_declined() {
    let counts = count(Assume::default());
    println!("{counts:?}");
    assert_eq!(counts["both decline"], 568);
    assert!(counts["declined for empty parts"] < 400);
}

/// One table, the catalogue's, says which architecture a device is: what is asked for an instruction and what is asked for
/// a call say the same, of sm_103 too.
#[test]
fn calls_and_instructions_are_of_one_table() {
    for (device, capability, ..) in known() {
        let chip = device.split('-').next().unwrap();
        let target = chips::target(chip).unwrap();
        assert_eq!(target.name, capability.name(), "{device}");
        let instructions = chip.parse::<bitmma_engine::Architecture>();
        match (target.compared, instructions) {
            (None, Ok(architecture)) => {
                assert_eq!(architecture, capability.architecture(), "{device}");
                assert_eq!(capability.remark(), None, "{device}");
            }
            (Some(compared), Err(error)) => {
                assert_eq!(Some(capability.architecture()), target.nearest, "{device}");
                assert!(error.to_string().contains(compared), "{error}");
                assert!(!error.to_string().contains("no evidence"), "{error}");
                assert!(capability.remark().unwrap().ends_with(compared), "{device}");
            }
            (_, other) => panic!("{device}: {other:?}"),
        }
    }
}
