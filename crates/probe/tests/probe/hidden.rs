//! Models nobody has seen: recovered, or said not to be; never a wrong one.

use crate::common;

use std::time::{Duration, Instant};

use bitmma_engine::{FastSimulator, Simulator};
use bitmma_probe::{Options, Verdict, probe};

/// What came of each of the seeds, and how long it took.
struct Outcomes {
    missed: Vec<u64>,
    wrong: Vec<u64>,
    took: Vec<Duration>,
}

fn probed(seeds: &[u64], tests: u64) -> Outcomes {
    let mut outcomes = Outcomes { missed: Vec::new(), wrong: Vec::new(), took: Vec::new() };
    for &seed in seeds {
        let (model, k) = common::hidden(seed);
        let unit = FastSimulator::new(Simulator::model(model.clone(), (32, 16, k)).unwrap());
        let start = Instant::now();
        let outcome = probe(&unit, &Options { tests, ..Options::default() }, &()).unwrap();
        let took = start.elapsed();
        let said = match &outcome.verdict {
            Verdict::Found(found) => match common::first_difference(&unit, &found.model, 2000, 31) {
                None => format!("recovered, {} alike", found.equivalent.len() + 1),
                Some(difference) => {
                    outcomes.wrong.push(seed);
                    format!("WRONG, {difference:x?}\n{}{}", model.to_toml(), found.model.to_toml())
                }
            },
            Verdict::NotExplained(rest) => {
                assert!(!rest.counterexamples.is_empty() || rest.nearest.is_none(), "seed {seed}");
                outcomes.missed.push(seed);
                let nearest = rest.nearest.as_ref().map(bitmma_engine::Model::to_toml).unwrap_or_default();
                let (right, asked) = rest.agrees;
                format!(
                    "not explained; the nearest has {right} of {asked} right\n{}{nearest}",
                    model.to_toml()
                )
            }
            Verdict::Faulty(_) => panic!("seed {seed}: a model is no faulty unit"),
        };
        eprintln!("seed {seed}: {} of K = {k}: {said}, {:.1} s", model.operation.name(), took.as_secs_f64());
        outcomes.took.push(took);
    }
    outcomes
}

#[test]
fn hidden_models_are_recovered_or_not_explained() {
    let tests = if common::all() { 1_000_000 } else { 20_000 };
    let Outcomes { missed, wrong, mut took } = probed(&common::seeds(&[3, 8, 10, 19], 0..200), tests);
    took.sort_unstable();
    eprintln!(
        "{} probed, wrong {wrong:?}, not explained {missed:?}; median {:.1} s, longest {:.1} s",
        took.len(),
        took[took.len() / 2].as_secs_f64(),
        took[took.len() - 1].as_secs_f64()
    );
    assert!(wrong.is_empty(), "wrong: {wrong:?}");
    assert!(missed.len() * 66 <= took.len(), "{} not recovered: {missed:?}", missed.len());
}
