//! Each question against the crates below it, and what is wrong with wrong ones.

use bitmma_analysis::number;
use bitmma_engine::arithmetic::Lowering;
use bitmma_engine::catalogue::catalogue;
use bitmma_engine::formats::table::by_name;
use bitmma_engine::formats::text::{digits_of, parse};
use bitmma_engine::formats::{Class, F64, Overflow, Real, Rounding, decode, encode};
use bitmma_engine::{Case, Revision};
use bitmma_verify::inputs::{Family, case};
use serde_json::{Value, json};

use crate::asked::{error, ok};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn explained(unit: &str, a: &str, b: &str, c: &str) -> Value {
    ok(&json!({"ask": "explain", "units": [{"unit": unit}], "input": {"a": a, "b": b, "c": c}}))["units"][0]
        .clone()
}

/// The codes of a case as they can be typed.
fn typed(codes: &[u64]) -> String {
    codes.iter().map(|code| format!("{code:#x}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn steps_lead_to_the_result_on_every_instruction() {
    for row in catalogue() {
        let Some(model) = row.model(Revision::Hardware) else { continue };
        let k = row.products();
        for (index, family) in Family::ALL.into_iter().enumerate() {
            let Case { a, b, c, scale_a, scale_b } = case(&model, k, family, 59, index as u64);
            let input = json!({"a": typed(&a), "b": typed(&b), "c": typed(&[c]), "scale_a": typed(&scale_a), "scale_b": typed(&scale_b)});
            let unit = row.target();
            let answer =
                ok(&json!({"ask": "explain", "units": [{"unit": unit}], "input": input}))["units"][0].clone();
            let d = model.dot(&Case { a, b, c, scale_a, scale_b }.operands()).expect("the codes fit");
            assert_eq!(
                text(&answer["d"]["code"]),
                format!("0x{}", digits_of(&model.d, &[d])),
                "{unit}: {input}"
            );
            for part in list(&answer["parts"]) {
                for stage in list(&part["stages"]) {
                    list(&stage["rows"]).iter().for_each(|row| kept_bits_are_what_is_kept(row, &unit));
                }
            }
        }
    }
}

/// The bits of a row left of its cut are the number that is said to be kept, unless rounding moved it.
fn kept_bits_are_what_is_kept(row: &Value, unit: &str) {
    let Some(last) = row["last"].as_i64() else { return };
    if !row["moved"].is_null() {
        return;
    }
    let (digits, high) = (text(&row["bits"]["digits"]), row["bits"]["high"].as_i64().expect("a weight"));
    let keeps = (high - last + 1).clamp(0, digits.len() as i64) as usize;
    let significand = i128::from_str_radix(&digits[..keeps], 2).unwrap_or(0);
    let sign = if row["bits"]["negative"] == true { -1 } else { 1 };
    let kept = Real::exact(sign * significand, (high - keeps as i64 + 1) as i32);
    assert_eq!(text(&row["kept"]), number::text(kept), "{unit}: {row}");
}

#[test]
fn longer_inputs_are_several_instructions() {
    let mut tried = 0;
    for row in catalogue() {
        let Some(model) = row.model(Revision::Hardware) else { continue };
        if model.lowering != Lowering::NONE || model.c != model.d {
            continue;
        }
        let k = row.products();
        let unit = json!({"unit": row.target()});
        for (index, family) in
            [Family::Bits, Family::Moderate, Family::Cancelling, Family::Normal].into_iter().enumerate()
        {
            let long = case(&model, 2 * k, family, 60, index as u64);
            let scales = model.scale.map_or(0, |scale| k / scale.size);
            let half = |from: usize, c: u64| Case {
                a: long.a[from * k..(from + 1) * k].to_vec(),
                b: long.b[from * k..(from + 1) * k].to_vec(),
                c,
                scale_a: long.scale_a[from * scales..(from + 1) * scales].to_vec(),
                scale_b: long.scale_b[from * scales..(from + 1) * scales].to_vec(),
            };
            let first = model.dot(&half(0, long.c).operands()).expect("the codes fit");
            let second = model.dot(&half(1, first).operands()).expect("the codes fit");
            let scale = model.scale.map_or(model.a, |scale| scale.format);
            let question = json!({"a": digits_of(&model.a, &long.a), "b": digits_of(&model.b, &long.b), "c": digits_of(&model.c, &[long.c]),
                "scale_a": digits_of(&scale, &long.scale_a), "scale_b": digits_of(&scale, &long.scale_b)});
            let answer = ok(&json!({"ask": "dot", "unit": unit, "cases": [question]}));
            let is_nan = |code: u64| decode(&model.d, code).class == Class::Nan;
            let same = text(&answer["d"][0]) == digits_of(&model.d, &[second])
                || (is_nan(second) && list(&answer["nan"]).len() == 1);
            assert!(same, "{unit} {question}: {} instead of {second:x}", answer["d"][0]);
            tried += 1;
        }
    }
    assert!(tried > 400, "{tried}");
}

#[test]
fn every_code_rounds_to_itself_within_its_interval_and_not_beyond() {
    let formats = ok(&json!({"ask": "start"}))["formats"].clone();
    for name in list(&formats) {
        let format = by_name(text(name)).expect("a format of the table");
        let table = ok(&json!({"ask": "format", "format": name}));
        assert_eq!(list(&table["codes"]).len() as u64, format.max_code() + 1);
        let value = |code: u64| f64::from_bits(bitmma_engine::formats::text::to_f64_bits(&format, code));
        for one in list(&table["codes"]) {
            let Some(rounds) = one["rounds"].as_array() else { continue };
            let code = u64::from_str_radix(&text(&one["code"])[2..], 16).expect("hex");
            let end = |place: usize| {
                let written = text(&rounds[place]);
                assert!(!written.contains('≈'), "{name} {one}");
                f64::from_bits(
                    parse(&F64, written, Rounding::NearestEven, Overflow::Infinity).expect("a number").code,
                )
            };
            let own = value(code);
            let becomes_own = |number: f64| {
                let real = decode(&F64, number.to_bits()).real(&F64);
                let rounded = encode(&format, real, Rounding::NearestEven, Overflow::Infinity);
                decode(&format, rounded).is_finite() && value(rounded).total_cmp(&own).is_eq()
                    || own.abs().total_cmp(&0.0).is_eq() && value(rounded).abs().total_cmp(&0.0).is_eq()
            };
            for (at, belongs, inward) in [(end(0), &rounds[1], 1.0), (end(2), &rounds[3], -1.0)] {
                if at.is_infinite() {
                    assert!(becomes_own(-1e30 * inward), "{name} {one}: all beyond");
                    continue;
                }
                assert_eq!(becomes_own(at), *belongs == true, "{name} {one}: {at}");
                if !format.is_signed() && at <= 0.0 || !format.subnormals && at < own {
                    continue; // below its smallest number a format without sign or zero has a rule of its own
                }
                let step = at.abs() * 1e-12 * inward;
                assert!(becomes_own(at + step), "{name} {one}: inside of {at}");
                assert!(!becomes_own(at - step), "{name} {one}: outside of {at}");
            }
        }
    }
}

#[test]
fn the_smallest_difference_is_one() {
    for pair in [
        ["h100 wgmma f16 f32", "a100 mma m16n8k16 f16 f32"],
        ["h100 wgmma e4m3 f32", "b200 tcgen05 e4m3 f32"],
        ["mi300x v_mfma_f32_16x16x16_f16", "mi250x v_mfma_f32_16x16x16f16"],
    ] {
        let units: Vec<Value> = pair.iter().map(|unit| json!({"unit": unit})).collect();
        let found = ok(&json!({"ask": "diff", "units": units}));
        assert_eq!(found["verdict"], "differs", "{pair:?}: {found}");
        let answer = ok(&json!({"ask": "explain", "units": units, "input": found["input"]}));
        assert_eq!(answer["agree"], false, "{pair:?}: {found}");
    }
    let same = ok(
        &json!({"ask": "diff", "units": [{"unit": "h100 wgmma f16 f32"}, {"unit": "h100 wgmma f16 f32", "edit": {"F": "25"}}]}),
    );
    assert_eq!(same["verdict"], "same");
    // of three units the first two part on two products and C, and the third on C alone: that is the smallest
    let three = ok(&json!({"ask": "diff", "units": [
        {"unit": "h100 wgmma f16 f32"}, {"unit": "h100 wgmma f16 f32", "edit": {"F": "26"}}, {"unit": "mi250x v_mfma_f32_16x16x16f16"}]}));
    assert_eq!(
        (&three["pair"], &three["input"]["a"], &three["input"]["b"]),
        (&json!([0, 2]), &json!("0"), &json!("0"))
    );
    // units of other formats are not compared, and those after them are
    let beside = ok(&json!({"ask": "diff", "units": [
        {"unit": "h100 wgmma e4m3 f32"}, {"unit": "h100 wgmma f16 f32"}, {"unit": "h100 wgmma f16 f32", "edit": {"flush_accumulator": "signed"}}]}));
    assert_eq!((&beside["pair"], &beside["incomparable"]), (&json!([1, 2]), &json!(2)));
    let edited = ok(
        &json!({"ask": "diff", "units": [{"unit": "h100 wgmma f16 f32"}, {"unit": "h100 wgmma f16 f32", "edit": {"F": "12"}}]}),
    );
    assert_eq!(edited["verdict"], "differs");
    assert_eq!(edited["parameters"][0]["parameter"], "F");
}

#[test]
fn an_edited_unit_is_another_one() {
    let with = |edit: Value| {
        let units = [json!({"unit": "h100 mma m16n8k16 f16 f32", "edit": edit})];
        ok(&json!({"ask": "explain", "units": units, "input": {"a": "-8192 -0.5 -0.25 -0.125", "b": "1024 1 1 1", "c": "0x1p23"}}))["units"][0].clone()
    };
    assert_eq!(with(json!({}))["d"]["value"], "-0.75");
    assert_eq!(with(json!({"F": "26"}))["d"]["value"], "-0.875");
    assert_eq!(with(json!({"F": "23"}))["d"]["value"], "0");
    assert_eq!(with(json!({"F": "24", "term_rounding": "RA"}))["d"]["value"], "-1.5");
    assert_eq!(with(json!({"rho": "RNE-FP16"}))["d"]["format"], "f16");
    for (edit, word) in [
        (json!({"F": "61"}), "61"),
        (json!({"F": "many"}), "many"),
        (json!({"F": "-1"}), "-1"),
        (json!({"L_max": "0"}), "L_max"),
        (json!({"e_zero": "1e9"}), "1e9"),
        (json!({"G": "4"}), "no parameter 'G'"),
        (json!({"rho": "RNE-FP12"}), "RNE-FP12"),
        (json!({"flush_operands": "sometimes"}), "sometimes"),
        (json!({"term_rounding": "UP"}), "UP"),
    ] {
        let failed = with(edit.clone());
        assert!(failed["error"].as_str().is_some_and(|error| error.contains(word)), "{edit}: {failed}");
    }
}

#[test]
fn tf32_operands_are_words_of_which_bits_are_not_read() {
    let answer = explained("a100 mma m16n8k8 tf32", "-0.4193 1.0308", "-0.0762 0.7318", "0");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("bits that are not read"), "{notes}");
    assert_eq!(answer["operands"]["a"][0]["bits"]["padding"].as_str().map(str::len), Some(13));
}

#[test]
fn rows_are_pasted_in_many_shapes() {
    for (given, a, b, c) in [
        ("1 2 3", "1 2 3", None, None),
        ("[1.0, 2.5e-3, -0x1p-3]", "1.0 2.5e-3 -0x1p-3", None, None),
        ("tensor([[1., 2.], [3., 4.]], device='cuda:0', dtype=torch.float16)", "1. 2. 3. 4.", None, None),
        ("−0.4193 1.0308 · −0.0762 0.7318", "-0.4193 1.0308", Some("-0.0762 0.7318"), None),
        ("1 2 * 3 4 + 5", "1 2", Some("3 4"), Some("5")),
        ("a = [1, 2]\nb = [3, 4]\nc = 5", "1 2", Some("3 4"), Some("5")),
        ("{1.5f, 2.0F}", "1.5 2.0", None, None),
        ("bitmma explain h100 wgmma -a '1 2' -b \"3 4\" -c 0x1p3", "1 2", Some("3 4"), Some("0x1p3")),
        ("0x3c00 0xff", "0x3c00 0xff", None, None),
        ("tensor([1, 2,\n        3, 4])", "1 2 3 4", None, None),
        ("array([1., 2.])\narray([3., 4.])", "1. 2.", Some("3. 4."), None),
        ("a 1 2\nb 3 4", "1 2", Some("3 4"), None),
        ("[np.float32(1.5), np.float64(-2)]", "1.5 -2", None, None),
        ("1 2·3 4", "1 2", Some("3 4"), None),
        ("[1,2]×[3,4]+5", "1 2", Some("3 4"), Some("5")),
        ("1 2*3 4+5", "1 2", Some("3 4"), Some("5")),
        ("1e+5 0x1p+3 +2", "1e+5 0x1p+3 +2", None, None),
        ("0x3e*0x3e+0x1", "0x3e", Some("0x3e"), Some("0x1")),
        ("bitmma explain h100 wgmma -a='1 2' -b=3 -c=-5", "1 2", Some("3"), Some("-5")),
        ("\u{feff}1 2\u{200b}", "1 2", None, None),
    ] {
        let rows = ok(&json!({"ask": "paste", "text": given}));
        assert_eq!((text(&rows["a"]), rows["b"].as_str(), rows["c"].as_str()), (a, b, c), "{given}");
    }
    assert!(error(r#"{"ask":"paste","text":" "}"#).contains("no numbers"));
    let scaled = json!({"ask": "paste", "text": "bitmma explain b200 nvfp4 --scale-a '9' --scale-b '8' -a '1 2' -b '3 4'"});
    assert!(error(&scaled.to_string()).contains("scale factors"));
}

#[test]
fn codes_are_numbers_that_can_be_typed() {
    for (format, code, expected) in [
        ("f16", "0x3c00", "1"),
        ("f16", "0x7e00", "0x7e00"),
        ("f16", "0xfc00", "-inf"),
        ("e4m3", "0x08", "0.015625"),
        ("tf32", "0x3f800001", "1.0000001192092896"),
        ("e2m1", "0x7", "6"),
    ] {
        assert_eq!(
            ok(&json!({"ask": "code", "format": format, "code": code}))["text"],
            expected,
            "{format} {code}"
        );
    }
    assert!(error(r#"{"ask":"code","format":"e4m3","code":"0x100"}"#).contains("0x100"));
    assert!(error(r#"{"ask":"code","format":"e9m9","code":"0x1"}"#).contains("e9m9"));
    assert!(error(r#"{"ask":"code","format":"f16","code":"1"}"#).contains("not a code"));
}

fn curve(units: &[&str], more: &Value) -> Value {
    let units: Vec<Value> = units.iter().map(|unit| json!({"unit": unit})).collect();
    let mut question =
        json!({"ask": "curve", "units": units, "distribution": "normal", "k": 4096, "seed": 1});
    for (key, value) in more.as_object().expect("an object") {
        question[key] = value.clone();
    }
    ok(&question)
}

fn last(curve: &Value, which: &str) -> f64 {
    list(&curve[which]).last().and_then(Value::as_f64).unwrap_or_else(|| panic!("{curve}"))
}

#[test]
fn the_curve_says_what_it_cannot() {
    let own = json!({"distribution": "own", "values": "1 0.5 2", "k": 16});
    let found = curve(&["hopper mma.m8n8k4.f64.f64.f64.f64", "a100 mma m16n8k8 tf32"], &own);
    assert!(text(&found["units"][0]["error"]).contains("adds in FP64"), "{found}");
    assert_eq!(text(&found["about"]), "3 numbers of your own, again and again: A and B take 256");
    // a TF32 unit reads the upper bits of FP32 words
    let cut = json!({"distribution": "own", "values": (1.0 + 3.0 / 4096.0).to_string(), "k": 16});
    let found = curve(&["a100 mma m16n8k8 tf32"], &cut);
    let lost = 1.0 - 1.0 / ((1.0 + 3.0 / 4096.0) * (1.0 + 3.0 / 4096.0));
    assert!((last(&found["units"][0], "quantization") - lost).abs() < 1e-9, "{found}");
    // scales at which squares, or products, are beyond FP64
    let of =
        |scale: f64| curve(&["h100 wgmma e4m3 f32", "h100 wgmma f16 f32"], &json!({"scale": scale, "k": 64}));
    let usual = of(1.0);
    for exponent in [-460, -270, -262, 250, 260, 460] {
        let found = of(2.0f64.powi(exponent));
        assert_eq!(found["units"][0]["total"], usual["units"][0]["total"], "{exponent}");
        assert_eq!(found["units"][1]["total"][0], 1.0, "{exponent}");
    }
    for scale in [1e-320, 1e-150, 1e150, 1e300] {
        let question = json!({"ask": "curve", "units": [{"unit": "h100 wgmma e4m3 f32"}], "distribution": "normal", "k": 64, "scale": scale});
        assert!(error(&question.to_string()).contains("the largest magnitude of A is"), "{scale}");
    }
    let tiny = json!({"distribution": "own", "values": "1e-90 3e-90 7e-91", "k": 16});
    assert!(last(&curve(&["h100 wgmma e4m3 f32"], &tiny)["units"][0], "total") > 0.01);
    // numbers of no format
    for (values, wrong) in
        [("0x3c00", "'0x3c00' is a code"), ("1 x", "'x' is not a number"), ("nan(0x1)", "'nan(' is not")]
    {
        let question = json!({"ask": "curve", "units": [{"unit": "h100 wgmma f16 f32"}], "distribution": "own", "k": 16, "values": values});
        assert!(error(&question.to_string()).contains(wrong), "{}", error(&question.to_string()));
    }
    let one =
        curve(&["h100 wgmma f16 f32"], &json!({"distribution": "own", "values": "tensor([1.])", "k": 16}));
    assert!(text(&one["about"]).starts_with("1 number of your own,"), "{one}");
    let zeros = curve(&["h100 wgmma f16 f32"], &json!({"distribution": "own", "values": "0", "k": 16}));
    assert_eq!(list(&zeros["units"][0]["total"]).last(), Some(&json!(0.0)));
    let both = curve(&["h100 wgmma e4m3 f32"], &json!({"promote": 64, "scaling": "block"}));
    assert!(text(&both["units"][0]["error"]).contains("turn one of them off"), "{both}");
}

#[test]
fn the_curve_tells_formats_from_sums() {
    let answer = curve(&["h100 wgmma e4m3 f32", "b200 tcgen05 e4m3 f32"], &json!({}));
    let [hopper, blackwell] = [0, 1].map(|place| answer["units"][place].clone());
    assert_eq!(hopper["quantization"], blackwell["quantization"]);
    assert!((0.01..0.1).contains(&last(&hopper, "quantization")), "{hopper}");
    assert!(last(&hopper, "accumulation") > 100.0 * last(&blackwell, "accumulation"), "{hopper} {blackwell}");
    let promoted = curve(&["h100 wgmma e4m3 f32"], &json!({"promote": 128}));
    assert!(last(&promoted["units"][0], "accumulation") < 0.5 * last(&hopper, "accumulation"), "{promoted}");
    let blocks = curve(
        &["h100 wgmma e4m3 f32"],
        &json!({"scaling": "block", "block": 128, "distribution": "outliers"}),
    );
    assert!(blocks["units"][0]["error"].is_null(), "{blocks}");
    let scaled = curve(&["b200 nvfp4", "b200 mxfp8 e4m3"], &json!({"distribution": "softmax", "split": 4}));
    assert!(
        last(&scaled["units"][0], "quantization") > last(&scaled["units"][1], "quantization"),
        "{scaled}"
    );
    let own = curve(
        &["h100 wgmma f16 f32"],
        &json!({"distribution": "own", "values": "1.0, 0x1p-1, −.25f", "k": 1000}),
    );
    assert_eq!(list(&own["ks"]).last(), Some(&json!(1000)));
    assert_eq!(list(&own["units"][0]["quantization"]).last(), Some(&json!(0.0)));
}

#[test]
fn a_picture_has_the_levels_of_its_format() {
    let units: Vec<Value> = ["h100 wgmma e4m3 f32", "b200 nvfp4", "b200 mxfp8 e4m3", "h100 wgmma f16 f32"]
        .map(|unit| json!({"unit": unit}))
        .to_vec();
    let answer = ok(&json!({"ask": "image", "units": units}));
    let rms: Vec<f64> =
        list(&answer["units"]).iter().map(|unit| unit["rms"].as_f64().expect("a number")).collect();
    assert!(rms[3] < 0.1 && rms[3] < rms[0] && rms[0] < rms[1], "{rms:?}");
    assert!(
        answer["units"][0]["levels"].as_u64().is_some_and(|levels| levels <= 128),
        "{}",
        answer["units"][0]["levels"]
    );
    let size = answer["width"].as_u64().expect("a width") * answer["height"].as_u64().expect("a height");
    assert_eq!(text(&answer["units"][0]["pixels"]).len() as u64, 2 * size);
    let gray = ok(
        &json!({"ask": "image", "units": [{"unit": "h100 wgmma f16 f32"}], "width": 3, "pixels": "0080ff102030"}),
    );
    assert_eq!(gray["units"][0]["pixels"], "0080ff102030");
}

#[test]
fn words_are_searched_as_the_command_does() {
    let found = ok(&json!({"ask": "search", "words": "h100 wgmma e4m3"}));
    assert_eq!(found["architecture"], "hopper");
    assert!(list(&found["instructions"]).iter().all(|one| text(&one["name"]).starts_with("wgmma")));
    assert!(
        ok(&json!({"ask": "search", "words": "rtx pro 6000 blackwell mma f16"}))["count"].as_u64() > Some(0)
    );
    // the chip's words and an instruction's name are that unit
    for (words, chip) in [
        ("rtx 4090 mma e4m3", "rtx 4090"),
        (" rtx  pro 6000 blackwell mma", "rtx pro 6000 blackwell"),
        ("titan v mma", "titan v"),
        ("h100", "h100"),
    ] {
        let found = ok(&json!({"ask": "search", "words": words}));
        assert_eq!(found["chip"], chip);
        let unit = format!("{chip} {}", text(&found["instructions"][0]["name"]));
        assert_eq!(ok(&json!({"ask": "unit", "unit": unit}))["architecture"], found["architecture"]);
    }
    assert_eq!(explained("h100 wgmma f16 f32", "1", "1", "0")["unit"]["architecture"], "hopper");
    assert!(explained("h100", "1", "1", "0")["error"].to_string().contains("add words"));
    assert!(explained("h1000 wgmma", "1", "1", "0")["error"].to_string().contains("h1000"));
    assert!(explained("mi300x f16", "1", "1", "0")["error"].to_string().contains("f16"));
    assert!(explained("h100 wgmma f16 f32", "nan(0x1)", "1", "0")["error"].to_string().contains("'nan('"));
    // a unit whose edits cannot be read is known without them
    let edited =
        |edit: Value| json!({"ask": "explain", "units": [{"unit": "h100 wgmma f16 f32", "edit": edit}]});
    for (edit, wrong) in [
        (json!({"F": ""}), "F is ''; an integer is expected"),
        (json!({"F": "-1"}), "F is '-1'; an integer of at least 0 is expected"),
        (json!({"L_max": "0"}), "L_max is '0'; an integer of at least 1 is expected"),
        (json!({"L_max": "3"}), "K is 16"),
        (json!({"e_zero": "-"}), "an integer is expected"),
    ] {
        let found = ok(&edited(edit.clone()));
        assert!(text(&found["units"][0]["error"]).contains(wrong), "{edit}: {found}");
        assert_eq!(found["units"][0]["unit"]["parameters"][1]["value"], "25", "{edit}");
    }
}

#[test]
fn a_wrong_question_is_an_error_that_names_what_is_wrong() {
    for (question, word) in [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "ask"),
        (r#"{"ask":"nothing"}"#, "nothing"),
        (r#"{"ask":"explain","units":[]}"#, "0 units"),
        (r#"{"ask":"explain","units":[{"unit":"h100 wgmma f16 f32"}],"input":{"d":"1"}}"#, "`d`"),
        (
            r#"{"ask":"explain","units":[{"unit":"a"},{"unit":"a"},{"unit":"a"},{"unit":"a"},{"unit":"a"}]}"#,
            "5 units",
        ),
        (r#"{"ask":"explain","units":[{"unit":1}]}"#, "cannot be read"),
        (r#"{"ask":"diff","units":[{"unit":"h100 wgmma f16 f32"}]}"#, "needs two"),
        (
            r#"{"ask":"diff","units":[{"unit":"h100 wgmma f16 f32"},{"unit":"h100 wgmma e4m3 f32"}]}"#,
            "takes A",
        ),
        (r#"{"ask":"format","format":"f32"}"#, "f32"),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"normal","k":1000000}"#,
            "1000000",
        ),
        (r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"gauss","k":64}"#, "gauss"),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"normal","k":64,"scale":-1}"#,
            "-1",
        ),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"normal","k":64,"scale":NaN}"#,
            "cannot be read",
        ),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"own","k":64,"values":"1e999"}"#,
            "number 0 is inf",
        ),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"own","k":64,"values":""}"#,
            "0 numbers",
        ),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"normal","k":64,"seed":1e30}"#,
            "seed is 1e+30; an integer from 0 to 9007199254740991",
        ),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"normal","k":64.5}"#,
            "K is 64.5; an integer from 16 to 16384",
        ),
        (
            r#"{"ask":"curve","units":[{"unit":"h100 wgmma f16 f32"}],"distribution":"normal","k":64,"split":0}"#,
            "split is 0; an integer from 1 to 16384",
        ),
        (r#"{"ask":"image","units":[{"unit":"h100 wgmma f16 f32"}],"width":3,"pixels":"00"}"#, "1 pixels"),
        (r#"{"ask":"image","units":[{"unit":"h100 wgmma f16 f32"}],"width":1,"pixels":"zz"}"#, "hex"),
        (
            r#"{"ask":"dot","unit":{"unit":"h100 wgmma f16 f32"},"cases":[{"a":"10000","b":"0","c":"0"}]}"#,
            "10000",
        ),
        (
            r#"{"ask":"dot","unit":{"unit":"h100 wgmma f16 f32"},"cases":[{"a":"0","b":"0","c":"0 0"}]}"#,
            "one code",
        ),
    ] {
        let said = error(question);
        assert!(said.contains(word), "{question}: {said}");
    }
    assert!(error(&"x".repeat(9 << 20)).contains("characters"));
    for (a, c, word) in [
        ("1 x", "0", "a1"),
        ("1e9", "0", "beyond"),
        ("0x12345", "0", "0x12345"),
        ("1", "1 2", "2 values"),
        (&"1 ".repeat(600), "0", "600"),
    ] {
        let failed = explained("h100 wgmma f16 f32", a, "1", c);
        assert!(text(&failed["error"]).contains(word), "{a}: {failed}");
    }
    // texts beyond anything that is meant are named, and not repeated
    let long = "1".repeat(100_000);
    for (question, name) in [
        (json!({"ask": "explain", "units": [{"unit": "h100 wgmma f16 f32"}], "input": {"a": long}}), "a0"),
        (json!({"ask": "explain", "units": [{"unit": long}]}), "the unit"),
        (json!({"ask": "explain", "units": [{"unit": "h100 wgmma f16 f32", "edit": {"F": long}}]}), "F"),
        (json!({"ask": "search", "words": long}), "the search"),
        (json!({"ask": "format", "format": long}), "format"),
        (json!({"ask": "code", "format": "f16", "code": long}), "code"),
        (
            json!({"ask": "curve", "units": [{"unit": "h100 wgmma f16 f32"}], "k": 64, "distribution": long}),
            "distribution",
        ),
    ] {
        let said = bitmma_web::ask(&question.to_string());
        assert!(said.contains(&format!("{name} has 100000 characters")), "{said}");
        assert!(said.len() < 4_000, "{name}: {} bytes", said.len());
    }
    let smallest = format!("0x1p-1074 0.{}1", "0".repeat(1_000));
    assert!(explained("h100 wgmma f16 f32", &smallest, "1", "0")["d"].is_object(), "exact decimals are long");
    let scales = json!({"ask": "explain", "units": [{"unit": "b200 nvfp4"}], "input": {"a": "1", "b": "1", "scale_a": "1 1 1 1 1"}});
    assert!(text(&ok(&scales)["units"][0]["error"]).contains("5 values"));
}

#[test]
fn copies_say_the_same() {
    let answer = explained("h100 wgmma f16 f32", "0.1 1", "1 0x1p-24", "0");
    let command = text(&answer["copies"]["command"]);
    assert!(
        command.starts_with("bitmma explain hopper 'wgmma.m64n8k16.f32.f16.f16' -a '0x2e66 1'"),
        "{command}"
    );
    assert!(
        text(&answer["copies"]["python"]).contains("bitmma.mma(\"hopper\", \"wgmma.m64n8k16.f32.f16.f16\")")
    );
    let units = [json!({"unit": "h100 wgmma f16 f32", "edit": {"F": "13"}})];
    let edited =
        ok(&json!({"ask": "explain", "units": units, "input": {"a": "1", "b": "1"}}))["units"][0].clone();
    assert!(
        text(&edited["copies"]["command"]).contains("bitmma explain --model unit.toml -k 16"),
        "{edited}"
    );
}
