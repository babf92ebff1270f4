//! What the page says of a result: which loss, which instruction, which format.

use bitmma_engine::Revision;
use bitmma_engine::catalogue::catalogue;
use bitmma_verify::inputs::{Family, case};
use serde_json::{Value, json};

use crate::asked::ok;

/// Units with their edits, and one input.
fn explained(units: &[(&str, Value)], [a, b, c]: [&str; 3]) -> Vec<Value> {
    let units: Vec<Value> = units.iter().map(|(unit, edit)| json!({"unit": unit, "edit": edit})).collect();
    let answer = ok(&json!({"ask": "explain", "units": units, "input": {"a": a, "b": b, "c": c}}));
    answer["units"].as_array().expect("a list").clone()
}

/// The sentences of units that are not edited.
fn why(units: &[&str], input: [&str; 3]) -> Vec<String> {
    let units: Vec<(&str, Value)> = units.iter().map(|unit| (*unit, json!({}))).collect();
    let answers = explained(&units, input);
    answers.iter().map(|one| one["why"].as_str().unwrap_or_else(|| panic!("{one}")).to_owned()).collect()
}

const ONES: &str = "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1";

#[test]
fn bits_of_operands_that_are_not_read_are_losses() {
    let tf32 = "a100 mma m16n8k8 tf32";
    let input = ["-0.4193 1.0308 -1.5871 3.1340", "-0.0762 0.7318 0.7243 -1.6843", "0"];
    let both = why(&[tf32, "mi300x xf32"], input);
    assert_eq!(
        both[0],
        "Bits that the unit does not read: a3*b3 = -0x1.51d484e37ee8p+2 becomes -5.274383544921875, losing \
         -0x1.14138dfbap-8: the largest of 4 losses."
    );
    assert_eq!(both[1], "The same result as the first unit, by the same losses.");
    // FP32 reads every bit of the same word
    let apart = why(&["mi300x v_mfma_f32_16x16x4_f32", tf32], ["0x1.000002p0", "1", "0"]);
    assert_eq!(apart[0], "Nothing is lost: the result is the exact one.");
    assert_eq!(
        apart[1],
        "Bits that the unit does not read: a0*b0 = 0x1.000002p+0 becomes 1, losing 2^-23; the first unit does not lose this."
    );
}

#[test]
fn inputs_that_were_rounded_are_not_called_exact_without_saying_so() {
    let rounded =
        "The unit loses nothing: the result is exact for its inputs, which were rounded to its formats.";
    assert_eq!(why(&["h100 wgmma f16 f32"], ["0.1", "1", "0"]), [rounded]);
    let exact = "Nothing is lost: the result is the exact one.";
    assert_eq!(why(&["h100 wgmma f16 f32"], ["0.5", "1", "0"]), [exact]);
    // two units that lose nothing, and got other numbers
    let both = why(&["h100 wgmma f16 f32", "h100 wgmma bf16 f32"], ["0.1", "1", "0"]);
    assert_eq!(
        both[1],
        "Its input is another number: a0 is 0.10009765625 in bf16, and 0.0999755859375 in f16 of the first unit."
    );
    let answers = explained(&[("h100 wgmma f16 f32", json!({}))], ["0.1 0.5", "1 1", "0"]);
    assert_eq!(answers[0]["rounded"], 1);
}

#[test]
fn a_loss_that_both_units_have_explains_no_difference() {
    // both lose a2*b2, which is 2^-28; only F = 12 loses a1*b1, too
    let (a, b) = ("1 0x1p-13 0x1p-14", "1 1 0x1p-14");
    let units = [("h100 wgmma f16 f32", json!({})), ("h100 wgmma f16 f32", json!({"F": "12"}))];
    let answers = explained(&units, [a, b, "0"]);
    assert_eq!(
        answers[1]["why"],
        "Step 1, fused summation: a1*b1 = 0.0001220703125 becomes 0, losing 0.0001220703125 (nothing below 2^-12 is kept); \
         the first unit does not lose this."
    );
    let units = [units[1].clone(), units[0].clone()];
    let answers = explained(&units, [a, b, "0"]);
    assert_eq!(
        answers[1]["why"],
        "It does not lose what the first unit does: step 1, fused summation: a1*b1 = 0.0001220703125 becomes 0, losing \
         0.0001220703125 (nothing below 2^-12 is kept)."
    );
}

#[test]
fn an_overflow_names_the_format_that_it_left() {
    for (unit, a, expected) in [
        // the products are summed in FP32, and D is FP16
        (
            "hopper mma.m8n8k4 f16 f16",
            "65504 65504",
            "The result is inf: the sum 131008 is beyond the largest number of f16, 65504.",
        ),
        (
            "v100 mma m8n8k4 f16 f16",
            "65504 65504",
            "The result is inf: step 1: the sum 131008 is beyond the largest number of f16, 65504.",
        ),
    ] {
        assert_eq!(why(&[unit], [a, "1 1", "0"]), [expected], "{unit}");
    }
}

#[test]
fn a_place_along_k_is_an_instruction_and_its_step() {
    let a = format!("{ONES} 1 0x1p-13");
    let b = format!("{ONES} 1024 0x1p-13");
    let one = why(&["h100 mma m16n8k16 f16 f32"], [&a, &b, "0"]);
    assert!(one[0].starts_with("Instruction 2, fused summation: a17*b17 = 2^-26 becomes 0"), "{one:?}");
    // an instruction of 16 elements in two steps of 8
    let a = format!("{ONES} 1 1 1 1 1 1 1 1 1 0x1p-13");
    let b = format!("{ONES} 1 1 1 1 1 1 1 1 1024 0x1p-13");
    let two = why(&["a100 mma m16n8k16 f16 f32"], [&a, &b, "0"]);
    assert!(two[0].starts_with("Instruction 2, step 2, fused summation: a25*b25 = 2^-26"), "{two:?}");
    let parts = explained(&[("a100 mma m16n8k16 f16 f32", json!({}))], [&a, &b, "0"])[0]["parts"].clone();
    let instructions: Vec<&Value> =
        parts.as_array().expect("a list").iter().map(|part| &part["instruction"]).collect();
    assert_eq!(instructions, [&json!([1, 2]), &json!([1, 2]), &json!([2, 2]), &json!([2, 2])]);
    // operands are read before all steps
    let flushed =
        why(&["mi250x v_mfma_f32_16x16x16f16"], [&format!("{ONES} 0x1p-24"), &format!("{ONES} 1"), "0"]);
    assert_eq!(flushed, ["Input FTZ: a16*b16 = 2^-24 becomes 0, losing 2^-24."]);
}

#[test]
fn an_infinity_is_where_it_comes_in() {
    let unit = ["h100 mma m16n8k16 f16 f32"];
    assert_eq!(
        why(&unit, ["inf", "1", "0"]),
        ["The result is inf before anything is summed: a0*b0 = inf * 1."]
    );
    assert_eq!(why(&unit, ["1", "1", "-inf"]), ["The result is -inf before anything is summed: c = -inf."]);
    let late = why(&unit, [&format!("{ONES} inf"), &format!("{ONES} 1"), "0"]);
    assert_eq!(late, ["The result is inf: instruction 2 takes a16*b16 = inf * 1."]);
}

#[test]
fn a_zero_is_not_called_subnormal() {
    let answers = explained(&[("mi250x v_mfma_f32_16x16x16f16", json!({}))], ["-0 0x1p-24", "1 1", "-0"]);
    let notes = answers[0]["notes"].to_string();
    assert!(notes.contains("c = -0 is read as 0") && notes.contains("a0 = -0 is read as 0"), "{notes}");
    assert!(notes.contains("a1 = 5.960464…e-8 is subnormal and read as 0"), "{notes}");
}

#[test]
fn a_sum_that_saturates_or_wraps_is_named() {
    let (unit, input) = ("a100 mma m16n8k32 s8", ["127 127", "127 127", "2147483647"]);
    let saturating = "a100 mma m16n8k32 s8 satfinite";
    let sum = "Step 1: the sum 2147515905 is beyond the";
    assert_eq!(
        why(&[unit, saturating], input),
        [
            format!("{sum} numbers of s32 and wraps to -2147451391."),
            format!("{sum} largest number of s32 and saturates to 2147483647.")
        ]
    );
    let low = why(&[saturating], ["-128", "127", "-2147483648"]);
    assert_eq!(
        low,
        ["Step 1: the sum -2147499904 is beyond the smallest number of s32 and saturates to -2147483648."]
    );
    let within = why(&[unit], ["1 2", "3 4", "5"]);
    assert_eq!(
        within,
        ["Nothing is lost: sums of integers are exact, and none is beyond the numbers of s32."]
    );
    // the distance of an integer is one
    let one = &explained(&[(unit, json!({}))], input)[0];
    assert_eq!((&one["exact"], &one["error"]), (&json!("2147515905"), &json!("-4294967296")));
    assert!(one["ulps"].is_null(), "{one}");
    let floating = explained(
        &[("h100 wgmma f16 f16", json!({"rho": "RNE-FP16 saturate"}))],
        ["65504 65504", "1 1", "0"],
    );
    assert_eq!(
        floating[0]["why"],
        "Step 1, output rounding: d = 131008 is beyond the largest number of f16 and becomes that, 65504, losing 65504."
    );
}

#[test]
fn the_last_row_of_every_picture_is_d() {
    for row in catalogue() {
        let Some(model) = row.model(Revision::Hardware) else { continue };
        // bits hold every NaN, and the first element is one where the format has it
        for (index, with_nan) in [(0, false), (1, true)] {
            let mut drawn = case(&model, row.products(), Family::Bits, 59, index);
            if let Some(nan) = model.a.nan_code().filter(|_| with_nan) {
                drawn.a[0] = nan;
            }
            let typed =
                |codes: &[u64]| codes.iter().map(|code| format!("{code:#x}")).collect::<Vec<_>>().join(" ");
            let input = json!({"a": typed(&drawn.a), "b": typed(&drawn.b), "c": typed(&[drawn.c]),
                "scale_a": typed(&drawn.scale_a), "scale_b": typed(&drawn.scale_b)});
            let answer = ok(&json!({"ask": "explain", "units": [{"unit": row.target()}], "input": input}));
            let one = &answer["units"][0];
            let last = one["parts"].as_array().and_then(|parts| parts.last()).expect("a part");
            let shown = last["stages"].as_array().and_then(|stages| stages.last()).expect("a stage");
            assert_eq!(shown["result"]["code"], one["d"]["code"], "{}: {input}", row.target());
        }
    }
}
