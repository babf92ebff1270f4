//! `bitmma analyze`: one part of the report, on the terminal or as files.

use std::path::PathBuf;

use bitmma_analysis::MOST_K;
use bitmma_analysis::data::{Distribution, Draw, Product, ScaleFactors};
use bitmma_analysis::section::Section;
use bitmma_analysis::sections::{Effort, Options, Part, UserData, section};
use bitmma_analysis::table::EXPLORE;
use bitmma_document::{Table, style};
use bitmma_engine::formats::BlockScale;
use bitmma_engine::gemm::Target as Unit;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::count::count;
use crate::failure::{Failure, Outcome, Within};
use crate::files::Source;
use crate::operands::{check_scales, read};
use crate::progress::Bar;
use crate::{meant, output, report, target};

const HELP: &str = "\
Parts: discrepancy (results by architecture, all against all, smallest inputs), bounds (errors and bounds along K, how tight bounds \
are), risks (risky designs, each with an input that shows it), bias (round-down on CDNA3), design-space (accuracy against cost), \
workarounds (what helps), published (means measured on GPUs), models (which instruction has which model, with which parameters).

An instruction or --model comes first in risks, design-space and models; bounds, discrepancy and workarounds are then about it \
alone; bias and published take none. bounds, design-space and workarounds take its data, --a and --b, random numbers otherwise.

Examples:
  bitmma analyze risks
  bitmma analyze risks --model mine.toml
  bitmma analyze bias --quick --json
  bitmma analyze workarounds hopper wgmma.m64n8k32.f32.e4m3.e4m3 \\
         --distribution outliers --k 4096
  bitmma analyze bounds -o bounds";

/// Analyzes one question: discrepancy, error bounds, risks, bias, workarounds
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// Analysis to make
    #[arg(value_parser = part())]
    part: Part,
    #[command(flatten)]
    options: OptionArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write page, numbers and pictures to this folder instead of printing
    #[arg(short, long, value_name = "DIR", conflicts_with = "json")]
    out: Option<PathBuf>,
}

/// The names of the parts.
pub(crate) fn part() -> impl TypedValueParser<Value = Part> {
    PossibleValuesParser::new(Part::ALL.map(Part::name))
        .try_map(|name| Part::ALL.into_iter().find(|part| part.name() == name).ok_or("no such part"))
}

/// Random A and B, unless others are asked for.
const DISTRIBUTION: &str = "normal";
const SCALE: f64 = 1.0;
const K: usize = 1024;

/// What an analysis is made with.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct OptionArguments {
    /// Architecture of the instruction to analyze (hopper, sm_90a, h100)
    #[arg(value_name = "ARCH", value_parser = target::architecture(), hide_possible_values = true, requires = "instruction")]
    architecture: Option<bitmma_engine::Architecture>,
    /// Instruction: a name, or words in any order (wgmma e4m3)
    #[arg(value_name = "INSTRUCTION", num_args = 1..)]
    instruction: Vec<String>,
    /// Analyze a model from a TOML file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["architecture", "instruction"])]
    model: Option<PathBuf>,
    /// A, M×K, in the instruction's format [default: random]
    #[arg(short, long, value_name = "FILE", requires = "b", help_heading = "Data")]
    a: Option<Source>,
    /// B, K×N
    #[arg(short, long, value_name = "FILE", requires = "a", help_heading = "Data")]
    b: Option<Source>,
    /// C, M×N
    #[arg(short, long, value_name = "FILE", requires = "a", help_heading = "Data", hide_short_help = true)]
    c: Option<Source>,
    /// Scale factors of A, M × ceil(K/block)
    #[arg(long, value_name = "FILE", requires = "a", help_heading = "Data", hide_short_help = true)]
    scale_a: Option<Source>,
    /// Scale factors of B, ceil(K/block) × N
    #[arg(long, value_name = "FILE", requires = "a", help_heading = "Data", hide_short_help = true)]
    scale_b: Option<Source>,
    /// Distribution of random A and B: normal, uniform or outliers
    #[arg(long, help_heading = "Data", hide_short_help = true, hide_possible_values = true, default_value = DISTRIBUTION, value_parser = Distribution::NAMES, conflicts_with = "a")]
    distribution: String,
    /// Factor of random A and B, above 0
    #[arg(long, help_heading = "Data", hide_short_help = true, value_name = "FACTOR", default_value_t = SCALE, conflicts_with = "a")]
    scale: f64,
    /// K of random A and B, 1 to 1048576; M and N are 32
    #[arg(long, help_heading = "Data", hide_short_help = true, value_name = "K", default_value_t = K, value_parser = count::<usize>(1..=MOST_K), conflicts_with = "a")]
    k: usize,
    /// Seed of all random numbers
    #[arg(long, hide_short_help = true, value_name = "SEED", default_value_t = 1, value_parser = count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Compute fewer cases
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    revision: target::RevisionArgument,
}

impl OptionArguments {
    /// Reads files and names.
    pub(crate) fn read(&self) -> Result<Options, Failure> {
        let revision = self.revision.revision;
        let effort = if self.quick { Effort::Quick } else { Effort::Full };
        Ok(Options { seed: self.seed, revision, effort, data: self.data()?, link: bitmma_web::link })
    }

    /// Refuses data that no part uses: where no instruction or model is named, each part has its own.
    pub(crate) fn check(&self, parts: &[Part]) -> Result<(), Failure> {
        let given = [
            ("--a", self.a.is_some()),
            ("--distribution", self.distribution != DISTRIBUTION),
            ("--scale", self.scale.to_bits() != SCALE.to_bits()),
            ("--k", self.k != K),
        ];
        let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
        if self.architecture.is_none() && self.model.is_none() {
            bail!("{flag} is for the data of one instruction; name it (ARCH INSTRUCTION), or --model");
        }
        let takes = |part: &Part| matches!(part, Part::Bounds | Part::DesignSpace | Part::Workarounds);
        if !parts.iter().any(takes) {
            let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
            bail!(
                "{flag} is given; {} would not use it; these parts do: bounds, design-space, workarounds",
                names.join(", ")
            );
        }
        Ok(())
    }

    fn data(&self) -> Result<Option<UserData>, Failure> {
        let draw = Draw::named(&self.distribution, self.scale, self.k)?;
        let (unit, name, architecture) =
            match (self.architecture, target::spelling(&self.instruction), &self.model) {
                (Some(architecture), Some(instruction), _) => {
                    let found = meant::found(architecture, &instruction)?;
                    let name = format!("{architecture} {}", found.instruction.name());
                    (Unit::found(&found, self.revision.revision)?, name, Some(architecture))
                }
                (_, _, Some(path)) => {
                    let unit = Unit::of_model(target::read_model(path)?, None).within(path.display())?;
                    (unit, path.display().to_string(), None)
                }
                _ if self.a.is_some() => {
                    bail!("--a and --b need an instruction (ARCH INSTRUCTION) or --model");
                }
                _ => return Ok(None),
            };
        let user =
            UserData::new(unit, name, architecture, self.a.is_some(), |unit| match (&self.a, &self.b) {
                (Some(a), Some(b)) => self.read_product(unit, a, b),
                _ => Ok(draw.operands(unit.model(), self.seed, 0)?),
            });
        Ok(Some(user?))
    }

    fn read_product(&self, unit: &Unit, a: &Source, b: &Source) -> Result<Product, Failure> {
        let model = unit.model();
        check_scales(unit.name(), model, self.scale_a.is_some(), self.scale_b.is_some())?;
        let read = |flag: &str, source: &Source, format| read(flag, source, format, false);
        let c = self.c.as_ref().map(|source| read("--c", source, model.c)).transpose()?;
        let scales = match (model.scale, &self.scale_a, &self.scale_b) {
            (Some(BlockScale { format, size }), Some(a), Some(b)) => Some(ScaleFactors {
                a: read("--scale-a", a, format)?,
                b: read("--scale-b", b, format)?,
                size,
            }),
            _ => None,
        };
        let about = format!("A from {a}, B from {b}");
        Ok(Product { a: read("--a", a, model.a)?, b: read("--b", b, model.b)?, c, scales, about })
    }
}

/// What finished work is known by, beside its options: this build of the command.
pub(crate) fn stamp() -> String {
    let built = std::env::current_exe().and_then(std::fs::metadata).ok();
    let changed = built.as_ref().and_then(|built| built.modified().ok());
    let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!(
        "bitmma {} ({} bytes, {} ns)",
        env!("CARGO_PKG_VERSION"),
        built.map_or(0, |built| built.len()),
        changed.map_or(0, |time| time.as_nanos())
    )
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let options = arguments.options.read()?;
    options.check(arguments.part)?;
    arguments.options.check(&[arguments.part])?;
    if let Some(out) = &arguments.out {
        report::write(out, &[arguments.part], &options)?;
        output::raw(&format!("{}\n", out.join("index.html").display()))?;
        return Ok(Outcome::Agrees);
    }
    let section = section(arguments.part, &options, &Bar::new(arguments.part.name()))?;
    if arguments.json {
        crate::json::print(&serde_json::to_value(&section)?)?;
    } else {
        output::print(&text(&section))?;
    }
    Ok(Outcome::Agrees)
}

/// A section as text: what it says, then its tables.
fn text(section: &Section) -> String {
    let mut text = format!("{}\n", style::strong(&section.title));
    for paragraph in &section.text {
        text += &format!("{paragraph}\n");
    }
    for table in &section.tables {
        let numeric = |column: usize| table.rows.iter().any(|row| row[column].is_number());
        // states of the explorer are too wide for a terminal; JSON and the page have them
        let is_shown = |column: &usize| table.columns[*column] != EXPLORE;
        let headings: Vec<String> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(column, _)| is_shown(column))
            .map(|(column, name)| if numeric(column) { format!(">{name}") } else { name.clone() })
            .collect();
        let mut printed = Table::new(&headings);
        for row in &table.rows {
            printed.row((0..row.len()).filter(is_shown).map(|column| row[column].short()));
        }
        text += &format!(
            "\n{}\n{}\n{}",
            style::strong(&table.title),
            style::dim(&table.text),
            printed.render(crate::layout::width())
        );
    }
    text
}
