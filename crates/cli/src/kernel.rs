//! `bitmma kernel`: compiled GPU kernels: what is known of them, and their results.

mod arguments;
mod launch;
mod show;
mod source;

use bitmma_ptx::{Compiler, Program, Tools};
use clap::Subcommand;

use crate::failure::{Failure, Outcome};
use arguments::{Given, Set};
use source::Source;

const HELP: &str = "\
FILE is what a compiler prints (PTX): Triton, nvcc -ptx, Numba, cuda-python; or CUDA C++ (.cu), which NVRTC compiles here for --chip: \
it is looked for where ptxas is, in lib beside these folders, and as BITMMA_LIBNVRTC says. `show` lists the entries, their parameters and \
every form with how its result is known: exact (IEEE 754 or the PTX manual), table (a function's table), model (a matrix \
instruction's model), unordered (a sum of floats in the order of blocks), refused. It says what ptxas fuses and folds, and \
which lines are doubtful. `run` runs an entry as a GPU would.

What ptxas fuses it is asked: the text is compiled, and the code says it. ptxas and nvdisasm are looked for in the folders of \
BITMMA_CUDA_TOOLS, in PATH, and in bin of CUDA_HOME and CUDA_PATH. Where they are not found or fail, a rule says it, and the \
reason is printed; with --fusion ask that is an error. --fusion predict goes by the rule alone. --fusion off is for kernels that \
are compiled without fusion (nvcc -fmad=false). Both commands print which it was. Listings are kept in the folder BITMMA_CACHE \
(an absolute path), by default bitmma in XDG_CACHE_HOME or ~/.cache; BITMMA_CACHE=off keeps none.

An argument of `run` is, in the order of the parameters, a .npy file (a buffer), out:y.npy (a buffer that is written back; \
out:y.npy:f32:4x1000 makes a new one of zeros), a number with its type (f32:0.5, i32:1000, u64:7), several of them for a vector or structure \
(f32:1,f32:2,i32:8), or null. Dynamic shared memory of PTX is all that the architecture has, of CUDA C++ none, unless --shared says it.

Examples:
  bitmma kernel show softmax.ptx
  bitmma kernel run softmax.ptx --grid 4 --arg x.npy --arg out:y.npy:f32:4x1000 \\
         --arg i32:1000
  bitmma kernel run scale.cu --chip h100 --entry 'scale<float>' --grid 4 --block 256 \\
         --arg out:x.npy --arg f32:0.5

JSON: schema, file, target, version, entries [{entry, block, parameters [{name, type}], forms [{form, count, lines, known, \
remark}], fused, folded, fusion, fusion_remark, doubtful [{line, form, remark}]}], entry, grid, mode, fusion, fusion_remark, \
instructions, blocks, printed, written.";

/// Runs a compiled GPU kernel (PTX) with a GPU's bits, or shows what is known
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Show entries, parameters, forms, what ptxas fuses and folds, doubtful lines
    Show(Show),
    /// Run an entry on arrays from files
    Run(Box<Run>),
}

#[derive(Clone, Debug, clap::Args)]
struct Show {
    #[command(flatten)]
    source: Source,
    /// ask: ptxas says what it fuses; predict: a rule; off: nothing is [default: ask, or else predict]
    #[arg(long, value_name = "HOW", value_parser = ["ask", "predict", "off"])]
    fusion: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, clap::Args)]
struct Run {
    #[command(flatten)]
    source: Source,
    /// Blocks: x, or x,y or x,y,z
    #[arg(long, value_name = "X,Y,Z", value_parser = arguments::sizes)]
    grid: [u32; 3],
    /// Argument: x.npy, out:y.npy, f32:0.5, i32:8, null
    #[arg(long = "arg", value_name = "VALUE", value_parser = arguments::given)]
    arguments: Vec<Given>,
    /// Value of a __device__ or __constant__ variable: NAME=VALUE, as --arg has values
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = arguments::set)]
    variables: Vec<Set>,
    /// Threads of a block, if the entry has no .reqntid
    #[arg(long, value_name = "X,Y,Z", value_parser = arguments::sizes)]
    block: Option<[u32; 3]>,
    /// Blocks of a cluster, if the entry has no .reqnctapercluster
    #[arg(long, value_name = "X,Y,Z", value_parser = arguments::sizes)]
    cluster: Option<[u32; 3]>,
    /// gpu: what ptxas makes of the text; text: the text as written
    #[arg(long, value_name = "MODE", default_value = "gpu", value_parser = ["gpu", "text"])]
    mode: String,
    /// ask: ptxas says what it fuses; predict: a rule; off: nothing is [default: ask, or else predict]
    #[arg(long, value_name = "HOW", value_parser = ["ask", "predict", "off"])]
    fusion: Option<String>,
    /// Run a kernel with doubtful lines, or one that depends on the order of blocks
    #[arg(long)]
    allow_doubtful: bool,
    /// Bytes of dynamic shared memory [default: all that the architecture has]
    #[arg(long, value_name = "BYTES")]
    shared: Option<u64>,
    /// Turns that the loops of a warp may take
    #[arg(long, value_name = "TURNS")]
    loop_limit: Option<u64>,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match &arguments.what {
        What::Show(show) => show::run(show)?,
        What::Run(run) => launch::run(run)?,
    }
    Ok(Outcome::Agrees)
}

/// How it is found out what ptxas fuses.
fn compiler(program: &Program, target: Option<&str>, fusion: Option<&str>) -> Result<Compiler, Failure> {
    let tools = || Tools::find(&[], target.unwrap_or(program.target()));
    Ok(match fusion {
        Some("predict") => Compiler::Predicted(None),
        Some("off") => Compiler::Off,
        Some(_) => match tools() {
            Ok(tools) => Compiler::Asked(tools),
            Err(why) => bail!("--fusion ask: {why}"),
        },
        None => match tools() {
            Ok(tools) => Compiler::AskedIfPossible(tools),
            Err(why) => Compiler::Predicted(Some(why)),
        },
    })
}
