//! `explain`: the steps a reader sees.

use super::{EQUATION_1, Ended, F16, bitmma};

fn explain(architecture: &str, instruction: &str, rest: &[&str]) -> Ended {
    bitmma(&[&["explain", architecture, instruction][..], rest].concat())
}

/// Equation 1 on Hopper: F = 25 keeps 2^-2 and drops 2^-3, as the paper says.
#[test]
fn one_sees_which_bit_fell_off() {
    let ended = explain("hopper", F16, &EQUATION_1);
    let text = ended.fine();
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(text.contains("e_max = 23; cut (RZ) to 25 bits below it"), "{text}");
    assert!(row("a2*b2").contains("-0.0000000000000000000000001|"), "{text}");
    assert!(row("a3*b3").contains("-0.0000000000000000000000000|1"), "{text}");
    assert!(row("a3*b3").ends_with("0   -0.125"), "{text}");
    assert!(row("sum").ends_with("-0.75"), "{text}");
    assert!(text.contains("12 zero terms, exponent e_zero = -133"), "{text}");
    assert!(text.ends_with("d = -0.75  0xbf400000  f32\n"), "{text}");
    let paper = explain("hopper", F16, &[&EQUATION_1[..], &["--revision", "paper"]].concat());
    assert!(paper.fine().contains("12 zero terms, no exponent"), "{}", paper.out);
}

/// What lies far below is counted, not drawn; no line is wider than a page.
#[test]
fn wide_gaps_are_abbreviated() {
    let ended = explain("volta", "mma.m8n8k4.f32.f16.f16.f32", &["-a", "1", "-b", "1", "-c", "0x1p-140"]);
    assert!(ended.fine().contains("|… 117 bits below"), "{}", ended.out);
    let inputs = [
        (F16, "hopper", "0x1p-24 60000 0x1.554p3", "0x1p-24 60000 -0x1.554p3", "0x1p-149"),
        ("v_mfma_f32_16x16x16_bf16", "cdna3", "0x1.54p100 -0x1p-120", "0x1.54p20 0x1.54p-9", "-0x1p-149"),
        ("v_mfma_f32_16x16x4f32", "cdna2", "0x1.555556p9 3", "0x1.555556p-30 0x1p-149", "0x1.555556p-1"),
        ("v_mfma_f32_32x32x8f16", "cdna2", "0x1.554p3 0x1p-24", "0x1.554p3 0x1.554p3", "0x1.555556p9"),
        ("v_mfma_f32_32x32x8f16", "cdna1", "0x1.554p3 0x1p-24", "0x1.554p3 0x1.554p3", "0x1.555556p90"),
        ("mma.m8n8k4.f64.f64.f64.f64", "hopper", "0x1p-1074 3", "0x1p-1074 -7", "0x1.5555555555555p1023"),
    ];
    for (instruction, architecture, a, b, c) in inputs {
        let ended = explain(architecture, instruction, &["-a", a, "-b", b, "-c", c]);
        for line in ended.fine().lines() {
            assert!(line.chars().count() <= 112, "{} columns: {line}", line.chars().count());
        }
    }
}

/// Operations chained along K have a section each; those that only add zeros say so.
#[test]
fn chained_operations() {
    let ended = explain("ampere", F16, &EQUATION_1);
    assert!(ended.fine().contains("T-FDPA 1 of 2: elements 0..7"), "{}", ended.out);
    assert!(ended.out.contains("every product is zero, and the accumulator stays as it is"), "{}", ended.out);
    let composed =
        explain("hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32", &["-a", "1 2 3", "-b", "1 2 3", "-c", "5"]);
    assert!(composed.fine().contains("elements 0..1, 4..5, …, 28..29"), "{}", composed.out);
    assert!(composed.out.contains("add C"), "{}", composed.out);
}

#[test]
fn special_values_name_who_brought_them() {
    let ended = explain("ampere", F16, &["-a", "inf 1", "-b", "0 nan"]);
    assert!(ended.fine().contains("a0*b0 = inf * 0\n  a1*b1 = 1 * nan"), "{}", ended.out);
    assert!(ended.out.ends_with("d = nan  0x7fffffff  f32\n"), "{}", ended.out);
}

/// In JSON every term is there, exactly, and kept + lost is the term.
#[test]
fn json_holds_every_step() {
    let json = explain("hopper", F16, &[&EQUATION_1[..], &["--json"]].concat()).json();
    assert_eq!(json["d"]["code"], "0xbf400000");
    let steps = json["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["begin", "aligned", "converted"]);
    let terms = steps[1]["terms"].as_array().unwrap();
    assert_eq!(terms.len(), 17);
    assert_eq!(terms[3]["lost"]["value"], -0.125);
    assert_eq!(terms[4]["exponent"], -133);
    let instructions = [
        ("cdna1", "v_mfma_f32_32x32x8f16"),
        ("cdna2", "v_mfma_f32_32x32x8f16"),
        ("cdna3", "v_mfma_f32_16x16x16_f16"),
        ("cdna3", "v_mfma_f32_16x16x32_bf8_bf8"),
        ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
    ];
    for (architecture, instruction) in instructions {
        explain(architecture, instruction, &["-a", "1 2", "-b", "3 0.5", "--json"]).json();
    }
}
