//! The command as a user meets it: what it prints, how it ends, what it refuses.

mod analyze;
mod catalogue;
mod compare;
mod counts;
mod element;
mod endless;
mod examples;
mod explain;
mod function;
mod json;
mod kernel;
mod layout;
mod pages;
mod probe;
mod record;
mod replay;
mod values;

use std::path::Path;
use std::process::Command;

const F16: &str = "mma.m16n8k16.f32.f16.f16.f32";
const EQUATION_1: [&str; 6] = ["-a", "-8192 -0.5 -0.25 -0.125", "-b", "1024 1 1 1", "-c", "0x1p23"];

/// How a command ended and what it wrote.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    /// The standard output, of a command that must have ended well.
    #[track_caller]
    fn fine(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.out
    }

    /// The standard error, of a command that must have been refused with nothing written.
    #[track_caller]
    fn refused(&self) -> &str {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.contains("error: "), "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        &self.err
    }

    #[track_caller]
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.fine()).unwrap()
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = without_ptxas(assert_cmd::cargo::cargo_bin!("bitmma"));
    command.args(arguments);
    command
}

/// A line of a shell, in which the command is found.
fn shell(line: &str, folder: &Path) -> Command {
    let mut shell = without_ptxas(Path::new("sh"));
    shell.args(["-c", line]).current_dir(folder);
    shell
}

/// What a user's ptxas makes of a kernel is not what the tests keep.
fn without_ptxas(program: &Path) -> Command {
    let own = Path::new(assert_cmd::cargo::cargo_bin!("bitmma")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("ptxas").exists());
    let folders = std::iter::once(own.to_owned()).chain(folders);
    let mut command = Command::new(program);
    command.env("PATH", std::env::join_paths(folders).unwrap());
    for name in ["CUDA_HOME", "CUDA_PATH", "BITMMA_CUDA_TOOLS"] {
        command.env_remove(name);
    }
    command
}

fn bitmma(arguments: &[&str]) -> Ended {
    end(&mut command(arguments))
}

fn end(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The cells of a printed row: columns stand two or more blanks apart.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Whoever reads the output may stop whenever they like.
#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [&["list"][..], &["list", "--json"], &["compare", "--json"], &["list", "--help"]] {
        let mut child = command(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert!(output.status.code().is_some_and(|code| code == 0), "{arguments:?}: {:?}", output.status);
    }
}

#[test]
fn version_and_help() {
    assert_eq!(bitmma(&["--version"]).fine(), format!("bitmma {}\n", env!("CARGO_PKG_VERSION")));
    for command in ["list", "show", "compare", "explain", "explore", "dot", "run", "replay", "generate"] {
        let ended = bitmma(&[command, "--help"]);
        assert!(ended.fine().contains("Example"), "{command}: {}", ended.out);
    }
    assert_eq!(bitmma(&[]).code, Some(2));
    bitmma(&["lst"]).refused();
    bitmma(&["list", "--nonsense"]).refused();
}

#[test]
fn explore_names_a_port_that_is_used_or_wrong() {
    let used = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = used.local_addr().unwrap().port().to_string();
    let refusal = bitmma(&["explore", "--no-browser", "--port", &port]);
    let error = refusal.refused();
    let wanted = format!("port {port}: another program uses it; choose another --port, or leave it out");
    assert!(error.contains(&wanted), "{error}");
    for port in ["0", "70000", "-1", "80.0", "true"] {
        let refusal = bitmma(&["explore", "--no-browser", &format!("--port={port}")]);
        let error = refusal.refused();
        assert!(error.contains(port) && error.contains("--port"), "{error}");
    }
}

#[test]
fn no_colour_where_there_is_no_terminal() {
    for arguments in [&["list"][..], &["compare"], &["show", "hopper", F16]] {
        assert!(!bitmma(arguments).fine().contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn completions_and_man_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = bitmma(&["generate", "completions", shell]);
        assert!(ended.fine().contains("compare"), "{shell}");
        let knows_names = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(ended.out.contains("v_mfma_f32_32x32x8_f16"), knows_names, "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man");
    bitmma(&["generate", "man", path.to_str().unwrap()]).fine();
    let mut pages: Vec<_> =
        std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    pages.sort();
    assert_eq!(
        pages,
        [
            "bitmma-analyze.1",
            "bitmma-bench.1",
            "bitmma-call.1",
            "bitmma-compare.1",
            "bitmma-diff.1",
            "bitmma-dot.1",
            "bitmma-explain.1",
            "bitmma-explore.1",
            "bitmma-function.1",
            "bitmma-gemm.1",
            "bitmma-generate.1",
            "bitmma-golden.1",
            "bitmma-kernel.1",
            "bitmma-list.1",
            "bitmma-plan.1",
            "bitmma-probe.1",
            "bitmma-record.1",
            "bitmma-replay.1",
            "bitmma-report.1",
            "bitmma-run.1",
            "bitmma-serve.1",
            "bitmma-show.1",
            "bitmma-verify-calls.1",
            "bitmma-verify.1",
            "bitmma-which.1",
            "bitmma.1"
        ]
    );
}
