//! `kernel`: what is known of a text, and a run with files.

use std::path::Path;

use super::{Ended, bitmma, command, end};
use crate::run::files::{matrix, words};

fn ptx(name: &str) -> String {
    format!("{}/../ptx/tests/data/ptx/{name}.ptx", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn forms_and_rewrites_are_listed() {
    let json = bitmma(&["kernel", "show", &ptx("layernorm_f32_80"), "--json"]).json();
    let entry = &json["entries"][0];
    assert_eq!((&json["target"], &entry["entry"]), (&"sm_80".into(), &"layernorm".into()));
    assert_eq!((&entry["fused"][0], &entry["block"][0]), (&serde_json::json!([84, 85]), &128.into()));
    let known = |form: &str| {
        let forms = entry["forms"].as_array().unwrap();
        forms.iter().find(|one| one["form"] == form).unwrap()["known"].clone()
    };
    assert_eq!((known("add.f32"), known("div.full.f32")), ("exact".into(), "table".into()));
    let text = bitmma(&["kernel", "show", &ptx("decayed_f32_90")]);
    assert!(text.fine().contains("doubtful: line 48: 'mul.f32'"), "{}", text.fine());
    let matrices = bitmma(&["kernel", "show", &ptx("mm_f16_90")]);
    let line = matrices.fine().lines().find(|line| line.starts_with("wgmma.mma_async")).unwrap();
    assert!(line.contains("model"), "{line}");
}

#[test]
fn what_is_refused_is_shown_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.ptx");
    let text = std::fs::read_to_string(ptx("softmax_f32_80")).unwrap();
    std::fs::write(&path, text.replacen("add.f32 ", "tcgen05.shift.f32 ", 1)).unwrap();
    let shown = bitmma(&["kernel", "show", path.to_str().unwrap()]);
    let line = shown.fine().lines().find(|line| line.starts_with("tcgen05")).unwrap();
    assert!(line.contains("refused") && line.contains("needs sm_100"), "{line}");
    assert!(
        bitmma(&["kernel", "run", path.to_str().unwrap(), "--grid", "1"]).refused().contains("tcgen05.shift")
    );
}

/// Each block writes the number of its cluster, and its rank there.
const CLUSTERS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry ranks(.param .u64 y)\n.reqntid 1\n{
    .reg .b32 %r<5>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %clusterid.x; mov.u32 %r3, %cluster_ctarank;
    mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; mad.lo.u32 %r4, %r2, 16, %r3; st.global.u32 [%d1], %r4; ret; }";

#[test]
fn blocks_of_a_cluster_run_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("ranks.ptx"), CLUSTERS).unwrap();
    let (file, out) = (path("ranks.ptx"), format!("out:{}:u32:1x6", path("y.npy")));
    let run = |more: &[&str]| {
        let words = ["kernel", "run", &file, "--fusion", "predict", "--grid", "6", "--arg", &out];
        bitmma(&[&words[..], more].concat())
    };
    for (more, expected) in [(&[][..], [0, 16, 32, 48, 64, 80]), (&["--cluster", "3"], [0, 1, 2, 16, 17, 18])]
    {
        run(more).fine();
        let bytes = std::fs::read(path("y.npy")).unwrap();
        assert_eq!(words(&bytes[bytes.len() - 24..], 4), expected);
    }
    for (cluster, expected) in [
        ("4", "a grid of (6, 1, 1) blocks is not a multiple of clusters of (4, 1, 1)"),
        ("1,2", "a grid of (6, 1, 1) blocks is not a multiple of clusters of (1, 2, 1)"),
        ("0", "expected one to three positive integers"),
    ] {
        let ended = run(&["--cluster", cluster]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(expected), "{expected}: {}", ended.err);
    }
}

#[test]
fn a_run_writes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("x.npy"), matrix("<f4", (1, 4), &[0; 4])).unwrap();
    let out = format!("out:{}:f32:1x4", path("y.npy"));
    let file = ptx("softmax_f32_80");
    let run = |grid: &str, more: &[&str]| {
        let x = path("x.npy");
        let words = ["kernel", "run", &file, "--grid", grid, "--arg", &x, "--arg", &out];
        bitmma(&[&words[..], more].concat())
    };
    assert!(run("1", &["--arg", "i32:4"]).fine().contains("y.npy is written"));
    // a softmax of equal numbers
    let bytes = std::fs::read(Path::new(&path("y.npy"))).unwrap();
    assert_eq!(words(&bytes[bytes.len() - 16..], 4), [0x3e80_0000; 4]);
    for (grid, more, expected) in [
        ("2", &["--arg", "i32:4"][..], "at byte 16 of argument 0"),
        ("1", &[], "takes 5 arguments, not 2"),
        (
            "1",
            &["--arg", "f32:4"],
            "argument 2 is of type f32, but parameter 'softmax_param_2' is of type u32",
        ),
        ("1", &["--arg", "i32:x"], "'x' is not an integer of type i32"),
        ("1", &["--arg", "i32:4", "--block", "64"], "the entry requires blocks of (128, 1, 1) threads"),
        ("1", &["--arg", "i32:4", "--entry", "other"], "there is no entry 'other'"),
        ("0", &["--arg", "i32:4"], "expected one to three positive integers"),
    ] {
        let ended = run(grid, more);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(expected), "{expected}: {}", ended.err);
    }
    let doubtful = ["kernel", "run", &ptx("decayed_f32_80"), "--grid", "1"];
    assert_eq!(bitmma(&doubtful).code, Some(2));
}

/// Scripts as tools in a folder, and what `kernel show` says with them.
#[cfg(unix)]
fn show_with(folder: &Path, tools: &[&str], variables: &[(&str, &str)], more: &[&str]) -> Ended {
    use std::os::unix::fs::PermissionsExt;
    for name in ["ptxas", "nvdisasm"] {
        let tool = folder.join(name);
        let _ = std::fs::remove_file(&tool);
        if tools.contains(&name) {
            std::fs::write(&tool, "#!/bin/sh\nkill -SEGV $$\n").unwrap();
            std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let mut show = command(&[&["kernel", "show", &ptx("softmax_f32_80")], more].concat());
    show.env("BITMMA_CUDA_TOOLS", folder).env("BITMMA_CACHE", "off").current_dir(folder);
    end(show.envs(variables.iter().copied()))
}

#[cfg(unix)]
#[test]
fn why_nothing_was_asked_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let both = ["ptxas", "nvdisasm"];
    let file = folder.path().join("ptxas");
    let file = file.to_str().unwrap();
    let is_no_folder = format!("BITMMA_CUDA_TOOLS names '{file}': expected the absolute path of a folder");
    for (tools, variable, why) in [
        (&both[..], ("A", ""), "signal: 11 (SIGSEGV)"),
        (&both[..], ("TMPDIR", "/nowhere/at/all"), "no temporary folder in '/nowhere/at/all': "),
        (&both[..1], ("A", ""), "nvdisasm is not in BITMMA_CUDA_TOOLS, PATH or CUDA_HOME"),
        (&both[1..], ("A", ""), "ptxas is not in BITMMA_CUDA_TOOLS, PATH or CUDA_HOME"),
        (&both[..], ("BITMMA_CUDA_TOOLS", file), &is_no_folder),
        (&both[..], ("BITMMA_CACHE", "cache"), "BITMMA_CACHE is 'cache': expected an absolute path, or off"),
    ] {
        let asked = |more: &[&str]| show_with(folder.path(), tools, &[variable], more);
        let shown = asked(&["--json"]).json();
        let entry = &shown["entries"][0];
        assert_eq!(entry["fusion"], "predicted");
        let remark = entry["fusion_remark"].as_str().unwrap();
        assert!(remark.contains(why), "{why}: {remark}");
        let insisted = asked(&["--fusion", "ask"]);
        assert!(insisted.refused().contains(why), "{why}: {insisted:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_cache_that_is_off_makes_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    for off in ["off", "OFF"] {
        let shown =
            show_with(folder.path(), &["ptxas", "nvdisasm"], &[("BITMMA_CACHE", off)], &["--json"]).json();
        let remark = shown["entries"][0]["fusion_remark"].as_str().unwrap();
        // it was asked, as far as that goes
        assert!(remark.contains("SIGSEGV"), "{remark}");
        assert!(!folder.path().join(off).exists());
    }
}
