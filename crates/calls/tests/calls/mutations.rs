//! Each rule that the recordings can show, broken on purpose: some recorded call must then differ.
//!
//! The specification's section 12 says what a wrong rule costs on all 14,139 recorded calls; the numbers here are of
//! the 2,161 in `recordings/calls`.

use std::collections::BTreeMap;
use std::path::Path;

use bitmma_calls::call::Scales;
use bitmma_calls::cublaslt::Assume;
use bitmma_calls::epilogue::finished;
use bitmma_calls::execute::parts;
use bitmma_calls::plan::*;
use bitmma_calls::recorded::{Case, Loaded, Recording};
use bitmma_calls::verify::{plan_of, verify_with};
use bitmma_calls::{Call, Error};
use bitmma_engine::Architecture;
use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format};
use bitmma_engine::gemm::{exact, nan_code};

fn recording() -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/calls");
    Recording::read(&path).expect("recordings/calls is whole")
}

type Edit = fn(&mut Plan);
type Applies = fn(&Plan, &Case) -> bool;

fn split(plan: &Plan, _: &Case) -> bool {
    plan.deal.kind == DealKind::Interleaved
}
fn slow(plan: &Plan, case: &Case) -> bool {
    plan.promote.every > 0 && !split(plan, case)
}

/// Rules on instruction, deal, promotion and merge: the plan is changed.
const PLANS: [(u32, &str, Applies, Edit); 13] = [
    (
        6,
        "Hopper's instruction",
        |plan, _| plan.promote.every == 0 && plan.deal.parts == 1,
        |plan| {
            let formats = plan
                .instruction
                .as_deref()
                .unwrap_or("")
                .split('.')
                .skip(3)
                .take(2)
                .collect::<Vec<_>>()
                .join(".");
            plan.arch = Architecture::Hopper;
            plan.instruction = Some(format!("wgmma.m64n256k32.f32.{formats}"));
        },
    ),
    (8, "fast as slow", |plan, case| case.call.fast && plan.deal.parts == 1, |plan| plan.promote.every = 128),
    (9, "slow as fast", slow, |plan| plan.promote.every = 0),
    (9, "promotion every 64", slow, |plan| plan.promote.every = 64),
    (9, "promotion every 256", slow, |plan| plan.promote.every = 256),
    (10, "contiguous tiles of 64", split, |plan| plan.deal.kind = DealKind::Contiguous),
    (10, "contiguous tiles of 128", split, |plan| {
        (plan.deal.kind, plan.deal.grain) = (DealKind::Contiguous, 128);
    }),
    (10, "tiles of 128", split, |plan| plan.deal.grain = 128),
    (10, "tiles of 32", split, |plan| plan.deal.grain = 32),
    (10, "no split", split, |plan| {
        (plan.deal, plan.merge) = (Deal::default(), Merge::default());
    }),
    (
        10,
        "64 own elements in splits",
        |plan, case| split(plan, case) && plan.promote.every > 0,
        |plan| {
            plan.promote.every = 64;
        },
    ),
    (
        16,
        "serial for pairwise",
        |plan, _| plan.merge.order == MergeOrder::Pairwise,
        |plan| {
            plan.merge.order = MergeOrder::Serial;
        },
    ),
    (
        15,
        "pairwise for serial",
        |plan, _| plan.merge.order == MergeOrder::Serial,
        |plan| {
            plan.merge.order = MergeOrder::Pairwise;
        },
    ),
];

#[test]
fn a_broken_deal_promotion_or_merge_shows() {
    let recording = recording();
    for (rule, name, applies, edit) in PLANS {
        let tried = std::sync::atomic::AtomicUsize::new(0);
        let report = verify_with(&recording, |case| {
            let mut plan = plan_of(&recording, case, Assume::default())?;
            if !applies(&plan, case) || case.call.k == 0 {
                return Err(Error::Declined { reason: "not tried".into(), settle: String::new() });
            }
            tried.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            edit(&mut plan);
            Ok(plan)
        });
        let (report, tried) = (report.expect("it runs"), tried.into_inner());
        println!("rule {rule:2}, {name}: {} of {tried} calls differ", report.differences.len());
        assert!(!report.differences.is_empty(), "rule {rule}: {name} shows in no recorded call");
    }
}

fn add(x: u32, y: u32) -> u32 {
    exact::add(F32, x.into(), y.into()) as u32
}

fn merged(merge: &Merge, parts: &[u32], out: &Format) -> u32 {
    let parts: Vec<u64> = parts.iter().map(|&part| part.into()).collect();
    bitmma_engine::gemm::merged(merge, F32, &parts, out) as u32
}

fn f32_of(word: u32) -> f32 {
    f32::from_bits(word)
}

/// A merged number and what the call gave, for rules on the epilogue.
struct Given<'g> {
    parts: &'g [u32],
    scales: Scales,
    out: Format,
    plan: &'g Plan,
    k: usize,
}

impl Given<'_> {
    fn merged(&self) -> u32 {
        merged(&self.plan.merge, self.parts, &self.out)
    }

    fn with(&self, word: u32, scales: Scales, edit: impl Fn(&mut Epilogue)) -> u64 {
        let mut epilogue = self.plan.epilogue.clone();
        edit(&mut epilogue);
        finished(&epilogue, scales, self.out, word).expect("an epilogue")
    }

    fn right(&self, word: u32) -> u64 {
        self.with(word, self.scales, |_| {})
    }

    /// A number that needs no factor any more.
    fn stored(&self, word: f32) -> u64 {
        self.with(word.to_bits(), Scales::ONE, |_| {})
    }

    fn is_fp8(&self) -> bool {
        [E4M3, E5M2].contains(&self.out)
    }

    fn scaled(&self) -> f32 {
        let alpha = f32_of(self.scales.a) * f32_of(self.scales.b);
        let y = f32_of(self.merged()).mul_add(alpha, 0.0);
        self.scales.result.filter(|_| self.is_fp8()).map_or(y, |result| y * f32_of(result))
    }

    fn tree(&self) -> u32 {
        let mut level = self.parts.to_vec();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| pair.iter().copied().reduce(add).unwrap_or(0)).collect();
        }
        level.first().copied().unwrap_or(0)
    }
}

type Broken = fn(&Given<'_>) -> u64;

/// Rules on merge and epilogue: from the right parts to a wrong answer.
const EPILOGUES: [(u32, &str, Broken); 20] = [
    (16, "a binary tree", |given| given.right(given.tree())),
    (15, "parts from the last to the first", |given| {
        given.right(given.parts.iter().rev().copied().reduce(add).unwrap_or(0))
    }),
    (19, "parts rounded to D's type", |given| {
        let merge = Merge { order: MergeOrder::Serial, kind: MergeType::DPartials, ..Merge::default() };
        given.right(merged(&merge, given.parts, &given.out))
    }),
    (19, "a running sum in D's type", |given| {
        let merge = Merge { order: MergeOrder::Serial, kind: MergeType::D, ..Merge::default() };
        given.right(merged(&merge, given.parts, &given.out))
    }),
    (20, "both scales in turn", |given| {
        let first = f32_of(given.merged()) * f32_of(given.scales.a);
        let y = first.mul_add(f32_of(given.scales.b), 0.0);
        given.with(y.to_bits(), Scales { a: Scales::ONE.a, b: Scales::ONE.b, ..given.scales }, |_| {})
    }),
    (21, "a product, then + (+0)", |given| {
        given.with(given.merged(), given.scales, |epilogue| epilogue.multiply = Multiply::MulAdd)
    }),
    (21, "a product alone", |given| {
        given.with(given.merged(), given.scales, |epilogue| epilogue.multiply = Multiply::Mul)
    }),
    (21, "subnormal numbers flushed", |given| {
        let y = given.scaled();
        if y.is_subnormal() { given.stored(0.0 * y) } else { given.right(given.merged()) }
    }),
    (22, "one rounding into D", |given| {
        given.with(given.merged(), given.scales, |epilogue| epilogue.through = Through::None)
    }),
    (22, "FP16 clamped", |given| match given.right(given.merged()) {
        code if given.out == F16 && code & 0x7fff == 0x7c00 => code - 1,
        code => code,
    }),
    (22, "BF16 cut, not rounded", |given| {
        let y = given.scaled();
        if given.out == BF16 && y.is_finite() {
            u64::from(y.to_bits() >> 16)
        } else {
            given.right(given.merged())
        }
    }),
    (23, "FP8 not clamped", |given| {
        given.with(given.merged(), given.scales, |epilogue| epilogue.saturate = false)
    }),
    (23, "scale_result ignored", |given| {
        given.with(given.merged(), given.scales, |epilogue| epilogue.scale_result = ScaleResult::Never)
    }),
    (23, "scale_result folded into the factor", |given| {
        match given.scales.result.filter(|_| given.is_fp8()) {
            Some(result) => {
                let alpha = f32_of(given.scales.a) * f32_of(given.scales.b) * f32_of(result);
                given.stored(f32_of(given.merged()).mul_add(alpha, 0.0))
            }
            None => given.right(given.merged()),
        }
    }),
    (23, "scale_result for every D", |given| match given.scales.result.filter(|_| !given.is_fp8()) {
        Some(result) => given.stored(given.scaled() * f32_of(result)),
        None => given.right(given.merged()),
    }),
    (23, "FP8 subnormals flushed", |given| match given.right(given.merged()) {
        code if given.is_fp8() && code & 0x7f < given.out.min_normal_code() => code & 0x80,
        code => code,
    }),
    (24, "NaN with the top fraction bit alone", |given| match given.right(given.merged()) {
        code if code == nan_code(&given.out) && given.out != E4M3 => given.out.nan_code().unwrap_or(0),
        code => code,
    }),
    (24, "NaN with a sign", |given| match given.right(given.merged()) {
        code if code == nan_code(&given.out) => code | given.out.sign_bit(),
        code => code,
    }),
    (24, "-0 lost", |given| match given.right(given.merged()) {
        code if code == given.out.sign_bit() => 0,
        code => code,
    }),
    (25, "an epilogue for K = 0", |given| match given.k {
        0 => given.with(0, given.scales, |_| {}),
        _ => given.right(given.merged()),
    }),
];

fn places(case: &Case, loaded: &Loaded) -> Vec<usize> {
    let (m, n) = (loaded.a.rows(), loaded.b.columns());
    match case.call.select {
        Some(_) => (0..m.min(n)).map(|index| index * n + index).collect(),
        None => (0..m * n).collect(),
    }
}

#[test]
fn a_broken_merge_or_epilogue_shows() {
    use bitmma_engine::threads::prelude::*;
    let recording = recording();
    let of_case = |case: &Case| -> Option<Vec<bool>> {
        let loaded = recording.load(case).expect("operands");
        let plan = plan_of(&recording, case, Assume::default()).expect("a plan");
        let call = Call { scales: loaded.scales, ..Call::new(&loaded.a, &loaded.b, loaded.out) };
        let parts = if case.call.k == 0 { vec![] } else { parts(&plan, &call).expect("parts") };
        let differs = |broken: &Broken| {
            places(case, &loaded).iter().zip(&loaded.expected).any(|(&place, &expected)| {
                let parts: Vec<u32> = parts.iter().map(|part| part[place]).collect();
                let given = Given {
                    parts: &parts,
                    scales: loaded.scales,
                    out: loaded.out,
                    plan: &plan,
                    k: case.call.k,
                };
                broken(&given) != expected
            })
        };
        Some(EPILOGUES.iter().map(|(_, _, broken)| differs(broken)).collect())
    };
    let cases: Vec<&Case> =
        recording.index.cases.iter().filter(|case| Recording::expects_bits(case)).collect();
    let found: Vec<Vec<bool>> = cases.par_iter().filter_map(|case| of_case(case)).collect();
    for (index, (rule, name, _)) in EPILOGUES.iter().enumerate() {
        let count = found.iter().filter(|differs| differs[index]).count();
        println!("rule {rule}, {name}: {count} of {} calls differ", found.len());
        assert!(count > 0, "rule {rule}: {name} shows in no recorded call");
    }
}

#[test]
fn every_kind_of_rejection_that_was_recorded_is_needed() {
    let recording = recording();
    let mut kinds: BTreeMap<(u32, &str), usize> = BTreeMap::new();
    for case in recording.index.cases.iter().filter(|case| case.expect == "rejected") {
        let rejection = recording.request(case).expect("a request").rejection().expect("a reason");
        *kinds.entry((rejection.rule(), rejection.kind())).or_default() += 1;
    }
    println!("{kinds:?}");
    for kind in [
        "scales",
        "bias length",
        "sizes not multiples of 16",
        "operand not FP8",
        "both E5M2",
        "dtype of bias",
    ] {
        assert!(kinds.get(&(27, kind)).is_some_and(|&count| count > 0), "rule 27: {kind}");
    }
    for kind in [
        "row-wise, not BF16",
        "mat2 row-major",
        "FNUZ operand",
        "type of D",
        "alignment",
        "E4M3 x E4M3 into E5M2",
    ] {
        assert!(kinds.get(&(28, kind)).is_some_and(|&count| count > 0), "rule 28: {kind}");
    }
    let _ = F32;
}
