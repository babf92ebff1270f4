//! Numbers that are too small or too large: the message names the option, the value and what it may be.

use super::{F16, bitmma};

#[test]
fn counts_name_what_they_may_be() {
    let gemm = ["gemm", "hopper", F16, "-a", "a.npy", "-b", "b.npy", "-o", "d.npy"];
    let plan = ["plan", "rtx4060", "--type", "e4m3", "--n", "4", "--k", "64"];
    let calls = ["call", "rtx4060", "linear", "-a", "a.npy", "-b", "b.npy", "-o", "d.npy"];
    let verify = ["verify", "sim:hopper/HMMA.16816.F32"];
    let rows: [(&[&str], &str, &str); 13] = [
        (&gemm, "--threads", "from 1 to 4096"),
        (&gemm, "--split-k", "from 1 to 10^15"),
        (&gemm, "--promote-every", "from 1 to 10^15"),
        (&plan, "--m", "from 1 to 10^15"),
        (&plan, "--parts", "from 1 to 65536"),
        (&calls, "--threads", "from 1 to 4096"),
        (&verify, "--tests", "from 0 to 10^15"),
        (&verify, "--seed", "from 0 to 18446744073709551615"),
        (&["bench"], "--size", "from 1 to 32768"),
        (&["bench"], "--threads", "from 1 to 4096"),
        (&["golden", "hopper", F16], "--cases", "from 1 to 10000000"),
        (&["analyze", "bounds"], "--k", "from 1 to 1048576"),
        (&["verify-calls", "x"], "--show", "from 0 to 10^15"),
    ];
    for (command, option, allowed) in rows {
        let zero = if allowed.contains("from 0") { "-0.5" } else { "0" };
        for value in ["-1", zero, "99999999999999999999", "many"] {
            let ended = bitmma(&[command, &[option, value]].concat());
            let error = ended.refused();
            assert!(error.contains(&format!("'{value}' for '{option} <")), "{error}");
            assert!(error.contains(&format!("must be an integer {allowed}")), "{error}");
            assert!(!error.contains("tip"), "{error}");
        }
    }
    for (command, option, value) in [(&calls[..], "--explain", "-1,0"), (&verify, "--shard", "-1/3")] {
        let ended = bitmma(&[command, &[option, value]].concat());
        assert!(ended.refused().contains(&format!("'{value}' is not")), "{ended:?}");
    }
}
