//! `function`: values, digests, a file's results, and what is declined.

use std::process::Command;

use super::{bitmma, end};

const VALUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/tests/data/values.csv");

#[test]
fn values_beside_the_correctly_rounded() {
    let json = bitmma(&["function", "ex2", "turing", "-1.5", "0x3f000000", "nan", "--json"]).json();
    assert_eq!(json["form"], "ex2.approx.f32");
    let [first, second, third] = [0, 1, 2].map(|index| json["results"][index].clone());
    assert_eq!(
        (&first["y"]["code"], &first["nearest"]["code"]),
        (&"0x3eb504f2".into(), &"0x3eb504f3".into())
    );
    assert_eq!(first["ulps"], -1);
    assert_eq!((&second["y"]["code"], &second["ulps"]), (&"0x3fb504f3".into(), &0.into()));
    assert_eq!((&third["y"]["code"], &third["ulps"]), (&"0x7fffffff".into(), &serde_json::Value::Null));
    let ftz = bitmma(&["function", "rcp.approx.ftz.f32", "v100", "0x80000001", "--json"]).json();
    assert_eq!(ftz["results"][0]["y"]["code"], "0xff800000");
    let text = bitmma(&["function", "rsqrt", "h100", "2", "--explain"]);
    for part in ["consistent", "-1", "64: c0 = 0x2d413c7", "(0x17ffe0000) are cut"] {
        assert!(text.fine().contains(part), "{part}: {}", text.fine());
    }
    let zero = bitmma(&["function", "sin", "turing", "0x40490fdb", "--explain"]);
    assert!(zero.fine().contains("0x0, of which nothing is cut"), "{}", zero.fine());
    let flushed = bitmma(&["function", "rcp.approx.ftz.f32", "turing", "0x00000001", "--explain"]);
    assert!(flushed.fine().contains("special") && !flushed.fine().contains("c1·t"), "{}", flushed.fine());
    assert!(bitmma(&["function", "ex2", "turing", "--", "-inf"]).fine().contains("0x00000000"));
}

#[test]
fn what_is_not_known_is_declined_and_may_be_assumed() {
    let refused = |words: &[&str]| bitmma(&[&["function"], words].concat()).refused().to_owned();
    let text = refused(&["ex2", "h100", "1"]);
    assert!(text.contains("ex2 on hopper: unknown") && text.contains("--assume"), "{text}");
    let taken = bitmma(&["function", "ex2", "h100", "1", "--assume"]);
    assert!(taken.fine().contains("assumed: hopper computes ex2 as Volta and Turing do"), "{}", taken.fine());
    assert!(
        bitmma(&["function", "rcp", "h100", "1", "--assume"])
            .fine()
            .lines()
            .all(|line| !line.contains("assumed"))
    );
    assert!(refused(&["rcp", "mi300x", "1", "--assume"]).contains("no model"));
    assert!(refused(&["exp", "h100", "1"]).contains("unknown function 'exp'; one of rcp"));
    for name in ["tanh", "tanh.approx.f32", "ex2.approx.f16x2", "tanh.approx.bf16x2"] {
        let text = refused(&[name, "h100", "1"]);
        assert!(text.contains(&format!("'{name}'")) && text.contains("they have no model"), "{text}");
    }
    assert!(refused(&["ex2.ftz", "turing", "1"]).contains("as in ex2.approx.ftz.f32"));
    assert!(refused(&["ex2", "turing", "one"]).contains("VALUE[0]: 'one' is not a number"));
    assert!(refused(&["ex2", "turing"]).contains("no value"));
    let text = refused(&["ex2"]);
    let example =
        text.split('`').nth(1).unwrap().trim_start_matches("bitmma ").split(' ').collect::<Vec<_>>();
    assert!(
        text.contains("FUNCTION and ARCH") && bitmma(&example).code == Some(0),
        "the example runs: {text}"
    );
    assert!(refused(&["--gpu", "hip:0", "--out", "x"]).contains("cuda:N"));
}

/// All 256 take a while: with `BITMMA_TESTS=all`.
#[test]
fn digests_of_blocks() {
    let some = bitmma(&["function", "rcp", "turing", "--digest", "00", "0f"]);
    assert_eq!(some.fine(), "00 89d66b0fa30afe57\n0f 836331dae84a979d\n");
    for word in ["0", "100", "g0", "+1"] {
        let ended = bitmma(&["function", "rcp", "turing", "--digest", word]);
        assert!(ended.refused().contains(&format!("'{word}' is not a block")), "{ended:?}");
    }
    if std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all") {
        let all = bitmma(&["function", "rcp", "turing", "--digest"]);
        let lines: Vec<&str> = all.fine().lines().collect();
        assert_eq!((lines.len(), lines[0], lines[15]), (256, "00 89d66b0fa30afe57", "0f 836331dae84a979d"));
    }
}

#[test]
fn results_of_a_file() {
    assert!(bitmma(&["function", "--check", VALUES]).fine().contains("4438 results: all agree"));
    assert!(bitmma(&["function", "--check", VALUES, "h100"]).refused().contains("on hopper: unknown"));
    assert!(bitmma(&["function", "--check", VALUES, "h100", "--assume"]).fine().contains("assumed: hopper"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.csv");
    let check = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        bitmma(&["function", "--check", path.to_str().unwrap()])
    };
    let good = "# by hand\nfunction,x,y\n\nrcp,3f800000,0x3f800000\r\nrcp.approx.ftz.f32,00000001,7f800000\n";
    assert!(check(good.as_bytes()).fine().contains("2 results: all agree"));
    let ended = check(b"function,x,y\nex2,3f800000,40000001\n");
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("line 2: ex2.approx.f32 of 3f800000 (1): 40000001"), "{}", ended.out);
    assert!(ended.out.ends_with("1 result: 1 differs\n"), "{}", ended.out);
    let other = b"\xef\xbb\xbfy , X,device,Function\r\n0X3F800000, 3F800000,a,RCP\r\n\r\n# x\r\n";
    assert!(check(other).fine().contains("1 result: all agree"));
    let wrong: [(&[u8], &str); 10] = [
        (b"", "it looks like an empty file"),
        (b"x,y\n", "line 1: the header 'x,y' has no column 'function'"),
        (b"function,x,y,x\n", "line 1: the header 'function,x,y,x' has more than one column 'x'"),
        (b"function,x,y\n", "nothing to compare"),
        (b"function,x,y\nrcp,1\n", "line 2: it has 2 cells"),
        (b"function,x,y\nrcp,1,0,0\n", "line 2: it has 4 cells; the header has 3"),
        (b"function,x,y\nexp,1,0\n", "line 2: unknown function 'exp'"),
        (b"function,x,y\nrcp,1,123456789\n", "y is '123456789'"),
        (b"function,x,y\nrcp,+1,0\n", "x is '+1'"),
        (b"function,x,y\nrcp,\xff,0\n", "UTF-8"),
    ];
    for (text, message) in wrong {
        let ended = check(text);
        assert!(ended.refused().contains(message), "{message}: {ended:?}");
    }
}

#[test]
fn without_a_driver() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = super::command(&["function", "--gpu", "cuda:0", "--out", out.to_str().unwrap()]);
    let ended = end(command.env("BITMMA_LIBCUDA", folder.path().join("libcuda.so")));
    assert!(ended.refused().contains("libcuda.so"), "{ended:?}");
    assert!(!out.exists());
}

#[test]
fn a_rehearsed_session_skips_functions() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/gpu-session");
    let mut session = Command::new(script);
    session.arg("sim:hopper").env("BITMMA", assert_cmd::cargo::cargo_bin!("bitmma"));
    let ended = end(session.env("OUT", folder.path()).env("STEPS", "functions"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("functions: skipped for sim:hopper, the step needs an NVIDIA GPU"),
        "{ended:?}"
    );
    assert!(!folder.path().join("functions").exists());
}
