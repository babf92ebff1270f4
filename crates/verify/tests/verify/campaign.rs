//! Campaigns: cut, resumed, merged; faults that were planted; units that say nothing.
//!
//! A slice runs each time; `BITMMA_TESTS=all` plants faults at a rate of 10^-7 among 10^9 dot products.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::{Class, decode};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{
    Architecture, Error, FastSimulator, Matrix, MmaUnit, Operands, Revision, Signature, Simulator,
};
use bitmma_verify::campaign::{self, Block, Identity, Kept, Plan, Shard, State, Summary, Verdict};

fn simulator(architecture: Architecture, name: &str) -> FastSimulator {
    FastSimulator::new(Simulator::instruction(architecture, name, Revision::Hardware).unwrap())
}

fn blocks(plan: &Plan, unit: &dyn MmaUnit, model: &Model, shard: Shard) -> BTreeMap<u64, Block> {
    let mut blocks = BTreeMap::new();
    let todo = (0..plan.blocks()).filter(|block| shard.has(*block));
    let each = |block: Block| {
        blocks.insert(block.block, block);
        Ok::<(), Error>(())
    };
    campaign::run(plan, unit, model, false, todo, each).unwrap();
    blocks
}

fn summary(plan: &Plan, unit: &dyn MmaUnit, model: &Model) -> Summary {
    Summary::of(&Identity::of(plan, model, false), &blocks(plan, unit, model, Shard::WHOLE), Shard::WHOLE)
}

/// A unit that changes what another answers, by the operands of the element and its place.
struct Changed<F> {
    inner: FastSimulator,
    change: F,
}

impl<F: Fn(&Operands<'_>, (usize, usize, usize), u64) -> u64 + Sync> MmaUnit for Changed<F> {
    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let d = self.inner.multiply(operands)?;
        let (blocks, rows, columns) = d.shape();
        let changed = d.iter().enumerate().map(|(index, code)| {
            let place = (index / (rows * columns), index / columns % rows, index % columns);
            (self.change)(operands, place, code)
        });
        Matrix::new(d.format(), (blocks, rows, columns), changed)
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.par_iter().map(|operands| self.multiply(operands)).collect()
    }
}

/// A hash of one element's operands, for faults that depend on nothing else.
fn hash(operands: &Operands<'_>, (block, row, column): (usize, usize, usize)) -> u64 {
    let words = operands.a.row(block, row).chain(operands.b.column(block, column));
    words.chain([operands.c.map_or(0, |c| c.get(block, row, column))]).fold(
        0x9e37_79b9_7f4a_7c15,
        |hash, word| {
            let mixed = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^ mixed >> 29
        },
    )
}

#[test]
fn planted_faults_are_all_found() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let (tests, rate) = if all { (1_000_000_000, 10_000_000) } else { (1_000_000, 10_000) };
    let inner = simulator(Architecture::Hopper, "wgmma.m64n256k16.f32.f16.f16");
    let model = inner.model().clone();
    let planted = Mutex::new(0u64);
    let unit = Changed {
        inner,
        change: |operands: &Operands<'_>, place, code: u64| {
            if !hash(operands, place).is_multiple_of(rate) {
                return code;
            }
            *planted.lock().unwrap() += 1;
            code ^ 1
        },
    };
    let plan = Plan::new(unit.signature(), tests, 7).unwrap();
    let summary = summary(&plan, &unit, &model);
    let planted = *planted.lock().unwrap();
    println!("{planted} faults among {} dot products, all found", summary.dot_products);
    assert!(planted > 50, "{planted}");
    assert_eq!(summary.mismatches(), planted);
    assert_eq!(summary.verdict, Verdict::Differs);
}

#[test]
fn shards_and_files_make_one_digest() {
    let unit = simulator(Architecture::Ampere, "HMMA.16816.F16");
    let model = unit.model().clone();
    let plan = Plan::new(unit.signature(), 4_000_000, 3).unwrap();
    let identity = Identity::of(&plan, &model, false);
    let whole = summary(&plan, &unit, &model);
    assert_eq!((whole.verdict, whole.blocks), (Verdict::Agrees, plan.blocks()));
    assert!(whole.dot_products >= 4_000_000 && whole.dot_products == plan.dot_products());

    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for number in 1..=3 {
        let path = folder.path().join(format!("{number}.jsonl"));
        let mut state = State::open(&path, &identity, false).unwrap();
        let error = State::open(&path, &identity, true).unwrap_err();
        assert!(error.to_string().contains("another campaign writes to it"), "{error}");
        for block in blocks(&plan, &unit, &model, Shard { number, count: 3 }).into_values() {
            state.append(block).unwrap();
        }
        drop(state);
        // a crash in the middle of a line
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"block\":17,\"dig")
            .unwrap();
        let resumed = State::open(&path, &identity, true).unwrap();
        assert!(resumed.done().keys().all(|block| block % 3 == number - 1));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("dig\0") && path.exists());
        paths.push(path);
    }
    let (merged, done) = campaign::merge(&paths).unwrap();
    assert_eq!(merged, identity);
    assert_eq!(Summary::of(&merged, &done, Shard::WHOLE).digest, whole.digest);
    assert!(whole.digest.is_some());
    // what is missing has no digest, what does not belong is refused
    let (_, part) = campaign::merge(&paths[..2]).unwrap();
    assert_eq!(Summary::of(&identity, &part, Shard::WHOLE).digest, None);
    let other = Identity::of(&Plan::new(unit.signature(), 4_000_000, 4).unwrap(), &model, false);
    let error = State::open(&paths[0], &other, true).unwrap_err();
    assert!(error.to_string().contains("its seed is 3, here it is 4"), "{error}");
    let error = State::open(&paths[0], &identity, false).unwrap_err();
    assert!(error.to_string().contains("use --resume to continue"), "{error}");
    // another seed is another digest
    assert_ne!(
        summary(&Plan::new(unit.signature(), 4_000_000, 4).unwrap(), &unit, &model).digest,
        whole.digest
    );
}

#[test]
fn answers_that_say_nothing_are_no_agreement() {
    let inner = simulator(Architecture::Cdna3, "v_mfma_f32_16x16x16_f16");
    let model = inner.model().clone();
    let plan = Plan::new(inner.signature(), 600_000, 0).unwrap();
    let verdict = |change: fn(&Operands<'_>, (usize, usize, usize), u64) -> u64| {
        summary(&plan, &Changed { inner: inner.clone(), change }, &model).verdict
    };
    assert_eq!(verdict(|_, _, code| code), Verdict::Agrees);
    assert_eq!(verdict(|_, _, _| 0), Verdict::Constant(0));
    assert_eq!(verdict(|_, _, _| 0x7fc0_0000), Verdict::NanEverywhere);
    assert_eq!(verdict(|_, (_, row, _), _| 0x7fc0_0000 + row as u64), Verdict::NanEverywhere);
    assert_eq!(verdict(|_, (_, row, _), _| row as u64), Verdict::Differs);
    // any NaN for any other agrees where no code is specified
    let other_nan = |_: &Operands<'_>, _: (usize, usize, usize), code: u64| {
        if code == 0x7fc0_0000 { 0xffc0_1234 } else { code }
    };
    let unit = Changed { inner: inner.clone(), change: other_nan };
    assert_eq!(summary(&plan, &unit, &model).verdict, Verdict::Agrees);
    assert!(decode(&model.d, 0xffc0_1234).class == Class::Nan);
    let none = Summary::of(&Identity::of(&plan, &model, false), &BTreeMap::new(), Shard::WHOLE);
    assert_eq!((none.verdict, none.missing.count), (Verdict::Incomplete, plan.blocks()));
}

#[test]
fn a_mismatch_shrinks_to_its_cause() {
    // one bit of one element of A, one column of D
    let fault = |operands: &Operands<'_>, (block, row, column): (usize, usize, usize), code: u64| {
        let hit = column == 5 && operands.a.row(block, row).nth(3).unwrap() >> 7 & 1 == 1;
        if hit { code ^ 0x10 } else { code }
    };
    let unit = Changed { inner: simulator(Architecture::Hopper, "HMMA.16816.F32"), change: fault };
    let model = unit.inner.model().clone();
    let summary = summary(&Plan::new(unit.signature(), 100_000, 0).unwrap(), &unit, &model);
    assert_eq!(summary.verdict, Verdict::Differs);
    let kept: &Kept = summary.kept.iter().find(|kept| kept.kind == "bits").unwrap();
    assert_eq!(kept.place.2, 5);
    let least = campaign::least(&unit, &model, kept, false).unwrap();
    assert!(least.repeats);
    let mut expected = vec![0; 16];
    expected[3] = 1 << 7;
    assert_eq!((least.least.a, least.least.b, least.least.c), (expected, vec![0; 16], 0));
    assert_eq!((least.expected, least.actual), (0, 0x10));
}

#[test]
fn every_feature_reaches_every_instruction() {
    for (architecture, name, least) in [
        (Architecture::Hopper, "HMMA.16816.F32", 3000),
        (Architecture::Ampere, "mma.m8n8k4.f64.f64.f64.f64", 3000),
        (Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8", 1500),
        (Architecture::Blackwell, "tcgen05.mma.m128n8k64.kind::mxf4.block32.f32.e2m1.e2m1.ue8m0", 500),
    ] {
        let found = bitmma_engine::catalogue::find(architecture, name);
        let unit = FastSimulator::new(Simulator::found(&found.unwrap(), Revision::Hardware).unwrap());
        let cases = bitmma_verify::directed::Directed::of(unit.signature());
        let mut counts = BTreeMap::new();
        for (feature, _) in cases.iter() {
            *counts.entry(feature.name()).or_insert(0) += 1;
        }
        println!("{name}: {} {counts:?}", cases.len());
        assert!(cases.len() >= least, "{name}: {counts:?}");
        assert!(counts.len() >= 7, "{name}: {counts:?}");
    }
    // the case of the MI300X is among them
    let unit = simulator(Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8");
    let paper =
        Simulator::instruction(Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8", Revision::Paper).unwrap();
    let plan = Plan::new(unit.signature(), 0, 0).unwrap();
    let summary = summary(&plan, &unit, paper.own_model());
    assert!(summary.mismatches.get("ties").is_some_and(|count| *count > 0), "{:?}", summary.mismatches);
}
