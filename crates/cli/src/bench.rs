//! `bitmma bench`: products per second, beside a native matrix product in the same run.

use std::hint::black_box;
use std::time::Instant;

use bitmma_document::Table;
use bitmma_engine::catalogue::find;
use bitmma_engine::formats::{BlockScale, F64, Format, text::to_f64_bits};
use bitmma_engine::gemm::Target;
use bitmma_engine::kernel::{Level, has_kernel_at, routes};
use bitmma_engine::threads::{self, Pool};
use bitmma_engine::{Architecture, GemmOptions, Matrix, Revision};
use bitmma_verify::inputs::{Family, Formats, case, nearest};
use serde::Serialize;

use crate::count::count;
use crate::failure::{Failure, Outcome, Within};
use crate::gemm::rate_text;
use crate::{json, output, target};

use self::native::Native;

#[cfg(feature = "native")]
mod native;
/// No native product: the feature `native` was left out.
#[cfg(not(feature = "native"))]
mod native {
    use bitmma_engine::threads::Pool;

    pub(super) struct Native;

    impl Native {
        pub(super) fn new(_double: bool, _size: usize) -> Native {
            Native
        }

        pub(super) fn seconds(&mut self, _pool: &Pool) -> Option<f64> {
            None
        }
    }
}

const HELP: &str = "\
Each row is D = A·B of N×N×N Gaussian numbers by one instruction, on one thread and on all, in turn with a native \
product (the gemm crate: FP32, or FP64 where D is FP64) of the same size and threads. Figures are medians of at least \
three turns and about a second. Where elements share a scale factor, numbers are quantized block by block. Ratio: our \
products per second over the native ones; a command that was built without the feature `native` prints neither. Path: kernel, \
or reference where no kernel exists; the reference path runs at a size that takes about a second, the native \
product at the full size.

Examples:
  bitmma bench
  bitmma bench --arch h100 --instruction wgmma.m64nNk16.f32.f16.f16 --size 2048
  bitmma bench --level avx2
  bitmma bench --arch blackwell --routes

JSON: schema, size, threads, level, rows [{target, architecture, instruction, model {family, parameters, lowering}, formats, path, \
size, one {products_per_second, native_products_per_second, ratio}, all (the same), speedup, native, \
routes [{route, count}]}]. The key native and the ratios only with the feature `native`, routes only with --routes.";

/// Measures products per second, beside a native matrix product
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// Measure only this architecture (hopper, sm_90a, h100)
    #[arg(long, value_name = "ARCH", value_parser = target::architecture(), hide_possible_values = true)]
    arch: Option<Architecture>,
    /// Measure this instruction of --arch instead of the usual ones
    #[arg(long, value_name = "INSTRUCTION", requires = "arch")]
    instruction: Option<String>,
    /// M, N and K
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = count::<u64>(1..=32768))]
    size: u64,
    /// Threads of the parallel measurement [default: one for each core]
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..=threads::MOST as u64))]
    threads: Option<u64>,
    /// Instruction set of the kernels [default: the fastest available]
    ///
    /// The native product chooses its own.
    #[arg(long, value_name = "LEVEL", value_parser = clap::builder::PossibleValuesParser::new(LEVELS.map(|level| level.0)))]
    level: Option<String>,
    /// Print which paths the product took through its kernel, and how often
    #[arg(long)]
    routes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Instruction sets by name, the slowest first.
const LEVELS: [(&str, Level); 4] =
    [("portable", Level::Portable), ("neon", Level::Neon), ("avx2", Level::Avx2), ("avx512", Level::Avx512)];

/// The level of that name, or the fastest; it must be one that this processor has.
fn level(name: Option<&str>) -> Result<(&'static str, Level), Failure> {
    let available = Level::available();
    let there: Vec<_> = LEVELS.into_iter().filter(|(_, level)| available.contains(level)).collect();
    let chosen = there.iter().rfind(|(of, _)| name.is_none_or(|name| name == *of));
    chosen.copied().ok_or_else(|| {
        let names: Vec<&str> = there.iter().map(|(name, _)| *name).collect();
        Failure::new(format!(
            "--level is {}; this processor has {}",
            name.unwrap_or_default(),
            names.join(", ")
        ))
    })
}

/// One instruction for each model family and kind of format.
const INSTRUCTIONS: [(Architecture, &str); 21] = [
    (Architecture::Hopper, "wgmma.m64nNk16.f32.f16.f16"),
    (Architecture::Hopper, "wgmma.m64nNk32.f32.e4m3.e4m3"),
    (Architecture::Blackwell, "tcgen05.mma.m128nNk32.kind::f8f6f4.f32.e4m3.e4m3"),
    (Architecture::Blackwell, "tcgen05.mma.m128nNk32.kind::f8f6f4.f32.e3m2.e2m3"),
    (Architecture::Blackwell, "tcgen05.mma.m128nNk32.kind::f8f6f4.f32.e2m1.e2m1"),
    (Architecture::Hopper, "wgmma.m64nNk16.f32.bf16.bf16"),
    (Architecture::Hopper, "wgmma.m64nNk8.f32.tf32.tf32"),
    (Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32"),
    (Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_bf16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x4_xf32"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x4bf16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8bf16_1k"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    (Architecture::Cdna3, "v_mfma_f64_16x16x4_f64"),
];

/// Turns of ours and the native product, at least.
const TURNS: usize = 3;
/// Seconds of turns, about.
const SECONDS: f64 = 1.0;

/// Products per second on some threads.
#[derive(Clone, Copy, Serialize)]
struct Rate {
    products_per_second: f64,
    /// None without the feature `native`.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_products_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

impl Rate {
    fn new(ours: f64, native: Option<f64>) -> Rate {
        let ratio = native.map(|native| ours / native);
        Rate { products_per_second: ours, native_products_per_second: native, ratio }
    }
}

/// One instruction, measured.
#[derive(Serialize)]
struct Row {
    target: String,
    architecture: &'static str,
    instruction: String,
    model: json::Model,
    formats: String,
    /// Kernel where it has one on the instruction set that was measured, else reference.
    path: &'static str,
    /// M, N and K of ours.
    size: usize,
    one: Rate,
    all: Rate,
    speedup: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<&'static str>,
    /// Where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Vec<Taken>>,
}

/// How often a route was taken.
#[derive(Serialize)]
struct Taken {
    route: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct Page {
    size: usize,
    threads: usize,
    level: &'static str,
    rows: Vec<Row>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let size = arguments.size as usize;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.map_or(cores, |threads| threads as usize);
    let (level_name, level) = level(arguments.level.as_deref())?;
    let chosen: Vec<(Architecture, &str)> = match (arguments.arch, &arguments.instruction) {
        (Some(architecture), Some(name)) => vec![(architecture, name.as_str())],
        (Some(architecture), None) => {
            INSTRUCTIONS.into_iter().filter(|(of, _)| *of == architecture).collect()
        }
        (None, _) => INSTRUCTIONS.into(),
    };
    if chosen.is_empty() {
        bail!(
            "none of the usual instructions is {}'s; name one with --instruction (`bitmma list {0}`)",
            arguments.arch.map_or("", Architecture::name)
        );
    }
    let mut rows = Vec::new();
    for (architecture, name) in chosen {
        let target = Target::found(&find(architecture, name)?, Revision::default())?;
        rows.push(measure(architecture, &target, (size, threads, level), arguments.routes).within(name)?);
    }
    if arguments.json {
        json::print(&Page { size, threads, level: level_name, rows })?;
    } else {
        output::print(&text(&rows, (size, threads, level_name)))?;
        if cfg!(not(feature = "native")) {
            output::note("no native product beside them: that needs a build with --features native");
        }
    }
    Ok(Outcome::Agrees)
}

/// Elements of a row of A or a column of B, and the scale factors of its blocks.
struct Line {
    elements: Vec<u64>,
    scales: Vec<u64>,
}

impl Line {
    /// FP64 numbers as elements. With scale factors the largest of a block comes near the largest of the format: its
    /// exponent is that of the format for powers of two (OCP MX v1.0, 6.3), the number itself for other factors.
    fn of(numbers: &[u64], format: &Format, scale: Option<BlockScale>) -> Line {
        let value = |format: &Format, code| f64::from_bits(to_f64_bits(format, code));
        let mut line = Line { elements: Vec::with_capacity(numbers.len()), scales: Vec::new() };
        for block in numbers.chunks(scale.map_or(numbers.len(), |scale| scale.size)) {
            let numbers = block.iter().map(|&number| f64::from_bits(number));
            let factor = scale.map_or(1.0, |BlockScale { format: scale, .. }| {
                let largest = numbers.clone().fold(0.0, |largest: f64, number| largest.max(number.abs()));
                let factor = match scale.fraction_bits {
                    0 => (largest.log2().floor() - f64::from(format.max_exponent())).exp2(),
                    _ => largest / value(format, format.max_finite_code()),
                };
                let code = nearest(&scale, factor);
                line.scales.push(code);
                value(&scale, code)
            });
            line.elements.extend(numbers.map(|number| nearest(format, number / factor)));
        }
        line
    }
}

/// Operands of one size.
struct Inputs {
    a: Matrix,
    b: Matrix,
    scales: Option<(Matrix, Matrix)>,
}

impl Inputs {
    /// Numbers of a normal distribution.
    fn new(target: &Target, size: usize) -> Result<Inputs, Failure> {
        let model = target.model();
        let normal = Formats { a: F64, b: F64, c: model.c, scale: None };
        let drawn: Vec<_> =
            (0..size as u64).map(|index| case(normal, size, Family::Normal, 1, index)).collect();
        let rows: Vec<_> = drawn.iter().map(|of| Line::of(&of.a, &model.a, model.scale)).collect();
        let columns: Vec<_> = drawn.iter().map(|of| Line::of(&of.b, &model.b, model.scale)).collect();
        let a = Matrix::single(model.a, size, size, rows.iter().flat_map(|row| row.elements.clone()))?;
        let b = (0..size).flat_map(|k| columns.iter().map(move |column| column.elements[k]));
        let b = Matrix::single(model.b, size, size, b)?;
        let Some(scale) = model.scale else { return Ok(Inputs { a, b, scales: None }) };
        let along = size.div_ceil(scale.size);
        let of_rows = rows.iter().flat_map(|row| row.scales.clone());
        let of_columns = (0..along).flat_map(|block| columns.iter().map(move |column| column.scales[block]));
        let scales = (
            Matrix::single(scale.format, size, along, of_rows)?,
            Matrix::single(scale.format, along, size, of_columns)?,
        );
        Ok(Inputs { a, b, scales: Some(scales) })
    }

    /// Seconds of one product.
    fn seconds(&self, target: &Target, level: Level, pool: &Pool) -> Result<f64, Failure> {
        let options = GemmOptions {
            scale_a: self.scales.as_ref().map(|scales| &scales.0),
            scale_b: self.scales.as_ref().map(|scales| &scales.1),
            level: Some(level),
            ..GemmOptions::default()
        };
        let start = Instant::now();
        let d = pool.install(|| bitmma_engine::gemm(target, black_box(&self.a), &self.b, None, &options))?;
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        black_box(d);
        Ok(seconds)
    }
}

fn measure(
    architecture: Architecture,
    target: &Target,
    (size, threads, level): (usize, usize, Level),
    routes: bool,
) -> Result<Row, Failure> {
    let (one, all) = (threads::pool(1)?, threads::pool(threads)?);
    let small = size.min(64);
    let is_double = target.working_format().bytes() == 8;
    let has_kernel = has_kernel_at(target.model(), target.step(), level);
    let ours = if has_kernel {
        size
    } else {
        // the reference path: as large as takes it a second
        let seconds = Inputs::new(target, small)?.seconds(target, level, &one)?;
        let fitting = small as f64 * (SECONDS / TURNS as f64 / seconds.max(1e-9)).cbrt();
        ((fitting as usize).next_multiple_of(target.step())).clamp(small, size)
    };
    let inputs = Inputs::new(target, ours)?;
    let rates = |pool: &Pool| -> Result<Rate, Failure> {
        let mut native = Native::new(is_double, size);
        let (mut our_times, mut native_times) = (Vec::new(), Vec::new());
        inputs.seconds(target, level, pool)?; // the first one finds memory and caches cold
        native.seconds(pool);
        let start = Instant::now();
        while our_times.len() < TURNS || start.elapsed().as_secs_f64() < SECONDS {
            our_times.push(inputs.seconds(target, level, pool)?);
            native_times.extend(native.seconds(pool));
        }
        let cube = |size: usize| (size as f64).powi(3);
        let native = median(native_times).map(|seconds| cube(size) / seconds);
        Ok(Rate::new(median(our_times).map_or(0.0, |seconds| cube(ours) / seconds), native))
    };
    let rate_of_one = rates(&one)?;
    let rate_of_all = if threads == 1 { rate_of_one } else { rates(&all)? };
    let routes = match routes {
        true => {
            let (result, taken) = one.install(|| routes::counted(|| inputs.seconds(target, level, &one)));
            result?;
            Some(taken.into_iter().map(|(route, count)| Taken { route, count }).collect())
        }
        false => None,
    };
    let model = target.model();
    let scale = model.scale.map_or(String::new(), |scale| format!(" {}/{}", scale.format, scale.size));
    let native = if is_double { "DGEMM" } else { "SGEMM" };
    Ok(Row {
        target: format!("{architecture} {}", target.name()),
        architecture: architecture.name(),
        instruction: target.name().to_owned(),
        model: json::Model::new(model, Some(target.step())),
        formats: format!("{} {} {} {}{scale}", model.d, model.a, model.b, model.c),
        path: if has_kernel { "kernel" } else { "reference" },
        size: ours,
        one: rate_of_one,
        all: rate_of_all,
        speedup: rate_of_all.products_per_second / rate_of_one.products_per_second,
        native: cfg!(feature = "native").then_some(native),
        routes,
    })
}

/// The middle one; `None` of nothing.
fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

fn text(rows: &[Row], (size, threads, level): (usize, usize, &str)) -> String {
    let several = format!("{threads} threads");
    let ratios = rows.iter().any(|row| row.one.ratio.is_some());
    let mut headings = vec!["architecture", "model", "D A B C", "path", ">size", ">one thread", ">ratio"];
    let all = format!(">{several}");
    headings.extend([all.as_str(), ">ratio", ">speedup"]);
    headings.retain(|heading| ratios || *heading != ">ratio");
    let mut table = Table::new(&headings);
    for row in rows {
        let mut cells = vec![
            row.architecture.to_owned(),
            row.model.family.to_owned(),
            row.formats.clone(),
            row.path.to_owned(),
            row.size.to_string(),
        ];
        for rate in [&row.one, &row.all] {
            cells.push(rate_text(rate.products_per_second));
            cells.extend(rate.ratio.map(|ratio| format!("{ratio:.3}")));
        }
        cells.push(format!("{:.2}", row.speedup));
        table.row(cells);
    }
    let natives = |kind: &str| {
        let of_kind = rows.iter().filter(|row| row.native == Some(kind));
        let native = |rate: &Rate| rate.native_products_per_second;
        let rates: Vec<(f64, f64)> =
            of_kind.filter_map(|row| native(&row.one).zip(native(&row.all))).collect();
        let middle = |rates: Vec<f64>| rate_text(median(rates).unwrap_or(0.0));
        (!rates.is_empty()).then(|| {
            format!(
                "native {kind} at {size}: {} on one thread, {} on {several}\n",
                middle(rates.iter().map(|rate| rate.0).collect()),
                middle(rates.iter().map(|rate| rate.1).collect()),
            )
        })
    };
    let natives: String = ["SGEMM", "DGEMM"].into_iter().filter_map(natives).collect();
    format!("{}\nlevel {level}\n{natives}{}", table.render(crate::layout::width()), routes_text(rows))
}

/// What took which ways, a line each; nothing where nobody asked.
fn routes_text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let routes = row.routes.as_ref()?;
        let taken: Vec<String> =
            routes.iter().map(|Taken { route, count }| format!("{route} {count}")).collect();
        let taken = if taken.is_empty() { "reference path".to_owned() } else { taken.join(", ") };
        Some(format!("{}: {taken}\n", row.target))
    };
    let lines: String = rows.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("\nroutes:\n{lines}") }
}
