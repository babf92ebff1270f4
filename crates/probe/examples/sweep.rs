//! Every row of the catalogue, or those whose name holds all of the arguments: what a probe makes of it.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]
use bitmma::catalogue::catalogue;
use bitmma::inputs::{Family, case};
use bitmma::{MmaUnit, Revision, Simulator};
use bitmma_probe::{Options, Verdict, probe};
fn main() {
    let filter: Vec<String> = std::env::args().skip(1).collect();
    let (mut n, mut bad) = (0, 0);
    let mut times = vec![];
    let tests = std::env::var("TESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    for row in catalogue() {
        if row.model_ref(Revision::Hardware).is_none() {
            continue;
        }
        let name = format!("{}/{}", row.architecture, row.name_for(row.m.first, row.n.first));
        if !filter.iter().all(|f| name.contains(f)) {
            continue;
        }
        let unit = Simulator::instruction(
            row.architecture,
            &row.name_for(row.m.first, row.n.first),
            Revision::Hardware,
        )
        .unwrap();
        let t = std::time::Instant::now();
        let mut stages: Vec<(&str, std::time::Instant)> = vec![];
        let outcome = probe(&unit, &Options { tests, ..Options::default() }, &mut |p| {
            if stages.last().is_none_or(|(s, _)| *s != p.stage) {
                stages.push((p.stage, std::time::Instant::now()));
            }
        })
        .unwrap();
        let end = std::time::Instant::now();
        let time = t.elapsed();
        times.push(time);
        n += 1;
        let mut wrong = usize::MAX;
        let mut class = 0;
        if let Verdict::Found(found) = &outcome.verdict {
            class = found.equivalent.len();
            let s = unit.signature();
            let cases: Vec<_> =
                Family::ALL.iter().flat_map(|f| (0..2000).map(move |i| case(s, s.k, *f, 99, i))).collect();
            let truth = unit.dot_products(&cases).unwrap();
            let found =
                Simulator::model(found.model.clone(), (s.m, s.n, s.k)).unwrap().dot_products(&cases).unwrap();
            wrong = truth.iter().zip(&found).filter(|(a, b)| a != b).count();
        }
        if wrong > 0 {
            bad += 1;
        }
        let spans: Vec<String> = stages
            .iter()
            .enumerate()
            .map(|(i, (s, t))| format!("{s} {:.0?}", stages.get(i + 1).map_or(end, |n| n.1) - *t))
            .collect();
        println!(
            "{} {name} {time:.2?} class {class} questions {} tests {} revisions {} wrong {wrong} [{}]",
            if wrong > 0 { "BAD" } else { "ok " },
            outcome.questions,
            outcome.tests,
            outcome.revisions.len(),
            spans.join(", ")
        );
        if wrong > 0 || filter.len() > 2 {
            println!("{}\n{}", row.model(Revision::Hardware).unwrap().to_toml(), outcome.to_text());
        }
    }
    times.sort();
    println!(
        "{n} rows, {bad} bad, median {:?} max {:?} sum {:?}",
        times[n / 2],
        times[n - 1],
        times.iter().sum::<std::time::Duration>()
    );
}
