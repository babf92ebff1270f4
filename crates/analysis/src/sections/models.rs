//! Which instruction is which model, with which parameters: the paper's tables, printed from the catalogue.

use std::collections::{BTreeMap, BTreeSet};

use bitmma_engine::arithmetic::{Conversion, Parameter};
use bitmma_engine::catalogue::{Instruction, Vendor};
use bitmma_engine::formats::{Rounding, XF32};
use bitmma_engine::{Architecture, Model, Revision};

use super::options::{Options, UserData};
use crate::cells;
use crate::describe::{architecture_name, format_name, list, parameters};
use crate::error::Error;
use crate::section::Content;
use crate::subject::{essence, rows};
use crate::table::{Cell, Table};
use bitmma_engine::Progress;

/// What the paper's tables of parameters name, in the order of the columns here.
const PARAMETERS: [Parameter; 5] = [
    Parameter::MaxLength,
    Parameter::Pairing,
    Parameter::Group,
    Parameter::FractionBits,
    Parameter::SumFractionBits,
];

/// A row of the paper's tables: architectures, inputs, output, parameters.
type Printed = (&'static [Architecture], &'static [&'static str], &'static str, &'static str);

use Architecture::{Ada, Ampere, Blackwell, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Turing, Volta};

/// The paper's tables "T-FDPA and ST-FDPA parameter selection", "GST-FDPA parameter selection", "Models for AMD Matrix Cores"
/// and "TR-FDPA and GTR-FDPA parameter selection", with FP64 of its table "Models for NVIDIA Tensor Cores"; equal rows of several
/// architectures are one here. Where a table names no ρ, it is that of the model's algorithm.
#[rustfmt::skip]
const PAPER: [Printed; 29] = [
    (&[Volta], &["FP16"], "FP32", "T-FDPA, L_max = 4, F = 23, ρ = RZ-FP32"),
    (&[Volta], &["FP16"], "FP16", "T-FDPA, L_max = 4, F = 23, ρ = RNE-FP16"),
    (&[Turing], &["FP16"], "FP32", "T-FDPA, L_max = 8, F = 24, ρ = RZ-FP32"),
    (&[Turing], &["FP16"], "FP16", "T-FDPA, L_max = 8, F = 24, ρ = RNE-FP16"),
    (&[Ampere, Ada], &["TF32"], "FP32", "T-FDPA, L_max = 4, F = 24, ρ = RZ-FP32"),
    (&[Ampere, Ada], &["BF16", "FP16"], "FP32", "T-FDPA, L_max = 8, F = 24, ρ = RZ-FP32"),
    (&[Ampere, Ada], &["FP16"], "FP16", "T-FDPA, L_max = 8, F = 24, ρ = RNE-FP16"),
    (&[Ada], &["FP8"], "FP32", "T-FDPA, L_max = 16, F = 13, ρ = RZ-E8M13"),
    (&[Ada], &["FP8"], "FP16", "T-FDPA, L_max = 16, F = 13, ρ = RNE-FP16"),
    (&[Hopper, Blackwell, RtxBlackwell], &["TF32"], "FP32", "T-FDPA, L_max = 8, F = 25, ρ = RZ-FP32"),
    (&[Hopper, Blackwell, RtxBlackwell], &["BF16", "FP16"], "FP32", "T-FDPA, L_max = 16, F = 25, ρ = RZ-FP32"),
    (&[Hopper, Blackwell, RtxBlackwell], &["FP16"], "FP16", "T-FDPA, L_max = 16, F = 25, ρ = RNE-FP16"),
    (&[Hopper], &["FP8"], "FP32", "T-FDPA, L_max = 32, F = 13, ρ = RZ-E8M13"),
    (&[Hopper], &["FP8"], "FP16", "T-FDPA, L_max = 32, F = 13, ρ = RNE-FP16"),
    (&[Blackwell, RtxBlackwell], &["FP8/6/4"], "FP32", "T-FDPA, L_max = 32, F = 25, ρ = RZ-FP32"),
    (&[Blackwell, RtxBlackwell], &["FP8/6/4"], "FP16", "T-FDPA, L_max = 32, F = 25, ρ = RNE-FP16"),
    (&[Blackwell, RtxBlackwell], &["MXFP8/6/4"], "FP32", "ST-FDPA, L_max = 32, F = 25, ρ = RZ-FP32"),
    (&[Blackwell, RtxBlackwell], &["MXFP4/NVFP4"], "FP32", "GST-FDPA, L_max = 64, G = 16, F = 35, ρ = RZ-FP32"),
    (&[Cdna1], &["FP32"], "FP32", "FMA, ρ = RNE-FP32"),
    (&[Cdna1], &["BF16"], "FP32", "E-FDPA, L_max = 2, ρ = RNE-FP32"),
    (&[Cdna1], &["FP16"], "FP32", "E-FDPA, L_max = 4, ρ = RNE-FP32"),
    (&[Cdna2, Cdna3], &["FP32"], "FP32", "FMA, ρ = RNE-FP32"),
    (&[Cdna2, Cdna3], &["FP64"], "FP64", "FMA, ρ = RNE-FP64"),
    (&[Cdna2], &["BF16"], "FP32", "FTZ-AddMul, P = 2, ρ = RNE-FP32"),
    (&[Cdna2], &["BF16", "FP16"], "FP32", "FTZ-AddMul, P = 4, ρ = RNE-FP32"),
    (&[Cdna3], &["TF32"], "FP32", "TR-FDPA, L_max = 4, F = 24, F2 = 31, ρ = RNE-FP32"),
    (&[Cdna3], &["BF16", "FP16"], "FP32", "TR-FDPA, L_max = 8, F = 24, F2 = 31, ρ = RNE-FP32"),
    (&[Cdna3], &["FP8"], "FP32", "GTR-FDPA, L_max = 16, F = 24, F2 = 31, ρ = RNE-FP32"),
    (&[Ampere, Ada, Hopper, Blackwell, RtxBlackwell], &["FP64"], "FP64", "FMA, ρ = RNE-FP64"),
];

/// The paper's table "Models for NVIDIA Tensor Cores": input, SASS instructions, models.
#[rustfmt::skip]
const TENSOR_CORES: [(&str, &str, &str); 6] = [
    ("FP64", "DMMA", "FMA"),
    ("TF32/BF16/FP16", "HMMA, HGMMA, UTCHMMA", "T-FDPA"),
    ("FP8", "QMMA, QGMMA, UTCQMMA", "T-FDPA"),
    ("FP6/FP4", "QMMA, UTCQMMA", "T-FDPA"),
    ("MXFP8/6/4", "QMMA.SF, UTCQMMA", "ST-FDPA"),
    ("MXFP4/NVFP4", "OMMA.SF, UTCOMMA", "GST-FDPA"),
];

/// The tables of parameters: name, heading, models.
#[rustfmt::skip]
const TABLES: [(&str, &str, &[&str]); 5] = [
    ("t-fdpa", "T-FDPA and ST-FDPA: parameters by architecture, input and output", &["T-FDPA", "ST-FDPA"]),
    ("gst-fdpa", "GST-FDPA: parameters", &["GST-FDPA"]),
    ("tr-fdpa", "TR-FDPA and GTR-FDPA: parameters", &["TR-FDPA", "GTR-FDPA"]),
    ("cdna", "E-FDPA and FTZ-AddMul: parameters", &["E-FDPA", "FTZ-AddMul"]),
    ("fma", "FMA: roundings", &["FMA"]),
];

/// Native instructions of one architecture with the same inputs, output and parameters.
struct Kind {
    architecture: Architecture,
    input: String,
    output: String,
    model: Model,
    rows: Vec<&'static Instruction>,
}

impl Kind {
    /// As the paper's rows are written above.
    fn parameters(&self) -> String {
        let operation = &self.model.operation;
        let given = PARAMETERS.into_iter().filter(|parameter| !is_fixed(&self.model, *parameter));
        let given = given.filter_map(|parameter| Some((parameter, operation.get(parameter)?)));
        let given = given.map(|(parameter, value)| format!("{} = {value}", parameter.key()));
        let name = std::iter::once(operation.name().to_owned());
        name.chain(given).chain([format!("ρ = {}", self.model.conversion)]).collect::<Vec<_>>().join(", ")
    }

    /// What the paper prints for this architecture, input and output.
    fn paper(&self) -> Vec<&'static str> {
        let same = |(architectures, inputs, output, _): &&Printed| {
            architectures.contains(&self.architecture)
                && inputs.contains(&self.input.as_str())
                && *output == self.output
        };
        PAPER.iter().filter(same).map(|(.., parameters)| *parameters).collect()
    }

    /// How the row compares with the paper's.
    fn verdict(&self) -> String {
        let (ours, paper) = (self.parameters(), self.paper());
        let is_old = self.architecture == Turing && self.rows.iter().all(|row| row.k == 4);
        let is_directed =
            self.model.operation.name() == "FMA" && self.model.conversion.rounding != Rounding::NearestEven;
        match (paper.contains(&ours.as_str()), paper.is_empty()) {
            (true, _) => "the same".to_owned(),
            _ if is_directed => "not in it: the paper treats no .rz, .rm and .rp".to_owned(),
            _ if is_old => "not in it: m8n8k4 computes on Turing as on Volta".to_owned(),
            (_, true) => "not in it".to_owned(),
            _ => paper.join(" or "),
        }
    }
}

/// Whether a model has no choice of this parameter: each operation of FTZ-AddMul has P products.
fn is_fixed(model: &Model, parameter: Parameter) -> bool {
    parameter == Parameter::MaxLength && model.operation.has(Parameter::Pairing)
}

/// What the paper calls a row's input.
fn input(row: &Instruction, model: &Model) -> String {
    let is_grouped = model.operation.has(Parameter::Group);
    match (row.a.bits(), &row.scale) {
        (_, Some(_)) if is_grouped => "MXFP4/NVFP4".to_owned(),
        (_, Some(_)) => "MXFP8/6/4".to_owned(),
        (..=8, None) if [Blackwell, RtxBlackwell].contains(&row.architecture.unit()) => "FP8/6/4".to_owned(),
        (8, None) => "FP8".to_owned(),
        _ if row.a == XF32 => "TF32".to_owned(),
        _ => format_name(&row.a),
    }
}

fn kinds(revision: Revision) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for row in rows().filter(|row| row.is_native() && !row.family.is_sparse()) {
        let Some(model) = row.model(revision) else { continue };
        let (input, output) = (input(row, &model), format_name(&row.d));
        let kind = Kind { architecture: row.architecture, input, output, model, rows: vec![row] };
        let key =
            |kind: &Kind| (kind.architecture, kind.input.clone(), kind.output.clone(), kind.parameters());
        match kinds.iter_mut().find(|known| key(known) == key(&kind)) {
            Some(known) => known.rows.push(row),
            None => kinds.push(kind),
        }
    }
    kinds
}

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    progress.step("models of all instructions", 0, 1)?;
    let kinds = kinds(options.revision);
    let mut tables = vec![tensor_cores(options.revision)];
    tables.extend(TABLES.map(|(name, title, families)| parameters_table(name, title, families, &kinds)));
    tables.push(conversions(&kinds));
    let own = options.data.as_ref().map(|data| own(data, options.revision));
    if let Some((_, table)) = &own {
        tables.insert(0, table.clone());
    }
    let found = |(architectures, inputs, output, parameters): &&Printed| {
        architectures.iter().all(|architecture| {
            inputs.iter().all(|input| {
                kinds.iter().any(|kind| {
                    (kind.architecture, kind.input.as_str(), kind.output.as_str())
                        == (*architecture, *input, *output)
                        && kind.parameters() == *parameters
                })
            })
        })
    };
    let equal = PAPER.iter().filter(found).count();
    let mut text: Vec<String> = own.into_iter().map(|(words, _)| words).collect();
    text.extend([
        "An instruction's arithmetic is one of eight models with a few numbers. The tables are printed from the catalogue that every \
         result here comes from, in the paper's layout; the last column holds them against the paper's cells."
            .to_owned(),
        format!(
            "{equal} of {} of the paper's choices of parameters are the catalogue's, number by number.",
            PAPER.len()
        ),
    ]);
    Ok(Content { text, tables, ..Content::default() })
}

/// A user's own instruction or model: its parameters, and the instructions that compute so.
fn own(data: &UserData, revision: Revision) -> (String, Table) {
    let (model, step) = (data.target.model(), data.target.step());
    let mut table = Table::new(
        "own-model",
        &format!("The model of {}", data.name),
        format!("At K = {step}: {}.", parameters(model, step)),
        ["parameter", "value"],
    );
    let formats = [("A", model.a), ("B", model.b), ("C", model.c), ("D", model.d)];
    table.row(cells!["model", model.operation.name()]);
    formats.into_iter().for_each(|(name, format)| table.row(cells![name, format_name(&format)]));
    for (parameter, value) in model.operation.parameters() {
        table.row(cells![parameter.key(), value.to_string()]);
    }
    table.row(cells!["ρ", model.conversion.to_string()]);
    let essential = essence(model, step);
    let alike: Vec<String> = rows()
        .filter(|row| row.is_native() && row.products() == step)
        .filter(|row| row.model_ref(revision).is_some_and(|other| essence(other, step) == essential))
        .map(|row| row.target())
        .collect();
    let words = match alike.is_empty() {
        true => {
            format!("No native instruction of the catalogue with K = {step} computes as {} does.", data.name)
        }
        false => format!("Instructions with the model of {}: {}.", data.name, list(&alike, 8)),
    };
    (words, table)
}

fn parameters_table(name: &str, title: &str, families: &[&str], kinds: &[Kind]) -> Table {
    let kinds: Vec<&Kind> =
        kinds.iter().filter(|kind| families.contains(&kind.model.operation.name())).collect();
    let has = |parameter: &Parameter| {
        let mut models = kinds.iter().map(|kind| &kind.model);
        models.any(|model| !is_fixed(model, *parameter) && model.operation.get(*parameter).is_some())
    };
    let shown: Vec<Parameter> = PARAMETERS.into_iter().filter(has).collect();
    let mut columns = vec!["architecture", "input", "output", "model"];
    columns.extend(shown.iter().map(|parameter| parameter.key()));
    columns.extend(["ρ", "instructions", "the paper's row"]);
    let mut table =
        Table::new(&format!("parameters-{name}"), title, "Native instructions of the catalogue.", columns);
    for kind in kinds {
        let operation = &kind.model.operation;
        let mut row = cells![
            architecture_name(kind.architecture),
            kind.input.as_str(),
            kind.output.as_str(),
            operation.name()
        ]
        .to_vec();
        row.extend(shown.iter().map(|&parameter| {
            let number = (!is_fixed(&kind.model, parameter)).then(|| operation.number::<u64>(parameter));
            Cell::from(number.flatten())
        }));
        let names: Vec<String> = kind.rows.iter().map(|row| row.name()).collect();
        row.extend(cells![kind.model.conversion.to_string(), list(&names, 2), kind.verdict()]);
        table.row(row);
    }
    table
}

/// Inputs, the SASS instructions that take them, and their models.
fn tensor_cores(revision: Revision) -> Table {
    let mut found: BTreeMap<&str, (Vec<String>, BTreeSet<&str>)> = BTreeMap::new();
    let native = rows().filter(|row| row.is_native() && !row.family.is_sparse());
    for row in native.filter(|row| row.architecture.vendor() == Vendor::Nvidia) {
        let Some(model) = row.model_ref(revision) else { continue };
        let widest = row.a.bits().max(row.b.bits());
        let input = match (widest, &row.scale) {
            (_, Some(_)) if model.operation.has(Parameter::Group) => "MXFP4/NVFP4",
            (_, Some(_)) => "MXFP8/6/4",
            (64, _) => "FP64",
            (16.., _) => "TF32/BF16/FP16",
            (8, _) => "FP8",
            _ => "FP6/FP4",
        };
        let (opcodes, families) = found.entry(input).or_default();
        opcodes.extend(row.sass().map(|sass| opcode(&sass)).filter(|name| !opcodes.contains(name)));
        families.insert(model.operation.name());
    }
    let mut table = Table::new(
        "tensor-cores",
        "Tensor Cores: input, SASS instruction, model",
        "SASS names as far as somebody has disassembled the instruction.",
        ["input", "SASS, paper", "ours", "model, paper", "ours"],
    );
    for (input, opcodes, family) in TENSOR_CORES {
        let (ours, families) = found.remove(input).unwrap_or_default();
        let join = |words: Vec<&str>| words.join(", ");
        table.row(cells![
            input,
            opcodes,
            join(ours.iter().map(String::as_str).collect()),
            family,
            join(families.into_iter().collect()),
        ]);
    }
    table
}

/// `HMMA` of `HMMA.16816.F32`, `QMMA.SF` of `QMMA.SF.16832.F32…`.
fn opcode(sass: &str) -> String {
    let mut words = sass.split('.');
    let first = words.next().unwrap_or(sass);
    if words.next() == Some("SF") { format!("{first}.SF") } else { first.to_owned() }
}

/// The conversions that the paper defines.
const CONVERSIONS: [&str; 4] = ["RZ-FP32", "RZ-E8M13", "RNE-FP32", "RNE-FP16"];

/// A rounding in words.
fn rounding(rounding: Rounding) -> String {
    match rounding {
        Rounding::TowardZero => "toward zero".to_owned(),
        Rounding::NearestEven => "to nearest, ties to even".to_owned(),
        Rounding::Up => "up".to_owned(),
        Rounding::Down => "down".to_owned(),
        other => other.to_string(),
    }
}

/// Every ρ, with what it does.
fn conversions(kinds: &[Kind]) -> Table {
    let mut table = Table::new(
        "conversions",
        "Conversion functions",
        "What becomes of a sum at the end of each operation.",
        ["ρ", "rounding", "exponent bits", "fraction bits", "models", "the paper's table"],
    );
    let mut found: Vec<(Conversion, BTreeSet<&str>)> = Vec::new();
    for kind in kinds {
        let (rho, family) = (kind.model.conversion, kind.model.operation.name());
        match found.iter_mut().find(|(known, _)| *known == rho) {
            Some((_, families)) => {
                families.insert(family);
            }
            None => found.push((rho, BTreeSet::from([family]))),
        }
    }
    for (rho, families) in found {
        let name = rho.to_string();
        let paper = if CONVERSIONS.contains(&name.as_str()) { "the same" } else { "not in it" };
        let families: Vec<&str> = families.into_iter().collect();
        table.row(cells![
            name,
            rounding(rho.rounding),
            u64::from(rho.format.exponent_bits),
            u64::from(rho.format.fraction_bits),
            families.join(", "),
            paper,
        ]);
    }
    table
}
