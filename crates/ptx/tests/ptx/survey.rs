//! What is said of each form before a kernel runs.

use bitmma_ptx::{Mode, Program, Survey};

fn text(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n.reqntid 128\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .b64 %d<9>; .shared .b8 s[64];\n{body}\nret;\n}}\n"
    )
}

fn survey(target: Option<&str>, body: &str) -> Survey {
    Program::parse(&text(body))
        .expect("text")
        .survey(None, target)
        .unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn standing(body: &str) -> (String, String) {
    let form = body.split(' ').next().expect("a form");
    let survey = survey(None, body);
    let known = survey.forms.iter().find(|known| known.form == form).unwrap_or_else(|| panic!("{form}"));
    (known.standing.word().to_owned(), known.standing.remark())
}

#[test]
fn every_kind_of_form_is_told() {
    let mma = "{%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3}";
    let mma_f16 = format!("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {mma};");
    let mma_s8 = format!("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {mma};");
    let cases = [
        ("add.f32 %r1, %r2, %r3;", "exact", ""),
        ("div.rn.f32 %r1, %r2, %r3;", "exact", ""),
        ("sqrt.rn.f32 %r1, %r2;", "exact", ""),
        ("mov.b32 %r1, %r2;", "exact", ""),
        ("rcp.approx.f32 %r1, %r2;", "table", "rcp: "),
        ("sqrt.approx.f32 %r1, %r2;", "table", "sqrt: "),
        ("rsqrt.approx.f32 %r1, %r2;", "table", "rsqrt: "),
        ("ex2.approx.ftz.f32 %r1, %r2;", "table", "ex2: "),
        ("lg2.approx.f32 %r1, %r2;", "table", "lg2: "),
        ("sin.approx.f32 %r1, %r2;", "table", "sin: "),
        ("cos.approx.f32 %r1, %r2;", "table", "cos: "),
        ("div.full.f32 %r1, %r2, %r3;", "table", "rcp: "),
        ("div.approx.f32 %r1, %r2, %r3;", "table", "rcp: "),
        (&mma_f16, "model", ""),
        (&mma_s8, "exact", ""),
        (
            "atom.global.add.f32 %r1, [%d1], %r2;",
            "unordered",
            "a sum of floats depends on the order of blocks",
        ),
        ("atom.add.f32 %r1, [%d1], %r2;", "unordered", "a sum of floats"),
        ("atom.shared.add.f32 %r1, [%r5], %r2;", "exact", ""),
        ("atom.global.add.u32 %r1, [%d1], %r2;", "exact", ""),
        ("tanh.approx.f32 %r1, %r2;", "refused", "how a GPU computes it is not known"),
        ("ex2.approx.f16x2 %r1, %r2;", "refused", "how a GPU computes it is not known"),
    ];
    for (body, word, remark) in cases {
        let (given, said) = standing(body);
        assert_eq!(given, word, "{body}");
        assert!(said.starts_with(remark), "{body}: {said}");
        assert_eq!(said.is_empty(), word == "exact", "{body}: {said}");
    }
}

#[test]
fn forms_are_listed_once_with_their_lines() {
    let body = "add.f32 %r1, %r2, %r3;\nmov.b32 %r4, %r1;\nadd.f32 %r5, %r4, %r3;\ntanh.approx.f32 %r1, %r2;";
    let of = survey(Some("sm_80"), body);
    assert_eq!((of.name.as_str(), of.target.as_str()), ("one", "sm_80"));
    let forms: Vec<(&str, &[u32])> =
        of.forms.iter().map(|known| (known.form.as_str(), known.lines.as_slice())).collect();
    let expected: [(&str, &[u32]); 4] =
        [("add.f32", &[8, 10]), ("mov.b32", &[9]), ("ret", &[12]), ("tanh.approx.f32", &[11])];
    assert_eq!(forms, expected);
    // what the target does not have
    let mma = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3};";
    assert_eq!(survey(Some("sm_90a"), mma).forms[0].standing.word(), "model");
    assert_eq!(survey(Some("sm_80"), mma).forms[0].standing.word(), "refused");
    // refused where one line is, in whatever order
    let [good, bad] = ["mov.u32 %r1, %tid.x;", "mov.u32 %r1, %aggr_smem_size;"];
    for body in [format!("{good}\n{bad}"), format!("{bad}\n{good}")] {
        assert_eq!(standing(&body).0, "refused", "{body}");
    }
}

#[test]
fn calls_are_refused_before_their_parameters() {
    let body = "{ .param .b32 a; .param .b32 z; st.param.f32 [a], %r1;\ncall.uni (z), g, (a);\nld.param.f32 %r2, [z]; }";
    let survey = survey(None, body);
    let refused = survey.forms.iter().filter(|form| form.standing.word() == "refused");
    let refused: Vec<_> =
        refused.map(|form| (form.form.as_str(), form.lines[0], form.standing.remark())).collect();
    let why = "function 'g' is not in the text";
    let forms = [("call.uni", 9), ("ld.param.f32", 10), ("st.param.f32", 8)];
    assert_eq!(refused, forms.map(|(form, line)| (form, line, why.to_owned())));
    let error =
        Program::parse(&text(body)).expect("a text").kernel(None, None, Mode::Text).expect_err("a call");
    assert_eq!(error.to_string(), "line 9: 'call.uni' is not supported: function 'g' is not in the text");
}
