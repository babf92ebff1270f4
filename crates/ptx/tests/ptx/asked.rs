//! What ptxas fuses and folds as it says itself: texts that no rule on the text alone has got right. Skipped without ptxas.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bitmma_ptx::{Compiler, Fusion, Mode, Program, Tools};

use crate::body::{compiled, kernel, result_of, result_or_error};
use crate::sass::assemble::Tools as Found;

const TARGETS: [&str; 3] = ["sm_80", "sm_90a", "sm_100a"];

/// The compiler of each target that can be asked.
fn compilers() -> Vec<(&'static str, Compiler)> {
    let one = |target| Some((target, Compiler::Asked(Found::find(target)?.asked())));
    TARGETS.into_iter().filter_map(one).collect()
}

fn of(value: f32) -> u64 {
    value.to_bits().into()
}

/// Lines of products and additions; the body starts on line 8.
fn fused(body: &str, expected: &[(u32, u32)]) {
    for (target, compiler) in compilers() {
        let kernel = compiled(target, &compiler, body);
        assert_eq!(kernel.doubts(), [], "{target}: {body}");
        let mut lines = kernel.rewrites().fused.clone();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{target}: {body}");
        assert_eq!(kernel.rewrites().fusion.word(), "asked", "{}", kernel.rewrites().fusion);
        assert!(kernel.rewrites().fusion.remark().starts_with("ptxas 1"), "{}", kernel.rewrites().fusion);
    }
}

#[test]
fn of_two_products_the_operands_say_which_is_fused() {
    // the quotient is needed as it is, so the other one is fused
    let body = "div.full.f32 %r5, %r1, %r2;\ndiv.full.f32 %r6, %r3, %r4;\nadd.f32 %r7, %r5, %r6;\n\
                st.global.f32 [%d10+40], %r7;\nadd.f32 %r9, %r5, %r4;";
    fused(body, &[(9, 10)]);
    // a product added to itself
    let body = "mul.f32 %r5, %r1, %r2;\nmul.f32 %r6, %r3, %r4;\nadd.f32 %r7, %r5, %r6;\nadd.f32 %r8, %r5, %r5;\n\
                st.global.f32 [%d10+40], %r8;\nmov.b32 %r9, %r7;";
    fused(body, &[(9, 10)]);
    let (a, b, c, e) = (1.0f32 + f32::EPSILON, 1.0f32 - f32::EPSILON, 3.0f32, 1.0f32 / 3.0);
    for (target, compiler) in compilers() {
        let kernel = compiled(
            target,
            &compiler,
            "mul.f32 %r5, %r1, %r2;\nst.global.f32 [%d10+40], %r5;\nmul.f32 %r6, %r3, %r4;\nadd.f32 %r9, %r5, %r6;",
        );
        assert_eq!(result_of(&kernel, target, [a, b, c, e].map(of)), of(c.mul_add(e, a * b)), "{target}");
    }
}

#[test]
fn a_product_is_found_through_operations_that_change_nothing() {
    for between in [
        "mul.f32 %r6, %r5, 0f3F800000;",
        "div.full.f32 %r6, %r5, 0f3F800000;",
        "mov.b64 %d5, {%r5, %r4}; mov.b64 {%r6, %r7}, %d5;",
        "cvt.f32.f32 %r6, %r5;",
        "and.b32 %r6, %r5, -1;",
        "max.f32 %r6, %r5, %r5;",
        "setp.lt.f32 %p1, %r1, %r2; selp.b32 %r6, %r5, %r5, %p1;",
        "mov.b32 %r6, %r5; bra.uni J; J:",
    ] {
        fused(&format!("mul.f32 %r5, %r1, %r2;\n{between}\nadd.f32 %r9, %r6, %r3;"), &[(8, 10)]);
    }
    // packed halves: a sum is written as a multiply-add by one
    fused("max.f16x2 %r5, %r1, %r2;\nadd.f16x2 %r6, %r5, %r3;\nadd.f16x2 %r9, %r6, %r5;", &[]);
    fused("mul.f16x2 %r5, %r1, %r2;\nadd.f16x2 %r6, %r5, %r3;\nadd.f16x2 %r9, %r6, %r5;", &[(8, 9), (8, 10)]);
}

#[test]
fn without_a_product_nothing_is_fused() {
    // ptxas makes one addition of the two whose upper halves nobody reads
    let folded = |sum: &str, half: &str| {
        format!(
            "mov.b32 {{_, %h7}}, {sum}; mov.b32 %r7, {{%h7, %h8}}; add.f16x2 %r7, {sum}, %r7; mov.b32 {{{half}, _}}, %r7;\n\
             cvt.u32.u16 %r8, {half}; shfl.sync.bfly.b32 %r8, %r8, 2, 31, -1; cvt.u16.u32 %h7, %r8; add.f16 {half}, {half}, %h7;\n"
        )
    };
    let (one, other) = (folded("%r5", "%h1"), folded("%r6", "%h2"));
    let sums = "add.f16x2 %r11, %r1, %r2; add.f16x2 %r12, %r3, %r4; add.f16x2 %r5, %r11, %r12;\n\
                add.f16x2 %r13, %r1, %r3; add.f16x2 %r14, %r2, %r4; add.f16x2 %r6, %r13, %r14;\n";
    fused(&format!("{sums}{one}{other}add.f16 %h9, %h1, %h2;"), &[]);
}

#[test]
fn calls_and_indirect_branches_are_followed() {
    let call = "{ .param .b64 f; .param .b64 a; .param .b32 d; st.param.b64 [f], %d10; st.param.b64 [a], %d10; call.uni (d), vprintf, (f, a); }";
    // before a call, behind it, and across it, where ptxas leaves a product that it has already
    fused(&format!("mul.f32 %r5, %r1, %r2;\nadd.f32 %r9, %r5, %r3;\n{call}"), &[(8, 9)]);
    fused(&format!("{call}\nmul.f32 %r5, %r1, %r2;\nadd.f32 %r9, %r5, %r3;"), &[(9, 10)]);
    fused(&format!("mul.f32 %r5, %r1, %r2;\n{call}\nadd.f32 %r9, %r5, %r3;"), &[]);
    let table = "list: .branchtargets A, B, C;\nmul.f32 %r5, %r1, %r2; mul.f32 %r6, %r2, %r4;\nbrx.idx %r4, list;\nA:\nadd.f32 %r9, %r5, %r3;\nbra C;\nB:\nadd.f32 %r9, %r6, %r3; st.global.f32 [%d10], %r6;\nC:\nadd.f32 %r9, %r9, %r5;";
    fused(table, &[]);
}

#[test]
fn constant_turns_are_unrolled_first() {
    let body = "mul.f32 %r5, %r1, %r2;\nmov.b32 %r9, %r3; mov.b32 %r6, 0;\nW: add.f32 %r9, %r5, %r9;\n\
                add.s32 %r6, %r6, 1; setp.lt.s32 %p1, %r6, 4; @%p1 bra W;";
    fused(body, &[(8, 10)]);
    let (a, b, c) = (1.0f32 + f32::EPSILON, 1.0f32 - f32::EPSILON, -1.0f32);
    let expected = (0..4).fold(c, |sum, _| a.mul_add(b, sum));
    for (target, compiler) in compilers() {
        let kernel = compiled(target, &compiler, body);
        assert_eq!(result_of(&kernel, body, [of(a), of(b), of(c), 0]), of(expected), "{target}");
    }
}

#[test]
fn a_product_with_a_constant_factor_is_computed_again_in_another_block() {
    let body = "mul.ftz.f32 %r5, %r1, 0f3F317218;\nst.global.f32 [%d10+40], %r2;\nsetp.lt.f32 %p1, %r2, %r3;\n\
                mov.b32 %r9, %r4;\n@%p1 bra J;\nmembar.gl;\nsub.ftz.f32 %r9, %r4, %r5;\nJ:";
    fused(body, &[(8, 14)]);
    let (a, e) = (1.2345678f32, 0.85573f32);
    for (target, compiler) in compilers() {
        let kernel = compiled(target, &compiler, body);
        let operands = [of(a), of(1.0), of(0.0), of(e)];
        let expected = (-a).mul_add(f32::from_bits(0x3f31_7218), e);
        assert_eq!(result_of(&kernel, body, operands), of(expected), "{target}");
    }
}

#[test]
fn functions_of_constants_are_folded_where_the_code_has_none() {
    for (function, x, expected) in [
        ("sin.approx.f32", 3.0f32, 0x3e10_81c3u64),
        ("cos.approx.f32", 3.0, 0xbf7d_7026),
        ("ex2.approx.f32", -3.0, 0x3e00_0000),
    ] {
        let body = format!("mov.b32 %r5, 0f{:08X};\n{function} %r9, %r5;", x.to_bits());
        for (target, compiler) in compilers() {
            let kernel = compiled(target, &compiler, &body);
            assert_eq!(kernel.rewrites().folded, [9], "{target}: {body}");
            assert_eq!(result_of(&kernel, &body, [0; 4]), expected, "{target}: {body}");
        }
    }
    for (target, compiler) in compilers() {
        assert!(
            compiled(target, &compiler, "ex2.approx.f32 %r9, %r1;").rewrites().folded.is_empty(),
            "{target}"
        );
    }
}

#[test]
fn each_kernel_says_how_its_fusion_is_known() {
    let body = "mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;";
    let word = |compiler: &Compiler| compiled("sm_80", compiler, body).rewrites().fusion.clone();
    assert_eq!(word(&Compiler::Text), Fusion::Text);
    assert_eq!(word(&Compiler::Predicted(None)), Fusion::Predicted(None));
    assert_eq!(word(&Compiler::Off), Fusion::Off);
    assert!(compiled("sm_80", &Compiler::Off, body).rewrites().fused.is_empty());
    assert_eq!(kernel("sm_80", Mode::Gpu, body).rewrites().fused, [(8, 8)]);
    // where nothing can be asked, the rule takes over and says why
    let missing = Tools {
        assemblers: vec![PathBuf::from("/nowhere/ptxas")],
        disassemblers: vec![PathBuf::from("/nowhere/nvdisasm")],
        ..Tools::default()
    };
    let fusion = word(&Compiler::AskedIfPossible(missing));
    assert!(matches!(&fusion, Fusion::Predicted(Some(why)) if why.contains("/nowhere/ptxas")), "{fusion}");
}

#[test]
fn of_a_product_and_itself_the_signs_say_which_is_fused() {
    let body = "mul.f32 %r5, %r1, %r2;\nmul.f32 %r6, %r2, %r1;\nsub.f32 %r9, %r5, %r6;\nst.global.f32 [%d10+40], %r5;";
    let (a, b) = (1.2345678f32, 0.8765432f32);
    for (target, compiler) in compilers() {
        let kernel = compiled(target, &compiler, body);
        let expected = of((-a).mul_add(b, a * b));
        assert_ne!(expected, of(a.mul_add(b, -(a * b))));
        assert_eq!(result_of(&kernel, body, [of(a), of(b), 0, 0]), expected, "{target}");
    }
}

#[test]
fn a_sum_of_constants_that_is_a_tie_is_doubtful() {
    // ptxas 12.9 makes it 3fb351c7, 13.4 3fb351c8
    let body = "mov.b32 %r5, 0f3FE19264; mov.b32 %r6, 0fBEB90272;\nadd.f32 %r9, %r5, %r6;";
    let product = format!("{body}\nmul.f32 %r7, %r1, %r2;\nst.global.f32 [%d10+40], %r7;");
    let compilers = compilers().into_iter().map(|(target, compiler)| (target, compiler, body));
    for (target, compiler, body) in compilers.chain([("sm_80", Compiler::Predicted(None), product.as_str())])
    {
        let kernel = compiled(target, &compiler, body);
        assert_eq!(kernel.doubts().len(), 1, "{target}: {:?}", kernel.doubts());
        assert_eq!(kernel.doubts()[0].line, 9);
    }
    // nothing is a tie where the magnitudes are added
    let body = body.replace("BEB90272", "3EB90272");
    for (target, compiler) in self::compilers() {
        assert_eq!(compiled(target, &compiler, &body).doubts(), [], "{target}");
    }
}

/// Scripts in a folder of their own, which goes when this does.
#[cfg(unix)]
struct Scripts(PathBuf);

#[cfg(unix)]
impl Scripts {
    fn new(name: &str) -> Scripts {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Scripts(path)
    }

    fn tool(&self, name: &str, script: &str, mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        path
    }

    /// An assembler that is a script, with a disassembler.
    fn tools(&self, assembler: &str, disassembler: &str) -> Tools {
        Tools {
            assemblers: vec![self.tool("ptxas", assembler, 0o755)],
            disassemblers: vec![self.tool("nvdisasm", disassembler, 0o755)],
            ..Tools::default()
        }
    }
}

#[cfg(unix)]
impl Drop for Scripts {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("removed");
    }
}

/// A text for tools that do not read it.
#[cfg(unix)]
const ANY: &str =
    ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 p) { ret; }";

/// Why tools that are asked give nothing.
#[cfg(unix)]
fn refusal(tools: &Tools, text: &str) -> String {
    let program = Program::parse(text).expect("a text");
    let compiled = |compiler: &Compiler| program.compiled(None, None, compiler);
    let kernel = compiled(&Compiler::AskedIfPossible(tools.clone())).expect("a kernel");
    assert_eq!(kernel.rewrites().fusion.word(), "predicted");
    kernel.rewrites().fusion.remark().to_owned()
}

/// Executables that do other things than an assembler.
#[cfg(unix)]
#[test]
fn tools_that_fail_say_so() {
    let scripts = Scripts::new("failing");
    let code = "for last; do :; done; [ \"$last\" = --version ] || echo code > \"$last\"";
    for (name, script, mode, why) in [
        ("fails", "echo 'ptxas fatal: no' >&2; exit 3", 0o755, "ptxas fatal: no"),
        ("dies", "kill -SEGV $$", 0o755, "signal"),
        ("silent", "exit 0", 0o755, "numbered.cubin': No such file"),
        ("garbage", code, 0o755, "section"),
        ("closed", code, 0o644, "denied"),
    ] {
        let shows = scripts.tool("shows", "echo ' .section .text.one'; echo garbage", 0o755);
        let tools = Tools {
            assemblers: vec![scripts.tool(name, script, mode)],
            disassemblers: vec![shows],
            ..Tools::default()
        };
        let said = refusal(&tools, ANY);
        assert!(said.contains(why), "{name}: {said}");
        // who insists gets no prediction
        let program = Program::parse(ANY).expect("a text");
        let error = program.compiled(None, None, &Compiler::Asked(tools)).expect_err(name).to_string();
        assert!(error.starts_with("ptxas was asked what it fuses") && error.contains(why), "{error}");
    }
    let said = refusal(&scripts.tools(code, "echo broken >&2; exit 1"), ANY);
    assert!(said.contains("nvdisasm: exit status: 1: broken"), "{said}");
}

#[cfg(unix)]
#[test]
fn only_a_failure_of_the_text_is_kept() {
    let scripts = Scripts::new("kept");
    let runs = scripts.0.join("runs");
    for (name, said, count) in [
        ("rejects", "ptxas /x/numbered.ptx, line 4; error   : no", 1),
        ("option", "ptxas fatal   : Value 'sm_80' is not defined for option 'gpu-name'", 1),
        ("space", "ptxas fatal   : Internal error: writing file", 2),
    ] {
        let script = format!(
            "for last; do :; done; [ \"$last\" = --version ] && echo V1.2.3 && exit
             case \"$last\" in */numbered.cubin) exit 0;; esac
             echo run >> {}; echo \"{said}\" >&2; exit 255",
            runs.display()
        );
        std::fs::write(&runs, "").expect("written");
        let tools = Tools { options: vec![name.to_owned()], ..scripts.tools(&script, "exit 1") };
        let (once, again) = (refusal(&tools, ANY), refusal(&tools, ANY));
        assert_eq!(once, again);
        // a text is tried without its other entries, and as it is
        assert_eq!(
            std::fs::read_to_string(&runs).expect("runs").lines().count(),
            2 * count,
            "{name}: {once}"
        );
        assert!(once.starts_with("ptxas 1.2.3: exit status: 255: "), "{once}");
    }
}

#[cfg(unix)]
#[test]
fn what_a_tool_prints_is_bounded() {
    let scripts = Scripts::new("loud");
    let said = refusal(&scripts.tools("head -c 20000000 /dev/zero | tr '\\0' x >&2; exit 1", "exit 1"), ANY);
    assert!(said.len() < 400 && said.ends_with("xxx…"), "{}", said.len());
}

#[cfg(unix)]
#[test]
fn a_tool_that_hangs_is_stopped_with_its_children() {
    let scripts = Scripts::new("hanging");
    let late = scripts.0.join("late");
    let script = format!("(sleep 4; echo > {}) & sleep 100", late.display());
    let tools = Tools { limit: Duration::from_secs(1), ..scripts.tools(&script, "exit 1") };
    let start = Instant::now();
    let said = refusal(&tools, ANY);
    assert!(said.contains("took too long"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    std::thread::sleep(Duration::from_secs(5));
    assert!(!late.exists());
}

#[cfg(unix)]
#[test]
fn a_listing_that_is_cut_is_not_believed() {
    let Some(tools) = Found::find("sm_80") else { return };
    let (tools, scripts) = (tools.asked(), Scripts::new("cut"));
    let body = "mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3; // cut";
    let cut = |bytes: &str| {
        let script = format!("{} \"$@\" | head -c {bytes}", tools.disassemblers[0].display());
        Tools {
            disassemblers: vec![scripts.tool("nvdisasm", &script, 0o755)],
            cache: Some(scripts.0.join("cache")),
            ..tools.clone()
        }
    };
    let fusion = compiled("sm_80", &Compiler::AskedIfPossible(cut("1500")), body).rewrites().fusion.clone();
    assert!(fusion.word() == "predicted" && fusion.remark().contains("nvdisasm lists "), "{fusion}");
    assert!(!scripts.0.join("cache").exists());
    // the same tools, once there is space
    let fusion = compiled("sm_80", &Compiler::Asked(cut("100000000")), body).rewrites().fusion.clone();
    assert_eq!(fusion.word(), "asked");
}

#[cfg(unix)]
#[test]
fn a_rejection_names_the_line_of_the_text() {
    let Some(tools) = Found::find("sm_80") else { return };
    let text = ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry other()\n{\nret;\n}\n.file 1 \"a.py\"\n\
                .visible .entry one(.param .u64 p)\n{\n.reg .b32 %r<9>; .reg .f32 %f<9>;\n.loc 1 3 1\n\
                mov.b32 %r1, 1;\nmov.b32 %f1, %r1; add.u32 %r2, %r1, %f1;\nret;\n}\n.section .debug_str\n{\n.b8 0\n}\n";
    let program = Program::parse(text).expect("a text");
    let compiler = Compiler::Asked(tools.asked());
    let error = program.compiled(Some("one"), None, &compiler).expect_err("a type").to_string();
    assert!(error.contains("line 14; error"), "{error}");
}

#[test]
fn a_constant_that_a_packed_multiply_add_makes_is_no_multiply_add() {
    // HFMA2.MMA R5, -RZ, RZ, 1.875, 0 ; FADD R5, R5, +QNAN
    fused("mov.b32 %r5, 0f7FC00000;\nadd.f32 %r9, %r5, 0f3F800000;", &[]);
}

#[test]
fn an_assembler_may_be_named_itself() {
    let file = std::env::current_exe().expect("a file");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let Ok(tools) = Tools::find(&[folder, file.clone()], "sm_80") else { return };
    assert_eq!(tools.assemblers[0], file);
}

#[test]
fn an_assembler_that_takes_the_text_is_looked_for() {
    let (Some(old), Some(new)) = (Found::find("sm_80"), Found::find("sm_90a")) else { return };
    let (old, new) = (old.asked(), new.asked());
    if old.assemblers == new.assemblers {
        return;
    }
    let text = ".version 9.1\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 p) { .reg .b64 %d<2>; ret; }";
    let program = Program::parse(text).expect("a text");
    let asked = |tools: Tools| {
        let compiler = Compiler::AskedIfPossible(tools);
        program.compiled(None, None, &compiler).expect("a kernel").rewrites().fusion.clone()
    };
    if asked(old.clone()).word() != "predicted" {
        println!("skipped: the first ptxas that is found takes PTX 9.1");
        return;
    }
    let both = Tools { assemblers: [old.assemblers.clone(), new.assemblers.clone()].concat(), ..old };
    let fusion = asked(both);
    assert_eq!(fusion.word(), "asked", "{fusion}");
}

#[test]
fn listings_are_kept_in_a_folder() {
    let Some(tools) = Found::find("sm_80") else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("listings-{}", std::process::id()));
    let tools = Tools { cache: Some(folder.clone()), ..tools.asked() };
    let compiler = Compiler::Asked(tools.clone());
    let body = "mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3; // kept";
    assert_eq!(compiled("sm_80", &compiler, body).rewrites().fused, [(8, 8)]);
    let files: Vec<_> = std::fs::read_dir(&folder).expect("a folder").collect();
    assert_eq!(files.len(), 1);
    // what has taken a listing's place, and is none, is not read
    #[cfg(unix)]
    {
        let file = files[0].as_ref().expect("a file").path();
        std::fs::remove_file(&file).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &file).expect("linked");
        let other = Tools { options: vec!["-O3".to_owned()], ..tools.clone() };
        assert_eq!(compiled("sm_80", &Compiler::Asked(other), body).rewrites().fused, [(8, 8)]);
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// `FFMA R, a, b, RZ`: what is lost below the least number keeps its sign, as it would not after an addition.
#[test]
fn an_addition_of_zero_is_fused() {
    for (body, one) in [
        ("mul.f32 %r5, %r1, %r2;\nadd.f32 %r9, %r5, 0f00000000;", [0x8000_0001_u64, 0x0000_0001]),
        (
            "mov.b32 %r9, 0f00000000;\nmul.f32 %r5, %r1, %r2;\nadd.f32 %r9, %r9, %r5;",
            [0x8000_0001, 0x0000_0001],
        ),
        ("mul.f64 %d5, %d1, %d2;\nadd.f64 %d9, %d5, 0d0000000000000000;", [1 << 63 | 1, 1]),
    ] {
        for (target, compiler) in compilers() {
            let kernel = compiled(target, &compiler, body);
            let negative = if body.contains("f64") { 1 << 63 } else { 0x8000_0000 };
            assert_eq!(result_of(&kernel, body, [one[0], one[1], 0, 0]), negative, "{target}: {body}");
        }
    }
    // four turns that start from zero
    let turns = "mov.b32 %r9, 0f00000000; mov.u32 %r5, 0;\nL: mul.f32 %r6, %r1, %r2;\nadd.f32 %r9, %r9, %r6;\n\
        add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4;\n@%p1 bra L;";
    fused(turns, &[(9, 10)]);
}

/// One half of the constant is 1.875, whose code is that of one in BF16.
#[test]
fn a_factor_is_one_in_its_own_format() {
    for (target, compiler) in compilers() {
        let body = "mov.b32 %r5, 0x00003f80;\nmul.f16x2 %r6, %r1, %r5;\nadd.f16x2 %r9, %r6, %r2;";
        let kernel = compiled(target, &compiler, body);
        assert_eq!(kernel.rewrites().fused.len(), 1, "{target}");
    }
}

/// `FMUL.D2`: whether a product below the least normal number is rounded before it is halved is not known.
#[test]
fn a_product_that_is_scaled_is_doubtful_where_it_matters() {
    let half = "mul.f32 %r5, %r1, %r2;\nmul.f32 %r9, %r5, 0f3F000000;";
    for (target, compiler) in compilers().into_iter().chain([("sm_90a", Compiler::Predicted(None))]) {
        let kernel = compiled(target, &compiler, half);
        let of = |a: f32, b: f32| result_or_error(&kernel, [of(a), of(b), 0, 0]);
        for (a, b) in
            [(3.0, 0.7), (0.0, 5.0), (f32::INFINITY, 2.0), (1e-20, 1e-15), (f32::NAN, 1.0), (-1e30, 1e30)]
        {
            let expected = (a * b) * 0.5;
            let given = of(a, b).expect("the same either way");
            assert!(given == u64::from(expected.to_bits()) || expected.is_nan(), "{target}: {a} {b}");
        }
        // 2.75 units of the least number, and the greatest one
        for (a, b) in [(2.75, f32::from_bits(1)), (f32::MAX, 1.5)] {
            let error = of(a, b).expect_err("it matters").to_string();
            assert!(error.contains("ptxas scales the product by a power of two"), "{target}: {error}");
        }
    }
    // through moves, by a constant in a register, and by a second multiplication that names its rounding
    for body in [
        "mov.b32 %r6, 0f3F000000;\nmul.f32 %r5, %r1, %r2;\nmul.f32 %r9, %r6, %r5;",
        "mul.f32 %r5, %r1, %r2;\nmov.b32 %r6, %r5;\nmul.f32 %r9, %r6, 0f3F000000;",
        "mul.f32 %r5, %r1, %r2;\nmul.rn.f32 %r9, %r5, 0f3F000000;",
        "mul.f32 %r5, %r1, %r2; add.f32 %r7, %r5, %r1;\nmul.f32 %r9, %r5, 0f3F000000;",
    ] {
        for (target, compiler) in compilers() {
            let kernel = compiled(target, &compiler, body);
            let error = result_or_error(&kernel, [of(2.75), 1, 0, 0]).expect_err(body).to_string();
            assert!(error.contains("ptxas scales"), "{target}: {body}: {error}");
        }
    }
    // the product is used elsewhere, or it is no power of two that the code has: two multiplications
    for body in [
        "mul.f32 %r5, %r1, %r2;\nmul.f32 %r6, %r5, 0f3F000000;\nxor.b32 %r7, %r5, %r5; or.b32 %r9, %r6, %r7; st.global.b32 [%d10+40], %r5;",
        "mul.f32 %r5, %r1, %r2;\nmul.f32 %r9, %r5, 0fBF000000;",
        "mul.rn.f32 %r5, %r1, %r2;\nmul.f32 %r9, %r5, 0f3F000000;",
    ] {
        for (target, compiler) in compilers() {
            let kernel = compiled(target, &compiler, body);
            let given = result_or_error(&kernel, [of(2.75), 1, 0, 0]).expect("rounded twice");
            assert_eq!(given & 0x7fff_ffff, 2, "{target}: {body}");
        }
    }
}
/// Ones that a rule on the text gets wrong: what is a check under `Asked` is exact, what is one under `Predicted` may be needless.
#[test]
fn scaled_products_are_found_where_they_are() {
    let product = "mul.f32 %r5, %r1, %r2;\n";
    let half = |rest: &str| format!("{product}{rest}");
    // 2.75 units of the least number: halved once or twice it is another one
    let scaled = [
        // its own scaling is scaled no more
        half("mul.f32 %r6, %r5, 0f3F000000;\nmul.f32 %r9, %r6, 0f3F000000;"),
        half("mul.f32 %r6, %r5, 0f3F800000;\nmul.f32 %r9, %r6, 0f3F000000;"),
        half("mov.b64 %d5, {%r5, %r1};\nmov.b64 {%r6, %r7}, %d5;\nmul.f32 %r9, %r6, 0f3F000000;"),
        half("max.f32 %r6, %r5, %r5;\nmul.f32 %r9, %r6, 0f3F000000;"),
        half("mov.b32 %r6, 0f3E800000;\nadd.f32 %r6, %r6, %r6;\nmul.f32 %r9, %r5, %r6;"),
        half("div.full.f32 %r9, %r5, 0f40000000;"),
        "mul.f32 %r5, %r1, %r2;\nmul.f32 %r6, %r5, 0f3F000000;\nmul.f32 %r7, %r1, %r2;\nmul.f32 %r7, %r7, 0f3F000000;\n\
         st.global.b32 [%d10+40], %r6;\nmov.b32 %r9, %r7;"
            .to_owned(),
        // around a loop of a number of turns that only the data know
        "mov.b32 %r5, %r1;\nmov.u32 %r8, 0;\nL:\nmul.f32 %r5, %r5, 0f3F000000;\nmul.f32 %r5, %r5, %r2;\nadd.u32 %r8, %r8, 1;\n\
         setp.lt.u32 %p3, %r8, %r3;\n@%p3 bra L;\nmov.b32 %r9, %r5;"
            .to_owned(),
    ];
    for body in &scaled {
        for (target, compiler) in compilers().into_iter().chain([("sm_90a", Compiler::Predicted(None))]) {
            let kernel = compiled(target, &compiler, body);
            let loops = body.contains("bra");
            // 2.75 units, before the first halving of the loop's second turn
            let tiny = if loops { [of(5.5), 1, 12, 0] } else { [of(2.75), 1, 0, 0] };
            let error = result_or_error(&kernel, tiny).map(|value| format!("{value:x}"));
            let error = error.expect_err(body).to_string();
            assert!(error.contains("ptxas scales"), "{target}: {body}: {error}");
            let halves =
                if body.matches("0f3F000000").count() == 2 && !body.contains("%r7") { 0.25 } else { 0.5 };
            if !loops {
                assert_eq!(
                    result_of(&kernel, target, [of(3.0), of(0.7), 0, 0]),
                    of(3.0f32 * 0.7 * halves),
                    "{body}"
                );
            }
        }
    }
    // two multiplications in the code
    let plain = [
        half("mul.f32 %r6, %r5, 0f3F000000;\nmov.b32 %r9, %r5;"),
        half("neg.f32 %r6, %r5;\nmul.f32 %r9, %r6, 0f3F000000;"),
        "setp.gt.s32 %p1, %r2, 0;\n@%p1 mul.f32 %r3, %r1, %r2;\n@%p1 mul.f32 %r3, %r3, 0f3F000000;\nmov.b32 %r9, %r3;".to_owned(),
    ];
    for body in &plain {
        for (target, compiler) in compilers().into_iter().chain([("sm_90a", Compiler::Predicted(None))]) {
            let kernel = compiled(target, &compiler, body);
            assert_eq!(kernel.doubts(), [], "{target}: {body}");
            result_or_error(&kernel, [of(2.75), 1, 0, 0]).expect(body);
        }
    }
    // without fusion ptxas scales nothing
    for (target, compiler) in compilers() {
        let Compiler::Asked(tools) = compiler else { continue };
        let tools = Tools { options: vec!["-fmad=false".to_owned()], ..tools };
        let kernel = compiled(target, &Compiler::Asked(tools), &scaled[0]);
        result_or_error(&kernel, [of(2.75), 1, 0, 0]).expect("two multiplications");
    }
}
