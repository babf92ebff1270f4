//! Valid files of every kind that the command reads, each with a line that reads it to its end.

use std::fmt::Write;

use bitmma_calls::Plan;
use bitmma_calls::plan::{
    BlockOrder, Blocks, Deal, DealKind, Merge, MergeOrder, MergeType, Promote, Simt, SimtFamily, Tail,
};
use bitmma_engine::catalogue::find;
use bitmma_engine::{Architecture, Revision};
use bitmma_files::header::Header;
use bitmma_verify::inputs::{Family, case};

use crate::arrays::archive;
use crate::case::Case;

const F16: &str = "mma.m16n8k16.f32.f16.f16.f32";
const SCALED: &str = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3";

/// Bytes that are numbers of moderate size in formats of 8 and 16 bits.
fn codes(count: usize, width: usize) -> Vec<u8> {
    let byte = |at: usize| match (at % width) + 1 == width {
        true => 0x30 + (at * 7 % 13) as u8,
        false => (at * 5) as u8,
    };
    (0..count * width).map(byte).collect()
}

/// A `.npy` file of such numbers.
///
/// # Panics
///
/// If the type does not end in its bytes.
pub fn npy(kind: &str, shape: &[usize]) -> Vec<u8> {
    let width = kind[2..].parse().expect("bytes of an element");
    [Header::write(kind, shape), codes(shape.iter().product(), width)].concat()
}

/// A `.safetensors` file of tensors by name, type and shape, each element of so many bits.
pub fn safetensors(tensors: &[(&str, &str, &[usize], usize)]) -> Vec<u8> {
    let mut header = String::from("{\"__metadata__\":{\"by\":\"fuzz\"}");
    let mut data = Vec::new();
    for (name, dtype, shape, bits) in tensors {
        let start = data.len();
        let size = shape.iter().product::<usize>() * bits / 8;
        data.extend(codes(size, 1));
        let end = data.len();
        _ = write!(
            header,
            ",\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"
        );
    }
    header.push('}');
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

fn file(name: &str, content: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (name.to_owned(), content.into())
}

/// Every base.
pub fn bases() -> Vec<Case> {
    [matrices(), models(), recordings(), plans(), decisions(), recorded_calls(), compared(), kernels()]
        .concat()
}

/// Matrices of `gemm` and `run`, in both kinds of file.
fn matrices() -> Vec<Case> {
    let files = |shapes: [[usize; 2]; 3]| {
        let [a, b, c] = shapes.map(|shape| shape.to_vec());
        vec![file("a.npy", npy("<f2", &a)), file("b.npy", npy("<u2", &b)), file("c.npy", npy("<f4", &c))]
    };
    let gemm = ["gemm", "hopper", F16, "-a", "a.npy", "-b", "b.npy", "-c", "c.npy", "-o", "d.npy", "--json"];
    let batch = vec![file("a.npy", npy(">f2", &[3, 4, 40])), file("b.npy", npy("<f2", &[3, 5, 40]))];
    let tensors = safetensors(&[
        ("a", "BF16", &[5, 48], 16),
        ("layer.weight", "BF16", &[7, 48], 16),
        ("bias", "F32", &[7], 32),
    ]);
    let packed = safetensors(&[
        ("a", "F4", &[3, 128], 4),
        ("b", "F4", &[5, 128], 4),
        ("scale_a", "F8_E4M3", &[3, 8], 8),
        ("scale_b", "F8_E4M3", &[5, 8], 8),
    ]);
    let of = |name| format!("packed.safetensors:{name}");
    let (a, b, scale_a, scale_b) = (of("a"), of("b"), of("scale_a"), of("scale_b"));
    let scaled = ["gemm", "rtx-blackwell", SCALED, "-a", &a, "-b", &b, "--bt", "--scale-a", &scale_a];
    let blocks = safetensors(&[
        ("a", "F8_E4M3", &[3, 256], 8),
        ("b", "F8_E4M3", &[5, 256], 8),
        ("scale_a", "F32", &[3, 2], 32),
        ("scale_b", "F32", &[1, 2], 32),
    ]);
    let of = |name| format!("blocks.safetensors:{name}");
    let (in_a, in_b, blocks_a, blocks_b) = (of("a"), of("b"), of("scale_a"), of("scale_b"));
    let e4m3 = "wgmma.m64nNk32.f32.e4m3.e4m3";
    let in_blocks = ["gemm", "hopper", e4m3, "-a", &in_a, "-b", &in_b, "--bt", "--scale-a", &blocks_a];
    vec![
        Case::new("gemm of .npy", &gemm, files([[5, 33], [33, 3], [5, 3]])),
        Case::new(
            "run of .npy",
            &["run", "hopper", F16, "-a", "a.npy", "-b", "b.npy", "-c", "c.npy", "-o", "d.safetensors"],
            files([[16, 16], [16, 8], [16, 8]]),
        ),
        Case::new(
            "gemm of batches, expected",
            &["gemm", "h100", F16, "-a", "a.npy", "-b", "b.npy", "--bt", "-o", "d.npy", "--expect", "d.npy"],
            [batch.clone(), vec![file("d.npy", npy("<f4", &[3, 4, 5]))]].concat(),
        ),
        Case::new(
            "gemm of .safetensors",
            &["gemm", "--like", "h100", "-a", "x.safetensors:a", "-b", "x.safetensors:layer.weight", "--bt"]
                .into_iter()
                .chain(["-o", "d.safetensors", "--output-type", "e5m2", "--split-k", "2"])
                .collect::<Vec<_>>(),
            vec![file("x.safetensors", tensors)],
        ),
        Case::new(
            "gemm of FP4 with scale factors",
            &[&scaled[..], &["--scale-b", &scale_b, "-o", "d.npy"]].concat(),
            vec![file("packed.safetensors", packed)],
        ),
        Case::new(
            "gemm with scales of blocks",
            &[&in_blocks[..], &["--scale-b", &blocks_b, "--scale-blocks", "1x128,128x128", "-o", "d.npy"]]
                .concat(),
            vec![file("blocks.safetensors", blocks)],
        ),
        Case::new(
            "analyze of .npy",
            &["analyze", "workarounds", "hopper", F16, "-a", "a.npy", "-b", "b.npy", "--quick"],
            vec![file("a.npy", npy("<f2", &[4, 32])), file("b.npy", npy("<f2", &[32, 3]))],
        ),
    ]
}

/// Compiled kernels: each is shown, and run on one block.
fn kernels() -> Vec<Case> {
    const MATRICES: [&str; 6] = ["a.npy", "b.npy", "out:d.npy:f32:64x128", "i32:64", "i32:128", "i32:128"];
    const ATTENTION: [&str; 6] = ["a.npy", "b.npy", "b.npy", "out:d.npy:f16:128x64", "i32:128", "f32:0.2"];
    const ROWS: [&str; 3] = ["x.npy", "out:d.npy:f32:2x1000", "i32:1000"];
    const HALVES: [&str; 5] = ["x.npy", "w.npy", "out:d.npy:u16:4x1000", "i32:1000", "f32:1e-6"];
    const NORM: [&str; 6] = ["x.npy", "w.npy", "b.npy", "out:d.npy:f32:4x496", "i32:496", "f32:1e-5"];
    macro_rules! text {
        ($name:literal) => {
            ($name, &include_bytes!(concat!("../../crates/ptx/tests/data/ptx/", $name, ".ptx"))[..])
        };
    }
    let cases = |(name, text): (&str, &[u8]), arguments: &[&str], arrays: &[(&str, &str, &[usize])]| {
        let mut words = vec!["kernel", "run", "k.ptx", "--grid", "1", "--loop-limit", "1000"];
        words.extend(arguments.iter().flat_map(|argument| ["--arg", *argument]));
        let arrays = arrays.iter().map(|(name, kind, shape)| file(name, npy(kind, shape)));
        let files = [file("k.ptx", text)].into_iter().chain(arrays).collect();
        [
            Case::new(
                &format!("kernel show of {name}"),
                &["kernel", "show", "k.ptx"],
                vec![file("k.ptx", text)],
            ),
            Case::new(&format!("kernel run of {name}"), &words, files),
        ]
    };
    let weights = [("w.npy", "<f4", &[496][..]), ("b.npy", "<f4", &[496])];
    let products = |kind| [("a.npy", kind, &[64, 128][..]), ("b.npy", kind, &[128, 128])];
    [
        cases(text!("softmax_f32_80"), &ROWS, &[("x.npy", "<f4", &[2, 1000])]),
        cases(text!("layernorm_f32_90"), &NORM, &[&[("x.npy", "<f4", &[4, 496][..])][..], &weights].concat()),
        cases(text!("rms_bf16_90"), &HALVES, &[("x.npy", "<u2", &[4, 1000]), ("w.npy", "<u2", &[1000])]),
        cases(text!("edges_80"), &["x.npy", "out:d.npy:u32:4352x64"], &[("x.npy", "<u4", &[4352, 3])]),
        cases(text!("mm_f16_90"), &MATRICES, &products("<f2")),
        cases(text!("mm_bf16_80"), &MATRICES, &products("<u2")),
        cases(text!("mm_fp8_80"), &MATRICES, &products("|u1")),
        cases(
            text!("attn_f16_80"),
            &ATTENTION,
            &[("a.npy", "<f2", &[128, 64]), ("b.npy", "<f2", &[128, 64])],
        ),
    ]
    .concat()
}

/// Matrices of `which` and `explain --element`, models and plans of `diff`.
fn compared() -> Vec<Case> {
    let files = || {
        vec![
            file("a.npy", npy("<f2", &[3, 40])),
            file("b.npy", npy("<f2", &[40, 5])),
            file("c.npy", npy("<f4", &[3, 5])),
            file("d.npy", npy("<f4", &[3, 5])),
        ]
    };
    let model = |row: &str| {
        let found = find(Architecture::Hopper, row).expect("an instruction");
        found.instruction.model(Revision::Hardware).expect("a model").to_toml()
    };
    let plan = |every: usize| {
        let mut plan = Plan::chain(Architecture::Hopper, "wgmma.m64n256k16.f32.f16.f16");
        plan.promote = Promote { every, ..Promote::default() };
        plan.to_toml()
    };
    let packed = safetensors(&[
        ("a", "F8_E4M3", &[3, 64], 8),
        ("b", "F8_E4M3", &[5, 64], 8),
        ("scale_a", "F8_E8M0", &[3, 2], 8),
        ("scale_b", "F8_E8M0", &[5, 2], 8),
        ("d", "F32", &[3, 5], 32),
    ]);
    let of = |name| format!("x.safetensors:{name}");
    let (a, b, scale_a, scale_b, d) = (of("a"), of("b"), of("scale_a"), of("scale_b"), of("d"));
    vec![
        Case::new("which of .npy", &["which", "-a", "a.npy", "-b", "b.npy", "-d", "d.npy"], files()),
        Case::new(
            "which of .npy with C",
            &["which", "-a", "a.npy", "-b", "b.npy", "-c", "c.npy", "-d", "d.npy", "--json"],
            files(),
        ),
        Case::new(
            "which of FP8 with scale factors",
            &["which", "-a", &a, "-b", &b, "--bt", "--scale-a", &scale_a, "--scale-b", &scale_b, "-d", &d],
            vec![file("x.safetensors", packed)],
        ),
        Case::new(
            "explain of an element",
            &["explain", "hopper", F16, "-a", "a.npy", "-b", "b.npy", "-c", "c.npy", "-d", "d.npy"]
                .into_iter()
                .chain(["--element", "2,4", "--split-k", "2"])
                .collect::<Vec<_>>(),
            files(),
        ),
        Case::new(
            "diff of models",
            &["diff", "one.toml", "other.toml"],
            vec![
                file("one.toml", model("mma.m16n8k16.f32.f16.f16.f32")),
                file("other.toml", model("wgmma.m64n256k16.f32.f16.f16")),
            ],
        ),
        Case::new(
            "diff of plans",
            &["diff", "one.toml", "other.toml", "--json"],
            vec![file("one.toml", plan(128)), file("other.toml", plan(64))],
        ),
    ]
}

/// Models of several families, with what may be around an operation.
fn models() -> Vec<Case> {
    let rows = [
        (Architecture::Hopper, "mma.m16n8k16.f16.e4m3.e5m2.f16"),
        (Architecture::RtxBlackwell, SCALED),
        (Architecture::Cdna3, "v_mfma_f32_16x16x16_bf16"),
        (Architecture::Cdna2, "v_mfma_f32_16x16x8bf16"),
        (Architecture::Ampere, "mma.m8n8k4.f64.f64.f64.f64"),
    ];
    let mut files: Vec<(String, String)> = rows
        .into_iter()
        .map(|(architecture, name)| {
            let row = find(architecture, name).unwrap_or_else(|error| panic!("{error}")).instruction;
            let model = row.model(Revision::Hardware).unwrap_or_else(|| panic!("{name} has a model"));
            (name.to_owned(), model.to_toml())
        })
        .collect();
    files.push(("lowered".to_owned(), numbered_model("", "")));
    let with = |name: &str, command: &str, toml: &str, words: &[&str]| {
        let words = [&[command, "--model", "model.toml"][..], words].concat();
        Case::new(&format!("{command} of the model of {name}"), &words, vec![file("model.toml", toml)])
    };
    let mut cases = Vec::new();
    for (name, toml) in &files {
        cases.push(with(name, "show", toml, &["--json"]));
        cases.push(with(name, "explain", toml, &["-a", "1 2", "-b", "0.5 1", "-c", "1"]));
        cases.push(with(name, "golden", toml, &["--cases", "5", "--format", "csv"]));
        // the bounds are those of one operation, which a model that cuts K into parts does not have
        if name != "lowered" {
            let mut bounds = with(name, "analyze", toml, &["--quick"]);
            bounds.line.words.insert(1, "bounds".to_owned());
            cases.push(bounds);
        }
    }
    let toml = &files[5].1;
    let operands = [file("a.npy", npy("<f2", &[3, 5])), file("b.npy", npy("<f2", &[5, 2]))];
    let words = ["gemm", "--model", "model.toml", "-a", "a.npy", "-b", "b.npy", "-o", "d.npy"];
    cases.push(Case::new(
        "gemm of a model",
        &words,
        [vec![file("model.toml", toml.as_bytes())], operands.to_vec()].concat(),
    ));
    cases.push(Case::new(
        "verify of a model",
        &["verify", "model:model.toml@4x4x16", "--tests", "100", "--model", "model.toml"],
        vec![file("model.toml", toml.as_bytes())],
    ));
    cases
}

/// A model with every parameter of sums and much around it, the value of one key replaced.
pub fn numbered_model(key: &str, value: &str) -> String {
    let rows = [("L_max", "4"), ("F", "23"), ("F2", "31"), ("e_zero_c", "-140"), ("product_overflow", "128")];
    let of = |name: &str, usual: &str| (if name == key { value } else { usual }).to_owned();
    let mut toml =
        "model = \"TR-FDPA\"\nA = \"f16\"\nB = \"f16\"\nC = \"f16\"\nrho = \"RNE-FP32\"\n".to_owned();
    for (name, usual) in rows {
        _ = writeln!(toml, "{name} = {}", of(name, usual));
    }
    let [run, period, count] =
        [("run", "2"), ("period", "8"), ("count", "4")].map(|(name, usual)| of(name, usual));
    _ = write!(
        toml,
        "\n[lowering]\nwiden_accumulator = \"f32\"\norder = {{ interleaved = {{ run = {run}, period = {period} }} }}\n\
         chains = {{ count = {count}, merge = \"RNE-FP32\" }}\nadd_accumulator_last = \"RNE-FP32\"\n\
         narrow_output = \"RNE-FP16\"\n"
    );
    toml
}

/// A recording: of an instruction, of one with scale factors, of a model of its own.
fn recording() -> Vec<u8> {
    let mut text = String::from("# device: a test\narch,instruction,a,b,c,scale_a,scale_b,d\n");
    for (architecture, name) in [(Architecture::Hopper, F16), (Architecture::RtxBlackwell, SCALED)] {
        let row = find(architecture, name).unwrap_or_else(|error| panic!("{error}")).instruction;
        let model = row.model(Revision::Hardware).unwrap_or_else(|| panic!("{name} has a model"));
        for seed in 0..3 {
            let case = case(&model, row.products(), Family::Moderate, seed, 0);
            let hex = bitmma_verify::recording::hex;
            let scale = |codes: &[u64]| model.scale.map_or(String::new(), |scale| hex(&scale.format, codes));
            _ = writeln!(
                text,
                "{architecture},{name},{},{},{},{},{},3f800000",
                hex(&model.a, &case.a),
                hex(&model.b, &case.b),
                hex(&model.c, &[case.c]),
                scale(&case.scale_a),
                scale(&case.scale_b),
            );
        }
    }
    text.into_bytes()
}

fn recordings() -> Vec<Case> {
    let recorded = || vec![file("r.csv", recording())];
    let hopper: Vec<u8> =
        recording().split_inclusive(|&byte| byte == b'\n').take(5).collect::<Vec<_>>().concat();
    let unit = ["serve", "recording:r.csv"];
    vec![
        Case::new("replay of a recording", &["replay", "r.csv"], recorded()),
        Case::new("replay as JSON", &["replay", "r.csv", "--json"], recorded()),
        Case::new(
            "results of functions",
            &["function", "--check", "r.csv"],
            vec![file(
                "r.csv",
                "# by: a test\nfunction,x,y\nrcp,3f800000,3f800000\nex2.approx.ftz.f32,0x40000000,40800000\n",
            )],
        ),
        Case::new("serve of a recording", &unit, vec![file("r.csv", hopper.clone())]),
        Case::new(
            "gemm of a recording",
            &["gemm", "hopper", F16, "-a", "r.csv:a", "-b", "r.csv:b", "-c", "r.csv:c", "-o", "d.npy"]
                .into_iter()
                .chain(["--expect", "r.csv:d"])
                .collect::<Vec<_>>(),
            vec![file("r.csv", hopper)],
        ),
    ]
}

/// Plans of every kind, run on small operands.
fn plans() -> Vec<Case> {
    let e4m3 = || Plan::chain(Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32");
    let serial = Merge { order: MergeOrder::Serial, ..Merge::default() };
    let with = |deal: Deal, merge: &Merge| Plan { deal, merge: merge.clone(), ..e4m3() };
    let dealt = |kind, grain, parts| Deal { kind, grain, parts, ..Deal::default() };
    let pairwise = Merge { order: MergeOrder::Pairwise, ..Merge::default() };
    let simt = |simt: Simt| Plan { instruction: None, simt: Some(simt), ..e4m3() };
    let plans = [
        ("interleaved", with(dealt(DealKind::Interleaved, 64, 3), &pairwise)),
        ("lost", with(Deal { tail: Tail::Lost, ..dealt(DealKind::Contiguous, 32, 4) }, &serial)),
        (
            "chunks",
            with(
                Deal { chunk: 64, dot: 16, residue_block: 32, ..dealt(DealKind::Contiguous, 0, 1) },
                &Merge { kind: MergeType::DPartials, ..serial.clone() },
            ),
        ),
        ("slices", with(Deal { slices: 2, slice: 32, ..Deal::default() }, &Merge::default())),
        ("rotated", with(Deal { rotate: 64, ..Deal::default() }, &Merge::default())),
        ("promoted", Plan { promote: Promote { every: 64, ..Promote::default() }, ..e4m3() }),
        ("chains", simt(Simt { threads: 4, block: 16, ..Simt::default() })),
        ("gemv", simt(Simt { family: SimtFamily::Gemv, vector: -4, lanes: 8, slices: 3, ..Simt::default() })),
        ("gemv-slices", simt(Simt { family: SimtFamily::GemvSlices, lanes: 8, block: 4, ..Simt::default() })),
        ("dot", simt(Simt { family: SimtFamily::Dot, vector: 2, slices: 5, ..Simt::default() })),
    ];
    let operands = || vec![file("a.npy", npy("|u1", &[3, 136])), file("b.npy", npy("|u1", &[5, 136]))];
    let call = |plan: &str, more: &[&str]| {
        let words = ["call", "plan", "matmul", "--plan", plan, "-a", "a.npy", "-b", "b.npy", "--bt"];
        let types = ["--type-a", "e4m3", "--out-type", "f32", "-o", "d.npy"];
        [&words[..], &types, more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut cases = Vec::new();
    for (name, plan) in &plans {
        for (suffix, text) in
            [("toml", plan.to_toml()), ("json", serde_json::to_string(&plan).expect("JSON"))]
        {
            let path = format!("plan.{suffix}");
            let words = call(&path, if suffix == "json" { &["--explain", "2,4"] } else { &["--json"] });
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let files = [vec![file(&path, text)], operands()].concat();
            cases.push(Case::new(&format!("plan {name} ({suffix})"), &words, files));
        }
    }
    let blocks = Blocks { k: 128, rows: 1, columns: 128, order: BlockOrder::Product, fma: true };
    let blocks = Plan { blocks: Some(blocks), ..e4m3() };
    let words = call("plan.toml", &["--scale-a", "sa.npy", "--scale-b", "sb.npy"]);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words[2] = "scaled_mm";
    let scales = [file("sa.npy", npy("<f4", &[3, 2])), file("sb.npy", npy("<f4", &[1, 2]))];
    cases.push(Case::new(
        "plan with blocks",
        &words,
        [vec![file("plan.toml", blocks.to_toml())], operands(), scales.to_vec()].concat(),
    ));
    let toml = "format = \"bitmma-plan/1\"\narch = \"hopper\"\nmodel = \"model.toml\"\nevidence = \"derived\"\nsource = \"\"\n";
    let row =
        find(Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32").unwrap_or_else(|error| panic!("{error}"));
    let model = row.instruction.model(Revision::Hardware).map_or(String::new(), |model| model.to_toml());
    let words = call("plan.toml", &[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let files = [vec![file("plan.toml", toml), file("model.toml", model)], operands()].concat();
    cases.push(Case::new("plan of a model", &words, files));
    cases
}

/// Configurations of cuBLASLt, and tables of them.
fn decisions() -> Vec<Case> {
    let plan = |platform: &'static str, kind: &'static str, more: &[&'static str]| {
        let words = ["plan", platform, "--m", "16", "--n", "16", "--k", "1920", "--type", kind];
        [&words[..], more].concat()
    };
    let configured = |name: &str, words: &[&str], config: &str| {
        let words = [words, &["--lt-config", "@config.json"]].concat();
        Case::new(&format!("configuration: {name}"), &words, vec![file("config.json", config)])
    };
    let h100 = "h100-sxm/cublaslt-13.1.1";
    let config = |id: i64, splitk: i64, reduction: i64, stages: i64| {
        format!(
            "{{\"id\": {id}, \"tile\": 20, \"splitk\": {splitk}, \"reduction\": {reduction}, \"swizzling\": 0, \"custom\": 0, \
             \"stages\": {stages}, \"inner_shape\": 0, \"cluster_shape\": 2}}"
        )
    };
    let kernel = "{\"ALGO_ID\": 6, \"SPLITK_NUM\": 3, \"REDUCTION_SCHEME\": 4, \"STAGES_ID\": 12, \"kernel\": \
                  \"ampere_bf16_s16816gemm_bf16_128x64_sliced1x2_ldg8_f2f_stages_64x4_tn\"}";
    let call = ["call", h100, "linear", "-a", "a.npy", "-b", "b.npy", "--type-a", "f16", "--out-type", "f16"];
    let mut called = configured("called", &[&call[..], &["-o", "d.npy"]].concat(), &config(21, 3, 2, 14));
    called.files.extend([file("a.npy", npy("<f2", &[3, 200])), file("b.npy", npy("<f2", &[5, 200]))]);

    let csv = "# device: NVIDIA H100 PCIe\n# capability: sm_90\n# sm_count: 114\n# cublaslt: 12.8.3.14\n# by: a test\n\
               M,N,K,fa,fb,out,fast,ws,splitK,custom,reduction,algo,stages\n\
               16,16,1920,e4m3,e4m3,bf16,1,1048576,2,0,2,66,36\n16,64,5760,e4m3,e4m3,bf16,0,1048576,2,1,2,66,36\n";
    let line = |m: usize, splitk: usize| {
        format!(
            "{{\"device\": \"NVIDIA H100 PCIe\", \"sm_count\": 114, \"capability\": \"sm_90\", \"cublaslt\": \"12.8.3.14\", \
             \"workspace\": 1048576, \"M\": {m}, \"N\": 16, \"K\": 1920, \"a\": \"e4m3\", \"b\": \"e4m3\", \"out\": \"bf16\", \
             \"fast\": true, \"status\": 0, \"config\": {}}}\n",
            config(66, splitk as i64, 2, 36)
        )
    };
    let of_i4 = |values: [i32; 2]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let of_i2 = |values: [i16; 2]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let columns = [
        ("M", "<i4", of_i4([16, 64])),
        ("N", "<i4", of_i4([16, 64])),
        ("K", "<i4", of_i4([1920, 1920])),
        ("fa", "|u1", vec![0, 0]),
        ("fb", "|u1", vec![1, 1]),
        ("out", "|u1", vec![1, 1]),
        ("fast", "|u1", vec![1, 1]),
        ("ws", "|u1", vec![1, 1]),
        ("splitK", "|u1", vec![3, 1]),
        ("custom", "|u1", vec![1, 0]),
        ("reduction", "|u1", vec![2, 0]),
        ("algo", "<i2", of_i2([60, 60])),
        ("stages", "<i2", of_i2([15, 16])),
    ];
    let columns =
        columns.map(|(name, kind, data)| (name.to_owned(), [Header::write(kind, &[2]), data].concat()));
    let beside = "{\"format\": \"mmaemu-splitk-table/1\", \"npz_sha256\": \"\", \"profile_device\": {\"gpu\": \"RTX 4060\", \
                  \"sm_count\": 24, \"capability\": [8, 9], \"cublaslt\": \"12.8.3.14\", \"driver\": \"572.16\", \"torch\": \"2.7.1\"}}";
    let mut gemv = plan(h100, "f16", &["--out-type", "f16"]);
    gemv[3] = "1";
    let of_h100 = |table: &'static str| plan("h100-pcie", "e4m3", &["--fast", "--table", table]);
    vec![
        configured("nvjet", &plan("gb200/cublaslt-13.1.1", "bf16", &[]), &config(66, 8, 2, 35)),
        configured("cutlass", &plan(h100, "f16", &["--out-type", "f16"]), &config(21, 3, 2, 14)),
        configured("gemv", &gemv, &config(13, 3, 0, 0)),
        configured("xmma", &plan("rtx4060", "e4m3", &["--fast"]), &config(60, 3, 2, 15)),
        configured("by name", &plan("a100", "bf16", &["--assume", "version"]), kernel),
        called,
        Case::new("table: CSV", &of_h100("t.csv"), vec![file("t.csv", csv)]),
        Case::new(
            "table: lines of JSON",
            &of_h100("t.jsonl"),
            vec![file("t.jsonl", line(16, 2) + &line(32, 4))],
        ),
        Case::new(
            "table: .npz",
            &plan("rtx4060", "e4m3", &["--type-b", "e5m2", "--fast", "--table", "t.npz"]),
            vec![file("t.npz", archive(&columns)), file("t.json", beside)],
        ),
    ]
}

/// Recorded calls of libraries, and configurations with the plans that others make of them.
fn recorded_calls() -> Vec<Case> {
    let index = r#"{"format": "bitmma-calls/1", "device": "NVIDIA H100 80GB HBM3 (sm_90, 132 SMs), cuBLASLt 13.1.0.3", "capability": "sm_90",
 "cublaslt": "13.1.0.3", "sm_count": 132, "arrays": "calls.npz", "source": "", "licence": "", "fields": {},
 "cases": [
{"id": "tensor", "group": "", "call": {"M": 16, "N": 16, "K": 32, "a": "e4m3", "b": "e4m3", "out": "bf16", "fast": true, "function": "_scaled_mm", "scale_a": 1065353216, "scale_b": 1073741824, "scale_result": null},
 "plan": null, "config": {"id": 66, "splitk": 1, "reduction": 0, "stages": 36}, "a": "a", "b": "b", "expect": "d"},
{"id": "zeros", "call": {"M": 16, "N": 16, "K": 32, "a": "e4m3", "b": "e4m3", "out": "bf16"},
 "plan": {"parts": 1, "order": "none", "deal": "contiguous", "grain": 64}, "config": null, "a": null, "b": null, "expect": "zero"},
{"id": "rows", "call": {"M": 16, "N": 16, "K": 32, "a": "e4m3", "b": "e4m3", "out": "bf16", "fast": true}, "plan": null,
 "config": null, "a": "a", "b": "b", "scales": ["sa", "sb"], "expect": "d"},
{"id": "mm", "call": {"M": 16, "N": 16, "K": 32, "a": "f16", "b": "f16", "out": "f16", "function": "mm"}, "plan": null,
 "config": {"id": 66, "splitk": 2, "reduction": 2, "stages": 35}, "a": "wide", "b": "wide", "expect": "d"},
{"id": "bad", "call": {"M": 16, "N": 15, "K": 32, "a": "e4m3", "b": "e4m3", "out": "bf16", "bias": {"dtype": "f32", "len": 3},
 "out_buffer": {"shape": [16, 15], "contiguous": true, "dtype": "bf16"}, "layout_b": "row"}, "plan": null, "config": null,
 "a": null, "b": null, "expect": "rejected"},
{"id": "slice", "call": {"M": 16, "N": 16, "K": 32, "a": "e4m3", "b": "e4m3", "out": "bf16", "slice": true, "select": "diagonal"},
 "plan": {"parts": 1, "order": "none", "deal": "contiguous", "grain": 64}, "config": null, "a": "a", "b": "b", "expect": "diagonal"},
{"id": "ran", "call": {"M": 16, "N": 16, "K": 32, "a": "e4m3", "b": "e4m3", "out": "bf16"}, "plan": null, "config": null,
 "a": null, "b": null, "expect": "ran"}
]}
"#;
    let arrays = [
        ("a", npy("|u1", &[16, 32])),
        ("b", npy("|u1", &[16, 32])),
        ("wide", npy("<u2", &[16, 32])),
        ("d", npy("<u2", &[16, 16])),
        ("zero", [Header::write("<u2", &[16, 16]), vec![0; 512]].concat()),
        ("diagonal", npy("<u2", &[16])),
        ("sa", npy("<u4", &[16, 1])),
        ("sb", npy("<u4", &[1, 16])),
    ];
    let arrays = arrays.map(|(name, array)| (name.to_owned(), array));
    vec![
        Case::new(
            "recorded calls",
            &["verify-calls", "index.json"],
            vec![file("index.json", index), file("calls.npz", archive(&arrays))],
        ),
        Case::new("fixtures of a planner", &["verify-calls", "plans.csv"], vec![file("plans.csv", FIXTURES)]),
    ]
}

/// Configurations with the plans that a planner makes of them.
pub const FIXTURES: &str = "# a comment\nid,profile,kind,m,n,k,config,mode,k_chunk,block_k,k_per_dot,leading_group_k,merge_scheme,simt,gemv,declined\n\
        one,sm90_lt13_1,bf16,16,16,1024,66 20 2 2 0 0 35 0 2,split,512,,,,,,,\n\
        two,sm100_lt13_1,fp16,64,64,1000,21 20 3 2 0 0 14 0 2,splitk_groups,384,64,16,,0,,,\n\
        three,sm90_lt13_1,fp16,1,1,4096,14 0 5 2 0 - 0 0 0,gemv14,,,,,,,\"[5, 1]\",\n";
