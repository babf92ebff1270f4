//! Names: unique, read back as they are printed, found under every alias, refused with reasons.

use crate::common;

use std::collections::HashSet;

use bitmma_catalogue::Architecture::{
    Ada, Ampere, Blackwell, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Volta,
};
use bitmma_catalogue::{Architecture, Instruction, LookupError, catalogue, find, of, selection};

#[test]
fn names_are_unique_within_an_architecture() {
    for architecture in Architecture::ALL {
        let mut names = HashSet::new();
        for row in of(architecture) {
            assert!(names.insert(row.name().to_lowercase()), "{architecture} has {row} twice");
        }
    }
}

#[test]
fn parse_undoes_print() {
    for row in catalogue() {
        let found = find(row.architecture, &row.name()).unwrap();
        assert!(std::ptr::eq(found.instruction, row), "{row}");
        assert_eq!((found.m, found.n), (row.m.first, row.n.first), "{row}");
        for (m, n) in row.m.sizes().flat_map(|m| row.n.sizes().map(move |n| (m, n))) {
            let name = row.name_for(m, n);
            let found = find(row.architecture, &name.to_uppercase()).unwrap();
            assert!(std::ptr::eq(found.instruction, row), "{name}");
            assert_eq!((found.m, found.n), (m, n), "{name}");
            assert_eq!(found.name(), name);
        }
    }
}

#[test]
fn aliases_resolve_to_their_row_or_say_that_they_are_ambiguous() {
    for row in catalogue() {
        for alias in row.aliases() {
            match find(row.architecture, &alias) {
                Ok(found) => assert!(std::ptr::eq(found.instruction, row), "{alias} is not {row}"),
                Err(LookupError::Ambiguous { candidates, .. }) => {
                    assert!(candidates.contains(&row.name()), "{alias}");
                    let shared = alias.starts_with("tcgen05") // types stand in a descriptor
                        || alias.starts_with("UTC")
                        || alias.starts_with("DMMA") // mma.sync and wmma
                        || alias.starts_with("QMMA") // with and without kind::f8f6f4
                        || alias.starts_with("OMMA"); // mxf4 and mxf4nvf4
                    assert!(shared, "{alias} on {}: {candidates:?}", row.architecture);
                }
                Err(error) => panic!("{alias}: {error}"),
            }
        }
    }
}

#[test]
fn names_of_vectors_and_recordings_resolve() {
    let records = common::records("names.csv");
    for record in &records {
        let architecture: Architecture = record["arch"].parse().unwrap();
        let name = &record["instruction"];
        let found = find(architecture, name)
            .unwrap_or_else(|error| panic!("{} {}: {error}", record["kind"], record["file"]));
        assert_eq!(found.name(), selection::split(name).0);
        assert!(found.instruction.unknown.is_none(), "{name} has no model");
    }
    println!("{} names resolve", records.len());
}

// columns: architecture, what is typed, name of what is found (with M and N), each for a reason:
// the spellings of the project's documents and of the vendors' headers
#[rustfmt::skip]
const SPELLINGS: &[(Architecture, &str, &str)] = &[
    (Ampere, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"),
    (Ampere, "HMMA.16816.F32", "mma.m16n8k16.f32.f16.f16.f32"),
    (Ampere, "hmma.1684.f32.tf32", "mma.m16n8k4.f32.tf32.tf32.f32"),
    (Ampere, " MMA.M16N8K16.F32.F16.F16.F32 ", "mma.m16n8k16.f32.f16.f16.f32"),
    (Ampere, "mma.m8n8k4.rn.f64.f64.f64.f64", "mma.m8n8k4.f64.f64.f64.f64"),
    (Ampere, "mma.sync.aligned.m8n8k4.row.col.rn.f64.f64.f64.f64", "mma.m8n8k4.f64.f64.f64.f64"),
    (Ampere, "mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64", "mma.m8n8k4.rz.f64.f64.f64.f64"),
    (Ampere, "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", "wmma.m16n16k16.f16.f16.f16.f32"),
    (Volta, "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f16", "mma.m8n8k4.f32.f16.f16.f16"),
    (Ada, "QMMA.16832.F32.E4M3.E5M2", "mma.m16n8k32.f32.e4m3.e5m2.f32"),
    (Hopper, "DMMA.16x8x16.RM", "mma.m16n8k16.rm.f64.f64.f64.f64"),
    (Hopper, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", "wgmma.m64n256k16.f32.f16.f16"),
    (Hopper, "wgmma.m64nNk16.f32.f16.f16", "wgmma.m64n8k16.f32.f16.f16"),
    (Hopper, "wgmma.m64n{8..256}k16.f32.f16.f16", "wgmma.m64n8k16.f32.f16.f16"),
    (Hopper, "HGMMA.64x96x16.F32", "wgmma.m64n96k16.f32.f16.f16"),
    (Hopper, "QGMMA.64x8x32.F16.E4M3.E5M2", "wgmma.m64n8k32.f16.e4m3.e5m2"),
    (Blackwell, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X", "tcgen05.mma.m128n8k64.kind::mxf4.block32.f32.e2m1.e2m1.ue8m0"),
    (Blackwell, "tcgen05.mma.m64n64k16.kind::f16.f32.f16.bf16", "tcgen05.mma.m64n64k16.kind::f16.f32.f16.bf16"),
    (Blackwell, "tcgen05.mma.m{64|128}n16k8.kind::tf32.f32.tf32.tf32", "tcgen05.mma.m64n16k8.kind::tf32.f32.tf32.tf32"),
    (RtxBlackwell, "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (RtxBlackwell, "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Cdna1, "__builtin_amdgcn_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8f16"),
    (Cdna2, "__builtin_amdgcn_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_16x16x16bf16_1k"),
    (Cdna3, "__builtin_amdgcn_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8_f16"),
    (Cdna3, "__builtin_amdgcn_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_16x16x16_bf16"),
    (Cdna3, "__builtin_amdgcn_mfma_f32_16x16x8_xf32", "v_mfma_f32_16x16x8_xf32"),
    (Cdna3, "__builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_16x16x32_fp8_bf8"),
    (Cdna3, "__builtin_amdgcn_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4_4b_f64"),
    (Cdna3, "v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_32x32x4_2b_bf16"),
];

#[test]
fn spellings() {
    for (architecture, text, name) in SPELLINGS {
        match find(*architecture, text) {
            Ok(found) => assert_eq!(found.name(), *name, "{text}"),
            Err(error) => panic!("{error}"),
        }
    }
}

// columns: architecture, what is typed, the message
#[rustfmt::skip]
const REFUSED: &[(Architecture, &str, &str)] = &[
    (Hopper, "wgmma.m64n12k16.f32.f16.f16", "N is 12; wgmma.m64n{8..256}k16.f32.f16.f16 takes 8 to 256 in steps of 8"),
    (Hopper, "wgmma.m64n264k16.f32.f16.f16", "N is 264; wgmma.m64n{8..256}k16.f32.f16.f16 takes 8 to 256 in steps of 8"),
    (Hopper, "HGMMA.64x4x16.F32", "N is 4; wgmma.m64n{8..256}k16.f32.f16.f16 takes 8 to 256 in steps of 8"),
    (Blackwell, "tcgen05.mma.m96n16k8.kind::tf32.f32.tf32.tf32", "M is 96; tcgen05.mma.m{64|128}n{8..256}k8.kind::tf32.f32.tf32.tf32 takes 64 or 128"),
    (RtxBlackwell, "OMMA.SF.16864.F32.E2M1.E2M1.E8", "'OMMA.SF.16864.F32.E2M1.E2M1.E8' may mean 2 instructions of rtx-blackwell:\n  mma.m16n8k64.kind::mxf4nvf4.block32.f32.e2m1.e2m1.f32.ue8m0\n  mma.m16n8k64.kind::mxf4.block32.f32.e2m1.e2m1.f32.ue8m0"),
    (Volta, "mma.m16n8k16.f32.bf16.bf16.f32", "volta has no instruction 'mma.m16n8k16.f32.bf16.bf16.f32' (found on ampere, ada, hopper, blackwell, rtx-blackwell)"),
    (Cdna3, "v_mfma_f32_32x32x8_f61", "cdna3 has no instruction 'v_mfma_f32_32x32x8_f61'; did you mean v_mfma_f32_32x32x8_f16, v_mfma_f32_32x32x8_bf16, v_mfma_f32_32x32x8bf16?"),
    (Cdna3, "banana", "cdna3 has no instruction 'banana'; `bitmma list cdna3` lists them"),
    (Cdna3, "", "cdna3 has no instruction ''; `bitmma list cdna3` lists them"),
    (Hopper, "wgmma.m64n{k16.f32", "hopper has no instruction 'wgmma.m64n{k16.f32'; did you mean wgmma.m64n8k16.f32.f16.f16, wgmma.m64n8k32.s32.s8.s8, wgmma.m64n8k32.s32.s8.u8?"),
    (Hopper, "mma.m16n8k99999999999999999999999.f32", "hopper has no instruction 'mma.m16n8k99999999999999999999999.f32'; `bitmma list hopper` lists them"),
];

#[test]
fn refusals_hold_the_numbers() {
    for (architecture, text, message) in REFUSED {
        match find(*architecture, text) {
            Ok(found) => panic!("{text} was taken for {}", found.name()),
            Err(error) => assert_eq!(error.to_string(), *message),
        }
    }
}

#[test]
fn ambiguity_lists_every_candidate() {
    let Err(LookupError::Ambiguous { candidates, .. }) = find(Blackwell, "UTCQMMA") else {
        panic!("UTCQMMA means one thing")
    };
    assert_eq!(candidates.len(), 75); // 25 pairs of formats: f8f6f4 with two outputs, mxf8f6f4
}

#[test]
fn any_text_is_answered() {
    // hostile neighbours of a name: no panic, whatever the answer
    let name = "wgmma.m64n{8..256}k16.f32.f16.f16";
    for architecture in [Hopper, Cdna1] {
        for cut in 0..=name.len() {
            for insert in ["", "{", "}", "*", "n", "x", ".", "é", "99999999999999999999"] {
                let text = format!("{}{insert}{}", &name[..cut], &name[cut..]);
                let _ = find(architecture, &text);
                let _ = find(architecture, &text[..cut]);
            }
        }
    }
}

/// What people type first: the beginning of a name lists what it may mean.
#[test]
fn beginnings_of_names_list_the_instructions() {
    let listed = |architecture, text: &str| match find(architecture, text) {
        Err(LookupError::Ambiguous { candidates, .. }) => candidates,
        other => panic!("{text}: {other:?}"),
    };
    let wgmma = listed(Hopper, "wgmma");
    assert_eq!(wgmma.len(), of(Hopper).filter(|row| row.name().starts_with("wgmma.")).count());
    let qgmma = listed(Hopper, "QGMMA");
    assert!(qgmma.contains(&"wgmma.m64n{8..256}k32.f32.e4m3.e4m3".to_owned()), "{qgmma:?}");
    assert!(qgmma.len() < wgmma.len());
    assert!(
        listed(Ampere, "HMMA")
            .iter()
            .all(|name| name.contains("f16") || name.contains("bf16") || name.contains("tf32"))
    );
    assert!(listed(Cdna3, "v_mfma_f32_32x32x8").len() > 1);
    let message = find(Hopper, "wgmma").unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("'wgmma' may mean {} instructions of hopper:\n  wgmma.", wgmma.len())),
        "{message}"
    );
    // only at the end of a word
    assert!(matches!(find(Hopper, "wgm"), Err(LookupError::UnknownInstruction { .. })));
}

#[test]
fn a_selection_goes_with_a_sparse_instruction() {
    for (name, selections) in [
        ("mma.sp.m16n8k32.f32.f16.f16.f32", vec!["01", "23", "mixed"]),
        ("wgmma.sp.m64n64k16.f32.tf32.tf32", vec!["0", "1", "mixed"]),
    ] {
        for selection in selections {
            let found = find(Hopper, &selection::named(name, selection)).unwrap();
            assert_eq!(found.name(), name);
        }
    }
    for (name, near) in [
        ("mma.sp.m16n8k32.f32.f16.f16.f32.select10", "mma.sp.m16n8k32.f32.f16.f16.f32.selectmixed"),
        ("wgmma.sp.m64n8k16.f32.tf32.tf32.select01", "wgmma.sp.m64n8k16.f32.tf32.tf32.select1"),
        ("mma.m16n8k16.f32.f16.f16.f32.selectmixed", "mma.m16n8k16.f32.f16.f16.f32"),
    ] {
        let error = find(Hopper, name).unwrap_err().to_string();
        assert!(error.contains(&format!("hopper has no instruction '{name}'; did you mean ")), "{error}");
        assert!(error.contains(near), "{error}");
    }
}

/// Every word must match: `tcgen05.mma kind::f16` is five instructions of tcgen05, and no `mma.m16n8k8`.
#[test]
fn every_word_of_several_must_match() {
    let listed = |architecture, text: &str| match find(architecture, text) {
        Err(LookupError::Ambiguous { candidates, .. }) => candidates,
        other => panic!("{text}: {other:?}"),
    };
    let kind = listed(Blackwell, "tcgen05.mma kind::f16");
    assert_eq!(kind.len(), 5, "{kind:?}"); // FP16 into FP16, FP16 and BF16 with either into FP32
    assert!(
        kind.iter().all(|name| name.starts_with("tcgen05.mma.") && name.contains(".kind::f16.")),
        "{kind:?}"
    );
    assert_eq!(listed(Blackwell, "KIND::F16 tcgen05"), kind);
    assert_eq!(listed(Blackwell, "kind::f16"), kind);
    // with dots, and without the shape between them
    assert_eq!(listed(Blackwell, "tcgen05.mma.kind::f16"), kind);
    assert_eq!(find(Volta, "mma.f32.f16.f16.f32").unwrap().name(), "mma.m8n8k4.f32.f16.f16.f32");
    let wgmma = listed(Hopper, "wgmma e5m2");
    assert!(wgmma.iter().all(|name| name.ends_with(".e5m2.e5m2")), "{wgmma:?}");
    let found = find(Hopper, "wgmma m64n96k16 bf16").unwrap();
    assert_eq!(found.name(), "wgmma.m64n96k16.f32.bf16.bf16");
    assert_eq!(find(Hopper, "wgmma m64n96k16 bfloat16").unwrap().name(), found.name());
    // in any order: opcode, formats of A and B and of the result, shape; what is sparse or composed only where it is said
    for (architecture, text, name) in [
        (Hopper, "wgmma e5m2 f32", "wgmma.m64n8k32.f32.e5m2.e5m2"),
        (Hopper, "f32 e4m3 wgmma", "wgmma.m64n8k32.f32.e4m3.e4m3"),
        (Hopper, "wgmma e4m3 e5m2 f32", "wgmma.m64n8k32.f32.e4m3.e5m2"),
        (Hopper, "64x256x16 bf16", "wgmma.m64n256k16.f32.bf16.bf16"),
        (Hopper, "mma m16n8k16 half -> float", "mma.m16n8k16.f32.f16.f16.f32"),
        (Hopper, "HGMMA TF32", "wgmma.m64n8k8.f32.tf32.tf32"),
        (Hopper, "wgmma sparse e4m3 f32", "wgmma.sp.m64n8k64.f32.e4m3.e4m3"),
        (Blackwell, "nvfp4", "tcgen05.mma.m128n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3"),
        (RtxBlackwell, "nvfp4", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
        (Cdna3, "mfma bf8 32x32x16", "v_mfma_f32_32x32x16_bf8_bf8"),
        (Cdna3, "xf32 k4", "v_mfma_f32_32x32x4_xf32"),
        (Ampere, "bf16", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ] {
        match find(architecture, text) {
            Ok(found) => assert_eq!(found.name(), name, "{text}"),
            Err(error) => panic!("{text}: {error}"),
        }
    }
    assert_eq!(find(Hopper, "wgmma int8").unwrap().name(), "wgmma.m64n8k32.s32.s8.s8");
    assert_eq!(find(Hopper, "wgmma u8 satfinite").unwrap().name(), "wgmma.m64n8k32.satfinite.s32.u8.u8");
    let error = find(Hopper, "wgmma int16").unwrap_err();
    assert!(matches!(error, LookupError::NotAnInstruction { .. }), "{error}");
    let error = find(Ampere, "wgmma f16").unwrap_err().to_string();
    assert!(error.contains("found on hopper"), "{error}");
    for text in [
        "tcgen05.mma kind::f17",
        "tcgen05.mma.kind::f17",
        "tcgen05.kind::f16",
        "banana.kind::f16",
        "wgmma banana",
        "mma.m16n8k16.f32.f16.f16.f32 satfinite",
        "banana::f16 mma",
    ] {
        let error = find(Blackwell, text).unwrap_err();
        assert!(matches!(error, LookupError::UnknownInstruction { .. }), "{text}: {error}");
    }
}

/// A beginning that one instruction has means it; nothing is ever ambiguous among one.
#[test]
fn a_single_meaning_is_taken() {
    assert_eq!(find(Blackwell, "mma.m16n8k16.f32.f16.f16").unwrap().name(), "mma.m16n8k16.f32.f16.f16.f32");
    assert_eq!(find(Hopper, "wgmma.m64n96k8").unwrap().name(), "wgmma.m64n96k8.f32.tf32.tf32");
    assert!(find(Hopper, "wgmma.m64n12k8").unwrap_err().to_string().starts_with("N is 12; "));
    let mut beginnings = HashSet::new();
    for row in catalogue() {
        for spelling in [vec![row.name()], row.aliases()].concat() {
            for (end, _) in spelling.match_indices(['.', '_']).filter(|(end, _)| *end > 1) {
                if spelling[..end].matches('{').count() == spelling[..end].matches('}').count() {
                    beginnings.insert((row.architecture, spelling[..end].to_owned()));
                }
            }
        }
    }
    for (architecture, text) in beginnings {
        let spellings = |row: &Instruction| [vec![row.name()], row.aliases()].concat();
        let begins = |row: &&Instruction| {
            let rest = |name: &String| name.strip_prefix(&text).map(|rest| rest.starts_with(['.', '_']));
            spellings(row).iter().any(|name| rest(name) == Some(true))
        };
        match find(architecture, &text) {
            Err(LookupError::Ambiguous { candidates, .. }) => assert!(candidates.len() > 1, "{text}"),
            // which operation on single bits it is must be said
            Err(LookupError::NotAnInstruction { .. }) => {
                assert!(of(architecture).filter(begins).all(|row| row.a.name == "b1"), "{text}");
            }
            Ok(found) => {
                // the only one that begins so, or one that is called so: HMMA.1688.F32 beside HMMA.1688.F32.BF16
                let is_only = of(architecture).filter(begins).all(|row| std::ptr::eq(row, found.instruction));
                assert!(is_only || spellings(found.instruction).contains(&text), "{text}: {}", found.name());
            }
            Err(error) => panic!("{architecture} {text}: {error}"),
        }
    }
}
