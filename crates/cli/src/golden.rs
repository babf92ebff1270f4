//! `bitmma golden`: cases with their results, for testbenches that link nothing.

use std::io::Write;
use std::path::PathBuf;

use bitmma_engine::formats::Format;
use bitmma_engine::gemm::Target as Steps;
use bitmma_engine::{Case, Signature, Simulator};
use bitmma_files::npy;
use bitmma_files::npz::Writer;
use bitmma_verify::asking;
use bitmma_verify::open::MAX_SIZE;
use bitmma_verify::recording::{self, Answer};
use clap::ValueEnum;

use crate::count::count;
use crate::failure::{Failure, Outcome, Within};
use crate::record::Cases;
use crate::recorded::{names, write_case, write_head};
use crate::target::{self, Target};
use crate::{output, whole};

const HELP: &str = "\
A case is one element of D: K codes of A and of B, one of C, scale factors where the instruction takes them, and the code \
of D. Half of the cases are directed (or all there are, if those are fewer), spread evenly over every feature; the rest are \
random, of ten families in turn, under --seed. The same version, seed and options give the same file.

Formats:
  hex  a word a line for $readmemh; the last line of its comment names the bits
  npz  arrays a and b (N×K), c and d (N), scale_a and scale_b (N × K/block) of
       unsigned integers, and any_nan, which is 1 where any NaN agrees with any
       other
  csv  a recording, as recordings/README.md describes it
  svh  a package with the type golden_t, a packed struct, and the array GOLDEN
       of localparams

Example:
  bitmma golden h100 mma.m16n8k16.f32.f16.f16.f32 \\
         --cases 10000 --format hex -o golden.hex
  bitmma golden b200 nvfp4 --count 100 -o nvfp4.hex";

/// Writes test vectors of an instruction: hex, NumPy, CSV, SystemVerilog
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    /// Elements along K of --model, 1 to 65536 [default: its L_max]
    #[arg(long, short, value_name = "K", value_parser = count::<usize>(1..=MAX_SIZE as u64), conflicts_with_all = ["architecture", "instruction"])]
    k: Option<usize>,
    /// Number of cases, 1 to 10000000
    #[arg(long, visible_alias = "count", value_name = "N", default_value = "1000", value_parser = count::<u64>(1..=MAX_CASES))]
    cases: u64,
    /// Format of the file
    #[arg(long, value_name = "FORMAT", default_value = "hex")]
    format: Kind,
    /// Seed of the random cases
    #[arg(long, default_value = "0", value_parser = count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// File to write [default: standard output]
    ///
    /// npz needs a file.
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

/// More are no test of anything, and no file to keep.
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
    let directed = usize::try_from(arguments.cases.div_ceil(2)).unwrap_or(usize::MAX);
    let cases = Cases::filled_up(&signature, directed, arguments.cases, arguments.seed);
    let unit = Simulator::model(target.model.clone(), (1, 1, signature.k))?;
    let golden =
        Golden { kind: arguments.format, target: &target, signature: &signature, cases: &cases, unit };
    golden.check_size()?;
    match &arguments.out {
        Some(path) => {
            whole::write(path, |file| Ok(golden.write(file)?)).within(path.display())?;
            let (random, path) = (cases.len() - cases.directed() as u64, path.display());
            output::print(&format!(
                "{} and {random} random ones of {} in {path}\n",
                output::counted(cases.directed(), "directed case"),
                target.name
            ))?;
        }
        None => output::stream(|stdout| golden.write(stdout))?,
    }
    Ok(Outcome::Agrees)
}

/// Cases, and what computes their results.
struct Golden<'g> {
    kind: Kind,
    target: &'g Target,
    signature: &'g Signature,
    cases: &'g Cases<'g>,
    unit: Simulator,
}

/// A field of a case: its name, the format of its codes, how many there are.
type Field = (&'static str, Format, usize);

impl Golden<'_> {
    /// The fields of every case, from the lowest bits of a word up.
    fn fields(&self) -> Vec<Field> {
        let Signature { a, b, c, d, scale, k, .. } = *self.signature;
        let mut fields = vec![("a", a, k), ("b", b, k)];
        if let Some(scale) = scale {
            fields.push(("scale_a", scale.format, k / scale.size));
            fields.push(("scale_b", scale.format, k / scale.size));
        }
        fields.extend([("c", c, 1), ("d", d, 1)]);
        fields
    }

    /// The codes of a case's fields, in the order of [`Golden::fields`].
    fn codes<'c>(case: &'c Case, d: &'c u64) -> impl Iterator<Item = &'c [u64]> {
        let scales = [&case.scale_a[..], &case.scale_b].into_iter().filter(|codes| !codes.is_empty());
        let c_and_d = [&case.c, d].map(std::slice::from_ref);
        [&case.a[..], &case.b].into_iter().chain(scales).chain(c_and_d)
    }

    fn any_nan(&self) -> bool {
        self.target.model.nan_code.is_none()
    }

    /// What the file is, line by line.
    fn head(&self) -> Vec<String> {
        let directed = self.cases.directed();
        let (random, seed) = (self.cases.len() - directed as u64, self.cases.seed());
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
                output::counted(directed, "directed case")
            ),
        ]
    }

    /// Refuses an archive that its format cannot hold, before anything is computed.
    fn check_size(&self) -> Result<(), Failure> {
        let each: usize = self.fields().iter().map(|(_, format, count)| format.bytes() * count).sum();
        let most = u64::from(u32::MAX) / each.max(1) as u64;
        if self.kind == Kind::Npz && self.cases.len() >= most {
            bail!(
                "{} cases of {each} bytes do not fit into 4 GiB, the most that an archive holds",
                self.cases.len()
            );
        }
        Ok(())
    }

    /// Writes the file.
    fn write(&self, to: &mut dyn Write) -> Result<(), Failure> {
        match self.kind {
            Kind::Hex => self.hex(to),
            Kind::Svh => self.svh(to),
            Kind::Csv => self.csv(to),
            Kind::Npz => self.npz(to),
        }
    }

    /// Every case with its number and its result, one after the other.
    fn each(&self, mut each: impl FnMut(u64, &Case, u64) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut index = 0;
        asking::ask(
            &self.unit,
            self.cases.len(),
            |index| self.cases.case(index),
            |cases, results| {
                for (case, d) in cases.iter().zip(results) {
                    each(index, case, d)?;
                    index += 1;
                }
                Ok(())
            },
        )
    }

    /// Bits of a word.
    fn bits(&self) -> usize {
        self.fields().iter().map(|(_, format, count)| format.bits() as usize * count).sum()
    }

    /// A case as one number in hex, the first field lowest.
    fn word(&self, case: &Case, d: u64) -> String {
        let mut digits = vec![0u8; self.bits().div_ceil(4)];
        let mut at = 0;
        for ((_, format, _), codes) in self.fields().into_iter().zip(Self::codes(case, &d)) {
            for code in codes {
                for bit in 0..format.bits() {
                    digits[at / 4] |= ((code >> bit & 1) as u8) << (at % 4);
                    at += 1;
                }
            }
        }
        digits.iter().rev().filter_map(|&digit| char::from_digit(digit.into(), 16)).collect()
    }

    fn hex(&self, to: &mut dyn Write) -> Result<(), Failure> {
        for line in self.head() {
            writeln!(to, "// {line}")?;
        }
        let mut low = 0;
        let mut places = Vec::new();
        for (name, format, count) in self.fields() {
            let bits = format.bits() as usize * count;
            let each =
                if count == 1 { String::new() } else { format!(" ({count} codes of {})", format.bits()) };
            places.push(format!("[{}:{low}] {name}{each}", low + bits - 1));
            low += bits;
        }
        writeln!(to, "// {low} bits: {}", places.join(", "))?;
        self.each(|_, case, d| Ok(writeln!(to, "{}", self.word(case, d))?))
    }

    fn svh(&self, to: &mut dyn Write) -> Result<(), Failure> {
        for line in self.head() {
            writeln!(to, "// {line}")?;
        }
        let (bits, count) = (self.bits(), self.cases.len());
        writeln!(to, "package golden;\n  typedef struct packed {{")?;
        for (name, format, count) in self.fields().iter().rev() {
            let several = if *count == 1 { String::new() } else { format!("[{}:0]", count - 1) };
            writeln!(to, "    logic {several}[{}:0] {name};  // {format}", format.bits() - 1)?;
        }
        write!(
            to,
            "  }} golden_t;\n  localparam int GOLDEN_CASES = {count};\n  localparam bit GOLDEN_ANY_NAN = {};\n  \
             localparam golden_t GOLDEN[GOLDEN_CASES] = '{{\n",
            u8::from(self.any_nan())
        )?;
        self.each(|index, case, d| {
            let comma = if index + 1 == count { "" } else { "," };
            Ok(writeln!(to, "    {bits}'h{}{comma}", self.word(case, d))?)
        })?;
        Ok(writeln!(to, "  }};\nendpackage")?)
    }

    fn csv(&self, to: &mut dyn Write) -> Result<(), Failure> {
        let mut head = self.head();
        if self.target.found.is_none() {
            let (architecture, instruction) = names(&self.signature.name);
            head.push(recording::model_comment(architecture, instruction, &self.target.model));
        }
        write_head(to, &head)?;
        self.each(|_, case, d| {
            let nan = self.any_nan() && self.signature.d.is_nan(d);
            let d = if nan { Answer::Nan } else { Answer::Code(d) };
            write_case(to, self.signature, case, d)
        })
    }

    fn npz(&self, to: &mut dyn Write) -> Result<(), Failure> {
        let fields = self.fields();
        let all = self.cases.len() as usize;
        let mut arrays: Vec<Vec<u8>> = fields
            .iter()
            .map(|(name, format, count)| {
                let shape = if matches!(*name, "c" | "d") { vec![all] } else { vec![all, *count] };
                npy::head_of_integers(format.bytes(), &shape)
            })
            .collect();
        self.each(|_, case, d| {
            for ((array, (_, format, _)), codes) in arrays.iter_mut().zip(&fields).zip(Self::codes(case, &d))
            {
                codes.iter().for_each(|code| array.extend(&code.to_le_bytes()[..format.bytes()]));
            }
            Ok(())
        })?;
        let mut any_nan = npy::head_of_integers(1, &[1]);
        any_nan.push(self.any_nan().into());
        let mut archive = Writer::default();
        for ((name, ..), array) in
            fields.iter().zip(arrays).chain([(&("any_nan", self.signature.d, 1), any_nan)])
        {
            archive
                .add(name, &array)
                .ok_or_else(|| Failure::new("the archive would pass 4 GiB; ask for fewer cases"))?;
        }
        Ok(to.write_all(&archive.finish())?)
    }
}
