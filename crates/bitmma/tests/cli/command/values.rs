//! `dot`, and what may be typed as a number.

use super::{EQUATION_1, Ended, F16, bitmma};

fn dot(architecture: &str, instruction: &str, rest: &[&str]) -> Ended {
    bitmma(&[&["dot", architecture, instruction][..], rest].concat())
}

#[test]
fn the_answer_alone() {
    let ended = dot("hopper", F16, &EQUATION_1);
    assert_eq!(ended.fine(), "-0.75  0xbf400000  f32\n");
    assert!(ended.err.contains("4 of K = 16 values; the other 12 are zero"), "{ended:?}");
    let json = dot("hopper", F16, &[&EQUATION_1[..], &["--json"]].concat()).json();
    assert_eq!(json["d"]["code"], "0xbf400000");
    let codes =
        ["-a", "0xf000,0xb800,0xb400,0xb000", "-b", "0x6400 0x3c00 0x3c00 0x3c00", "-c", "0x4b000000"];
    assert_eq!(dot("hopper", F16, &codes).fine(), "-0.75  0xbf400000  f32\n");
}

/// Semantics, rule 11: what an MI300X answered, and what the paper's Algorithm 9 gives.
#[test]
fn both_revisions() {
    let fp8 = "v_mfma_f32_16x16x32_fp8_fp8";
    let inputs = ["-a", "10 0x1p-7", "-b", "1 1", "-c", "0x1.fffff8p24"];
    assert_eq!(dot("mi300x", fp8, &inputs).fine(), "33554432  0x4c000000  f32\n");
    let paper = [&inputs[..], &["--revision", "paper"]].concat();
    assert_eq!(dot("mi300x", fp8, &paper).fine(), "33554436  0x4c000001  f32\n");
    let inputs = ["-a", "10 0x1p-6", "-b", "1 1", "-c", "0x1.fffff8p24"];
    assert_eq!(dot("mi300x", fp8, &inputs).fine(), "33554436  0x4c000001  f32\n");
}

#[test]
fn what_a_format_does_not_have_is_refused() {
    let refused = |a: &str| dot("hopper", F16, &["-a", a, "-b", "1"]).refused().to_owned();
    let text = refused("1 0.1");
    assert!(text.contains("A[1]") && text.contains("0.0999755859375 (0x2e66)"), "{text}");
    assert!(refused("1e6").contains("65504"));
    assert!(refused("one").contains("'one' is not a number"));
    assert!(refused("0x12345").contains("16 bits"));
    assert!(refused("-0x3c00").contains("sign"));
    let rounded = dot("hopper", F16, &["-a", "0.1", "-b", "1", "--round"]);
    assert_eq!(rounded.fine(), "0.0999755859375  0x3dccc000  f32\n");
    dot("hopper", F16, &["-a", "1e6", "-b", "1", "--round"]).refused();
    let many = ["1"; 17].join(" ");
    assert!(refused(&many).contains("A has 17 values"));
    let ended = dot("hopper", F16, &["-a", "1", "-b", "1", "-c", "1 2"]);
    assert!(ended.refused().contains("C has 2 values"), "{ended:?}");
    dot("hopper", F16, &["-a", "1", "-b", "1", "-k", "8"]).refused();
    dot("hopper", F16, &["-a", "1"]).refused();
    dot("hopper", F16, &["-a", "1", "-b", "1", "--scale-a", "1"]).refused();
    dot("ampere", "mma.m8n8k4.f16.f16.f16.f16", &["-a", "1", "-b", "1"]).refused();
}

#[test]
fn k_of_a_model_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    std::fs::write(&path, bitmma(&["show", "hopper", F16, "--toml"]).fine()).unwrap();
    let k = |k: &str| bitmma(&["dot", "--model", path.to_str().unwrap(), "-a", "1", "-b", "1", "-k", k]);
    k("65536").fine();
    for refused in ["0", "65537", "65536000000"] {
        assert!(k(refused).refused().contains("must be an integer from 1 to 65536"), "{refused}");
    }
}

/// FNUZ formats: 0x80 is NaN, and there is neither -0 nor infinity.
#[test]
fn fnuz() {
    let fp8 = "v_mfma_f32_16x16x32_fp8_fp8";
    assert_eq!(dot("mi300x", fp8, &["-a", "0x80", "-b", "1"]).fine(), "nan  0x7fc00000  f32\n");
    assert_eq!(dot("mi300x", fp8, &["-a", "nan", "-b", "0"]).fine(), "nan  0x7fc00000  f32\n");
    let ended = dot("mi300x", fp8, &["-a", "-0", "-b", "1"]);
    assert!(ended.refused().contains("not in e4m3fnuz"), "{ended:?}");
    let ended = dot("mi300x", fp8, &["-a", "inf", "-b", "1"]);
    assert!(ended.refused().contains("no infinity"), "{ended:?}");
}

#[test]
fn scale_factors() {
    let nvfp4 = "tcgen05.mma.m128n256k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3";
    let with = |scales: &[&str]| dot("b200", nvfp4, &[&["-a", "1.5", "-b", "2"][..], scales].concat());
    let ones = with(&[]);
    assert_eq!(ones.fine(), "3  0x40400000  f32\n");
    assert!(ones.err.contains("the scale factors of A (4 ue4m3) are one"), "{ones:?}");
    let both = with(&["--scale-a", "2 1 1 1", "--scale-b", "0x30 1 1 1"]);
    assert_eq!(both.fine(), "3  0x40400000  f32\n");
    let short = with(&["--scale-a", "1 1 1", "--scale-b", "1 1 1 1"]);
    assert!(short.refused().contains("A has 3 scale factors; K = 64 in blocks of 16 takes 4"), "{short:?}");
    let nan = with(&["--scale-a", "nan 1 1 1"]);
    assert_eq!(nan.fine(), "nan  0x7fffffff  f32\n");
    let negative = with(&["--scale-a", "-1 1 1 1"]);
    assert!(negative.refused().contains("no negative numbers"), "{negative:?}");
}
