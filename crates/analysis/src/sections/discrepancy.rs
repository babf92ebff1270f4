//! Where instructions differ: the paper's table, then all against all.

use std::collections::BTreeMap;

use bitmma_engine::catalogue::{Instruction, of};
use bitmma_engine::formats::{BF16, F16, TF32, XF32, text};
use bitmma_engine::{Architecture, Model, Revision};

use super::options::{Options, UserData};
use crate::account::dot;
use crate::cells;
use crate::compare::Input;
use crate::describe::{architecture_name, chips, format_name, input, list, parameters};
use crate::discrepancy::{Difference, Matrix, matrix, smallest};
use crate::error::Error;
use crate::section::{Content, Finding};
use crate::subject::{Subject, subjects};
use crate::table::{Cell, Table, short};
use bitmma_engine::Progress;

/// The paper's table of divergent results: architecture, TF32/BF16, FP16, FP8.
#[rustfmt::skip]
const PAPER: [(Architecture, [&str; 3]); 10] = [
    (Architecture::Volta,        ["N/A", "0.0", "N/A"]),
    (Architecture::Turing,       ["N/A", "-0.5", "N/A"]),
    (Architecture::Ampere,       ["-0.5", "-0.5", "N/A"]),
    (Architecture::Ada,          ["-0.5", "-0.5", "0.0"]),
    (Architecture::Hopper,       ["-0.75", "-0.75", "0.0"]),
    (Architecture::Blackwell,    ["-0.75", "-0.75", "-0.75"]),
    (Architecture::RtxBlackwell, ["-0.75", "-0.75", "-0.75"]),
    (Architecture::Cdna1,        ["-0.875", "-0.875", "N/A"]),
    (Architecture::Cdna2,        ["-0.375 or 0.0", "0.0", "N/A"]),
    (Architecture::Cdna3,        ["-0.5", "-0.5", "-1.0"]),
];

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    if let Some(data) = &options.data {
        return of_one(data, options, progress);
    }
    let mut tables = vec![divergent(options.revision)];
    let groups = groups(options.revision);
    let each = options.effort.of(100, 4_000);
    let budget = options.effort.of(5_000, 700_000);
    let mut pairs = pairs_table("Every pair, and the smallest input that tells it apart");
    let mut matrices = Vec::new();
    let mut identical = 0;
    let total = groups.len() as u64;
    for (done, (formats, subjects)) in groups.into_iter().enumerate() {
        progress.step("all instructions against all", done as u64, total)?;
        let rows: usize = subjects.iter().map(|subject| subject.rows.len()).sum();
        let found = matrix(subjects, each, options.seed)?;
        identical += rows - found.subjects.len();
        for row in 0..found.subjects.len() {
            pair_rows(&mut pairs, &formats, &found, row, budget, options)?;
        }
        if found.subjects.len() > 1 {
            matrices.push(matrix_table(&formats, &found));
        }
    }
    let differing = pairs.rows.iter().filter(|row| row[8].short() != "no input found").count();
    let text = vec![
        "Only FP64 and FP32 instructions return the same bits everywhere: they are chains of the same fused multiply-add. Each vendor \
         and generation sums narrower formats in its own way."
            .to_owned(),
        format!(
            "Of {} pairs of different models that share their formats, {differing} are told apart by an input given below; {identical} \
             further instructions have the very model of another and never differ from it. Formats that only one vendor has (FP8 FNUZ, \
             XF32) are compared within that vendor.",
            pairs.rows.len()
        ),
    ];
    let finding = finding(&tables[0], differing, pairs.rows.len());
    // the most models first: the formats that most people use
    while let Some(at) = (0..matrices.len()).min_by_key(|&at| std::cmp::Reverse(matrices[at].rows.len())) {
        tables.push(matrices.remove(at));
    }
    tables.push(pairs);
    Ok(Content { finding: Some(finding), text, tables, ..Content::default() })
}

/// A column of the paper's table.
fn column(row: &Instruction) -> Option<usize> {
    if row.scale.is_some() || row.a.bits() < 8 || row.b.bits() < 8 {
        return None;
    }
    match row.a {
        format if [TF32, XF32, BF16].contains(&format) => Some(0),
        F16 => Some(1),
        format if format.bits() == 8 => Some(2),
        _ => None,
    }
}

/// D of Equation 1 where the formats hold it.
fn equation_1(row: &Instruction, revision: Revision) -> Option<String> {
    let (model, case) = (row.model_ref(revision)?, Input::equation_1().case(row).ok()?);
    let decimal = text::display(&row.d, dot(model, &case).ok()?);
    Some(if decimal.contains('.') { decimal } else { format!("{decimal}.0") })
}

/// The paper's table of divergent results, beside ours.
fn divergent(revision: Revision) -> Table {
    let mut table = Table::new(
        "divergent",
        "Equation 1 on every architecture",
        "a = (−2^13, −0.5, −0.25, −0.125), b = (2^10, 1, 1, 1), c = 2^23; exactly −0.875. Every result of a native instruction whose \
         formats hold the input. What the paper's table does not have is marked.",
        "architecture | TF32/BF16, paper | ours | FP16, paper | ours | FP8, paper | ours".split(" | "),
    );
    for (architecture, paper) in PAPER {
        let mut answers: [BTreeMap<String, Vec<String>>; 3] = Default::default();
        for row in of(architecture).filter(|row| row.is_native() && !row.d.is_integer()) {
            if let (Some(column), Some(d)) = (column(row), equation_1(row, revision)) {
                answers[column].entry(d).or_default().push(row.name());
            }
        }
        let mut cells = vec![Cell::from(architecture_name(architecture))];
        for (paper, answers) in paper.iter().zip(&answers) {
            let mut ours: Vec<&str> = answers.keys().map(String::as_str).collect();
            if ours.is_empty() {
                ours.push("N/A");
            }
            let mut theirs: Vec<&str> = paper.split(" or ").collect();
            theirs.sort_unstable();
            ours.sort_unstable();
            for extra in ours.iter().filter(|answer| !theirs.contains(*answer)) {
                let names = answers.get(*extra).map_or(String::new(), |names| list(names, 2));
                let name = architecture_name(architecture);
                table.text += &format!(" {name} returns {extra} for {names}{}.", why(architecture, &names));
            }
            cells.extend([Cell::from(*paper), Cell::from(ours.join(" or "))]);
        }
        table.row(cells);
    }
    table
}

/// What Equation 1 and the pairs come to.
fn finding(divergent: &Table, differing: usize, pairs: usize) -> Finding {
    let mut results: Vec<f64> = divergent
        .rows
        .iter()
        .flat_map(|row| row[4].short().split(" or ").filter_map(|one| one.parse().ok()).collect::<Vec<f64>>())
        .collect();
    results.sort_unstable_by(f64::total_cmp);
    results.dedup();
    let listed: Vec<String> = results.iter().map(|one| short(*one).replace('-', "−")).collect();
    Finding {
        headline: format!("The same FP16 inputs give {} different results", results.len()),
        text: format!(
            "Equation 1 is exactly −0.875. FP16 instructions of {} architectures return {}. Of {pairs} pairs of models with the same \
             formats, {differing} differ on some input.",
            divergent.rows.len(),
            listed.join(", ")
        ),
    }
}

/// Why an answer is not the paper's.
fn why(architecture: Architecture, names: &str) -> &'static str {
    if architecture == Architecture::Turing && names.contains("m8n8k4") {
        return ", which Turing computes as Volta does; the paper's row is about its other instructions";
    }
    ""
}

/// Models of native instructions by formats, those first that most architectures have.
fn groups(revision: Revision) -> Vec<(String, Vec<Subject>)> {
    let mut groups: Vec<(String, Vec<Subject>)> = Vec::new();
    for subject in subjects(revision, Instruction::is_native) {
        let name = formats(&subject.model);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, subjects)) => subjects.push(subject),
            None => groups.push((name, vec![subject])),
        }
    }
    groups
}

/// What a model takes and gives.
fn formats(model: &Model) -> String {
    let scale = model
        .scale
        .map_or(String::new(), |scale| format!(", {} per {}", format_name(&scale.format), scale.size));
    let [a, b, c, d] = [model.a, model.b, model.c, model.d].map(|format| format_name(&format));
    format!("{a}·{b}{scale} + {c} → {d}")
}

/// The architectures of a model; a user's own by its name.
fn label(subject: &Subject) -> String {
    match subject.rows.is_empty() {
        true => subject.name.clone(),
        false => chips(&subject.architectures()),
    }
}

fn share(count: u64, of: u64) -> f64 {
    count as f64 / of.max(1) as f64
}

/// The largest sampling error of a share of that many cases, that of one half, in percentage points.
fn sampling_error(cases: u64) -> String {
    short(50.0 / (cases.max(1) as f64).sqrt())
}

/// Models against models: the share of adversarial and of N(0,1) cases on which they differ.
fn matrix_table(formats: &str, found: &Matrix) -> Table {
    let name: String =
        formats.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let mut columns = vec!["model".to_owned(), "parameters".to_owned()];
    columns.extend(
        found
            .subjects
            .iter()
            .enumerate()
            .map(|(index, subject)| format!("{}: {}", index + 1, label(subject))),
    );
    let mut table = Table::new(
        &format!("matrix-{name}"),
        &format!("All against all: {formats}"),
        format!(
            "K = {}. In each cell the share of {} adversarial cases on which row and column differ, then that of {} cases of N(0,1), in \
             percent; their sampling errors are at most {} and {} percentage points.",
            found.k,
            found.cases.0,
            found.cases.1,
            sampling_error(found.cases.0),
            sampling_error(found.cases.1)
        ),
        columns,
    );
    for (row, subject) in found.subjects.iter().enumerate() {
        let mut cells =
            cells![format!("{}: {}", row + 1, label(subject)), parameters(&subject.model, subject.k)]
                .to_vec();
        cells.extend(found.differing[row].iter().enumerate().map(|(column, count)| {
            if row == column {
                return Cell::from("=");
            }
            let percent = |share: f64| format!("{} %", short(100.0 * share));
            Cell::from(format!(
                "{}, {}",
                percent(share(count.0, found.cases.0)),
                percent(share(count.1, found.cases.1))
            ))
        }));
        table.row(cells);
    }
    table
}

/// A user's own instruction or model against every native instruction that takes and gives the same formats.
fn of_one(data: &UserData, options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    let (model, step) = (data.target.model(), data.target.step());
    progress.step("the instruction against all", 0, 1)?;
    let mut all = vec![Subject::of_model(data.name.as_str(), model.clone(), step)];
    let formats = formats(model);
    let others = groups(options.revision).into_iter().find(|(name, _)| *name == formats);
    all.extend(others.into_iter().flat_map(|(_, subjects)| subjects));
    let found = matrix(all, options.effort.of(100, 4_000), options.seed)?;
    let mut pairs = pairs_table(&format!(
        "{} against the others, and the smallest input that tells them apart",
        data.name
    ));
    pair_rows(&mut pairs, &formats, &found, 0, options.effort.of(5_000, 700_000), options)?;
    let alike: Vec<String> = found.subjects[0].rows.iter().map(|row| row.target()).collect();
    let differing =
        pairs.rows.iter().filter(|row| ["smallest", "found"].contains(&row[8].short().as_str())).count();
    let text = match (alike.is_empty(), pairs.rows.len()) {
        (true, 0) => format!("No native instruction of the catalogue takes and gives {formats}."),
        (true, count) => format!(
            "No native instruction has the model of {}; {differing} of the {count} models that take and give {formats} are told \
             apart from it by an input given below.",
            data.name
        ),
        (false, count) => format!(
            "{} computes as {}. {differing} of the {count} other models that take and give {formats} are told apart from it by \
             an input given below.",
            data.name,
            list(&alike, 6)
        ),
    };
    Ok(Content { text: vec![text], tables: vec![pairs], ..Content::default() })
}

fn pairs_table(title: &str) -> Table {
    Table::new(
        "pairs",
        title,
        "Models of native instructions that take and give the same formats. Instructions with equal models stand together and never \
         differ. The input: fewest non-zero elements, then fewest bits set in significands. \"smallest\": every simpler one of C alone \
         (up to three bits) or one product (up to three bits, at the places that the operations can tell apart) was tried; \"found\": \
         not all were, or it was shrunk from a random one.",
        "A·B → D | one | other | K | differ, adversarial | differ, N(0,1) | input | explore | \
         which | cases tried"
            .split(" | "),
    )
}

/// Model `row` with all that come after it.
fn pair_rows(
    table: &mut Table,
    formats: &str,
    found: &Matrix,
    row: usize,
    budget: u64,
    options: &Options,
) -> Result<(), Error> {
    if let Some(one) = found.subjects.get(row) {
        for (column, other) in found.subjects.iter().enumerate().skip(row + 1) {
            let count = found.differing[row][column];
            let difference = smallest(&one.model, &other.model, found.k, budget, options.seed)?;
            let (case, which, tried) = match &difference {
                Difference::Found { case, smallest, tried, .. } => {
                    (Some(case), if *smallest { "smallest" } else { "found" }, *tried)
                }
                Difference::Never { tried } => (None, "never: every input tried", *tried),
                Difference::NotFound { tried } => (None, "no input found", *tried),
            };
            table.row(cells![
                formats,
                format!("{} ({})", label(one), parameters(&one.model, one.k)),
                format!("{} ({})", label(other), parameters(&other.model, other.k)),
                found.k,
                share(count.0, found.cases.0),
                share(count.1, found.cases.1),
                case.map(|case| input(&one.model, case)),
                case.and_then(|case| options.explore(&[one, other], case)),
                which,
                tried,
            ]);
        }
    }
    Ok(())
}
