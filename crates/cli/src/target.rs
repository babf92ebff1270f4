//! What is to be computed: an instruction of an architecture, or a model from a file.

use std::path::PathBuf;

use bitmma_engine::arithmetic::Conversion;
use bitmma_engine::catalogue::{Found, Options};
use bitmma_engine::formats::alias::{UnknownFormat, find as find_format};
use bitmma_engine::formats::{E2M1, Format, UE4M3, UE8M0, table};
use bitmma_engine::{Architecture, Model, Revision, model_of};
pub(crate) use bitmma_verify::open::read_model;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use crate::failure::Failure;
use crate::meant;

/// `ARCH INSTRUCTION`, or `--model FILE`; and `--revision`.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)] // its name would be taken: every command calls its arguments Arguments
pub(crate) struct Arguments {
    /// Architecture (hopper), target (sm_90a) or chip (h100)
    ///
    /// The architectures are volta, turing, ampere, ada, hopper, blackwell, rtx-blackwell, cdna1, cdna2 and cdna3.
    #[arg(value_name = "ARCH", required_unless_present = "model", value_parser = architecture(), hide_possible_values = true)]
    pub(crate) architecture: Option<Architecture>,
    /// Instruction: a name, or words in any order (wgmma e4m3)
    ///
    /// A name is one that `bitmma list` prints, or an alias: full PTX, SASS, HIP builtin, CuTe atom, `tl.dot(f16, f16)`. Words may be
    /// any that `bitmma list` shows: wgmma e4m3, 16x8x16 bf16, nvfp4.
    #[arg(value_name = "INSTRUCTION", num_args = 1.., required_unless_present = "model")]
    pub(crate) instruction: Vec<String>,
    /// Use a model from a TOML file instead of an instruction
    ///
    /// `bitmma show … --toml` writes one; docs/models.md describes the keys.
    #[arg(long, value_name = "FILE", help_heading = "Instruction", conflicts_with_all = ["architecture", "instruction", "revision"])]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) revision: RevisionArgument,
}

/// `--revision`.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct RevisionArgument {
    /// Revision of the algorithms: hardware or paper
    ///
    /// hardware: the paper's algorithms, corrected by what real GPUs returned. paper: exactly as printed.
    #[arg(long, hide_possible_values = true, hide_short_help = true, default_value = "hardware", value_name = "REVISION", value_parser = revision_parser())]
    pub(crate) revision: Revision,
}

/// Reads any spelling of an architecture; shells complete the ten names.
pub(crate) fn architecture() -> impl TypedValueParser<Value = Architecture> {
    let read = |text: &str| text.parse::<Architecture>().map_err(|error| error.to_string());
    Spelled { names: Architecture::ALL.map(Architecture::name).to_vec(), read }
}

/// Reads the name of one of `formats`, or what another project calls it (`float8_e4m3fn`); shells complete the names.
pub(crate) fn format(formats: Vec<Format>) -> impl TypedValueParser<Value = Format> {
    let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
    let known = names.join(", ");
    let read = move |text: &str| match find_format(text) {
        Ok(format) if formats.contains(&format) => Ok(format),
        Ok(format) => Err(format!("{format} cannot be used here; one of {known}")),
        Err(UnknownFormat::Unknown { given }) => Err(format!("unknown format '{given}'; one of {known}")),
        Err(error) => Err(error.to_string()),
    };
    Spelled { names, read }
}

/// As [`format`] of all, and the names of E2M1 with its scale factors: `nvfp4`, `mxfp4`.
pub(crate) fn scaled_format() -> impl TypedValueParser<Value = (Format, Option<Format>)> {
    let read = |text: &str| match text.to_ascii_lowercase().as_str() {
        "nvfp4" => Ok((E2M1, Some(UE4M3))),
        "mxfp4" => Ok((E2M1, Some(UE8M0))),
        name @ ("mxfp8" | "mxfp6") => Err(format!(
            "{name} is several formats; name the instruction: b200 '{name} {}'",
            if name == "mxfp8" { "e4m3" } else { "e2m3" }
        )),
        _ => find_format(text).map(|format| (format, None)).map_err(|error| error.to_string()),
    };
    Spelled { names: table::all().map(|format| format.name).chain(["nvfp4", "mxfp4"]).collect(), read }
}

/// Reads more spellings than the names that shells complete.
#[derive(Clone)]
struct Spelled<R> {
    names: Vec<&'static str>,
    read: R,
}

impl<T, R> TypedValueParser for Spelled<R>
where
    T: Clone + Send + Sync + 'static,
    R: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        let read = self.read.clone();
        StringValueParser::new().try_map(move |text| read(&text)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}

fn revision_parser() -> impl TypedValueParser<Value = Revision> {
    clap::builder::PossibleValuesParser::new(Revision::ALL.map(Revision::name))
        .try_map(|text| text.parse::<Revision>())
}

/// What is to be computed.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Architecture and instruction, or the model's file: for headings.
    pub(crate) name: String,
    /// The row of the catalogue; `None` for a model from a file.
    pub(crate) found: Option<Found>,
    /// Formats, operation and parameters.
    pub(crate) model: Model,
    /// Elements along K of one dot product; `None`: as many as are given.
    pub(crate) k: Option<usize>,
    /// What the instruction's name asks for besides it.
    pub(crate) options: Options,
}

impl Target {
    /// A row of the catalogue; an error where it is not known how it computes.
    pub(crate) fn of(found: Found, revision: Revision) -> Result<Target, Failure> {
        let model = model_of(&found, revision)?;
        let k = Some(found.instruction.products());
        Ok(Target { name: name_of(&found), found: Some(found), model, k, options: Options::default() })
    }

    /// The dot product that the name asks for: one instruction, or with promotion all elements of K up to the next one, from
    /// +0, and C added to their sum in FP32.
    pub(crate) fn of_one_dot(mut self) -> Target {
        if let Some(every) = self.options.promote_every {
            self.model.lowering.add_accumulator_last = Some(Conversion::RNE_FP32);
            self.k = Some(every);
        }
        self
    }
}

/// The instruction that was typed, as one or several words.
pub(crate) fn spelling(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.join(" "))
}

impl Arguments {
    /// The instruction as it was typed.
    pub(crate) fn spelling(&self) -> Option<String> {
        spelling(&self.instruction)
    }

    /// The row of the catalogue that was asked for, whether its model is known or not; `None` for a
    /// model from a file.
    pub(crate) fn found(&self) -> Result<Option<Found>, Failure> {
        match (self.architecture, self.spelling()) {
            (Some(architecture), Some(words)) => Ok(Some(meant::found(architecture, &words)?)),
            _ => Ok(None),
        }
    }

    /// As [`Arguments::found`], with what its name asks for besides the instruction.
    pub(crate) fn found_with_options(&self) -> Result<Option<(Found, Options)>, Failure> {
        match (self.architecture, self.spelling()) {
            (Some(architecture), Some(words)) => Ok(Some(meant::found_with_options(architecture, &words)?)),
            _ => Ok(None),
        }
    }

    /// What was asked for; an error where it is not known how it computes.
    pub(crate) fn resolve(&self) -> Result<Target, Failure> {
        self.of(self.found()?.map(|found| (found, Options::default())))
    }

    /// As [`Arguments::resolve`], for a command that applies what a name asks for besides the instruction.
    pub(crate) fn resolve_with_options(&self) -> Result<Target, Failure> {
        self.of(self.found_with_options()?)
    }

    fn of(&self, found: Option<(Found, Options)>) -> Result<Target, Failure> {
        match (found, &self.model) {
            (Some((found, options)), _) => {
                Ok(Target { options, ..Target::of(found, self.revision.revision)? })
            }
            (None, Some(path)) => {
                let (name, model) = (path.display().to_string(), read_model(path)?);
                Ok(Target { name, found: None, model, k: None, options: Options::default() })
            }
            (None, None) => Err(Failure::new("neither an instruction nor --model was given")),
        }
    }
}

/// `hopper mma.m16n8k16.f32.f16.f16.f32`.
pub(crate) fn name_of(found: &Found) -> String {
    format!("{} {}", found.instruction.architecture, found.name())
}
