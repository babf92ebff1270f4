//! What a product is computed by where no instruction is named: a chip, a plan, or a library's call.

use bitmma_calls::call::{Operands, Scales};
use bitmma_calls::execute;
use bitmma_engine::catalogue::Found;
use bitmma_engine::catalogue::library::{Product, choose};
use bitmma_engine::formats::{F32, Format, table};
use bitmma_engine::{Architecture, Revision};
use clap::builder::TypedValueParser;

use super::expect::{Difference, Expected};
use super::{Arguments, products, rate_text};
use crate::call::{self, Called, SourceArguments};
use crate::failure::{Failure, Outcome, Within};
use crate::files::{Output, Source};
use crate::target::Target;
use crate::{meant, operands, output, target};

/// Flags instead of ARCH and INSTRUCTION.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct LikeArguments {
    /// Use the instruction that a library would run on CHIP
    ///
    /// It is chosen by the types of A and B, and by words after the chip: h100 wgmma f32. DEVICE/cublaslt-VERSION runs that library's
    /// call.
    #[arg(long, help_heading = "Instruction", value_name = "CHIP", num_args = 1.., conflicts_with_all = ["architecture", "instruction", "model"])]
    pub(super) like: Vec<String>,
    /// Format of A and B where the files hold codes, with --like and --plan
    #[arg(help_heading = "Instruction", hide_short_help = true, long = "type", value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    type_a: Option<Format>,
    /// Format of B, if it is not that of A
    #[arg(long, help_heading = "Instruction", hide_short_help = true, value_name = "FORMAT", value_parser = format(), hide_possible_values = true)]
    type_b: Option<Format>,
    /// Use fast accumulation (use_fast_accum=True), for a library's call
    #[arg(long, help_heading = "Plan", hide_short_help = true)]
    fast: bool,
    #[command(flatten)]
    sources: SourceArguments,
}

fn format() -> impl TypedValueParser<Value = Format> {
    target::format(table::FORMATS.to_vec())
}

/// An argument of the target, which `--like` and `--plan` stand for.
pub(super) fn optional(argument: clap::Arg) -> clap::Arg {
    argument.required_unless_present("like").required_unless_present("plan")
}

/// What is to be done.
pub(super) enum Way {
    /// One instruction, or a model, along K.
    Along(Box<Target>),
    /// A plan, or a library's call on this platform.
    Call(String),
}

impl LikeArguments {
    /// The way that the flags name.
    pub(super) fn way(&self, arguments: &Arguments) -> Result<Way, Failure> {
        let is_call = self.sources.plan.is_some() || self.sources.asks_library();
        let Some((like, words)) = self.like.split_first() else {
            let named = arguments.target.architecture.is_some();
            return match (is_call, named) {
                (true, true) => {
                    Err(Failure::new("a plan names its instruction; leave out ARCH and INSTRUCTION"))
                }
                (true, false) if self.sources.plan.is_some() => Ok(Way::Call("plan".to_owned())),
                (true, false) => {
                    Err(Failure::new("a library's decisions need a platform: --like DEVICE/cublaslt-VERSION"))
                }
                (false, _) if self.type_a.is_some() || self.type_b.is_some() || self.fast => {
                    Err(Failure::new("--type, --type-b and --fast are for --like and --plan"))
                }
                (false, _) => Ok(Way::Along(Box::new(arguments.target.resolve_with_options()?))),
            };
        };
        if is_call || like.contains('/') {
            if let Some(word) = words.first() {
                bail!("--like {like} {word}: a library chooses its instruction; leave out {word}");
            }
            return Ok(Way::Call(like.clone()));
        }
        if self.fast {
            bail!("--fast is for a library's call; --promote-every says when sums move to FP32");
        }
        let architecture: Architecture = like.parse().within("--like")?;
        let (a, b) = self.formats(arguments)?;
        let scale = match (&arguments.files.scale_a, arguments.scale_blocks) {
            (Some(source), None) => Some((operands::format_of("--scale-a", "--type", source)?, None)),
            _ => None,
        };
        let found = match words {
            [] => choose(architecture, &Product::new((a, b), None, scale)).within("--like")?,
            words => described(architecture, words, [a, b]).within("--like")?,
        };
        Ok(Way::Along(Box::new(Target::of(found, arguments.target.revision.revision)?)))
    }

    /// The formats of A and B: as said, or as the files' types say.
    fn formats(&self, arguments: &Arguments) -> Result<(Format, Format), Failure> {
        let of = |flag: &str, said: Option<Format>, source: &Source| match said {
            Some(format) => Ok(format),
            None => operands::format_of(flag, "--type", source),
        };
        let a = of("--a", self.type_a, &arguments.files.a)?;
        Ok((a, of("--b", self.type_b.or(self.type_a), &arguments.files.b)?))
    }
}

/// The instruction that words name, multiplying these formats of A and B.
fn described(architecture: Architecture, words: &[String], [a, b]: [Format; 2]) -> Result<Found, Failure> {
    let text = words.join(" ");
    let formats = if a == b { a.name.to_owned() } else { format!("{a} {b}") };
    // the formats are those of the files, unless the words name them, too
    match meant::found(architecture, &format!("{text} {formats}")) {
        Ok(found) => Ok(found),
        Err(with_formats) => meant::found(architecture, &text).map_err(|_| with_formats),
    }
}

/// What a plan decides, so that no flag does.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let given = [
        ("--model", arguments.target.model.is_some()),
        ("--revision", arguments.target.revision.revision != Revision::default()),
        ("--fast", arguments.like.fast && arguments.like.sources.plan.is_some()),
        ("--c", arguments.files.c.is_some()),
        ("--split-k", arguments.split_k.is_some()),
        ("--promote-every", arguments.promote_every.is_some()),
        ("--scale-blocks", arguments.scale_blocks.is_some()),
        ("--alpha", arguments.alpha.is_some()),
        ("--beta", arguments.beta.is_some()),
        ("--output-rounding", arguments.output_rounding != bitmma_engine::formats::Rounding::NearestEven),
        ("--saturate", arguments.saturate),
        ("--nan", arguments.nan.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::new(format!("{flag} is given; a plan decides that"))),
        None => Ok(()),
    }
}

/// Runs a plan, or the plan of a library's call.
pub(super) fn run(arguments: &Arguments, platform: &str) -> Result<Outcome, Failure> {
    check(arguments)?;
    let (like, files) = (&arguments.like, &arguments.files);
    let sources = like.sources.read()?;
    let target = sources.plan.as_ref().map(|plan| plan.target()).transpose()?.flatten();
    let (of_a, of_b) = match &target {
        Some(target) => {
            let model = target.model();
            for (flag, said, own) in [("--type", like.type_a, model.a), ("--type-b", like.type_b, model.b)] {
                if let Some(said) = said.filter(|said| *said != own) {
                    bail!("{flag} is {said}; the plan's is {own}");
                }
            }
            (model.a, model.b)
        }
        None => like.formats(arguments)?,
    };
    let out = arguments.output_type.unwrap_or(F32);
    let destination = Output::new(&files.out, &out).within("--out")?;
    let expected = Expected::read(&arguments.expect, out)?;
    let a = operands::read("--a", &files.a, of_a, false)?;
    let b = operands::read("--b", &files.b, of_b, files.b_transposed)?;
    let blocks = match (&files.scale_a, &files.scale_b) {
        (None, None) => None,
        (Some(a), Some(b)) => Some(call::scales_of(a, b, files.b_transposed)?),
        _ => bail!("--scale-a and --scale-b go together"),
    };
    if a.columns() != b.rows() {
        return Err(operands::do_not_fit(&a, &b, files.b_transposed));
    }
    let given = Operands { a, b, scales: Scales::ONE, blocks, out };
    let (platform, decision) = call::decided(platform, &given, like.fast, &sources)?;
    let start = std::time::Instant::now();
    let d = execute(&decision.plan, &given.call(arguments.threads))?;
    let seconds = start.elapsed().as_secs_f64();
    let expect = expected.map(|expected| expected.compare(&d)).transpose()?;
    destination.write(&d, &call::metadata(&platform, &decision)).within("--out")?;
    let products = products(1, given.call(None).shape());
    let rate = products as f64 / seconds.max(1e-9);
    if arguments.json {
        crate::json::print(&crate::json::object! {
            #[serde(flatten)]
            call: Called::new(&platform, &given, &decision),
            products: products,
            seconds: seconds,
            products_per_second: rate,
            expect: expect.as_ref(),
        })?;
    } else {
        output::print(&format!(
            "{}: {}{products} products in {seconds:.3} s: {}\n{}",
            platform.name(),
            call::product(&given, &files.out, &decision),
            rate_text(rate),
            expect.as_ref().map_or(String::new(), Difference::text),
        ))?;
    }
    Ok(expect.as_ref().map_or(Outcome::Agrees, Difference::outcome))
}
