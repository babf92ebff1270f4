//! Every recorded call in every run: an RTX 4060 (2,161 with bits, 1,667 rejected, 5 that ran) and an H100.

use std::path::Path;

use bitmma_calls::cublaslt::Assume;
use bitmma_calls::plan::{BlockOrder, Blocks, Plan};
use bitmma_calls::recorded::Recording;
use bitmma_calls::verify::{plan_of, verify, verify_with};

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

fn of_h100() -> Recording {
    Recording::read(&recordings().join("h100-sxm")).expect("recordings/calls/h100-sxm is whole")
}

#[test]
fn every_call_of_an_h100_agrees() {
    let report = verify(&of_h100(), Assume::default()).expect("it can be held against the rules");
    assert_eq!(report.differences.len(), 0, "{:?}", report.differences.first());
    assert_eq!(report.declined, []);
    assert_eq!((report.calls, report.agree), (208, 164));
    assert_eq!((report.values, report.differing_values), (158_656, 0));
    assert_eq!(report.rejected.values().sum::<usize>(), 44);
}

/// Each rule on scales of rows and blocks that these calls decide: broken on purpose, it shows.
#[test]
fn scales_of_rows_and_blocks_are_applied_in_no_other_way() {
    let recording = of_h100();
    let of = |k: usize, rows: usize, columns: usize| {
        move |blocks: &Blocks| (blocks.k, blocks.rows, blocks.columns) == (k, rows, columns)
    };
    type Which = Box<dyn Fn(&Blocks) -> bool + Sync>;
    type Break = (&'static str, Which, fn(&mut Plan));
    let breaks: [Break; 6] = [
        ("rows, A first", Box::new(of(0, 1, 1)), |plan| order(plan, BlockOrder::AFirst)),
        ("rows, the product of both", Box::new(of(0, 1, 1)), |plan| order(plan, BlockOrder::Product)),
        ("single rows and columns, B first", Box::new(of(128, 1, 1)), |plan| order(plan, BlockOrder::BFirst)),
        ("1×128 and 128×128, A first", Box::new(of(128, 1, 128)), |plan| order(plan, BlockOrder::AFirst)),
        ("128×128 and 1×128, two roundings", Box::new(of(128, 128, 1)), |plan| {
            plan.blocks.iter_mut().for_each(|blocks| blocks.fma = false);
        }),
        ("tiles of 128 elements", Box::new(of(128, 1, 128)), |plan| {
            if plan.deal.parts > 1 {
                plan.deal.grain = 128;
            }
        }),
    ];
    for (name, which, edit) in breaks {
        let report = verify_with(&recording, |case| {
            let mut plan = plan_of(&recording, case, Assume::default())?;
            if plan.blocks.as_ref().is_some_and(&which) {
                edit(&mut plan);
            }
            Ok(plan)
        });
        let differing = report.expect("every plan runs").differing_values;
        assert!(differing > 0, "{name} answers the same");
        println!("{name}: {differing} values differ");
    }
}

fn order(plan: &mut Plan, order: BlockOrder) {
    plan.blocks.iter_mut().for_each(|blocks| blocks.order = order);
}
