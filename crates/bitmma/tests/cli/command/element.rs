//! `explain --element`: an element of a whole product is that of `gemm`, in every order, and a D that departs is found out.

use serde_json::Value;

use super::end;
use crate::run::files::matrix;

/// Numbers of FP16 that follow from their place: a third of them small.
fn numbers(count: u64, seed: u64) -> Vec<u64> {
    let code = |at: u64| {
        let mixed = (at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let exponent = if mixed.is_multiple_of(3) { 6 } else { 15 };
        (exponent << 10) | (mixed & 0x3ff) | ((mixed >> 11 & 1) << 15)
    };
    (0..count).map(code).collect()
}

fn run(folder: &std::path::Path, line: &str) -> super::Ended {
    end(super::command(&line.split(' ').collect::<Vec<_>>()).current_dir(folder))
}

#[test]
fn an_element_is_that_of_gemm() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("a.npy", &matrix("<f2", (4, 200), &numbers(800, 1)));
    put("b.npy", &matrix("<f2", (200, 5), &numbers(1000, 7)));
    let c: Vec<u64> = (0..20).map(|at| 0x3f80_0000 + at * 0x1234).collect();
    put("c.npy", &matrix("<f4", (4, 5), &c));
    // FMA, FTZ-AddMul, T-FDPA of both vendors; K that is padded
    let instructions = [
        "h100 wgmma f16 f32",
        "v100 mma f16 f32 m8n8k4",
        "mi250x v_mfma_f32_32x32x8f16",
        "mi300x v_mfma_f32_16x16x16_f16",
    ];
    for instruction in instructions {
        for order in
            ["", " --split-k 3", " --promote-every 64", " --split-k 2 --promote-every 32", " --c-last"]
        {
            for c in ["", " -c c.npy"] {
                if order.contains("c-last") && c.is_empty() {
                    continue;
                }
                let operands = format!("{instruction} -a a.npy -b b.npy{c}{order}");
                run(folder.path(), &format!("gemm {operands} -o d.npy")).fine();
                for element in ["0,0", "3,4", "1,2"] {
                    let line = format!("explain {operands} --element {element} -d d.npy --json");
                    let ended = run(folder.path(), &line);
                    let page: Value = ended.json();
                    assert_eq!(page["departure"]["agrees"], true, "{line}: {}", page["d"]);
                    let steps = page["events"].as_array().unwrap();
                    // errors of steps add up to that of the chain where there is one
                    if order.is_empty() {
                        let errors: f64 =
                            steps.iter().map(|step| step["error"]["value"].as_f64().unwrap()).sum();
                        let total = page["error"]["value"].as_f64().unwrap();
                        assert!(
                            (errors - total).abs() <= 1e-12 * errors.abs().max(1e-3),
                            "{line}: {errors} and {total}"
                        );
                        let last = &steps[steps.len() - 1];
                        assert_eq!(last["total_error"]["value"], page["error"]["value"], "{line}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_d_that_departs_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("a.npy", &matrix("<f2", (2, 64), &numbers(128, 1)));
    put("b.npy", &matrix("<f2", (64, 2), &numbers(128, 9)));
    let hopper = "h100 mma.m16n8k16.f32.f16.f16.f32 -a a.npy -b b.npy";
    run(folder.path(), &format!("gemm {hopper} -o d.npy")).fine();
    // the last bit of the last element
    let mut d = std::fs::read(folder.path().join("d.npy")).unwrap();
    let last = d.len() - 4;
    d[last] ^= 1;
    put("d.npy", &d);
    let agrees = run(folder.path(), &format!("explain {hopper} --element 0,0 -d d.npy"));
    let answer = agrees.fine().lines().next().unwrap();
    assert!(answer.starts_with("D[0,0] ") && answer.ends_with("  agrees with d.npy"), "{}", agrees.out);
    let (_, error) = answer.split_once("  error ").unwrap();
    let error: f64 = error.split(' ').next().unwrap().parse().unwrap();
    let page: Value = run(folder.path(), &format!("explain {hopper} --element 0,0 --json")).json();
    let exact = page["error"]["value"].as_f64().unwrap();
    assert!((error - exact).abs() <= 0.05 * exact.abs(), "{error} and {exact}");
    let departs = run(folder.path(), &format!("explain {hopper} --element 1,1 -d d.npy"));
    assert_eq!(departs.code, Some(1));
    assert!(departs.out.lines().next().unwrap().ends_with("  d.npy differs"), "{}", departs.out);
    assert!(departs.out.contains("It departs at step"), "{}", departs.out);
    // of another GPU: the step at which both part, and its results are those of its own steps
    let ampere = "a100 mma.m16n8k16.f32.f16.f16.f32 -a a.npy -b b.npy";
    run(folder.path(), &format!("gemm {ampere} -o d.npy")).fine();
    let mut parted = 0;
    for element in ["0,0", "0,1", "1,0", "1,1"] {
        let line = format!("explain {hopper} --element {element} -d d.npy --json");
        let page: Value = serde_json::from_str(&run(folder.path(), &line).out).unwrap();
        let by = &page["computed_by"];
        if page["departure"]["agrees"] == true {
            assert!(by.is_null());
            continue;
        }
        parted += 1;
        assert!(by["chips"].as_array().unwrap().contains(&"A100".into()), "{by}");
        let step = by["step"].as_u64().unwrap() as usize;
        assert_eq!(page["events"][step]["result"]["code"], by["here"]["code"]);
        let line = format!("explain {ampere} --element {element} --json");
        let own: Value = serde_json::from_str(&run(folder.path(), &line).out).unwrap();
        let end = page["events"][step]["last"].clone();
        let events = own["events"].as_array().unwrap();
        let same = events.iter().find(|event| event["last"] == end).unwrap();
        assert_eq!(same["result"]["code"], by["there"]["code"]);
        assert_ne!(by["here"]["code"], by["there"]["code"]);
    }
    assert!(parted > 0, "the two agree on every element");
}

/// The steps that lose most come first, in decimal; the others on request. Nothing is wider than a terminal.
#[test]
fn steps_are_shown_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("a.npy", &matrix("<f2", (2, 1024), &numbers(2048, 1)));
    put("b.npy", &matrix("<f2", (1024, 2), &numbers(2048, 9)));
    let line = "explain h100 wgmma f16 f32 -a a.npy -b b.npy --element 1,0 --split-k 3";
    let rows = |out: &str| -> Vec<f64> {
        let rows = out.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        let errors = rows.filter_map(|line| line.split_whitespace().nth(3)?.parse().ok());
        errors.collect()
    };
    let short = run(folder.path(), line);
    let worst = rows(short.fine());
    assert!(worst.len() == 3 && worst.is_sorted_by(|one, other| one.abs() >= other.abs()), "{}", short.out);
    assert!(
        short
            .out
            .ends_with("\n--steps shows every step that loses something, and the worst one bit by bit\n")
    );
    let long = run(folder.path(), &format!("{line} --steps"));
    assert!(rows(long.fine()).len() > 40 && long.out.contains("   part 2   "), "{}", long.out);
    assert!(long.out.contains("e_max = ") && !long.out.contains("0x1."), "{}", long.out);
    let narrow = end(super::command(&line.split(' ').chain(["--steps"]).collect::<Vec<_>>())
        .current_dir(folder.path())
        .env("BITMMA_COLUMNS", "80"));
    let wide = narrow.fine().lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

#[test]
fn wrong_elements_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("a.npy", &matrix("<f2", (2, 64), &numbers(128, 1)));
    put("b.npy", &matrix("<f2", (64, 2), &numbers(128, 9)));
    let refused = |rest: &str| {
        let line = format!("explain h100 mma.m16n8k16.f32.f16.f16.f32 {rest}");
        run(folder.path(), &line).refused().to_owned()
    };
    let says = |rest: &str, words: &str| {
        let said = refused(rest);
        assert!(said.contains(words), "{rest}: {said}");
    };
    says("-a a.npy -b b.npy", "a.npy is a file; say which element of D: --element 0,0");
    says("-a a.npy -b b.npy --element 2,0", "element is 2,0; D is 2×2");
    says("-a a.npy -b b.npy --element 2", "--element is [2]; it is ROW,COLUMN");
    says("-a 1 -b b.npy --element 0,0", "--a is '1', and --element takes files");
    says("-a a.npy -b a.npy --element 0,0", "A is 2×64, B 2×64");
}
