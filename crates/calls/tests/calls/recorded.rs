//! Every recorded call in every run (issue: 2,161 with bits, 1,667 rejected, 5 that ran).

use std::path::Path;

use bitmma_calls::cublaslt::Assume;
use bitmma_calls::recorded::Recording;
use bitmma_calls::verify::verify;

fn recordings() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/calls")
}

#[test]
fn every_recorded_call_agrees() {
    let recording = Recording::read(&recordings()).expect("recordings/calls is whole");
    let report = verify(&recording, Assume::default()).expect("it can be held against the rules");
    for difference in report.differences.iter().take(10) {
        println!("{difference:?}");
    }
    assert_eq!(report.differences.len(), 0, "of {} calls", report.calls);
    assert_eq!(report.declined, []);
    assert_eq!((report.calls, report.agree, report.ran), (3833, 2161, 5));
    assert_eq!((report.values, report.differing_values), (846_680, 0));
    println!("{:?}", report.rejected);
    assert_eq!(report.rejected.values().sum::<usize>(), 1667);
}
