//! Kernels on one core: thread-instructions a second, and products of matrices beside the engine's own rate.
//!
//! `cargo bench -p bitmma-ptx`; the last lines give the medians.
#![allow(clippy::print_stdout)] // a benchmark is there to print

use std::path::Path;
use std::time::{Duration, Instant};

use bitmma_engine::catalogue::{Architecture, Revision};
use bitmma_engine::{Codes, FastSimulator, Matrix, Simulator};
use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program, Report, Scalar};
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A kernel of the tests.
fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/ptx/{name}.ptx"));
    Program::parse(&std::fs::read_to_string(path).expect("a kernel")).expect("PTX")
}

/// Median seconds of a run on one core, and what it did; a first run is not counted.
fn run(
    program: &Program,
    (grid, launches): ([u32; 3], usize),
    arguments: &[Argument],
    buffers: &mut [Buffer],
) -> (f64, Report) {
    let kernel = program.kernel(None, None, Mode::Gpu).expect("a kernel");
    let launch = Launch { limits: Limits { threads: 1, ..Limits::default() }, ..Launch::new(&kernel, grid) };
    let mut report = launch.run(arguments, buffers, &mut || false).expect("a run");
    report.instructions *= launches as u64;
    let seconds = median(|| {
        for _ in 0..launches {
            launch.run(arguments, buffers, &mut || false).expect("a run");
        }
    });
    (seconds, report)
}

/// Median seconds of a call, over some seconds.
fn median(mut call: impl FnMut()) -> f64 {
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(4) || times.len() < 5 {
        let before = Instant::now();
        call();
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Codes with a random sign and fraction, and one of two exponents.
fn codes(bytes: usize, (fraction, exponent): (u32, u32), count: usize) -> Vec<u8> {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let code = |_| (random.next_u32() & fraction | exponent).to_le_bytes().into_iter().take(bytes);
    (0..count).flat_map(code).collect()
}

const HALF: (u32, u32) = (0x8bff, 0x3000);
const SINGLE: (u32, u32) = (0x807f_ffff, 0x3f00_0000);

fn buffer(name: &str, bytes: Vec<u8>) -> Buffer {
    Buffer { bytes, name: name.to_owned(), written: false }
}

fn pointer(buffer: usize) -> Argument {
    Argument::Pointer { buffer, offset: 0 }
}

fn integer(value: usize) -> Argument {
    Argument::Scalar(Scalar::Integer(value as i128))
}

/// A loop of multiply-adds, additions and multiplications.
const ARITHMETIC: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry loop(.param .u64 y) .reqntid 128 {
.reg .pred %p; .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [y];
mov.u32 %r1, %tid.x;
cvt.rn.f32.u32 %f1, %r1;
mov.f32 %f2, 0f3F000000;
mov.f32 %f3, 0f3E800000;
mov.u32 %r2, 0;
again:
fma.rn.f32 %f4, %f1, %f2, %f3;
add.rn.f32 %f5, %f4, %f2;
mul.rn.f32 %f6, %f5, %f3;
fma.rn.f32 %f1, %f6, %f2, %f4;
add.rn.f32 %f7, %f1, %f3;
mul.rn.f32 %f1, %f7, %f2;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p, %r2, 100000;
@%p bra again;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.f32 [%rd3], %f1;
ret;
}";

/// A loop of matrix instructions alone: 16 of `mma.sync` or one `wgmma` for a tile of a warpgroup, whose operands stay where they are.
fn matrix_loop(target: &str) -> String {
    let registers = |first: usize, count: usize| -> String {
        let names: Vec<String> = (first..first + count).map(|register| format!("%r{register}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let (mut body, mut fence) = (String::new(), "");
    if target == "sm_80" {
        // 32×64 elements of D for each warp
        for tile in 0..16 {
            let (d, a, b) = (4 * tile, 64 + tile / 8 * 4, 72 + tile % 8 * 2);
            body += &format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {0}, {1}, {2}, {0};\n",
                registers(d, 4),
                registers(a, 4),
                registers(b, 2)
            );
        }
    } else {
        let d = registers(0, 64);
        body = format!(
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {d}, %rd2, %rd2, 1, 1, 1, 0, 0;\n\
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
        );
        fence = "fence.proxy.async;";
    }
    let fill: String = (64..88).map(|register| format!("or.b32 %r{register}, %r88, {register};\n")).collect();
    let clear: String = (0..64).map(|register| format!("mov.b32 %r{register}, 0;\n")).collect();
    format!(
        ".version 8.4\n.target {target}\n.address_size 64\n.shared .align 128 .b8 tile[8192];\n\
         .visible .entry loop(.param .u64 y) .reqntid 128 {{\n.reg .pred %p; .reg .b32 %r<96>; .reg .b64 %rd<6>;\n\
         ld.param.u64 %rd1, [y]; mov.u32 %r88, %tid.x; mov.u32 %r90, tile; mad.lo.u32 %r90, %r88, 64, %r90;\n\
         mul.lo.u32 %r88, %r88, 0x00070007; or.b32 %r88, %r88, 0x30003400;\n{fill}{clear}\
         st.shared.v4.b32 [%r90], {{%r64, %r65, %r66, %r67}}; st.shared.v4.b32 [%r90+16], {{%r68, %r69, %r70, %r71}};\n\
         st.shared.v4.b32 [%r90+32], {{%r72, %r73, %r74, %r75}}; st.shared.v4.b32 [%r90+48], {{%r76, %r77, %r78, %r79}};\n\
         {fence} bar.sync 0; mov.b64 %rd2, 0x0000001000080000; mov.u32 %r89, 0;\nagain:\n{body}\
         add.u32 %r89, %r89, 1; setp.lt.u32 %p, %r89, 2000; @%p bra again;\n\
         mov.u32 %r88, %tid.x; mul.wide.u32 %rd4, %r88, 4; add.u64 %rd5, %rd1, %rd4; st.global.b32 [%rd5], %r0; ret;\n}}\n"
    )
}

/// What multiplies on a target.
fn instruction(target: &str) -> (Architecture, &'static str) {
    match target {
        "sm_80" => (Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32"),
        _ => (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16"),
    }
}

/// Seconds of the engine for a product of N×N×N as an instruction computes it.
fn engine(architecture: Architecture, name: &str, n: usize) -> f64 {
    let simulator = Simulator::instruction(architecture, name, Revision::Hardware).expect("a model");
    let model = simulator.own_model().clone();
    let simulator = FastSimulator::new(simulator);
    let matrix = |format| {
        let codes = codes(2, HALF, n * n);
        let codes = codes.chunks_exact(2).map(|code| u16::from_le_bytes([code[0], code[1]]));
        Matrix::with_codes(format, (1, n, n), Codes::U16(codes.collect())).expect("a matrix")
    };
    let (a, b) = (matrix(model.a), matrix(model.b));
    let c = Matrix::zeros(model.c, (1, n, n)).expect("C");
    let pool = bitmma_engine::threads::pool(1).expect("a thread pool");
    median(|| {
        pool.install(|| simulator.multiply_columns(&a, &b, &c, None).expect("D"));
    })
}

fn main() {
    let only = std::env::args().nth(1).filter(|name| !name.starts_with('-'));
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    let show = |name: &str, seconds: f64, report: &Report| {
        let rate = report.instructions as f64 / seconds / 1e6;
        println!("{:>8.1} ms  {rate:>6.0} M thread-instructions/s  {name}", seconds * 1e3);
    };
    if wanted("arithmetic") {
        let program = Program::parse(ARITHMETIC).expect("PTX");
        let (seconds, report) = run(&program, ([1; 3], 1), &[pointer(0)], &mut [buffer("y", vec![0; 512])]);
        show("arithmetic", seconds, &report);
    }
    for (target, name) in [("sm_80", "mma.sync alone"), ("sm_90a", "wgmma alone")] {
        if wanted(name) {
            let program = Program::parse(&matrix_loop(target)).expect("PTX");
            let mut buffers = [buffer("y", vec![0; 512])];
            let (seconds, report) = run(&program, ([1; 3], 1), &[pointer(0)], &mut buffers);
            show(name, seconds, &report);
            let products = 2000.0 * f64::from(64 * 128 * 16); // of either loop
            let (architecture, instruction) = instruction(target);
            let own = engine(architecture, instruction, 1024) / f64::from(1 << 30) * products;
            println!("{:>8.1} ms  {:>6.3} of the engine's rate", own * 1e3, own / seconds);
        }
    }
    for capability in ["80", "90"] {
        let name = format!("softmax_f32_{capability}");
        if wanted(&name) {
            let mut buffers = [buffer("x", codes(4, SINGLE, 4096 * 1000)), buffer("y", vec![0; 4096 * 4000])];
            let arguments = [pointer(0), pointer(1), integer(1000), Argument::Null, Argument::Null];
            let (seconds, report) = run(&program(&name), ([4096, 1, 1], 1), &arguments, &mut buffers);
            show(&format!("{name}, 4096 rows of 1000"), seconds, &report);
        }
        let name = format!("attn_f16_{capability}");
        if wanted(&name) {
            let mut buffers = ["q", "k", "v", "o"].map(|name| buffer(name, codes(2, HALF, 1024 * 64)));
            let mut arguments: Vec<_> = (0..4).map(pointer).collect();
            arguments.extend([integer(1024), Argument::Scalar(Scalar::Float(0.18))]);
            arguments.extend([Argument::Null, Argument::Null]);
            let (seconds, report) = run(&program(&name), ([16, 1, 1], 8), &arguments, &mut buffers);
            show(&format!("{name}, 8 heads of 1024 x 64"), seconds, &report);
        }
        let name = format!("mm_f16_{capability}");
        if wanted(&name) {
            let n = 1024;
            let mut buffers = [
                buffer("a", codes(2, HALF, n * n)),
                buffer("b", codes(2, HALF, n * n)),
                buffer("c", vec![0; 4 * n * n]),
            ];
            let arguments = [
                pointer(0),
                pointer(1),
                pointer(2),
                integer(n),
                integer(n),
                integer(n),
                Argument::Null,
                Argument::Null,
            ];
            let grid = [n as u32 / 64, n as u32 / 64, 1];
            let (seconds, report) = run(&program(&name), (grid, 1), &arguments, &mut buffers);
            show(&format!("{name}, 1024 x 1024 x 1024"), seconds, &report);
            let (architecture, instruction) = instruction(&format!("sm_{capability}"));
            let own = engine(architecture, instruction, n);
            println!("{:>8.1} ms  {:>6.3} of the engine's rate", own * 1e3, own / seconds);
        }
    }
}
