//! The documents in `docs/`, printed from the tables.

mod markdown;
mod proven;

use std::path::Path;

use bitmma_engine::arithmetic::family::{self, FAMILIES, Family};
use bitmma_engine::arithmetic::parameter::{Missing, Value};
use bitmma_engine::arithmetic::{Conversion, Model};
use bitmma_engine::catalogue::processors;
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{BF16, F32, Format, INTEGERS, Specials, table::FORMATS};
use bitmma_engine::{Architecture, Instruction, Revision};

use self::markdown::{Table, mono};
use crate::describe;
use crate::failure::Failure;
use bitmma_document::fold::wrapped;

/// What every document says at its head.
const GENERATED: &str =
    "<!-- Printed from the tables by `bitmma generate docs docs`; edits here are lost. -->\n\n";

/// Name and text of every document; `command` is the whole command line.
pub(crate) fn all(command: clap::Command, recordings: &Path) -> Result<Vec<(String, String)>, Failure> {
    let (proven, recorded) = proven::texts(recordings)?;
    let pages = [
        ("instructions.md", instructions()),
        ("formats.md", formats()),
        ("models.md", models()),
        ("json.md", json(&command)),
        ("commands.md", commands(command)),
        ("proven.md", proven),
    ];
    let mut all = pages.map(|(name, text)| (name.to_owned(), GENERATED.to_owned() + &text)).to_vec();
    all.push(("proven.csv".to_owned(), recorded));
    Ok(all)
}

fn instructions() -> String {
    let mut text = "# Instructions\n\n\
        Every dense matrix instruction, by architecture, and sparse ones; those on integers are in tables of their own. Shape: M×N×K and the number of blocks; \
        types: D, A, B, C, and the scale factors with their block. Parameters are the paper's: L for the \
        instruction's K, F, F2, G, P and rho. What is composed names the instructions it is made of; where it \
        is not known how an instruction computes, the row says so and nothing is guessed.\n"
        .to_owned();
    for architecture in Architecture::ALL {
        let rows: Vec<&Instruction> = bitmma_engine::catalogue::of(architecture).collect();
        text += &format!(
            "\n## {architecture}\n\n{}, `{}`; also `{}`. {} instructions.\n\n",
            architecture.vendor(),
            architecture.target(),
            architecture.aliases().join("`, `"),
            rows.len()
        );
        let mut table =
            Table::new(&["instruction", "shape", "types", "model", "parameters", "made", "evidence"]);
        let (integers, floats): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.d.is_integer());
        for row in floats {
            table.row(&instruction_row(row));
        }
        text += &table.0;
        text += &of_integers(&integers);
    }
    text
}

/// Instructions on integers, those of one shape and width of A and B in one row.
fn of_integers(rows: &[&Instruction]) -> String {
    let mut groups: Vec<Vec<&Instruction>> = vec![];
    for &row in rows {
        let key = |row: &Instruction| (row.family, describe::shape(row), row.a.bits());
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    if groups.is_empty() {
        return String::new();
    }
    let mut table =
        Table::new(&["first", "instructions", "shape", "A and B", "beyond s32", "made", "evidence"]);
    for group in &groups {
        let first = group[0];
        let mut types: Vec<String> = vec![];
        for row in group {
            let pair = format!("{}·{}", row.a, row.b);
            if !types.contains(&pair) {
                types.push(pair);
            }
        }
        let has = |saturates: bool| group.iter().any(|row| row.saturates() == saturates);
        let beyond = match (has(false), has(true)) {
            (true, true) => "wraps, or saturates with `.satfinite`",
            _ => "wraps",
        };
        let [.., made, evidence] = instruction_row(first);
        table.row(&[
            mono(&first.name()),
            group.len().to_string(),
            describe::shape(first),
            types.join(", "),
            beyond.to_owned(),
            made,
            evidence,
        ]);
    }
    format!("\nOn integers, C and D s32, sums exact (E-FDPA):\n\n{}", table.0)
}

fn instruction_row(row: &Instruction) -> [String; 7] {
    let model = row.model_ref(Revision::Hardware);
    let scale = row.scale.map_or(String::new(), |scale| format!(", {}/{}", scale.format, scale.size));
    let made = match (&row.composed_of, row.unknown) {
        (_, Some(reason)) => format!("unknown: {reason}"),
        (Some(parts), None) => format!("composed: {parts}"),
        (None, None) => "native".to_owned(),
    };
    let remark = row.remark.map_or(String::new(), |remark| format!("; {remark}"));
    [
        mono(&row.name()),
        describe::shape(row),
        format!("{} {} {} {}{scale}", row.d, row.a, row.b, row.c),
        model.map_or("?", |model| model.operation.name()).to_owned(),
        model.map_or("?".to_owned(), |model| describe::short(model, row.products())),
        made,
        format!("{}{remark}", row.evidence),
    ]
}

fn formats() -> String {
    let mut text =
        "# Formats\n\nEvery limit follows from the widths, the bias and the special codes.\n\n".to_owned();
    let mut fields =
        Table::new(&["format", "bits", "sign", "exponent", "fraction", "ignored", "bias", "standard"]);
    let mut limits =
        Table::new(&["format", "largest", "smallest normal", "smallest above zero", "infinity", "NaN", "-0"]);
    for format in FORMATS {
        fields.row(&[
            mono(format.name),
            format.bits().to_string(),
            format.sign.bits().to_string(),
            format.exponent_bits.to_string(),
            format.fraction_bits.to_string(),
            format.padding_bits.to_string(),
            format.bias.to_string(),
            format.standard.to_owned(),
        ]);
        let number = |code| format!("{} `{}`", display(&format, code), describe::code(&format, code));
        limits.row(&[
            mono(format.name),
            number(format.max_finite_code()),
            number(format.min_normal_code()),
            number(format.min_positive_code()),
            format.infinity_code().map_or("none".to_owned(), |code| mono(&describe::code(&format, code))),
            nan(&format),
            if format.has_negative_zero() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    let mut integers = Table::new(&["format", "bits", "smallest", "largest", "standard"]);
    for format in INTEGERS {
        let [least, largest] = format.integer_range().map(|number| number.to_string());
        let standard = format.standard.to_owned();
        integers.row(&[mono(format.name), format.bits().to_string(), least, largest, standard]);
    }
    text += &format!("{}\n{}\n## Integers\n\n{}", fields.0, limits.0, integers.0);
    text
}

fn nan(format: &Format) -> String {
    let code = |code| mono(&describe::code(format, code));
    match (format.specials, format.nan_code()) {
        (_, None) => "none".to_owned(),
        (Specials::Ieee, Some(nan)) => format!("exponent all ones, fraction not zero; quiet: {}", code(nan)),
        (_, Some(nan)) if format.sign.bits() == 1 && nan >> (format.bits() - 1) == 0 => {
            format!("{} and {}", code(nan), code(nan | 1 << (format.bits() - 1)))
        }
        (_, Some(nan)) => code(nan),
    }
}

/// What a conversion may have after its rounding and format, and what several chains are.
const CONVERSIONS: &str = "
A conversion (`rho`, `add_accumulator_last`, `narrow_output`, `merge`) may have words after its format, as in
`RNE-FP32 saturate ftz`:

| word | meaning |
|---|---|
| `saturate` | a finite value beyond the largest finite number becomes that number; an infinity stays infinite |
| `ftz` | a value that is below the smallest normal number once it is rounded to the precision of a normal number becomes zero of its sign (IEEE 754 §7.5, tininess after rounding) |
| `ftz-before` | a value below the smallest normal number becomes zero of its sign (tininess before rounding) |
| `ftz-subnormal` | a result that is a subnormal number becomes zero of its sign |

`chains = { count = 2, merge = \"RNE-FP32\" }` cuts the elements along K, in their `order`, into as many parts of equal
length, each of them a chain of elementary operations. The first starts from C, or from +0 where C is added last, the
others from +0. Their results are added one after the other, each sum rounded by `merge`; then C is added, where
`add_accumulator_last` says so. Even and odd elements are two chains of
`order = { interleaved = { run = 1, period = 2 } }`.
";

fn models() -> String {
    let of_paper = FAMILIES.iter().filter(|family| family.source.starts_with("Paper")).count();
    let mut text = format!(
        "# Models\n\n\
        {} model families, {of_paper} of them the paper's. A model is data: `bitmma show ARCH INSTRUCTION --toml` prints it as a \
        file, and `--model FILE` of `dot`, `explain`, `run`, `gemm` and `replay` reads one, changed or written by \
        hand. K is not part of it: a model takes every K that is a multiple of L = min(K, L_max).\n\n\
        ## Keys of every file\n\n",
        FAMILIES.len()
    );
    let mut keys = Table::new(&["key", "meaning", "if left out"]);
    for (key, meaning, default) in [
        ("model", "the family", "an error"),
        ("A, B, C", "formats of the operands", "an error"),
        ("D", "format of the result", "the format that the last conversion gives"),
        (
            "rho",
            "how each sum becomes a number: a rounding and a format, as in RZ-FP32; of integers S32, which wraps, or S32 saturate",
            "an error",
        ),
        ("nan", "the code of every NaN result", "a quiet NaN; any NaN agrees with any other"),
        (
            "flush_operands, flush_accumulator",
            "what subnormal numbers of A and B, and of C, are read as: `never` flushed, `positive` (they and zeros are \
             +0), `signed` (zero of their sign)",
            "never",
        ),
        ("[scale] format, block", "format of the scale factors, elements that share one", "no scale factors"),
        (
            "[lowering] widen_operands, widen_accumulator, order, chains, add_accumulator_last, narrow_output",
            "what a compiler puts around the operation of a composed form",
            "nothing",
        ),
    ] {
        keys.row(&[mono(key), meaning.to_owned(), default.to_owned()]);
    }
    text += &keys.0;
    text += "\nRoundings: `RZ` toward zero, `RA` away from zero, `RU` up, `RD` down; to nearest, with ties to even \
             `RNE`, to odd `RNO`, up `RNU`, down `RND`, toward zero `RNZ`, away from zero `RNA`; whatever is cut sets the last bit `RO`.\n";
    text += CONVERSIONS;
    let flushing = family::names(|family| family.flushes_results).join(" and ");
    text += &format!(
        "\n{flushing} flush their results by themselves; their `rho` has none of the last three words.\n"
    );
    for family in &FAMILIES {
        text += &format!("\n## {}\n\n{} {}\n", family.name, family.source, family.about);
        let (name, k, model) = example(family);
        if model.operation.parameters().next().is_some() {
            let mut table = Table::new(&["key", "meaning", "if left out", "here"]);
            for (parameter, value) in model.operation.parameters() {
                let row = parameter.row();
                let missing = match row.missing {
                    Missing::Error => "an error".to_owned(),
                    Missing::Value(value) => in_file(value),
                    Missing::None(none) => none.to_owned(),
                    Missing::As(other) => other.key().to_owned(),
                };
                table.row(&[mono(row.key), row.meaning.to_owned(), missing, in_file(value)]);
            }
            text += &format!("\n{}", table.0);
        }
        text += &format!("\n{name}, K = {k}:\n\n```toml\n{}```\n", model.to_toml());
    }
    text
}

/// A value as a model file has it.
fn in_file(value: Value) -> String {
    match value {
        Value::None => "left out".to_owned(),
        Value::Flag(flag) => flag.to_string(),
        other => other.to_string(),
    }
}

/// A model of the family, what it is the model of, and a K: of the first native instruction that has one, else of a
/// processor's, else made up.
fn example(family: &Family) -> (String, usize, Model) {
    let of_instruction = bitmma_engine::catalogue::catalogue().iter().find_map(|row| {
        let model = row.model(Revision::Hardware).filter(|model| !model.is_integer())?;
        let name = format!("`{} {}`", row.architecture, row.name());
        (row.is_native() && model.operation.name() == family.name).then_some((name, row.products(), model))
    });
    let of_processor = processors().iter().find_map(|row| {
        let same = row.model.operation.name() == family.name;
        same.then(|| (format!("`cpu:{}`", row.name), row.shape.2, row.model.clone()))
    });
    of_instruction.or(of_processor).unwrap_or_else(|| {
        let model = Model::new(BF16, BF16, F32, family.example, Conversion::RNE_FP32);
        ("A model that no instruction of the catalogue has".to_owned(), family.example.max_length(), model)
    })
}

/// The keys that each command prints with `--json`, from its help.
fn json(command: &clap::Command) -> String {
    let mut text = "# JSON\n\n\
        The keys that each command prints with `--json`. `{a, b}` is an object with these keys, `[…]` an array. Every object \
        begins with `schema`, which changes when a key is renamed or removed; the [changelog](../CHANGELOG.md) names it. A \
        number is `{value, code, format}`: `value` is a number, or the text `nan`, `inf` or `-inf`, and `code` the bits in hex. An \
        error is `{schema, error {message, exit_code}}`, printed to the standard output.\n"
        .to_owned();
    for one in command.get_subcommands() {
        let help =
            one.get_after_long_help().or(one.get_after_help()).map(ToString::to_string).unwrap_or_default();
        let Some((_, rest)) = help.split_once("JSON: ") else { continue };
        let keys = wrapped(rest.split("\n\n").next().unwrap_or(rest).trim(), 110);
        text += &format!("\n## bitmma {}\n\n```text\n{keys}\n```\n", one.get_name());
    }
    text
}

fn commands(command: clap::Command) -> String {
    let mut command = command.term_width(100);
    command.build();
    let mut text = "# Commands\n".to_owned();
    let mut section = |command: &mut clap::Command| {
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        text += &format!("\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    };
    section(&mut command);
    for subcommand in command.get_subcommands_mut() {
        section(subcommand);
        subcommand.get_subcommands_mut().for_each(&mut section);
    }
    text
}
