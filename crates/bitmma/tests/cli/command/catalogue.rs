//! `list` and `show`.

use super::{F16, bitmma, cells};

#[test]
fn list_filters_and_counts() {
    let ended = bitmma(&["list", "--arch", "H100", "--type", "e4m3", "--model", "T-FDPA"]);
    let rows: Vec<&str> = ended.fine().lines().filter(|line| line.starts_with("hopper")).collect();
    assert!(rows.iter().all(|row| row.contains("e4m3") && row.contains("T-FDPA")), "{rows:?}");
    let wgmma = rows.iter().find(|row| row.ends_with("wgmma.m64n{8..256}k32.f32.e4m3.e4m3")).unwrap();
    assert_eq!(cells(wgmma)[1..6], ["T-FDPA", "L=32 F=13 RZ-E8M13", "native", "recorded", "64×{8..256}×32"]);
    let last = ended.out.lines().last().unwrap();
    assert!(last.starts_with(&format!("{} instructions: ", rows.len())), "{last}");

    let json = bitmma(&["list", "--json"]).json();
    let all = json["instructions"].as_array().unwrap();
    assert!(all.len() > 500);
    for row in all {
        assert_eq!(row["model"].is_null(), row["kind"] == "unknown", "{row}");
        let sparse = row["instruction"].as_str().unwrap().contains(".sp");
        assert_eq!(row["dense"].is_string(), sparse && row["kind"] != "unknown", "{row}");
    }
    let sparse = "wgmma.sp.m64n{8..256}k64.f32.e4m3.e4m3";
    let row = all.iter().find(|row| row["instruction"] == sparse).unwrap();
    assert_eq!(row["dense"], "wgmma.m64n{8..256}k32.f32.e4m3.e4m3");
}

#[test]
fn show_says_everything() {
    let text = bitmma(&["show", "mi300x", "v_mfma_f32_16x16x32_fp8_fp8"]);
    for part in ["cdna3", "GTR-FDPA", "F2", "31", "e4m3fnuz", "recorded on MI300X", "RNE-FP32"] {
        assert!(text.fine().contains(part), "{part} in {}", text.out);
    }
    let json = bitmma(&["show", "sm_90a", F16, "--json"]).json();
    assert_eq!(json["model"]["parameters"]["L_max"], 16);
    assert_eq!(json["model"]["parameters"]["F"], 25);
    assert_eq!(json["model"]["parameters"]["e_zero"], -133);
    assert_eq!(json["sass"], "HMMA.16816.F32");
    let paper = bitmma(&["show", "hopper", F16, "--json", "--revision", "paper"]).json();
    assert!(paper["model"]["parameters"]["e_zero"].is_null());
    let unknown = bitmma(&["show", "ampere", "mma.m8n8k4.f16.f16.f16.f16", "--json"]).json();
    assert_eq!(unknown["kind"], "unknown");
    assert!(unknown["model"].is_null());
}

#[test]
fn aliases_mean_the_same() {
    let plain = bitmma(&["show", "hopper", F16]).fine().to_owned();
    for (architecture, name) in [
        ("H100", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_90", "HMMA.16816.F32"),
        ("Hopper", "MMA.m16n8k16.F32.F16.F16.F32"),
    ] {
        assert_eq!(bitmma(&["show", architecture, name]).fine(), plain);
    }
}

/// A printed model file, changed and run.
#[test]
fn a_model_file_goes_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let name = path.to_str().unwrap();
    let toml = bitmma(&["show", "hopper", F16, "--toml"]).fine().to_owned();
    assert!(toml.contains("F = 25"), "{toml}");
    let inputs = super::EQUATION_1;
    for (fraction_bits, answer) in [(23, "0  0x00000000  f32\n"), (25, "-0.75  0xbf400000  f32\n")] {
        std::fs::write(&path, toml.replace("F = 25", &format!("F = {fraction_bits}"))).unwrap();
        assert_eq!(bitmma(&[&["dot", "--model", name][..], &inputs].concat()).fine(), answer);
    }
    assert!(bitmma(&["show", "--model", name]).fine().contains("T-FDPA"));
    std::fs::write(&path, toml.replace("F = 25", "F = 61")).unwrap();
    let ended = bitmma(&["show", "--model", name]);
    assert!(ended.refused().contains("F is 61; it may be 0 to 60"), "{ended:?}");
    assert!(ended.err.contains("mine.toml"), "{ended:?}");
    std::fs::write(&path, "model = \"T-FDPA\"\nG = 3\n").unwrap();
    bitmma(&["show", "--model", name]).refused();
    std::fs::remove_file(&path).unwrap();
    assert!(bitmma(&["show", "--model", name]).refused().contains("mine.toml"));
    bitmma(&["show", "--model", name, "hopper", F16]).refused();
    bitmma(&["show", "hopper"]).refused();
}

#[test]
fn unknown_names_get_the_nearest() {
    assert!(bitmma(&["list", "--arch", "hoper"]).refused().contains("did you mean hopper?"));
    let ended = bitmma(&["show", "hopper", "mma.m16n8k16.f32.f16.f16.f23"]);
    assert!(ended.refused().contains(F16), "{ended:?}");
    let ended = bitmma(&["show", "volta", F16]);
    assert!(ended.refused().contains("found on ampere"), "{ended:?}");
    let ended = bitmma(&["show", "hopper", "wgmma.m64n12k16.f32.f16.f16"]);
    assert!(ended.refused().contains("N is 12"), "{ended:?}");
    assert!(ended.err.contains("8 to 256 in steps of 8"), "{ended:?}");
    bitmma(&["list", "--type", "fp8"]).refused();
    bitmma(&["list", "--model", "X-FDPA"]).refused();
    let ended = bitmma(&["show", "hopper", F16, "--revision", "newest"]);
    assert!(ended.refused().contains("hardware, paper"), "{ended:?}");
}

/// `show b300` and `plan gb300` say the same of sm_103: what was compared on it, and that nothing else was.
#[test]
fn show_and_plan_say_the_same_of_a_chip() {
    let compared = "others (bitequiv) compared cuBLASLt 13.1.1's FP8, FP16 and BF16 products on a GB300 with blackwell's \
                    instructions, and 0.2 % of them differ; nothing else was compared";
    let shown = bitmma(&["show", "b300", "tcgen05.mma"]);
    let refused = shown.refused();
    assert!(
        refused.contains(&format!(
            "sm_103, Blackwell Ultra; the nearest that is modeled is blackwell: {compared}; `bitmma plan`"
        )),
        "{refused}"
    );
    let call = ["--m", "128", "--n", "128", "--k", "512", "--type", "bf16", "--assume", "unsplit"];
    let plan = |device| [&["plan", device][..], &call].concat();
    let ended = bitmma(&plan("gb300"));
    let remark = format!("sm_103 (Blackwell Ultra) is not modeled; {compared}");
    assert!(ended.fine().contains(&format!("# remark: {remark}\n")), "{ended:?}");
    let json = bitmma(&[&plan("b300")[..], &["--json"]].concat()).json();
    assert_eq!(json["remark"], remark);
    assert!(bitmma(&[&plan("gb200")[..], &["--json"]].concat()).json()["remark"].is_null());
}

/// Every word of a name must match, and a single meaning is taken.
#[test]
fn words_of_a_name_must_all_match() {
    let ended = bitmma(&["show", "b200", "tcgen05.mma", "kind::f16"]);
    let listed = ended.fine();
    assert!(listed.contains("may mean 5 instructions of blackwell, with 5 models;"), "{listed}");
    let ended = bitmma(&["golden", "b200", "tcgen05.mma kind::f16"]);
    assert_eq!(ended.refused().trim_start_matches("error: ").lines().next(), listed.lines().next());
    assert!(!listed.contains("mma.m16n8k8"), "{listed}");
    let taken = bitmma(&["show", "b200", "mma.m16n8k16.f32.f16.f16"]);
    assert!(taken.fine().starts_with("blackwell mma.m16n8k16.f32.f16.f16.f32\n"), "{}", taken.out);
}

/// What people call hardware that is not modelled: known, and no other chip is suggested.
#[test]
fn other_hardware_is_known_and_not_modelled() {
    for name in ["tpu", "gaudi", "apple", "Apple M4", "trainium", "mtia", "9070"] {
        let ended = bitmma(&["show", name, "mma"]);
        let refused = ended.refused();
        assert!(
            refused.contains(&format!("{name} is not modeled: ")) && !refused.contains("did you mean"),
            "{refused}"
        );
    }
}
