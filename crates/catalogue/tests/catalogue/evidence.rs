//! Evidence: what was recorded is what the recordings hold, and nothing is called printed that is not.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use bitmma_catalogue::recorded::RECORDED;
use bitmma_catalogue::{Architecture, Evidence, Family, catalogue, find};

/// File of recordings, and what its chip is called.
const CHIPS: [(&str, &str); 12] = [
    ("v100", "V100"),
    ("a100", "A100"),
    ("a2", "A2"),
    ("ada", "an Ada card"),
    ("l40s", "L40S"),
    ("h100", "H100"),
    ("h100-sxm", "H100 SXM"),
    ("h100-sxm-sparse", "H100 SXM"),
    ("h200", "H200"),
    ("h200-sxm", "H200"),
    ("b200", "B200"),
    ("rtx4060", "RTX 4060"),
];

#[test]
fn what_is_recorded_is_what_the_recordings_hold() {
    let mut held: BTreeMap<(Architecture, String), BTreeSet<&str>> = BTreeMap::new();
    for record in common::records("names.csv").iter().filter(|record| record["kind"] == "recordings") {
        let (_, chip) = CHIPS.into_iter().find(|(file, _)| *file == record["file"]).unwrap();
        let row = find(record["arch"].parse().unwrap(), &record["instruction"]).unwrap().instruction;
        held.entry((row.architecture, row.name())).or_default().insert(chip);
    }
    let mut stated = BTreeMap::new();
    for row in catalogue() {
        if let Evidence::Recorded { on, source } = row.evidence {
            assert!(!source.is_empty());
            stated.insert((row.architecture, row.name()), on.iter().copied().collect());
        }
    }
    // the MI300X's answers are cited, not held
    let mi300x = (Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8".to_owned());
    assert_eq!(stated.remove(&mi300x), Some(BTreeSet::from(["MI300X"])));
    for (row, on) in &stated {
        assert_eq!(held.get(row), Some(on), "{row:?}: what is recorded, and what is stated");
    }
    assert_eq!(stated.len(), held.len());
}

#[test]
fn recorded_rows_say_so() {
    let mut names = BTreeSet::new();
    for (architecture, name, chips, source) in RECORDED {
        assert!(names.insert((architecture, name)), "{name} appears twice");
        let row = find(*architecture, name).unwrap().instruction;
        assert_eq!(row.evidence, Evidence::Recorded { on: chips, source }, "{name}");
    }
}

#[test]
fn only_native_instructions_of_the_papers_tables_are_printed() {
    for row in catalogue() {
        let place = format!("{} {row}: {}", row.architecture, row.evidence);
        let directed = [".rz.", ".rm.", ".rp."].iter().any(|rounding| row.name().contains(rounding));
        let mixed = row.a != row.b && (row.a.name == "bf16" || row.b.name == "bf16");
        let quarter_of_turing = row.architecture == Architecture::Turing && row.k == 4;
        let is_like_another = row.architecture.unit() != row.architecture;
        let unprinted = !row.is_native()
            || directed
            || mixed
            || quarter_of_turing
            || row.family == Family::Wmma
            || row.d.is_integer()
            || is_like_another;
        match row.evidence {
            Evidence::Printed { on } => {
                assert!(!unprinted, "{place}");
                assert_eq!(Some(on), row.architecture.papers_chip(), "{place}");
            }
            Evidence::Inferred { why } => assert!(unprinted && !why.is_empty(), "{place}"),
            Evidence::Defined { by } => assert!(row.d.is_integer() && !by.is_empty(), "{place}"),
            Evidence::Recorded { .. } => {}
        }
    }
}

#[test]
fn evidence_reads_as_a_sentence() {
    let evidence = |architecture, name| find(architecture, name).unwrap().instruction.evidence.to_string();
    assert_eq!(
        evidence(Architecture::Ampere, "mma.m16n8k8.f32.f16.f16.f32"),
        "recorded on A100, A2 (validation data of MATLAB-tensor-core, Khattak and Mikaitis)"
    );
    assert_eq!(
        evidence(Architecture::Cdna2, "v_mfma_f32_4x4x4f16"),
        "printed in the paper, validated there on MI250X"
    );
    assert!(
        evidence(Architecture::Ampere, "mma.m8n8k4.rz.f64.f64.f64.f64").starts_with("inferred: the rounding")
    );
    assert_eq!(
        evidence(Architecture::Hopper, "mma.m8n8k4.rz.f64.f64.f64.f64"),
        "recorded on H100 SXM, H200 (this project, a million dot products)"
    );
}
