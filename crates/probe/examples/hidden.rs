//! Hidden models: how many of them a probe recovers. Arguments: first seed, how many.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use bitmma::Simulator;
use bitmma_probe::{Options, Verdict, probe};

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (first, count) = (arguments.first().copied().unwrap_or(0), arguments.get(1).copied().unwrap_or(20));
    let (mut found, mut wrong) = (0, 0);
    for seed in first..first + count {
        let (model, k) = common::hidden(seed);
        let unit = Simulator::model(model.clone(), (8, 8, k)).unwrap();
        let start = std::time::Instant::now();
        let outcome = probe(&unit, &Options { tests: 200_000, ..Options::default() }, &mut |_| {}).unwrap();
        let time = start.elapsed();
        let name = format!(
            "{seed} {} K {k} {time:.2?} revisions {}",
            model.operation.name(),
            outcome.revisions.len()
        );
        match &outcome.verdict {
            Verdict::Found(it) => match common::first_difference(&unit, &it.model, 5000, 77) {
                None => {
                    found += 1;
                    println!("ok    {name}");
                }
                Some(difference) => {
                    wrong += 1;
                    println!("WRONG {name}\n{}{}{difference:x?}", model.to_toml(), it.model.to_toml());
                }
            },
            _ => println!("none  {name}\n{}{}", model.to_toml(), outcome.summary()),
        }
    }
    println!("{found} of {count} found, {wrong} wrong");
}
