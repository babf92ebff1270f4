//! Plans as files, platforms, tables, and what is declined.

use std::io::Write;
use std::path::{Path, PathBuf};

use bitmma_calls::cublaslt::{self, Assume, Capability, Config, block_k};
use bitmma_calls::plan::*;
use bitmma_calls::platform::{Platform, Sources, decide};
use bitmma_calls::table::{Answer, Table};
use bitmma_calls::torch::{Rejection, Request};
use bitmma_calls::{Call, Error, execute};
use bitmma_engine::formats::{BF16, E4M3, F16, F32};
use bitmma_engine::{Architecture, Matrix};

const PLAN: &str = r#"
format = "bitmma-plan/1"
arch = "ada"
instruction = "mma.m16n8k32.f32.e4m3.e4m3.f32"
evidence = "recorded"
source = "by hand"

[deal]
kind = "interleaved"
grain = 64
parts = 3

[promote]
every = 128

[merge]
order = "pairwise"
"#;

#[test]
fn a_plan_is_read_and_printed_without_loss() {
    let plan = Plan::from_toml(PLAN).expect("a plan");
    assert_eq!((plan.deal.parts, plan.promote.every), (3, 128));
    assert_eq!(Plan::from_toml(&plan.to_toml()).expect("its own TOML"), plan);
    assert_eq!(Plan::from_json(&serde_json::to_string(&plan).expect("a plan")).expect("its own JSON"), plan);
}

#[test]
fn unknown_keys_values_and_contradictions_are_errors() {
    let replaced =
        |from: &str, to: &str| Plan::from_toml(&PLAN.replace(from, to)).err().map(|error| error.to_string());
    for (from, to, part) in [
        ("parts = 3", "parts = 3\nsplits = 2", "splits"),
        ("\"interleaved\"", "\"strided\"", "strided"),
        ("\"recorded\"", "\"guess\"", "guess"),
        ("\"ada\"", "\"adda\"", "adda"),
        ("/1", "/2", "bitmma-plan/2"),
        ("grain = 64", "grain = 48", "not a multiple of the instruction's K of 32"),
        ("every = 128", "every = 100", "not a multiple of the instruction's K of 32"),
        ("order = \"pairwise\"", "order = \"none\"", "merge.order"),
        ("order = \"pairwise\"", "order = \"pairwise\"\ntype = \"d\"", "type f32 only"),
        ("parts = 3", "parts = 0", "deal.parts is 0"),
        ("parts = 3", "parts = -1", "parts"),
        ("[promote]", "[simt]\nfamily = \"chains\"\n[promote]", "exactly one"),
        ("parts = 3", "parts = 3\ntail = \"lost\"", "contiguous"),
        ("mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k32.f16.e4m3.e4m3.f16", "FP32"),
    ] {
        let error = replaced(from, to).unwrap_or_else(|| panic!("{to} is accepted"));
        assert!(error.contains(part), "{to}: {error}");
    }
}

#[test]
fn stages_name_blocks() {
    let expected = [
        (1, 16),
        (6, 16),
        (7, 32),
        (15, 64),
        (18, 64),
        (24, 128),
        (25, 32),
        (32, 8),
        (35, 64),
        (36, 128),
        (37, 256),
    ];
    for (stages, block) in expected {
        assert_eq!(block_k(stages), Some(block), "STAGES_ID {stages}");
    }
    assert_eq!((block_k(0), block_k(26), block_k(38)), (None, None, None));
}

fn declined(result: Result<impl std::fmt::Debug, Error>) -> String {
    match result {
        Err(Error::Declined { reason, settle }) => {
            assert!(!settle.is_empty());
            reason
        }
        other => panic!("not declined: {other:?}"),
    }
}

#[test]
fn what_nobody_measured_is_declined_with_its_reason() {
    let platform = Platform::parse("h100-pcie").expect("a platform");
    let query = platform.query((64, 512, 1024), (E4M3, E4M3, BF16), true);
    let config = |text: &str| Config::from_json(text).expect("fields");
    let reason = |query: &cublaslt::Query, text: &str| {
        declined(cublaslt::plan(query, &config(text), Assume::default()))
    };
    assert!(reason(&query, r#"{"ALGO_ID": 74, "SPLITK_NUM": 1}"#).contains("ALGO_ID 74"));
    assert!(reason(&query, r#"{"ALGO_ID": 66, "STAGES_ID": 36, "SPLITK_NUM": -2}"#).contains("stream-K"));
    assert!(
        reason(&query, r#"{"ALGO_ID": 66, "STAGES_ID": 36, "SPLITK_NUM": 0}"#).contains("SPLITK_NUM is 0")
    );
    assert!(reason(&query, r#"{"ALGO_ID": 66, "STAGES_ID": 36, "SPLITK_NUM": 7}"#).contains("empty"));
    assert!(
        reason(&query, r#"{"ALGO_ID": 66, "STAGES_ID": 36, "SPLITK_NUM": 2, "REDUCTION_SCHEME": 1}"#)
            .contains("REDUCTION_SCHEME 1")
    );
    assert!(reason(&query, "{}").contains("no ALGO_ID"));
    for id in [41, 56] {
        assert!(reason(&query, &format!(r#"{{"ALGO_ID": {id}}}"#)).contains("no recipe"));
    }
    let other = cublaslt::Query { version: "13.2.0".into(), ..query.clone() };
    let flat = r#"{"ALGO_ID": 66, "STAGES_ID": 36, "SPLITK_NUM": 1}"#;
    assert!(reason(&other, flat).contains("12.8.3.14, 13.1.0.3, 13.1.1"));
    let assume = Assume { version: true, ..Assume::default() };
    let planned = cublaslt::plan(&other, &config(flat), assume).expect("assumed");
    assert_eq!(planned.plan.evidence, Evidence::Derived);
    assert!(planned.assumed[0].contains("13.2.0"));
    let tf32 = cublaslt::Query { a: F32, b: F32, ..query.clone() };
    assert!(reason(&tf32, flat).contains("f32"));
    assert!(Config::from_json(r#"{"ALGO_ID": 66, "STAGE": 1}"#).is_err());
    assert!(declined(Platform::parse("rtx5090")).contains("rtx5090"));
    assert!(declined(Capability::parse("sm_86")).contains("sm_86"));
    let rtx = Platform::parse("rtx4060").expect("a platform");
    let query = rtx.query((64, 512, 1024), (E4M3, E4M3, BF16), true);
    assert!(declined(decide(&rtx, &query, &Sources::default())).contains("does not follow from the shape"));
}

#[test]
fn kernels_are_told_by_name_where_the_fields_do_not_say() {
    let platform = Platform::parse("a100/cublaslt-12.4.5").expect("a platform");
    let query = platform.query((100, 9728, 2560), (BF16, BF16, BF16), false);
    let mut config = Config { id: Some(6), splitk: Some(4), reduction: Some(1), ..Config::default() };
    let assume = Assume { version: true, ..Assume::default() };
    assert!(declined(cublaslt::plan(&query, &config, assume)).contains("ALGO_ID 6"));
    config.kernel = Some("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn".into());
    let plan = cublaslt::plan(&query, &config, assume).expect("a recipe").plan;
    assert_eq!((plan.deal.grain, plan.deal.parts, plan.merge.kind), (64, 4, MergeType::D));
    config.kernel = Some("ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_tn".into());
    let plan = cublaslt::plan(&query, &config, assume).expect("a recipe").plan;
    assert_eq!((plan.deal.slices, plan.deal.slice), (2, 32));
}

#[test]
fn the_h100s_recorded_decisions_are_built_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/calls/h100-jobs.json");
    let text = std::fs::read_to_string(path).expect("h100-jobs.json");
    let jobs: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let platform = Platform::parse("h100").expect("a platform");
    assert_eq!(platform.name(), "h100-pcie/cublaslt-12.8.3.14");
    let mut counts = [0; 3];
    for job in jobs["jobs"].as_array().expect("jobs") {
        let size = |name: &str| job[name].as_u64().expect("a size") as usize;
        let format =
            |name: &str| bitmma_calls::torch::format_of(job[name].as_str().unwrap_or("")).expect("a format");
        let (shape, fast) = ((size("M"), size("N"), size("K")), job["fast"].as_bool().expect("fast"));
        let (a, b, out) = (format("fa"), format("fb"), format("out"));
        if job["S"].is_null() {
            assert_eq!(Request::new(shape, a, b, out).rejection(), Some(Rejection::E5m2Out));
            counts[0] += 1;
            continue;
        }
        let query = platform.query(shape, (a, b, out), fast);
        let sources = Sources { workspace: Some(size("ws") as u64), ..Sources::default() };
        let decision = decide(&platform, &query, &sources).expect("a decision");
        let parts = size("S");
        assert_eq!(decision.plan.deal.parts, parts, "{}", job["id"]);
        assert_eq!(decision.plan.merge.order, if parts > 1 { MergeOrder::Serial } else { MergeOrder::None });
        assert_eq!(decision.plan.promote.every, if fast { 0 } else { 128 });
        counts[if parts > 1 { 2 } else { 1 }] += 1;
    }
    assert_eq!(counts, [2, 33, 89]);
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("bitmma-calls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An `.npz` of stored arrays, as `numpy.savez` writes one.
fn npz(arrays: &[(&str, &str, Vec<u8>, usize)]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0u32, |sum, &byte| {
            (0..8).fold(
                sum ^ u32::from(byte),
                |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 },
            )
        })
    };
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, kind, data, count) in arrays {
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}\n");
        npy.write_all(&(header.len() as u16).to_le_bytes()).expect("memory");
        npy.extend_from_slice(header.as_bytes());
        npy.extend_from_slice(data);
        let name = format!("{name}.npy");
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        fields.extend_from_slice(&crc(&npy).to_le_bytes());
        fields.extend_from_slice(&(npy.len() as u32).to_le_bytes());
        fields.extend_from_slice(&(npy.len() as u32).to_le_bytes());
        fields.extend_from_slice(&(name.len() as u16).to_le_bytes());
        fields.extend_from_slice(&[0, 0]);
        let start = file.len() as u32;
        file.extend_from_slice(b"PK\x03\x04");
        file.extend_from_slice(&fields);
        file.extend_from_slice(name.as_bytes());
        file.extend_from_slice(&npy);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&fields);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&start.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let (at, size) = (file.len() as u32, directory.len() as u32);
    file.extend_from_slice(&directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend_from_slice(&(arrays.len() as u16).to_le_bytes());
    file.extend_from_slice(&(arrays.len() as u16).to_le_bytes());
    file.extend_from_slice(&size.to_le_bytes());
    file.extend_from_slice(&at.to_le_bytes());
    file.extend_from_slice(&[0, 0]);
    file
}

#[test]
fn mmaemus_table_is_read_and_its_envelope_is_used_only_if_asked_for() {
    let folder = Folder::new("table");
    let i32s = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let i16s = |values: &[i16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    // e4m3 x e5m2 into bf16, fast, 1 MiB: 16x16 split in 3, pairwise; 64x64 not split
    let columns = [
        ("M", "<i4", i32s(&[16, 64])),
        ("N", "<i4", i32s(&[16, 64])),
        ("K", "<i4", i32s(&[1920, 1920])),
        ("fa", "|u1", vec![0, 0]),
        ("fb", "|u1", vec![1, 1]),
        ("out", "|u1", vec![1, 1]),
        ("fast", "|u1", vec![1, 1]),
        ("ws", "|u1", vec![1, 1]),
        ("splitK", "|u1", vec![3, 1]),
        ("custom", "|u1", vec![1, 0]),
        ("reduction", "|u1", vec![2, 0]),
        ("swizzle", "|u1", vec![0, 0]),
        ("algo", "<i2", i16s(&[60, 60])),
        ("tile", "<i2", i16s(&[15, 15])),
        ("stages", "<i2", i16s(&[15, 16])),
    ];
    let columns: Vec<_> = columns.into_iter().map(|(name, kind, data)| (name, kind, data, 2)).collect();
    let path = folder.0.join("heur_rtx4060_lt12.8.3.14.npz");
    std::fs::write(&path, npz(&columns)).expect("written");
    let beside = r#"{"format": "mmaemu-splitk-table/1", "npz_sha256": "", "profile_device": {"gpu": "NVIDIA GeForce RTX 4060",
        "sm_count": 24, "capability": [8, 9], "cublaslt": "12.8.3.14", "driver": "572.16", "torch": "2.7.1"}}"#;
    std::fs::write(path.with_extension("json"), beside).expect("written");

    let platform = Platform::parse("rtx4060").expect("a platform");
    let e5m2 = bitmma_engine::formats::E5M2;
    let query = |m, n| platform.query((m, n, 1920), (E4M3, e5m2, BF16), true);
    let table = Table::read(&path).expect("a table");
    assert_eq!((table.len(), table.capability, table.multiprocessors), (2, Capability::Sm89, Some(24)));
    assert_eq!(table.answer(&query(64, 128), 1 << 20, false), Answer::Missing);
    assert_eq!(table.answer(&query(64, 128), 1 << 20, true), Answer::Unsplit);
    assert_eq!(table.answer(&query(16, 32), 1 << 20, true), Answer::Missing);
    assert_eq!(table.answer(&query(16, 16), 4 << 20, true), Answer::Missing);

    let mut sources = Sources { table: Some(path), ..Sources::default() };
    let decision = decide(&platform, &query(16, 16), &sources).expect("a decision");
    assert_eq!((decision.plan.deal.parts, decision.plan.merge.order), (3, MergeOrder::Pairwise));
    assert_eq!(decision.plan.evidence, Evidence::Recorded);
    assert!(declined(decide(&platform, &query(64, 128), &sources)).contains("is not in"));
    sources.assume.envelope = true;
    let decision = decide(&platform, &query(64, 128), &sources).expect("inferred");
    assert!(decision.assumed[0].contains("inferred"));
    assert_eq!(decision.plan.evidence, Evidence::Derived);
}

#[test]
fn the_collectors_lines_are_a_table() {
    let folder = Folder::new("lines");
    let path = folder.0.join("queries.jsonl");
    let line = |m: usize, splitk: usize| {
        format!(
            r#"{{"device": "NVIDIA H100 PCIe", "sm_count": 114, "capability": "sm_90", "cublaslt": "12.8.3.14", "workspace": 1048576, "M": {m}, "N": 512, "K": 1024, "a": "e4m3", "b": "e4m3", "out": "bf16", "fast": true, "status": 0, "config": {{"id": 66, "tile": 1, "splitk": {splitk}, "reduction": 2, "swizzling": 0, "custom": 0, "stages": 36, "inner_shape": 0, "cluster_shape": 2}}}}"#
        )
    };
    std::fs::write(&path, format!("{}\n{}\n", line(64, 2), line(32, 4))).expect("written");
    let platform = Platform::parse("h100-pcie").expect("a platform");
    let sources = Sources { table: Some(path.clone()), ..Sources::default() };
    let query = platform.query((32, 512, 1024), (E4M3, E4M3, BF16), true);
    assert_eq!(decide(&platform, &query, &sources).expect("a decision").plan.deal.parts, 4);
    std::fs::write(&path, format!("{}\n{}\n", line(64, 2), line(64, 4))).expect("written");
    let error = Table::read(&path).expect_err("two results for one query").to_string();
    assert!(error.contains("M = 64, N = 512, K = 1024 appears twice with different results"), "{error}");
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let plan = Plan::from_toml(PLAN).expect("a plan");
    let a = Matrix::zeros(E4M3, (1, 2, 64)).expect("a matrix");
    let b = Matrix::zeros(F16, (1, 64, 3)).expect("a matrix");
    let short = Matrix::zeros(E4M3, (1, 32, 3)).expect("a matrix");
    let wrong = |b: &Matrix| execute(&plan, &Call::new(&a, b, BF16)).expect_err("an error").to_string();
    assert!(wrong(&b).contains("B is f16"), "{}", wrong(&b));
    assert!(wrong(&short).contains("A is 2×64, B 32×3"), "{}", wrong(&short));
    assert_eq!(plan.arch, Architecture::Ada);
}
