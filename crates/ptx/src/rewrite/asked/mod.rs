//! What ptxas makes of a text, asked of ptxas: the entry is assembled with the number of each instruction as its line, and the
//! listing of its code says what became of each.

mod alike;
mod apply;
mod cache;
mod compiled;
mod decide;
mod elf;
mod fold;
mod folder;
mod numbered;
mod sass;
mod scaled;
mod tools;

use super::dead::{is_nothing, live};
use super::evaluate::kind;
use super::loops::loops;
use super::normal::Normal;
use super::uses::Uses;
use super::{Rewrites, too_large};
use crate::error::Doubt;
use crate::flow::Flow;
use crate::instruction::table::is_pure;
use crate::text::{Function, Instruction, Module};

pub use cache::CACHE_BYTES;
pub use folder::CACHE_VARIABLE;
use tools::Failure;
pub use tools::{FOLDERS_VARIABLE, TIME_LIMIT, Tools};

/// Operations on floats.
const COMPUTES: [&str; 12] =
    ["FADD", "FMUL", "FFMA", "FMNMX", "FRND", "F2F", "MUFU", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2"];

/// Rewrites a function as the tools compile it. The assembler that was asked, as in `ptxas 12.9.86`; else why none has answered, and
/// the function is as it was.
pub(super) fn apply(
    module: &Module,
    function: &mut Function,
    target: &str,
    tools: &Tools,
    rewrites: &mut Rewrites,
) -> Result<String, String> {
    if !function.inlined.is_empty() {
        return Err("the kernel calls device functions, whose code is not compared".to_owned());
    }
    let compiled =
        cache::compiled(tools, module, function, target).map_err(|failure| failure.why().to_owned())?;
    let listing = sass::Listing::parse(&compiled.listing);
    let normal = std::cell::OnceCell::new();
    let text = function.clone();
    let normal = || normal.get_or_init(|| Normal::of(&text)).as_ref();
    let doubts = fold::fold(function, &listing, &normal, rewrites);
    let flow = Flow::of(&function.instructions);
    let Some(uses) = Uses::of(function, &flow) else {
        let first = function.instructions.first();
        rewrites.doubts.extend(first.map(|first| too_large(first, "products ptxas fuses")));
        return Ok(compiled.by.clone());
    };
    let live = live(function, &uses);
    // what ptxas computed in a way that no rule tells left no code that computes
    let may_be_unsure = |at: usize| {
        let one = &text.instructions[at];
        live[at]
            && is_pure(one)
            && !matches!(one.name(), "mov" | "selp")
            && kind(one).is_some_and(|kind| !kind.is_integer())
            && !listing.of(at).iter().any(|code| COMPUTES.contains(&listing.code[*code].name()))
    };
    if (0..text.instructions.len()).any(may_be_unsure)
        && let Some(normal) = normal()
    {
        let unsure = normal.unsure.iter().filter(|(at, _)| may_be_unsure(*at));
        rewrites.doubts.extend(unsure.map(|(at, why)| {
            let Instruction { line, form, .. } = &text.instructions[*at];
            Doubt { line: *line, form: form.clone(), why: (*why).to_owned() }
        }));
    }
    let in_turns = if loops(&flow).is_empty() { None } else { normal() };
    let dropped = |at: usize| dropped(normal(), at);
    let alike = alike::alike(function, &uses);
    let (scaled, scaling) = scaled::scaled(function, &alike, &listing);
    let mut decisions = decide::decide(function, &uses, (&live, alike), &listing, &dropped, in_turns);
    decisions.doubts.extend(doubts);
    decisions.doubts.extend(scaling);
    decisions.doubts.sort_by_key(|doubt| doubt.line);
    rewrites.doubts.extend(decisions.doubts);
    let checks = super::scaled::checks(function, &scaled);
    apply::apply(function, &flow, &uses, &decisions.fused, checks, rewrites);
    Ok(compiled.by.clone())
}

/// Whether an instruction of the text is nothing in all its copies.
fn dropped(normal: Option<&Normal>, at: usize) -> bool {
    normal.is_some_and(|normal| {
        let mut copies = (0..normal.origin.len()).filter(|copy| normal.origin[*copy] == at);
        copies.all(|copy| is_nothing(&normal.function.instructions[copy]))
    })
}

/// Asks for all entries of a text at once. An error where the tools fail, whatever the text.
pub(crate) fn ask_all(module: &Module, target: &str, tools: &Tools) -> Result<(), String> {
    match cache::compiled_all(tools, module, target) {
        Err(Failure::Passing(why)) => Err(why),
        // one of them may be what ptxas does not take: each is asked for alone when it is wanted
        Ok(()) | Err(Failure::Text(_)) => Ok(()),
    }
}
