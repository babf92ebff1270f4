//! `bitmma golden`: cases with their answers, for testbenches that link nothing.

use std::fmt::Write;
use std::path::PathBuf;

use bitmma::formats::Format;
use bitmma::gemm::Target as Steps;
use bitmma::{Case, MmaUnit, Signature, Simulator};
use bitmma_calls::npz::Writer;
use bitmma_verify::recording::{self, Answer};
use clap::ValueEnum;

use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::files::npy;
use crate::record::{cases, write_case, write_head};
use crate::target::{self, Target};
use crate::verify::names;
use crate::{output, whole};

const HELP: &str = "\
A case is one element of D: K codes of A and of B, one of C, scale factors where the instruction takes them, and the code \
of D. Half of the cases are directed (or all there are, if those are fewer), spread evenly over every feature; the rest are \
random, of ten families in turn, under --seed. The same version, seed and options give the same file.

hex: a word a line for $readmemh; the last line of its comment says which bits are what. svh: a package with the type \
golden_t, a packed struct, and the array GOLDEN of localparams. csv: a recording, as recordings/README.md describes it and \
`bitmma replay` reads it. npz: arrays a and b (N×K), c and d (N), scale_a and scale_b (N × K/block) of unsigned integers, \
and any_nan, which is 1 where any NaN agrees with any other.

Example:
  bitmma golden h100 mma.m16n8k16.f32.f16.f16.f32 \\
         --cases 10000 --format hex -o golden.hex";

/// Writes cases with the answers of an instruction: for $readmemh, NumPy, SystemVerilog, or as a recording
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    /// Elements along K of --model [default: its L_max]
    #[arg(long, short, value_name = "K", value_parser = count::<usize>(1..=MOST), conflicts_with_all = ["architecture", "instruction"])]
    k: Option<usize>,
    /// How many cases, 1 to 10000000
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count::<u64>(1..=MAX_CASES))]
    cases: u64,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "hex")]
    format: Kind,
    /// Seed of the random cases
    #[arg(long, default_value = "0", value_parser = count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Where to write; the standard output if left out, which npz cannot be
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Kind {
    /// A word a line, for $readmemh
    Hex,
    /// Arrays of NumPy
    Npz,
    /// A recording
    Csv,
    /// A SystemVerilog package
    Svh,
}

/// More are not held in memory.
const MAX_CASES: u64 = 10_000_000;

/// Computes and writes.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.format == Kind::Npz && arguments.out.is_none() {
        bail!("--format npz needs --out FILE");
    }
    if let Some(path) = &arguments.out {
        whole::check(path).within(path.display())?;
    }
    let target = arguments.target.resolve()?;
    let signature = match &target.found {
        Some(found) => Signature::found(found),
        None => {
            let k = Steps::of_model(target.model.clone(), arguments.k).within("-k")?.step();
            Signature::of_model(format!("model/{}", target.name), &target.model, (1, 1, k))
        }
    };
    let wanted = arguments.cases;
    let (directed, _) = cases(&signature, wanted.div_ceil(2) as usize, 0, 0);
    let (_, cases) = cases(&signature, directed, wanted - directed as u64, arguments.seed);
    let unit = Simulator::model(target.model.clone(), (1, 1, signature.k))?;
    let answers = unit.dot_products(&cases)?;
    let golden = Golden {
        arguments,
        target: &target,
        signature: &signature,
        directed,
        cases: &cases,
        answers: &answers,
    };
    let bytes = match arguments.format {
        Kind::Hex => golden.hex().into_bytes(),
        Kind::Svh => golden.svh().into_bytes(),
        Kind::Csv => golden.csv()?,
        Kind::Npz => {
            golden.npz().ok_or_else(|| Failure::new("the archive would pass 4 GiB; ask for fewer cases"))?
        }
    };
    match &arguments.out {
        Some(path) => {
            whole::write(path, |file| file.write_all(&bytes)).within(path.display())?;
            let (random, path) = (cases.len() - directed, path.display());
            output::print(&format!(
                "{} and {random} random ones of {} in {path}\n",
                output::counted(directed, "directed case"),
                target.name
            ))?;
        }
        None => output::print(&String::from_utf8_lossy(&bytes))?,
    }
    Ok(Outcome::Agrees)
}

/// Cases and their answers.
struct Golden<'g> {
    arguments: &'g Arguments,
    target: &'g Target,
    signature: &'g Signature,
    directed: usize,
    cases: &'g [Case],
    answers: &'g [u64],
}

/// A field of a case: its name, the format of its codes, the codes.
type Field<'g> = (&'static str, Format, &'g [u64]);

impl Golden<'_> {
    /// Those of case `index`, from the lowest bits of a word up.
    fn fields(&self, index: usize) -> Vec<Field<'_>> {
        let Signature { a, b, c, d, scale, .. } = *self.signature;
        let case = &self.cases[index];
        let mut fields = vec![("a", a, &case.a[..]), ("b", b, &case.b)];
        if let Some(scale) = scale {
            fields.push(("scale_a", scale.format, &case.scale_a));
            fields.push(("scale_b", scale.format, &case.scale_b));
        }
        let c_and_d = [("c", c, std::slice::from_ref(&case.c)), ("d", d, &self.answers[index..=index])];
        fields.extend(c_and_d);
        fields
    }

    fn any_nan(&self) -> bool {
        self.target.model.nan_code.is_none()
    }

    /// What the file is, line by line.
    fn head(&self) -> Vec<String> {
        let (random, seed) = (self.cases.len() - self.directed, self.arguments.seed);
        let nan = if self.any_nan() { "any NaN agrees with any other" } else { "a NaN has one code" };
        vec![
            format!(
                "bitmma {} golden: {}, K = {}",
                env!("CARGO_PKG_VERSION"),
                self.target.name,
                self.signature.k
            ),
            format!(
                "{}, then {random} random ones, seed {seed}; {nan}",
                output::counted(self.directed, "directed case")
            ),
        ]
    }

    /// Bits of a word.
    fn bits(&self) -> usize {
        self.fields(0).iter().map(|(_, format, codes)| format.bits() as usize * codes.len()).sum()
    }

    /// Case `index` as one number in hex, the first field lowest.
    fn word(&self, index: usize) -> String {
        let mut digits = vec![0u8; self.bits().div_ceil(4)];
        let mut at = 0;
        for (_, format, codes) in self.fields(index) {
            for code in codes {
                for bit in 0..format.bits() {
                    digits[at / 4] |= ((code >> bit & 1) as u8) << (at % 4);
                    at += 1;
                }
            }
        }
        digits.iter().rev().filter_map(|&digit| char::from_digit(digit.into(), 16)).collect()
    }

    fn hex(&self) -> String {
        let mut text: String = self.head().iter().map(|line| format!("// {line}\n")).collect();
        let mut low = 0;
        let mut places = Vec::new();
        for (name, format, codes) in self.fields(0) {
            let count = codes.len();
            let bits = format.bits() as usize * count;
            let each =
                if count == 1 { String::new() } else { format!(" ({count} codes of {})", format.bits()) };
            places.push(format!("[{}:{low}] {name}{each}", low + bits - 1));
            low += bits;
        }
        _ = writeln!(text, "// {low} bits: {}", places.join(", "));
        for index in 0..self.cases.len() {
            text += &self.word(index);
            text.push('\n');
        }
        text
    }

    fn svh(&self) -> String {
        let mut text: String = self.head().iter().map(|line| format!("// {line}\n")).collect();
        let (bits, count) = (self.bits(), self.cases.len());
        text += "package golden;\n  typedef struct packed {\n";
        for (name, format, codes) in self.fields(0).iter().rev() {
            let several = if codes.len() == 1 { String::new() } else { format!("[{}:0]", codes.len() - 1) };
            _ = writeln!(text, "    logic {several}[{}:0] {name};  // {format}", format.bits() - 1);
        }
        _ = write!(
            text,
            "  }} golden_t;\n  localparam int GOLDEN_CASES = {count};\n  localparam bit GOLDEN_ANY_NAN = {};\n  \
             localparam golden_t GOLDEN[GOLDEN_CASES] = '{{\n",
            u8::from(self.any_nan())
        );
        for index in 0..count {
            let comma = if index + 1 == count { "" } else { "," };
            _ = writeln!(text, "    {bits}'h{}{comma}", self.word(index));
        }
        text + "  };\nendpackage\n"
    }

    fn csv(&self) -> Result<Vec<u8>, Failure> {
        let mut head = self.head();
        if self.target.found.is_none() {
            let (architecture, instruction) = names(&self.signature.name);
            head.push(recording::model_comment(architecture, instruction, &self.target.model));
        }
        let mut text = Vec::new();
        write_head(&mut text, &head)?;
        for (case, &d) in self.cases.iter().zip(self.answers) {
            let nan = self.any_nan() && self.signature.d.is_nan(d);
            let d = if nan { Answer::Nan } else { Answer::Code(d) };
            write_case(&mut text, self.signature, case, d)?;
        }
        Ok(text)
    }

    fn npz(&self) -> Option<Vec<u8>> {
        let mut archive = Writer::default();
        for (place, (name, format, first)) in self.fields(0).into_iter().enumerate() {
            let all = self.cases.len();
            let shape = if matches!(name, "c" | "d") { vec![all] } else { vec![all, first.len()] };
            let codes = (0..all).flat_map(|index| self.fields(index)[place].2.iter().copied());
            archive.add(name, &npy::of_integers(format.bytes(), &shape, codes))?;
        }
        let any = u64::from(self.any_nan());
        archive.add("any_nan", &npy::of_integers(1, &[1], std::iter::once(any)))?;
        Some(archive.finish())
    }
}
