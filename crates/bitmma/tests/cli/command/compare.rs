//! `compare`, against the table the paper prints.

use super::{bitmma, cells};

/// Paper, table "The divergent results of different MMA instructions for the same input in Equation 1":
/// TF32/BF16, FP16, FP8, as printed there.
const PAPER: [(&str, [&str; 3]); 10] = [
    ("volta", ["N/A", "0.0", "N/A"]),
    ("turing", ["N/A", "-0.5", "N/A"]),
    ("ampere", ["-0.5", "-0.5", "N/A"]),
    ("ada", ["-0.5", "-0.5", "0.0"]),
    ("hopper", ["-0.75", "-0.75", "0.0"]),
    ("blackwell", ["-0.75", "-0.75", "-0.75"]),
    ("rtx-blackwell", ["-0.75", "-0.75", "-0.75"]),
    ("cdna1", ["-0.875", "-0.875", "N/A"]),
    ("cdna2", ["-0.375 or 0.0", "0.0", "N/A"]),
    ("cdna3", ["-0.5", "-0.5", "-1.0"]),
];

/// "In addition, all FP64/FP32 instructions produce -0.875"; Volta and Turing have none.
const WIDE: &str = "-0.875";

#[test]
fn equation_1_is_the_papers_table() {
    for revision in ["hardware", "paper"] {
        let ended = bitmma(&["compare", "--revision", revision]);
        let rows: Vec<Vec<&str>> = ended
            .fine()
            .lines()
            .skip_while(|line| !line.starts_with("──"))
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(cells)
            .collect();
        assert_eq!(rows.len(), PAPER.len(), "{}", ended.out);
        // the answer comes first, what it is of after it
        assert!(ended.out.starts_with("6 different results; "), "{}", ended.out);
        assert!(ended.out.find("Paper, Equation 1") > ended.out.find("cdna3"), "{}", ended.out);
        for (row, (architecture, answers)) in rows.iter().zip(PAPER) {
            let wide = if ["volta", "turing"].contains(&architecture) { "N/A" } else { WIDE };
            assert_eq!(row[0], architecture);
            assert_eq!(row[1], wide, "{architecture}, {revision}");
            assert_eq!(row[2..5], answers, "{architecture}, {revision}");
        }
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let json = bitmma(&["compare", "--json"]).json();
    let answers = json["answers"].as_array().unwrap();
    let left_out = json["left_out"].as_array().unwrap();
    let all = bitmma(&["list", "--json"]).json();
    // instructions of integers are not counted where the input is of other numbers
    let all = all["instructions"].as_array().unwrap();
    let floats = all.iter().filter(|row| row["d"] != "s32").count();
    assert!(floats < all.len());
    assert_eq!(answers.len() + left_out.len(), floats);
    let reasons: Vec<&str> = left_out.iter().map(|row| row["reason"].as_str().unwrap()).collect();
    for reason in
        ["f16 cannot hold c = 8388608", "e4m3 cannot hold a = -8192", "K = 2, and 4 values were given"]
    {
        assert!(reasons.contains(&reason), "{reason}");
    }
    assert!(answers.iter().all(|answer| answer["kind"] == "native"));
    let turing = answers.iter().find(|answer| {
        answer["architecture"] == "turing" && answer["instruction"] == "mma.m8n8k4.f32.f16.f16.f32"
    });
    assert_eq!(turing.unwrap()["code"], "0x00000000");
}

/// The compiler's form of FP8 `mma.sync` on Blackwell is not what `tcgen05.mma` answers.
#[test]
fn composed_forms_have_rows_of_their_own() {
    let ended = bitmma(&["compare", "b200", "--composed"]);
    let row = |name: &str| ended.fine().lines().map(cells).find(|row| row.first() == Some(&name)).unwrap();
    assert_eq!(row("blackwell")[4], "-0.75");
    assert!(row("blackwell, composed").len() > 4);
}

#[test]
fn own_input_is_grouped_by_answer() {
    let ended = bitmma(&["compare", "ampere", "-a", "1 0x1p-12", "-b", "1 0x1p-12"]);
    assert!(ended.fine().contains("2 different results"), "{}", ended.out);
    assert!(ended.out.contains("1.0000000596046448"), "{}", ended.out);
    let json = bitmma(&["compare", "cdna1", "-a", "nan", "-b", "1", "--json"]).json();
    let answers = json["answers"].as_array().unwrap();
    assert!(!answers.is_empty() && answers.iter().all(|answer| answer["value"] == "nan"));
    assert!(bitmma(&["compare", "h100", "-a", "0x3c00", "-b", "1"]).refused().contains("is a code"));
    bitmma(&["compare", "h100", "-a", "1 x", "-b", "1"]).refused();
    bitmma(&["compare", "h100", "-a", "1"]).refused();
    bitmma(&["compare", "h100", "-a", "1", "-b", "1", "-c", "1 2"]).refused();
    bitmma(&["compare", "h100", "-a", "1", "-b", "1", "-c", ""]).refused();
}

/// A user's model beside the instructions: Hopper's FP16 parameters answer as Hopper's instruction does.
#[test]
fn a_model_from_a_file_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let toml = bitmma(&["show", "hopper", "mma.m16n8k16.f32.f16.f16.f32", "--toml"]).fine().to_owned();
    std::fs::write(&path, toml).unwrap();
    let path = path.to_str().unwrap();
    let text = bitmma(&["compare", "ampere", "hopper", "--model", path]).fine().to_owned();
    assert!(text.starts_with(&format!("{path}: -0.75 (0xbf400000); also returned by hopper ")), "{text}");
    let json = bitmma(&["compare", "ampere", "hopper", "--model", path, "--json"]).json();
    assert_eq!(json["model"]["code"], "0xbf400000");
    assert!(
        json["model"]["same"]
            .as_array()
            .unwrap()
            .iter()
            .all(|name| name.as_str().unwrap().starts_with("hopper "))
    );
    let refused = bitmma(&["compare", "--model", path, "-a", "1e9", "-b", "1"]);
    assert!(refused.refused().contains("f16 cannot hold it"), "{refused:?}");
}
