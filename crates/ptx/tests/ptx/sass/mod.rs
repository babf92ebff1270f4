//! Kernels of random texts as ptxas compiles them: their machine code, run by a small evaluator, must give bitmma's bits.
//!
//! `BITMMA_FUZZ_SECONDS` says how long each target is tried, `BITMMA_TESTS=all` tries 20,000 kernels on each. One campaign from
//! the shell:
//!
//! `BITMMA_PTX_FUZZ="target=sm_90a seeds=0..2000 structures=sums,loops kinds=f32 way=text out=/tmp/found" cargo test -p bitmma-ptx
//! --test ptx sass::described -- --nocapture`
//!
//! Every word may be left out. `out` is a folder for the kernels that differ, shrunk, at most as many as `most` says;
//! `show=SEED,SEED` writes kernels of these seeds to it anyhow. A seed means the same kernel for the same structures and kinds.
//! `BITMMA_SASS_CACHE` names a folder that keeps what ptxas and nvdisasm gave.
#![allow(clippy::print_stdout)] // helpers print what was skipped and counted

mod access;
mod arithmetic;
pub(crate) mod assemble;
mod compare;
mod evaluate;
mod float;
mod flow;
mod generate;
mod integer;
mod known;
mod listing;
mod operands;
mod report;
mod special;
mod statements;
mod structures;
mod write;

use std::path::Path;
use std::time::{Duration, Instant};

use assemble::Tools;
use compare::{Way, campaign, shrunk};
use generate::{Entry, Kind, Wish};
use structures::Structure;

fn every(target: &str, way: Way) -> Wish {
    Wish {
        target: target.to_owned(),
        structures: Structure::ALL
            .iter()
            .map(|(structure, _)| *structure)
            .filter(|structure| !matches!(structure, Structure::Long | Structure::Scaled))
            .collect(),
        kinds: Kind::ALL.map(|(kind, ..)| kind).to_vec(),
        // the text as it is written has no constants that ptxas computes
        folds: way != Way::TEXT,
    }
}

/// Kernels of a target: 20,000 with `BITMMA_TESTS=all`, else as many as fit in the seconds of a fuzz target.
fn tried(target: &str, way: Way) -> Option<compare::Tally> {
    tried_of(&every(target, way), way)
}

fn tried_of(wish: &Wish, way: Way) -> Option<compare::Tally> {
    let target = &wish.target;
    let tools = Tools::find(target)?;
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let seconds = std::env::var("BITMMA_FUZZ_SECONDS").ok().and_then(|value| value.parse().ok());
    let (until, seconds) = if all { (20_000, u64::MAX / 2) } else { (u64::MAX, seconds.unwrap_or(1)) };
    let started = Instant::now();
    let goes_on = || started.elapsed() < Duration::from_secs(seconds);
    let tally = campaign(&tools, wish, way, 0..until, &goes_on);
    println!("{}", tally.table(target));
    if let Some(first) = tally.different.first()
        && way != Way::PREDICTED
    {
        println!("{}", report::explained(&tools, first, target, way));
    }
    Some(tally)
}

#[test]
fn without_fusion_both_sides_agree() {
    for target in ["sm_80", "sm_90a", "sm_100a"] {
        let Some(tally) = tried(target, Way::TEXT) else { continue };
        let seeds: Vec<u64> = tally.different.iter().map(|entry| entry.seed).collect();
        assert!(seeds.is_empty(), "{target}: seeds {seeds:?} differ");
        assert!(tally.count("equal") > 0);
    }
}

/// Kernels in a thousand whose bits the rule may get wrong without a word.
const SILENT: u64 = 1;

#[test]
fn predicted() {
    let wishes = ["sm_80", "sm_90a", "sm_100a"].map(|target| every(target, Way::PREDICTED));
    let scaled = Wish { structures: vec![Structure::Scaled], ..wishes[1].clone() };
    for wish in wishes.iter().chain([&scaled]) {
        let Some(tally) = tried_of(wish, Way::PREDICTED) else { continue };
        let (target, silent, all) = (&wish.target, tally.count("differ"), tally.kernels());
        // two more, which a small sample may have by chance
        assert!(1000 * silent <= SILENT * all + 2000, "{target}: {silent} of {all} kernels differ silently");
    }
}

#[test]
fn asked() {
    for target in ["sm_80", "sm_90a", "sm_100a"] {
        let Some(tally) = tried(target, Way::ASKED) else { continue };
        let seeds: Vec<u64> = tally.different.iter().map(|entry| entry.seed).collect();
        assert!(seeds.is_empty(), "{target}: seeds {seeds:?} differ");
    }
}

/// Where a product that is scaled in the same instruction may be another number, it is refused.
#[test]
fn scaled() {
    for target in ["sm_80", "sm_90a"] {
        let wish = Wish { structures: vec![Structure::Scaled], ..every(target, Way::ASKED) };
        let Some(tally) = tried_of(&wish, Way::ASKED) else { continue };
        let seeds: Vec<u64> = tally.different.iter().map(|entry| entry.seed).collect();
        assert!(seeds.is_empty(), "{target}: seeds {seeds:?} differ");
    }
}

/// Kernels that were wrong without a word when ptxas was asked: a product less itself, halves computed two at a time, sums of
/// constants that are ties, a turn of a loop that computes what is known already, a reciprocal of a power.
#[test]
fn found() {
    let Some(tools) = Tools::find("sm_80") else { return };
    let wish = every("sm_80", Way::ASKED);
    for seed in [998, 1629, 2397, 2671, 3938, 5955, 7183, 18607] {
        let outcome = &compare::outcomes(&tools, &[Entry::of(seed, &wish)], "sm_80", Way::ASKED)[0];
        assert!(!outcome.differs(), "seed {seed}");
    }
}

/// A campaign that `BITMMA_PTX_FUZZ` describes.
#[test]
fn described() {
    let Ok(description) = std::env::var("BITMMA_PTX_FUZZ") else { return };
    let mut wish = every("sm_80", Way::PREDICTED);
    let (mut seeds, mut out, mut way, mut most) = (0..1000, None, Way::PREDICTED, 20);
    let mut shown: Vec<u64> = vec![];
    for word in description.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "target" => value.clone_into(&mut wish.target),
            "seeds" => {
                let (from, to) = value.split_once("..").expect("seeds=FROM..TO");
                seeds = from.parse().expect("a seed")..to.parse().expect("a seed");
            }
            "structures" => {
                let named = |name: &str| {
                    let found = Structure::ALL.iter().find(|(_, known)| *known == name);
                    found.unwrap_or_else(|| panic!("no structure {name}")).0
                };
                wish.structures = value.split(',').map(named).collect();
            }
            "kinds" => {
                let named = |name: &str| {
                    let found = Kind::ALL.iter().find(|(_, known, _)| *known == name);
                    found.unwrap_or_else(|| panic!("no kind {name}")).0
                };
                wish.kinds = value.split(',').map(named).collect();
            }
            "way" => {
                way = match value {
                    "predicted" => Way::PREDICTED,
                    "asked" => Way::ASKED,
                    "text" => Way::TEXT,
                    "off" => Way::OFF,
                    other => panic!("no way {other}"),
                };
                wish.folds = way != Way::TEXT;
            }
            "out" => out = Some(value.to_owned()),
            "show" => shown = value.split(',').map(|seed| seed.parse().expect("a seed")).collect(),
            "most" => most = value.parse().expect("a number"),
            other => panic!("BITMMA_PTX_FUZZ has no {other}"),
        }
    }
    let Some(tools) = Tools::find(&wish.target) else { return };
    let tally = campaign(&tools, &wish, way, seeds, &|| true);
    println!("{}", tally.table(&format!("{} {way:?}", wish.target)));
    let seeds: Vec<u64> = tally.different.iter().map(|entry| entry.seed).collect();
    println!("differ: {seeds:?}");
    let Some(out) = out else { return };
    for seed in shown {
        let entry = Entry::of(seed, &wish);
        report::write(Path::new(&out), &tools, &entry, &wish.target, way).expect("written");
    }
    for entry in tally.different.iter().take(most) {
        let entry = shrunk(&tools, entry, &wish.target, way);
        report::write(Path::new(&out), &tools, &entry, &wish.target, way).expect("written");
    }
    println!("the first {most} of them, shrunk, are in {out}");
}
