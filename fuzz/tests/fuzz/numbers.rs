//! Every option that takes a number, at every number at which something ends: no abort, no hang, at most 1 GiB.
//!
//! The options are those that the help names; one that has no line here fails the test.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use bitmma_fuzz::bases::{npy, numbered_model};
use bitmma_fuzz::case::Case;

use crate::{all, command, in_parallel};

/// Zero, negative, and where a type, a memory or a number ends.
#[rustfmt::skip]
const VALUES: [&str; 21] = [
    "0", "-1", "1000000", "1e12", "18446744073709551615",
    // the others with BITMMA_TESTS=all
    "1", "2", "2147483647", "2147483648", "4294967295", "4294967296", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "-9223372036854775809", "1e300", "0.5", "nan", "inf", "many",
];
/// Those that every run tries.
const FEW: usize = 5;

/// A command line in which `VALUE` is the number.
struct Row {
    /// The command and the option that the number is of, as the help names it.
    option: (&'static str, &'static str),
    words: &'static str,
    /// Whether the number says how much is to be done, which takes as long as it takes.
    is_work: bool,
}

const fn row(command: &'static str, option: &'static str, words: &'static str) -> Row {
    Row { option: (command, option), words, is_work: false }
}

const fn work(command: &'static str, option: &'static str, words: &'static str) -> Row {
    Row { option: (command, option), words, is_work: true }
}

/// How long work goes on before it is enough.
const ENOUGH: Duration = Duration::from_millis(500);

#[rustfmt::skip]
const ROWS: [Row; 67] = [
    row("gemm", "--k-step", "gemm --model model.toml -a a.npy -b b.npy -o d.npy --k-step VALUE"),
    row("gemm", "--split-k", "gemm hopper HMMA.16816.F32 -a a.npy -b b.npy -o d.npy --split-k VALUE"),
    row("gemm", "--promote-every", "gemm hopper HMMA.16816.F32 -a a.npy -b b.npy -o d.npy --promote-every VALUE"),
    row("gemm", "--scale-blocks", "gemm hopper HMMA.16816.F32 -a a.npy -b b.npy --scale-a s.npy --scale-b s.npy --scale-blocks VALUExVALUE,VALUExVALUE -o d.npy"),
    row("gemm", "--alpha", "gemm hopper HMMA.16816.F32 -a a.npy -b b.npy -o d.npy --alpha VALUE"),
    row("gemm", "--beta", "gemm hopper HMMA.16816.F32 -a a.npy -b b.npy -o d.npy --beta VALUE"),
    row("gemm", "--threads", "gemm hopper HMMA.16816.F32 -a a.npy -b b.npy -o d.npy --threads VALUE"),
    row("gemm", "--parts", "gemm --like rtx4060 -a e.safetensors -b e.safetensors --bt --fast -o d.npy --parts VALUE"),
    row("gemm", "--workspace", "gemm --like rtx4060 -a e.safetensors -b e.safetensors --bt -o d.npy --workspace VALUE"),
    row("gemm", "INSTRUCTION", "gemm hopper wgmma.m64nVALUEk16.f32.f16.f16 -a a.npy -b b.npy -o d.npy"),
    row("gemm", "INSTRUCTION", "gemm hopper wgmma.mVALUEnVALUEkVALUE.f32.f16.f16 -a a.npy -b b.npy -o d.npy"),
    row("run", "INSTRUCTION", "run hopper wgmma.m64nVALUEk16.f32.f16.f16 -a a.npy -b b.npy -o d.npy"),
    row("show", "INSTRUCTION", "show hopper wgmma.m64nVALUEk16.f32.f16.f16"),
    row("show", "INSTRUCTION", "show hopper tl.dot(f16,f16,max_num_imprecise_acc=VALUE)"),
    row("show", "ARCH", "show sm_VALUE HMMA"),
    row("explain", "--k", "explain --model model.toml -a 1 -b 1 --k VALUE"),
    row("explain", "--a", "explain --model model.toml -a VALUE -b 1"),
    row("explain", "--c", "explain hopper HMMA.16816.F32 -a 1 -b 1 -c VALUE"),
    row("explain", "--element", "explain hopper HMMA.16816.F32 -a a.npy -b b.npy --element VALUE,VALUE"),
    row("explain", "--split-k", "explain hopper HMMA.16816.F32 -a a.npy -b b.npy --element 0,0 --split-k VALUE"),
    row("explain", "--promote-every", "explain hopper HMMA.16816.F32 -a a.npy -b b.npy --element 0,0 --promote-every VALUE"),
    row("explain", "--k-step", "explain --model model.toml -a a.npy -b b.npy --element 0,0 --k-step VALUE"),
    row("dot", "--k", "dot --model model.toml -a 1 -b 1 --k VALUE"),
    row("dot", "--a", "dot hopper HMMA.16816.F32 -a VALUEeVALUE -b 0x1pVALUE"),
    row("dot", "--scale-a", "dot rtx-blackwell mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3 -a 1 -b 1 --scale-a VALUE"),
    row("compare", "--a", "compare -a VALUE -b VALUE -c VALUE"),
    row("serve", "--start-limit", "serve exec:false --start-limit VALUE"),
    row("serve", "--batch-limit", "serve exec:false --batch-limit VALUE"),
    row("golden", "--k", "golden --model model.toml --cases 3 --k VALUE"),
    work("golden", "--cases", "golden hopper HMMA.16816.F32 --cases VALUE"),
    row("golden", "--seed", "golden hopper HMMA.16816.F32 --cases 3 --seed VALUE"),
    work("record", "--samples", "record sim:hopper/HMMA.16816.F32 --directed 1 --samples VALUE"),
    row("record", "--directed", "record sim:hopper/HMMA.16816.F32 --samples 1 --directed VALUE"),
    row("record", "--seed", "record sim:hopper/HMMA.16816.F32 --samples 1 --directed 1 --seed VALUE"),
    row("record", "--start-limit", "record exec:false --start-limit VALUE"),
    row("record", "--batch-limit", "record exec:false --batch-limit VALUE"),
    work("verify", "--tests", "verify sim:hopper/HMMA.16816.F32 --tests VALUE"),
    row("verify", "--seed", "verify sim:hopper/HMMA.16816.F32 --tests 1 --seed VALUE"),
    row("verify", "--shard", "verify sim:hopper/HMMA.16816.F32 --tests 1 --shard VALUE/VALUE"),
    row("verify", "--start-limit", "verify exec:false --start-limit VALUE"),
    row("verify", "--batch-limit", "verify exec:false --batch-limit VALUE"),
    row("verify", "UNIT", "verify model:model.toml@VALUExVALUExVALUE --tests 1"),
    row("verify", "UNIT", "verify cuda:VALUE/HMMA.16816.F32 --tests 1"),
    work("probe", "--tests", "probe sim:volta/mma.m8n8k4.f32.f16.f16.f32 --tests VALUE"),
    work("probe", "--seed", "probe sim:volta/mma.m8n8k4.f32.f16.f16.f32 --tests 1 --seed VALUE"),
    row("probe", "--start-limit", "probe exec:false --start-limit VALUE"),
    row("probe", "--batch-limit", "probe exec:false --batch-limit VALUE"),
    row("verify-calls", "--show", "verify-calls plans.csv --show VALUE"),
    work("bench", "--size", "bench --arch volta --instruction mma.m8n8k4.f32.f16.f16.f32 --size VALUE"),
    work("bench", "--threads", "bench --arch volta --instruction mma.m8n8k4.f32.f16.f16.f32 --size 8 --threads VALUE"),
    work("analyze", "--k", "analyze workarounds hopper HMMA.16816.F32 --quick --k VALUE"),
    row("analyze", "--scale", "analyze workarounds hopper HMMA.16816.F32 --quick --k 64 --scale VALUE"),
    row("analyze", "--seed", "analyze workarounds hopper HMMA.16816.F32 --quick --k 64 --seed VALUE"),
    work("report", "--k", "report hopper HMMA.16816.F32 --quick --only workarounds --out report --k VALUE"),
    work("report", "--scale", "report hopper HMMA.16816.F32 --quick --only workarounds --out report --scale VALUE"),
    work("report", "--seed", "report hopper HMMA.16816.F32 --quick --only risks --out report --seed VALUE"),
    row("call", "--parts", "call rtx4060 scaled_mm -a e.safetensors -b e.safetensors --bt --fast -o d.npy --parts VALUE"),
    row("call", "--workspace", "call rtx4060 scaled_mm -a e.safetensors -b e.safetensors --bt -o d.npy --workspace VALUE"),
    row("call", "--explain", "call rtx4060 scaled_mm -a e.safetensors -b e.safetensors --bt --fast --parts 2 -o d.npy --explain VALUE,VALUE"),
    row("call", "--threads", "call rtx4060 scaled_mm -a e.safetensors -b e.safetensors --bt --fast --parts 2 -o d.npy --threads VALUE"),
    row("call", "--scale-a", "call rtx4060 scaled_mm -a e.safetensors -b e.safetensors --bt --fast --parts 2 -o d.npy --scale-a VALUE"),
    row("plan", "--m", "plan rtx4060 --type e4m3 --fast --parts 2 --m VALUE --n VALUE --k 64"),
    row("plan", "--n", "plan h100-pcie --type e4m3 --m 16 --n VALUE --k 64"),
    row("plan", "--k", "plan h100-sxm/cublaslt-13.1.1 --type f16 --out-type f16 --m 1 --n 16 --k VALUE --lt-config {\"id\":13,\"splitk\":VALUE,\"reduction\":0,\"custom\":VALUE,\"stages\":VALUE}"),
    row("plan", "--k", "plan h100-sxm/cublaslt-13.1.1 --type f16 --out-type f16 --m 16 --n 16 --k VALUE --lt-config {\"id\":21,\"splitk\":3,\"reduction\":2,\"stages\":14}"),
    row("plan", "--parts", "plan rtx4060 --type e4m3 --fast --m 16 --n 16 --k 64 --parts VALUE"),
    row("plan", "--workspace", "plan h100-pcie --type e4m3 --m 16 --n 16 --k 64 --workspace VALUE"),
];

/// Lines whose number is in a model file: `KEY = VALUE` of a sum with chains.
const KEYS: [&str; 8] = ["L_max", "F", "F2", "e_zero_c", "product_overflow", "run", "period", "count"];

fn cases() -> Vec<(Case, bool)> {
    let files = |value: &str, key: &str| {
        vec![
            ("model.toml".to_owned(), numbered_model(key, value).into_bytes()),
            ("a.npy".to_owned(), npy("<f2", &[3, 40])),
            ("b.npy".to_owned(), npy("<f2", &[40, 5])),
            ("s.npy".to_owned(), npy("<f4", &[1, 1])),
            ("e.safetensors".to_owned(), bitmma_fuzz::bases::safetensors(&[("x", "F8_E4M3", &[16, 32], 8)])),
            ("plans.csv".to_owned(), bitmma_fuzz::bases::FIXTURES.as_bytes().to_vec()),
        ]
    };
    let values = if all() { &VALUES[..] } else { &VALUES[..FEW] };
    let mut cases = Vec::new();
    for value in values {
        for Row { option, words, is_work } in &ROWS {
            let words: Vec<String> = words.split(' ').map(|word| word.replace("VALUE", value)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let name = format!("{} {} {value}", option.0, option.1);
            cases.push((Case::new(&name, &words, files("", "")), *is_work));
        }
        for key in KEYS {
            let words = ["gemm", "--model", "model.toml", "-a", "a.npy", "-b", "b.npy", "-o", "d.npy"];
            cases.push((Case::new(&format!("model {key} = {value}"), &words, files(value, key)), false));
        }
    }
    cases
}

#[test]
fn every_number_of_every_option() {
    let (command, cases) = (command(), cases());
    let failures = in_parallel(cases.len() as u64, None, |index| {
        let (case, is_work) = &cases[index as usize];
        let ended = case.run(&command, is_work.then_some(ENOUGH)).expect("the command starts");
        if ended.stopped && *is_work { None } else { case.wrong(&ended) }
    });
    println!("{} command lines", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Names that the help gives to values that are numbers, of one or of several.
const NUMBERS: [&str; 10] =
    ["N", "K", "SEED", "COUNT", "BYTES", "SECONDS", "FACTOR", "BLOCKS", "I/N", "ROW,COLUMN"];

#[test]
fn no_option_is_left_out() {
    let command = command();
    let help = |words: &[&str]| {
        let output = Command::new(&command).args(words).output().expect("it starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    // the short help has one line for each group: Ask: list, show, …
    let top = help(&["-h"]);
    let groups = top.lines().skip_while(|line| !line.starts_with("Ask:")).take_while(|line| !line.is_empty());
    let commands: Vec<&str> =
        groups.filter_map(|line| Some(line.split_once(':')?.1.split(','))).flatten().map(str::trim).collect();
    assert!(commands.len() >= 15, "{commands:?}");
    let mut missing = BTreeSet::new();
    for command in commands {
        for line in help(&[command, "--help"]).lines() {
            let mut words = line.split_whitespace().skip_while(|word| !word.starts_with("--"));
            let (Some(option), Some(value)) = (words.next(), words.next()) else { continue };
            let is_number = value.strip_prefix('<').and_then(|value| value.strip_suffix('>'));
            let is_option = line.starts_with("  ") && is_number.is_some_and(|value| NUMBERS.contains(&value));
            if is_option && !ROWS.iter().any(|row| row.option == (command, option)) {
                missing.insert(format!("{command} {option} {value}"));
            }
        }
    }
    assert!(missing.is_empty(), "no line for {missing:?}");
}
