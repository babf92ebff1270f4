//! State files: every changed character is refused or changes nothing, and what is missing is named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::F32;
use bitmma_engine::{Architecture, Case, FastSimulator, MmaUnit, Revision, Signature, Simulator};
use bitmma_verify::campaign::{self, Block, Cut, Identity, Kept, Plan, Shard, State, Summary, Verdict};

/// A campaign of Hopper's HMMA against Ampere's model, so that it has mismatches of every kind.
fn campaign() -> (Plan, Identity, BTreeMap<u64, Block>) {
    let named = |architecture| {
        FastSimulator::new(
            Simulator::instruction(architecture, "HMMA.16816.F32", Revision::Hardware).unwrap(),
        )
    };
    let (unit, model) = (named(Architecture::Hopper), named(Architecture::Ampere).model().clone());
    let plan = Plan::new(unit.signature(), 1_500_000, 5).unwrap();
    let identity = Identity::of(&plan, &model, false);
    let mut blocks = BTreeMap::new();
    campaign::run(&plan, &unit, &model, false, 0..plan.blocks(), |block| {
        blocks.insert(block.block, block);
        Ok::<(), bitmma_engine::Error>(())
    })
    .unwrap();
    (plan, identity, blocks)
}

/// Writes a state file, and reads its text.
fn written(path: &Path, identity: &Identity, blocks: &BTreeMap<u64, Block>) -> String {
    let mut state = State::open(path, identity, false).unwrap();
    blocks.values().for_each(|block| state.append(block.clone()).unwrap());
    drop(state);
    std::fs::read_to_string(path).unwrap()
}

/// Everything that a report is made of.
fn report(paths: &[PathBuf]) -> Result<String, String> {
    let (identity, blocks) = campaign::merge(paths).map_err(|error| error.to_string())?;
    Ok(format!("{identity:?} {:?}", Summary::of(&identity, &blocks, Shard::WHOLE)))
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }
}

/// The bytes with one character replaced, inserted or deleted.
fn changed(text: &[u8], draw: &mut Draw) -> (Vec<u8>, String) {
    let at = draw.below(text.len());
    // digits and what JSON is made of more often than other bytes
    let other = match draw.below(4) {
        0 => draw.below(256) as u8,
        1 => b"{}[]\":, \n"[draw.below(9)],
        _ => b"0123456789abcdef"[draw.below(16)],
    };
    let mut bytes = text.to_vec();
    let what = match draw.below(3) {
        0 => {
            bytes[at] = other;
            "replaced"
        }
        1 => {
            bytes.insert(at, other);
            "inserted"
        }
        _ => {
            bytes.remove(at);
            "deleted"
        }
    };
    (bytes, format!("{what} at {at}, {:?}", char::from(other)))
}

#[test]
fn every_changed_character_is_refused_or_changes_nothing() {
    const SEED: u64 = 41;
    let (_, identity, mut blocks) = campaign();
    // as short as real files of agreeing units, so that digits of counts are hit often
    for block in blocks.values_mut() {
        block.kept.clear();
        block.mismatches.clear();
    }
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.jsonl");
    let text = written(&whole, &identity, &blocks);
    let path = folder.path().join("changed.jsonl");
    let expected = report(std::slice::from_ref(&whole)).unwrap();
    let mut draw = Draw(SEED);
    let (mut refused, mut same) = (0, 0);
    for turn in 0..5000 {
        let (bytes, what) = changed(text.as_bytes(), &mut draw);
        std::fs::write(&path, &bytes).unwrap();
        let note = format!("turn {turn} of seed {SEED}: {what}");
        match report(std::slice::from_ref(&path)) {
            Ok(other) => {
                assert_eq!(other, expected, "{note}");
                same += 1;
            }
            Err(error) => {
                assert!(error.contains("changed.jsonl: "), "{note}: {error}");
                refused += 1;
            }
        }
        // a campaign that goes on with it has the same blocks, or asks again
        if let Ok(state) = State::open(&path, &identity, true) {
            assert!(state.done().iter().all(|(number, block)| blocks[number] == *block), "{note}");
        }
    }
    println!("{refused} of 5000 changes refused, {same} without effect");
    assert!(refused > 4900 && same > 0, "{refused} refused, {same} without effect");
}

/// What a checksum does not see: a file that was written with other numbers.
#[test]
fn counts_and_indices_out_of_range_are_refused() {
    let (plan, identity, blocks) = campaign();
    let folder = tempfile::tempdir().unwrap();
    let one = blocks[&1].clone();
    let kind = one.kept[0].kind.clone();
    let refused = |change: &dyn Fn(&mut Block), words: &str| {
        let mut block = one.clone();
        change(&mut block);
        let path = folder.path().join("block.jsonl");
        written(&path, &identity, &BTreeMap::from([(0, block)]));
        let merged = campaign::merge(std::slice::from_ref(&path)).unwrap_err().to_string();
        let resumed = State::open(&path, &identity, true).unwrap_err().to_string();
        for error in [merged, resumed] {
            assert!(error.contains("block.jsonl: line 2: ") && error.contains(words), "'{words}': {error}");
        }
        std::fs::remove_file(&path).unwrap();
    };
    refused(&|block| block.block = plan.blocks(), "counted from 0");
    refused(&|block| block.block = plan.blocks() - 1, "dot products; it has");
    refused(&|block| block.dot_products = 0, "0 dot products; it has 524288");
    refused(&|block| block.nan = 524_289, "nan is 524289, of 524288 dot products");
    refused(&|block| block.nan_expected = u64::MAX, "nan_expected is 18446744073709551615");
    refused(&|block| block.digest.truncate(63), "is not a digest of 64 hex digits");
    refused(&|block| block.digest = block.digest.to_uppercase(), "is not a digest");
    refused(&|block| block.constant = Some(1 << 32), "every result is said to be 0x100000000");
    refused(&|block| block.constant = Some(0x7fc0_0000), "every result is said to be");
    refused(&|block| _ = block.mismatches.insert(kind.clone(), u64::MAX), "more mismatches than");
    refused(&|block| _ = block.mismatches.insert("else".into(), 1), "1 mismatches of kind 'else'");
    refused(&|block| _ = block.mismatches.insert(kind.clone(), 1), "2 of 1 mismatches of kind");
    refused(&|block| drop(block.kept.pop()), "mismatches of kind");
    let kept = |change: &dyn Fn(&mut Kept)| {
        refused(&|block| change(&mut block.kept[0]), "that its instructions cannot have");
    };
    kept(&|kept| kept.instruction = plan.range(1).end);
    kept(&|kept| kept.place.1 = 16);
    kept(&|kept| kept.case.a.truncate(15));
    kept(&|kept| kept.case.b[3] = 1 << 16);
    kept(&|kept| kept.case.scale_a = vec![1]);
    kept(&|kept| kept.actual = kept.expected);
    // and a head that contradicts itself
    let head = |change: &dyn Fn(&mut Identity), words: &str| {
        let mut other = identity.clone();
        change(&mut other);
        let path = folder.path().join("head.jsonl");
        written(&path, &other, &BTreeMap::new());
        let error = campaign::merge(std::slice::from_ref(&path)).unwrap_err().to_string();
        assert!(error.contains("head.jsonl: line 1: ") && error.contains(words), "'{words}': {error}");
        std::fs::remove_file(&path).unwrap();
    };
    head(&|identity| identity.campaign = 2, "its version is 2; this bitmma reads version 1");
    head(&|identity| identity.blocks += 1, "directed cases make");
    head(&|identity| identity.instructions = u64::MAX, "is not a shape");
    head(
        &|identity| identity.takes = identity.takes.replace("16×8×16", "16×8×17000000000000000000"),
        "is not a shape",
    );
    head(&|identity| identity.takes = identity.takes.replace("f16 f16", "f16 bf16"), "is not a shape");
    head(&|identity| identity.model.insert(0, '?'), "its model: ");
}

#[test]
fn missing_blocks_are_named_and_no_agreement() {
    let (_, identity, blocks) = campaign();
    let numbers = |all: u64, there: &[u64], shard: &str| {
        let identity = Identity { blocks: all, ..identity.clone() };
        let one = Block { dot_products: 1, digest: "0".repeat(64), ..Block::default() };
        let there = there.iter().map(|&block| (block, Block { block, ..one.clone() })).collect();
        let summary = Summary::of(&identity, &there, shard.parse().unwrap());
        (summary.verdict, summary.missing.count, summary.missing.to_string())
    };
    assert_eq!(numbers(3, &[0, 1, 2], "1/1"), (Verdict::Agrees, 0, String::new()));
    assert_eq!(numbers(10, &[0, 4, 5], "1/1"), (Verdict::Incomplete, 7, "1-3, 6-9".to_owned()));
    assert_eq!(numbers(10, &[3], "1/1"), (Verdict::Incomplete, 9, "0-2, 4-9".to_owned()));
    assert_eq!(numbers(10, &[1, 4, 7], "2/3"), (Verdict::Agrees, 0, String::new()));
    assert_eq!(numbers(10, &[1, 2, 7], "2/3"), (Verdict::Incomplete, 1, "4".to_owned()));
    assert_eq!(numbers(10, &[], "1/3"), (Verdict::Incomplete, 4, "0-9".to_owned()));
    assert_eq!(numbers(10, &[], "10/12"), (Verdict::Incomplete, 1, "9".to_owned()));
    assert_eq!(numbers(10, &[], "12/12"), (Verdict::Nothing, 0, String::new()));
    let odd: Vec<u64> = (0..40).map(|index| 2 * index + 1).collect();
    let (_, count, text) = numbers(80, &odd, "1/1");
    assert_eq!((count, text.as_str()), (40, "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 28 more ranges"));
    // a campaign too long to be listed
    let (_, count, text) = numbers(u64::MAX / 4, &[7], "1/1");
    assert_eq!((count, text), (u64::MAX / 4 - 1, format!("0-6, 8-{}", u64::MAX / 4 - 1)));
    // a mismatch is one, whatever is missing
    let part: BTreeMap<u64, Block> = blocks.into_iter().skip(1).collect();
    let summary = Summary::of(&identity, &part, Shard::WHOLE);
    assert_eq!((summary.verdict, summary.missing.ranges), (Verdict::Differs, vec![(0, 0)]));
}

#[test]
fn files_of_other_kinds_are_refused() {
    let (_, identity, _) = campaign();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let text = written(&path, &identity, &BTreeMap::new());
    let both = |content: &str| {
        std::fs::write(&path, content).unwrap();
        let resumed = State::open(&path, &identity, true);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content, "it was changed");
        let merged = campaign::merge(std::slice::from_ref(&path)).unwrap_err().to_string();
        assert_eq!(merged, resumed.unwrap_err().to_string());
        merged
    };
    // as bitmma wrote them before there were checksums
    let old = serde_json::to_string(&identity).unwrap() + "\n";
    let error = both(&old);
    assert!(error.contains("line 1: it has no checksum, so an earlier version"), "{error}");
    assert!(error.contains("run the campaign again, with --state naming another folder"), "{error}");
    assert!(both("a text\n").contains("it looks like text; the state of a campaign"));
    assert!(both("a text").contains("it looks like text; the state of a campaign"));
    let error = both(&format!("{text}{{\"block\":0}}\n"));
    assert!(error.contains("line 2: it has no checksum") && error.contains("delete the line"), "{error}");
    // a head that a crash cut off is written again
    std::fs::write(&path, &text[..40]).unwrap();
    drop(State::open(&path, &identity, false).unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// The digest of a campaign depends on how it is cut: no instruction of the catalogue is cut otherwise than before the
/// elements of a block were bounded, and no block of any shape holds more.
#[test]
fn blocks_hold_a_bounded_number_of_elements() {
    let mut most = 0;
    // of single bits K is so long that blocks are shorter
    for row in bitmma_engine::catalogue::catalogue().iter().filter(|row| row.a.bits() > 1) {
        let found = bitmma_engine::catalogue::find(row.architecture, &row.name()).unwrap();
        let Signature { m, n, k, blocks, .. } = Signature::found(&found);
        let cut = Cut::new((m, n, k, blocks), 1000, 1000).unwrap();
        let before = ((1 << 19) / (m * n * blocks)).clamp(1, 4096);
        assert_eq!(cut.block_size, before as u64, "{}", row.name());
        most = most.max(before * blocks * (m + n) * k);
    }
    println!("{most} elements at most in a block of the catalogue's instructions");
    for k in [16, 8192, 65_536] {
        let elements = 2 * k as u64 * Cut::new((1, 1, k, 1), 1000, 1000).unwrap().block_size;
        assert!(elements <= 1 << 23, "K = {k}: {elements}");
    }
    assert_eq!(Cut::new((0, 1, 1, 1), 1, 1), None);
    assert_eq!(Cut::new((1, 1, 1, 1), 1, u64::MAX), None);
    assert_eq!(Cut::new((1 << 40, 1 << 40, 1, 1), 1, 1), None);
}

/// A sparse list of directed cases is a list of different cases, at lengths where they nearly coincide too.
#[test]
fn directed_cases_are_different_at_every_length() {
    for k in 1..=12 {
        let toml = "model = 'FMA'\nA = 'f32'\nB = 'f32'\nC = 'f32'\nrho = 'RNE-FP32'\n";
        let model = Model::from_toml(toml).unwrap();
        let signature = Signature::of_model("unit".to_owned(), &model, (1, 1, k));
        let all = bitmma_verify::directed::Directed::of(&signature);
        let mut seen = std::collections::HashSet::<Case>::new();
        for (index, (feature, case)) in all.iter().enumerate() {
            assert_eq!((case.a.len(), case.b.len()), (k, k));
            assert_eq!((Some(feature), &case), (all.feature(index), &all.case(index)));
            assert!(case.c <= F32.max_code() && seen.insert(case), "case {index} at K = {k}");
        }
        assert!(seen.len() == all.len() && all.len() > 500, "K = {k}: {}", all.len());
    }
}
