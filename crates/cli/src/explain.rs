//! `bitmma explain`: every step of one dot product.

mod element;
mod json;

use bitmma_engine::explain::explain;

use crate::failure::{Failure, Outcome};
use crate::files::Source;
use crate::target::Target;
use crate::values::Inputs;
use crate::{explore, output, target, values};

const EXAMPLE: &str = "\
Examples:
  bitmma explain hopper mma.m16n8k16.f32.f16.f16.f32 \\
         -a '-8192 -0.5 -0.25 -0.125' -b '1024 1 1 1' -c 0x1p23
  bitmma explain mi300x v_mfma_f32_16x16x32_fp8_fp8 \\
         -a '10 0x1p-7' -b '1 1' -c 0x1.fffff8p24
  bitmma explain --model mine.toml -a '1 0x1p-24' -b '1 1'
  bitmma explain h100 wgmma f16 f32 -a A.npy -b B.npy --element 3,5 -d D.npy

The output begins with operands that are not used as given: subnormal numbers that are flushed, bits that are \
not read. Each significand is written in binary, bit under bit in units of 2^e_max; what is right of the bar \
is discarded. A value after ≈ is not exact; … leaves out digits that --json has.

--element shows one element of a whole product from files: its error (a result minus the exact one, as everywhere), and the three steps \
along K that lose most; --steps shows the others, too. With -d the step at which that D departs: where a model computes all of it \
(as `bitmma which` finds it), the first step at which the two differ, otherwise the first whose result, moved to the next number, leads \
to it. Exit code 1: it departs.

JSON: schema, target, architecture, instruction, revision, model_file, model {family, parameters, lowering}, \
options {promote_every, remarks}, a, b, c, scale_a, scale_b, steps [{step (flushed, ignored, begin, aligned, exact, special, converted, binary or changed), …}], \
d {value, code, format}. With --element: split_k, promote_every, c_last, element, k, k_step, events [{event (step or addition), part, first, last, accumulator, operands [{k, a, b}], \
scale_a, scale_b, flushed, exact, result, error, total_error, losses [{source, term, exact, kept}], trace, what, left, right, result}], \
exact, error, departure {observed, agrees, step, instead, steps_alike, complete}, computed_by {target, chips, order, step, here, there}. Exact numbers are {value, significand, exponent, exact}.";

/// Shows every step of one dot product: which bits of each term are discarded
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    #[command(flatten)]
    values: values::Arguments,
    #[command(flatten)]
    of_element: element::ElementArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if !arguments.of_element.element.is_empty() {
        return element::run(arguments);
    }
    let file =
        [&arguments.values.a, &arguments.values.b].into_iter().find(|text| text.parse::<Source>().is_ok());
    if let Some(file) = file {
        bail!("{file} is a file; say which element of D: --element 0,0");
    }
    let target = arguments.target.resolve_with_options()?.of_one_dot();
    let inputs = arguments.values.read(&target)?;
    let explanation = explain(&target.model, &inputs.operands())?;
    let revision = target.found.map(|_| arguments.target.revision.revision.name());
    if arguments.json {
        crate::json::print(&json::page(&target, &arguments.target, &inputs, &explanation))?;
    } else {
        let page = inputs.dot(&target).explained(&explanation, &inputs.notes, revision);
        output::document(&page.text(arguments.in_browser(&target, &inputs)))?;
    }
    Ok(Outcome::Agrees)
}

impl Arguments {
    /// How to look at it in the explorer. What a name asks for besides the instruction is in the words that were typed alone.
    fn in_browser(&self, target: &Target, inputs: &Inputs) -> String {
        let unit = match (self.target.architecture, self.target.spelling(), target.options.promote_every) {
            (Some(architecture), Some(words), Some(_)) => format!("{architecture} {words}"),
            (Some(_), ..) => target.name.clone(),
            (None, ..) => return String::new(),
        };
        explore::hint(&[&unit], self.target.revision.revision, &inputs.case)
    }
}
