//! `probe`.

use std::path::Path;

use super::bitmma;

const VOLTA: &str = "sim:volta/mma.m8n8k4.f32.f16.f16.f32";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_model_is_found_and_taken_by_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found");
    let ended = bitmma(&["probe", VOLTA, "--tests", "5000", "--out", text(&out)]);
    let shown = ended.fine();
    assert!(
        shown.contains("FOUND: T-FDPA") && shown.contains("F = 23") && shown.contains("L = 4"),
        "{shown}"
    );
    assert!(shown.contains("volta/mma.m8n8k4.f32.f16.f16.f32"), "{shown}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let (model, report, page) = (read("model.toml"), read("report.txt"), read("report.html"));
    assert!(report.starts_with(shown.trim_end()), "{report}");
    assert!(page.contains("<svg") && page.ends_with("</html>\n") && !page.contains("http-equiv"), "{page}");

    // Equation 1 on the model that was found: Volta answers zero
    let file = out.join("model.toml");
    let values = ["-a", "-8192 -0.5 -0.25 -0.125", "-b", "1024 1 1 1", "-c", "0x1p23"];
    let arguments: Vec<&str> = ["dot", "--model", text(&file)].into_iter().chain(values).collect();
    assert!(bitmma(&arguments).fine().starts_with('0'));

    // and probed in its turn, it gives itself
    let unit = format!("model:{}@8x8x4", text(&file));
    let again = folder.path().join("again");
    bitmma(&["probe", &unit, "--tests", "5000", "--out", text(&again)]).fine();
    assert_eq!(std::fs::read_to_string(again.join("model.toml")).unwrap(), model);

    // cut off and resumed: the same files
    let log = read("questions.csv");
    std::fs::write(out.join("questions.csv"), &log[..log.len() / 2]).unwrap();
    bitmma(&["probe", VOLTA, "--tests", "5000", "--out", text(&out), "--resume"]).fine();
    assert_eq!(
        (read("model.toml"), read("report.txt"), read("report.html"), read("questions.csv")),
        (model, report, page, log.clone())
    );

    // answers that are there are not lost
    let ended = bitmma(&["probe", VOLTA, "--tests", "5000", "--out", text(&out)]);
    assert!(ended.refused().contains("an earlier probe's answers are here"), "{}", ended.err);
    assert_eq!(read("questions.csv"), log);

    // another seed is another probe
    let arguments = ["probe", VOLTA, "--tests", "5000", "--seed", "2", "--out", text(&out), "--resume"];
    assert!(bitmma(&arguments).refused().contains("another probe"));
}

#[test]
fn json_holds_the_same() {
    let ended = bitmma(&["probe", VOLTA, "--tests", "2000", "--json"]);
    let json = ended.json();
    assert_eq!(json["verdict"], "found");
    assert_eq!(json["k"], 4);
    let parameters = json["model"]["known"].as_array().unwrap();
    let value =
        |symbol: &str| parameters.iter().find(|one| one["symbol"] == symbol).unwrap()["value"].clone();
    assert_eq!(
        (value("F"), value("rho"), value("nan")),
        ("23".into(), "RZ-FP32".into(), "0x7fffffff".into())
    );
    assert!(json["order"]["tree"].as_str().unwrap().contains("of 5: c, p0…p3"), "{}", ended.out);
}

#[test]
fn what_names_no_unit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.toml");
    std::fs::write(&file, "model = 'FMA'\nA = 'f32'\nB = 'f32'\nC = 'f32'\nrho = 'RNE-FP32'\n").unwrap();
    let path = text(&file);
    for (unit, says) in [
        ("hopper", "unknown unit 'hopper'"),
        ("gpu:0", "unknown kind of unit 'gpu:'"),
        ("sim:hopper", "is not ARCH/INSTRUCTION"),
        ("sim:hoper/mma", "hoper"),
        ("sim:hopper/mma.m1n1k1", "mma.m1n1k1"),
        ("sim:ampere/mma.m8n8k4.f32.f16.f16.f32", "no model"),
        ("model:nowhere.toml@1x1x1", "nowhere.toml"),
        ("cuda:0", "is not cuda:N/INSTRUCTION"),
        ("cuda:x/HMMA.16816.F32", "is not cuda:N/INSTRUCTION"),
        (&format!("model:{path}"), "has no shape"),
        (&format!("model:{path}@8x8"), "has no shape"),
        (&format!("model:{path}@8x0x8"), "has no shape"),
        (&format!("model:{path}@8xax8"), "has no shape"),
    ] {
        let ended = bitmma(&["probe", unit]);
        assert!(ended.refused().contains(says), "{unit}: {}", ended.err);
    }
    assert!(bitmma(&["probe", VOLTA, "--resume"]).err.contains("--out"));
    // a folder that is a file
    assert!(bitmma(&["probe", VOLTA, "--out", path]).refused().contains("model.toml"));
}

/// The example of the protocol, but B read as if it lay column by column (K = 8, N = 4).
#[test]
#[cfg(unix)]
fn a_fault_is_shown_with_the_mistake_that_explains_it() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/protocol/unit.py");
    let source = std::fs::read_to_string(example).unwrap();
    let wrong = source.replace("b[k * N + j]", "b[j * K + k]");
    assert_ne!(source, wrong);
    let script = folder.path().join("unit.py");
    std::fs::write(&script, wrong).unwrap();
    let unit = format!("exec:python3 '{}'", text(&script));

    let ended = bitmma(&["probe", &unit, "--tests", "1000"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for words in [
        "FAULTY",
        "depends on position",
        "at row 0, column",
        "the unit answers 0x",
        "expected 0x",
        "a0 = 0x",
        "this mistake would explain it: B transposed: the unit reads B column-major",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }

    let json = bitmma(&["probe", &unit, "--tests", "1000", "--json"]);
    assert_eq!(json.code, Some(1), "{json:?}");
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["verdict"], "faulty");
    let fault = &json["faults"][0];
    assert_eq!(fault["fault"], "depends on position");
    assert_eq!(fault["explanation"], "B transposed: the unit reads B column-major");
    assert_eq!(fault["case"]["a"].as_array().unwrap().len(), 8);
    assert_eq!(fault["place"]["row"], 0);
    assert_ne!(fault["actual"], fault["expected"]);
    for code in ["actual", "expected"] {
        assert!(ended.out.contains(fault[code]["code"].as_str().unwrap()), "{fault}");
    }
}
