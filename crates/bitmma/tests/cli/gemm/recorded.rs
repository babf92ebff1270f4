//! Products of a user's own recording, whose K is that of a whole matrix product.

use serde_json::Value;

use super::{F16, bitmma, fine, refused};
use crate::run::files::Bench;

const HEADER: &str = "arch,instruction,a,b,c,scale_a,scale_b,d";
const NAME: &str = "hopper,wgmma.m64n8k16.f32.f16.f16";

/// Two lines of K = 32. The first is the paper's Equation 1 and, 16 elements on, 1·1; the second is 2·3 + 1.
///
/// Along K, 2^23 - 2^23 - 0.5 - 0.25 - 0.125 = -0.75 (F = 25 cuts -0.125), then 1 - 0.75 = 0.25. Promoted every 16, the first
/// instruction starts from +0 and gives -2^23 (RZ), the FP32 sum is then 2^23 - 2^23 + 1 = 1.
fn recorded(bench: &Bench, name: &str, first: &str, second: &str) {
    let zeros = |count: usize| vec!["0000"; count].join(" ");
    let equation = [
        format!("f000 b800 b400 b000 {} 3c00 {}", zeros(12), zeros(15)),
        format!("6400 3c00 3c00 3c00 {} 3c00 {}", zeros(12), zeros(15)),
    ]
    .join(",");
    let product = [format!("4000 {}", zeros(31)), format!("4200 {}", zeros(31))].join(",");
    let text = format!(
        "# mine\n{HEADER}\n{NAME},{equation},4b000000,,,{first}\n{NAME},{product},3f800000,,,{second}\n"
    );
    bench.put(name, text.as_bytes());
}

#[test]
fn a_recording_is_multiplied_and_compared() {
    let bench = Bench::new();
    recorded(&bench, "chain.csv", "3e800000", "40e00000");
    recorded(&bench, "promoted.csv", "3f800000", "40e00000");
    let operands =
        |file: &str| format!("gemm {F16} -a {file}:a -b {file}:b -c {file}:c -o d.npy --expect {file}:d");
    let out = fine(&bench, &operands("chain.csv"));
    assert!(out.contains("2×1×32 f16 · 2×32×1 f16 + 2×1×1 f32 = 2×1×1 f32 in d.npy"), "{out}");
    assert!(out.ends_with("all 2 elements agree with chain.csv:d\n"), "{out}");
    assert_eq!(bench.npy("d.npy", "<f4", &[2, 1, 1]), [0x3e80_0000, 0x40e0_0000]);
    fine(&bench, &format!("{} --promote-every 16", operands("promoted.csv")));

    let (code, out, _) = bitmma(&bench, &operands("promoted.csv"));
    assert_eq!(code, Some(1), "{out}");
    let said = "1 of 2 elements differ from promoted.csv:d, the first at [0, 0, 0]: 0.25 (0x3e800000), expected 1 (0x3f800000)\n";
    assert!(out.ends_with(said), "{out}");
    let (code, out, _) = bitmma(&bench, &format!("{} --json", operands("promoted.csv")));
    let page: Value = serde_json::from_str(&out).unwrap();
    let expect = &page["expect"];
    assert_eq!((code, &expect["differing"], &expect["elements"]), (Some(1), &1.into(), &2.into()), "{out}");
    assert_eq!(expect["first"]["element"], serde_json::json!([0, 0, 0]));
    assert_eq!(expect["first"]["actual"]["code"], "0x3e800000");
    // `nan` is any NaN, and no number
    recorded(&bench, "nan.csv", "nan", "40e00000");
    assert_eq!(bitmma(&bench, &operands("nan.csv")).0, Some(1));
}

#[test]
fn recordings_that_make_no_product_are_refused() {
    let bench = Bench::new();
    recorded(&bench, "r.csv", "3e800000", "40e00000");
    let with = |name: &str, text: &str| {
        bench.put(name, text.as_bytes());
        format!("gemm {F16} -a {name}:a -b {name}:b -o d.npy")
    };
    let head = format!("{HEADER}\n{NAME},3c00,3c00,00000000,,,3f800000\n");
    let other = format!("{head}hopper,mma.m16n8k16.f32.f16.f16.f32,3c00,3c00,00000000,,,3f800000\n");
    refused(&bench, &with("two.csv", &other), &["two.csv", "line 3", "the lines of one instruction"]);
    let longer = format!("{head}{NAME},3c00 3c00,3c00,00000000,,,3f800000\n");
    refused(&bench, &with("longer.csv", &longer), &["line 3", "a has 2 codes; 1 were expected"]);
    let wide = format!("{HEADER}\n{NAME},3c000,3c00,00000000,,,3f800000\n");
    refused(&bench, &with("wide.csv", &wide), &["line 2", "'3c000'", "4 hex digits"]);
    refused(&bench, &with("empty.csv", &format!("{HEADER}\n")), &["0 dot products"]);
    refused(&bench, &with("none.csv", ""), &["the header is missing"]);
    refused(&bench, &format!("gemm {F16} -a r.csv:x -b r.csv:b -o d.npy"), &["no column 'x'"]);
    refused(&bench, &format!("gemm {F16} -a no.csv:a -b r.csv:b -o d.npy"), &["no.csv"]);
    refused(&bench, &format!("gemm {F16} -a r.csv:a -b r.csv:b -o d.npy --expect r.csv:a"), &["--expect"]);
    refused(
        &bench,
        &format!("gemm {F16} -a r.csv:a -b r.csv:b -o d.csv"),
        &["must end in .npy or .safetensors"],
    );
}
