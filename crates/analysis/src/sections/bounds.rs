//! Error sources and bounds: the paper's table, how tight each bound is, and bounds along K.

mod along_k;

use bitmma_engine::arithmetic::Prepared;
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, GemmOptions, Revision};
use bitmma_verify::inputs::{Family, case};

use super::options::{Options, UserData};
use crate::account::{Entry, Start, account_prepared};
use crate::cells;
use crate::describe::{chips, input, kind, list, loss, parameters};
use crate::dyadic::Dyadic;
use crate::error::Error;
use crate::error_bound::{Chain, Magnitudes, a_priori, chain};
use crate::error_source::{Source, sources};
use crate::section::Content;
use crate::subject::{Subject, elementary, essence};
use crate::table::Table;
use crate::tightness::{Effort, Objective, search_each};
use bitmma_engine::Progress;

/// Rows of the paper's table: models, source, bound, which of ours they are, and why ours is written otherwise; nothing
/// where it is the same, word for word.
const PAPER: [(&str, Source, &str, &[&str], &str); 6] = [
    ("FTZ-AddMul", Source::InputFlush, "2^-126 (BF16) or 2^-14 (FP16)", &["FTZ-AddMul"], ""),
    ("FTZ-AddMul", Source::AddMul, "0.5 ulp FP32", &["FTZ-AddMul"], ""),
    ("FTZ-AddMul", Source::OutputFlush, "2^-126", &["FTZ-AddMul"], ""),
    ("FMA, E-FDPA", Source::OutputRounding, "0.5 ulp FP64 or 0.5 ulp FP32", &["FMA", "E-FDPA"], DIRECTED),
    ("T-FDPA, others", Source::FusedSum, "(L+1) · 2^(e_max−F)", &FUSED, IN_NUMBERS),
    ("T-FDPA, others", Source::OutputRounding, "0.5 ulp (RNE) or 1 ulp (RZ)", &FUSED, WITH_FORMATS),
];
const DIRECTED: &str = "the paper's, and 1 ulp for the FP64 forms that round toward zero, down or up (.rz, .rm, .rp), which it does not treat";
const IN_NUMBERS: &str = "the paper's, with the numbers of each operation: L + 1 terms and F, for GST-FDPA groups instead of L; TR-FDPA and \
                          GTR-FDPA cut at E, the larger of e_max and the exponent of C";
const WITH_FORMATS: &str = "the paper's, with the format that is rounded to";
const FUSED: [&str; 5] = ["T-FDPA", "ST-FDPA", "GST-FDPA", "TR-FDPA", "GTR-FDPA"];

/// One source of an elementary operation's errors.
struct BySource {
    source: Source,
    bound: String,
    worst: Option<f64>,
    input: String,
    /// What became of the exact result on that input.
    loss: String,
}

/// What was tried on one elementary operation.
struct Tried {
    subject: Subject,
    cases: u64,
    violations: u64,
    /// Of each source its bound, the worst ratio to it, and the input that has it.
    by_source: Vec<BySource>,
    /// Worst ratio to our total, to the paper's total, and the input that has the latter.
    ours: Option<f64>,
    paper: Option<f64>,
    worst: String,
    loss: String,
}

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    if let Some(data) = &options.data {
        return of_one(data, options, progress);
    }
    let tried = tried(&distinct(options.revision), options, progress)?;
    let cases: u64 = tried.iter().map(|one| one.cases).sum();
    let violations: u64 = tried.iter().map(|one| one.violations).sum();
    let (gemm_table, mut figures) = along_k::followed(options, progress)?;
    let (finding, fp8_table, fp8) = along_k::fp8(options, progress)?;
    figures.insert(0, fp8);
    let tables =
        vec![sources_table(&tried), flush_table(&tried), operations_table(&tried), gemm_table, fp8_table];
    Ok(Content {
        finding: Some(finding),
        text: vec![
            "Every loss of every step is accounted with its sign: all of them together are exactly D minus the exact dot \
             product, so each source has a measured error of its own beside its bound."
                .to_owned(),
            format!(
                "{cases} random and adversarial cases on {} elementary operations: {violations} violations. How tight a bound \
                 is, a search shows: the largest share of it that an input uses up.",
                tried.len()
            ),
        ],
        tables,
        figures,
    })
}

/// The bounds of the user's own instruction or model, and of nothing else: the catalogue takes minutes.
fn of_one(data: &UserData, options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    let (model, step) = (data.target.model(), data.target.step());
    let length = model.length(step).max(model.scale.map_or(1, |scale| scale.size)).max(1);
    let subject = Subject::of_model(data.name.as_str(), essence(model, length), length);
    let tried = tried(&[subject], options, progress)?;
    let one = &tried[0];
    let mut sources = Table::new(
        "own-sources",
        &format!("{}: where one elementary operation loses, and how much", data.name),
        format!(
            "{}. {} random and adversarial cases, {} violations. The share is the largest one of the bound that a search found an \
             input for; a blank: nothing can be lost there.",
            parameters(model, length),
            one.cases,
            one.violations
        ),
        ["source", "bound", "worst / bound", "worst input", "exact result"],
    );
    for row in &one.by_source {
        sources.row(cells![
            row.source.name(),
            row.bound.as_str(),
            row.worst,
            row.input.as_str(),
            row.loss.as_str()
        ]);
    }
    sources.row(cells!["all of them, ours", "the sum", one.ours, "", ""]);
    sources.row(cells![
        "all of them, the paper's",
        "its formula",
        one.paper,
        one.worst.as_str(),
        one.loss.as_str()
    ]);
    Ok(Content {
        text: vec![
            "Every loss of every step is accounted with its sign: all of them together are exactly D minus the exact dot \
             product. `bitmma analyze bounds` without an instruction does the same to the whole catalogue."
                .to_owned(),
        ],
        tables: vec![own(data, options.effort.of(256, 4096))?, sources],
        ..Content::default()
    })
}

/// Errors and bounds on the user's product, source by source, at no more than `most` elements of D; at fewer where K is padded
/// to many times its length.
fn own(data: &UserData, most: usize) -> Result<Table, Error> {
    let UserData { target, product, .. } = data;
    let model = target.model();
    let (m, n, k) = (product.a.rows(), product.b.columns(), product.a.columns());
    let padded = k.next_multiple_of(target.step()) / k.max(1);
    let every = (m * n).div_ceil((most / padded.max(1)).max(1)).max(1);
    let elements: Vec<usize> = (0..m * n).step_by(every).collect();
    let chains = elements
        .par_iter()
        .map(|element| chain(target, &product.case(element / n, element % n), &GemmOptions::default()));
    let chains = chains.collect::<Result<Vec<_>, _>>()?;
    let (a, b) = product.numbers()?;
    let before = Magnitudes::of(&a, &b, product.c.as_ref());
    let before = before.and_then(|magnitudes| a_priori(model, target.step(), k, &magnitudes));
    let finite: Vec<_> =
        chains.iter().filter_map(|chain| Some((chain, chain.error()?.magnitude(), chain.bound()?))).collect();
    let violations = finite.iter().filter(|(_, error, bound)| error > bound).count();
    let mut table = Table::new(
        "bounds-own",
        &format!("{}: errors and bounds", data.name),
        format!(
            "{}, {} of {} elements of D, {} of them finite throughout; {violations} beyond their bound. Each error and each bound is \
             the largest there is. A posteriori: from the exponents that occurred. A priori: from the largest magnitudes of A, B and \
             C alone; none where those allow an overflow.",
            product.about,
            elements.len(),
            m * n,
            finite.len()
        ),
        ["source", "error", "a posteriori bound", "a priori bound", "error / its own bound"],
    );
    let mut row = |name: &str, pairs: Vec<(Dyadic, Dyadic)>, before: Option<f64>| {
        let pairs: Vec<_> =
            pairs.iter().map(|(error, bound)| (error.to_f64().abs(), bound.to_f64())).collect();
        let most = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).fold(0.0, f64::max);
        let (error, bound) = (most(|pair| pair.0), most(|pair| pair.1));
        let share = most(|pair| if pair.1 > 0.0 { pair.0 / pair.1 } else { 0.0 });
        if bound > 0.0 || before.is_some_and(|before| before > 0.0) {
            table.row(cells![name, error, bound, before, share]);
        }
    };
    for source in Source::ALL {
        let sum = |of: fn(&Entry) -> &Dyadic, chain: &Chain| {
            chain.accounts.iter().fold(Dyadic::ZERO, |sum, account| &sum + of(account.entry(source)))
        };
        let pairs = finite
            .iter()
            .map(|(chain, ..)| (sum(|entry| &entry.error, chain), sum(|entry| &entry.bound, chain)));
        let before = before.as_ref().map(|bound| bound.by_source[source as usize].to_f64());
        row(source.name(), pairs.collect(), before);
    }
    let pairs = finite.iter().map(|(_, error, bound)| (error.clone(), bound.clone()));
    row("all of them", pairs.collect(), before.map(|bound| bound.total().to_f64()));
    Ok(table)
}

/// Every elementary operation with its own parameters; formats tell two apart only where their bounds differ, as that of
/// flushed inputs does.
fn distinct(revision: Revision) -> Vec<Subject> {
    let mut distinct: Vec<Subject> = Vec::new();
    for subject in elementary(revision) {
        let same = |known: &&mut Subject| {
            let (x, y) = (&known.model, &subject.model);
            (x.operation, x.conversion, x.flush_operands, x.flush_accumulator, x.lowering)
                == (y.operation, y.conversion, y.flush_operands, y.flush_accumulator, y.lowering)
                && known.k == subject.k
                && sources(x, known.k).ok() == sources(y, subject.k).ok()
        };
        match distinct.iter_mut().find(same) {
            Some(known) => known.rows.extend(subject.rows),
            None => distinct.push(subject),
        }
    }
    distinct
}

/// Elements of a sum beyond which fewer cases are tried.
const LONG: u64 = 512;
/// Cases that a search takes at least.
const LEAST_BUDGET: u64 = 8 * Family::ALL.len() as u64;

fn tried(subjects: &[Subject], options: &Options, progress: &dyn Progress) -> Result<Vec<Tried>, Error> {
    let total = subjects.len() as u64;
    // of sums longer than any of the catalogue's, which only a model file has, fewer cases: as much work as for those of `LONG`
    let longest = subjects.iter().map(|subject| subject.k as u64).max().unwrap_or(1);
    let less = |count: u64, least: u64| (count / (longest / LONG).max(1)).max(least);
    let each = less(options.effort.of(50, 5_000), 1);
    let budget = less(options.effort.of(2_000, 40_000), LEAST_BUDGET);
    // at the least budget, of sums of many thousand elements, the search tries its starts alone
    let enough = if budget == LEAST_BUDGET { 0.0 } else { options.effort.of(0.6, 0.95) };
    let effort = Effort { budget, enough };
    let mut all = Vec::new();
    // a few at a time, so that progress is seen
    for chunk in subjects.chunks(4) {
        progress.step("error bounds of every operation", all.len() as u64, total)?;
        let part: Result<Vec<Tried>, Error> =
            chunk.par_iter().map(|subject| try_one(subject, each, effort, options.seed)).collect();
        all.extend(part?);
    }
    Ok(all)
}

fn try_one(subject: &Subject, each: u64, effort: Effort, seed: u64) -> Result<Tried, Error> {
    let (model, k) = (&subject.model, subject.k);
    let prepared = Prepared::new(model, k)?;
    let (mut cases, mut violations) = (0, 0);
    for family in Family::ALL {
        for index in 0..each {
            let account = account_prepared(&prepared, &case(model, k, family, seed, index), Start::C, false);
            let (Some(bound), Some(error)) = (account.bound(), account.error()) else { continue };
            cases += 1;
            let within = error.magnitude() <= bound
                && error.magnitude() <= account.paper_bound
                && account.explained() == error
                && account.entries.iter().all(|entry| entry.error.magnitude() <= entry.bound);
            violations += u64::from(!within);
        }
    }
    let rows = sources(model, k)?;
    let of_sources = rows.iter().map(|row| Objective::Source(row.source));
    let objectives: Vec<_> = of_sources.chain([Objective::Total, Objective::Paper]).collect();
    let mut found = search_each(model, k, &objectives, effort, seed)?;
    let [paper, total] = [found.pop().flatten(), found.pop().flatten()];
    let by_source = rows.into_iter().zip(found).map(|(row, found)| BySource {
        source: row.source,
        bound: row.bound,
        worst: found.as_ref().map(|worst| worst.ratio),
        input: found.as_ref().map_or(String::new(), |worst| short_input(model, &worst.case)),
        loss: found.map_or(String::new(), |worst| lost(&prepared, &worst.case)),
    });
    let by_source = by_source.collect();
    Ok(Tried {
        subject: subject.clone(),
        cases,
        violations,
        by_source,
        ours: total.map(|worst| worst.ratio),
        worst: paper.as_ref().map_or(String::new(), |worst| short_input(model, &worst.case)),
        loss: paper.as_ref().map_or(String::new(), |worst| lost(&prepared, &worst.case)),
        paper: paper.map(|worst| worst.ratio),
    })
}

/// What became of the exact result of a case.
fn lost(prepared: &Prepared<'_>, case: &Case) -> String {
    let account = account_prepared(prepared, case, Start::C, false);
    account.exact.zip(account.value).map_or(String::new(), |(exact, value)| loss(&exact, &value))
}

/// The kinds of input of the instructions that have an operation.
fn inputs(subject: &Subject) -> String {
    let mut kinds: Vec<String> =
        subject.rows.iter().map(|row| kind(&row.a, &row.b, row.scale.is_some())).collect();
    kinds.sort_unstable();
    kinds.dedup();
    list(&kinds, 6)
}

/// An input, its middle left out where it is long.
fn short_input(model: &bitmma_engine::Model, case: &Case) -> String {
    let text = input(model, case);
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= 160 {
        return text;
    }
    let (head, tail) = (&characters[..110], &characters[characters.len() - 45..]);
    format!("{} … {}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

fn sources_table(tried: &[Tried]) -> Table {
    let mut table = Table::new(
        "error-sources",
        "Sources and upper bounds of numerical error",
        "The paper's table. The last columns say how far the search came: over all operations of these models, the smallest and \
         the largest share of the bound that its worst input uses up. A blank: no operation of the catalogue can lose anything \
         there.",
        "models | source | paper: bound | ours: bound | why it differs | operations | \
         least tight | tightest"
            .split(" | "),
    );
    for (models, source, bound, names, why) in PAPER {
        let mine = tried.iter().filter(|one| names.contains(&one.subject.model.operation.name()));
        let rows: Vec<_> =
            mine.flat_map(|one| one.by_source.iter().filter(|row| row.source == source)).collect();
        let mut bounds: Vec<&str> = rows.iter().map(|row| row.bound.as_str()).collect();
        bounds.sort_unstable();
        bounds.dedup();
        // the paper names the wider format first
        if why == DIRECTED {
            bounds.reverse();
        }
        let ours = if names == FUSED { list(&bounds, 12) } else { bounds.join(" or ") };
        let why = if ours == bound { "the same" } else { why };
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.worst).collect();
        let least = ratios.iter().copied().reduce(f64::min);
        let most = ratios.iter().copied().reduce(f64::max);
        table.row(cells![models, source.name(), bound, ours, why, ratios.len(), least, most]);
    }
    table
}

/// Inputs and results that are flushed, format by format: the loss that made FP16 training on CDNA2 diverge.
fn flush_table(tried: &[Tried]) -> Table {
    let mut table = Table::new(
        "flush",
        "What flushing loses",
        "Each operation that reads subnormal numbers as zero, or returns zero for them. The bound is of one number; the share is of the \
         bound of the whole operation, which multiplies it by the other factor.",
        "operation | inputs | architectures | source | bound | worst / bound | \
         worst input | exact result"
            .split(" | "),
    );
    for one in tried {
        for row in &one.by_source {
            if !matches!(row.source, Source::InputFlush | Source::OutputFlush) {
                continue;
            }
            let model = &one.subject.model;
            table.row(cells![
                parameters(model, one.subject.k),
                inputs(&one.subject),
                chips(&one.subject.architectures()),
                row.source.name(),
                row.bound.as_str(),
                row.worst,
                row.input.as_str(),
                row.loss.as_str(),
            ]);
        }
    }
    table
}

fn operations_table(tried: &[Tried]) -> Table {
    let mut table = Table::new(
        "bound-tightness",
        "Every elementary operation against its bound",
        "The share of the whole bound that the worst input found uses up: of ours, which counts only terms and roundings that \
         can lose bits at the exponents that occur, and of the paper's formula, which counts all. The paper's is met less \
         closely where a term can never lose anything: the one that brings e_max.",
        "operation | inputs | architectures | cases held | violations | \
         worst / our bound | worst / paper's bound | worst input for the latter | \
         exact result there"
            .split(" | "),
    );
    for one in tried {
        table.row(cells![
            parameters(&one.subject.model, one.subject.k),
            inputs(&one.subject),
            chips(&one.subject.architectures()),
            one.cases,
            one.violations,
            one.ours,
            one.paper,
            one.worst.as_str(),
            one.loss.as_str(),
        ]);
    }
    table
}
