//! Mistakes in how a unit is connected that would explain why it fails step 1.
//!
//! No arithmetic is supposed. A mistake moves the elements of an operand, the elements of D, or the answers of a
//! batch. The unit is asked again with that put right; if it then passes the tests it failed, the mistake is named.

use bitmma_engine::{Matrices, Matrix, Signature};
use bitmma_verify::inputs::Family;
use bitmma_verify::inputs::matrices;

use crate::error::Error;
use crate::independence::{Evidence, Questions};
use crate::session::Session;

/// Instructions that are asked together where the answers of a batch may be off by one.
const BATCH: usize = 15;

/// For each element that the unit uses or computes, where it lies in what the unit is given or gives.
type Positions = Vec<usize>;

/// A mistake.
#[derive(Default)]
struct Wiring {
    text: String,
    /// Of A, B and C.
    inputs: [Option<Positions>; 3],
    d: Option<Positions>,
    /// Of the scale factors of A and B.
    scales: [Option<Positions>; 2],
    batch: Shift,
}

/// How the answers of a batch lie.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Shift {
    /// Each at its instruction.
    #[default]
    None,
    /// At the next instruction.
    Next,
    /// At the instruction before.
    Before,
}

/// Every fault found, one of each kind at most, with the number of tests.
pub(crate) fn check(session: &mut Session<'_>, seed: u64) -> Result<(Vec<Evidence>, usize), Error> {
    let questions = Questions::new(session.signature(), seed)?;
    let (mut found, tests) =
        questions.all(&mut |purpose, asked: &[Matrices]| session.instructions(purpose, asked))?;
    if !found.is_empty() {
        let explanation = explain(session, &questions)?;
        found.iter_mut().for_each(|one| one.explanation.clone_from(&explanation));
    }
    Ok((found, tests))
}

/// The mistake that explains why the unit fails, in words, if one does.
fn explain(session: &mut Session<'_>, questions: &Questions<'_>) -> Result<Option<String>, Error> {
    if !steady(session, questions)? {
        return Ok(None);
    }
    session.progress("looking for a mistake in the wiring", 0, 0)?;
    let mut wirings = shifts();
    wirings.extend(column_major(session.signature()));
    for wiring in wirings {
        if questions.passes(&mut |_, asked: &[Matrices]| wiring.ask(session, asked))? {
            return Ok(Some(wiring.text));
        }
    }
    for wiring in orders(session)? {
        if questions.passes(&mut |_, asked: &[Matrices]| wiring.ask(session, asked))? {
            return Ok(Some(wiring.text));
        }
    }
    Ok(None)
}

/// Whether the unit fails in the same way twice. Where it does not, chance could let a mistake pass the tests.
/// The first answer of a batch has no say: it may be that of an earlier batch.
fn steady(session: &mut Session<'_>, questions: &Questions<'_>) -> Result<bool, Error> {
    let mut asked = vec![questions.random[0].clone()];
    asked.extend(questions.random.iter().chain(&questions.shuffled).cloned());
    let before = session.instructions("wiring", &asked)?;
    let now = session.instructions("wiring", &asked)?;
    let (random, shuffled) = now[1..].split_at(questions.random.len());
    Ok(before[1..] == now[1..] && !questions.same(random, shuffled))
}

impl Wiring {
    /// What the unit would answer without the mistake.
    fn ask(&self, session: &mut Session<'_>, wanted: &[Matrices]) -> Result<Vec<Vec<u64>>, Error> {
        let given: Vec<Matrices> = wanted.iter().map(|one| self.arranged(one)).collect::<Result<_, _>>()?;
        let mut answers = Vec::with_capacity(given.len());
        for batch in given.chunks(if self.batch == Shift::None { given.len() } else { BATCH }) {
            let (first, last) = (&batch[..1], &batch[batch.len() - 1..]);
            let (longer, before) = match self.batch {
                Shift::None => (batch.to_vec(), 0),
                Shift::Next => ([batch, last].concat(), 1),
                Shift::Before => ([first, batch].concat(), 0),
            };
            let given = session.instructions("wiring", &longer)?;
            answers.extend(given.into_iter().skip(before).take(batch.len()));
        }
        if let Some(positions) = &self.d {
            for codes in &mut answers {
                *codes = positions.iter().map(|&at| codes[at]).collect();
            }
        }
        Ok(answers)
    }

    /// What to give the unit so that it uses what is wanted.
    fn arranged(&self, wanted: &Matrices) -> Result<Matrices, Error> {
        let ([a, b, c], [scale_a, scale_b]) = (&self.inputs, &self.scales);
        Ok(Matrices {
            a: stored(&wanted.a, a.as_ref())?,
            b: stored(&wanted.b, b.as_ref())?,
            c: stored(&wanted.c, c.as_ref())?,
            scales: match &wanted.scales {
                None => None,
                Some((a, b)) => Some((stored(a, scale_a.as_ref())?, stored(b, scale_b.as_ref())?)),
            },
        })
    }
}

fn stored(wanted: &Matrix, positions: Option<&Positions>) -> Result<Matrix, Error> {
    let Some(positions) = positions else { return Ok(wanted.clone()) };
    let mut codes = vec![0; positions.len()];
    wanted.iter().zip(positions).for_each(|(code, &at)| codes[at] = code);
    made(wanted, codes)
}

fn made(like: &Matrix, codes: Vec<u64>) -> Result<Matrix, Error> {
    Matrix::new(like.format(), like.shape(), codes).map_err(|source| Error::Unit {
        answered: 0,
        purpose: "wiring",
        source,
    })
}

/// The answers of a batch one instruction late or early.
fn shifts() -> Vec<Wiring> {
    let of = |batch, other| Wiring {
        text: format!(
            "batch off by one: each instruction of a batch is answered with D of the instruction {other} it"
        ),
        batch,
        ..Wiring::default()
    };
    vec![of(Shift::Next, "before"), of(Shift::Before, "after")]
}

/// A, B, C and D, each row-major or column-major, the fewest mistakes first. What is column-major and square is
/// transposed; what is not square is read in the order of its columns, or written so.
fn column_major(signature: &Signature) -> Vec<Wiring> {
    let Signature { m, n, k, blocks, .. } = *signature;
    let mut sets: Vec<u32> = (1..16).collect();
    sets.sort_by_key(|set| set.count_ones());
    let mut wirings = Vec::new();
    for backwards in [false, true] {
        for &set in &sets {
            let of = |bit: u32, rows: usize, columns: usize| {
                (set & bit != 0).then(|| transposed(blocks, rows, columns, backwards))
            };
            let (a, b, c, d) = (of(1, m, k), of(2, k, n), of(4, m, n), of(8, m, n));
            let moves =
                |positions: &Option<Positions>| positions.as_ref().is_none_or(|one| !is_identity(one));
            let square = m == n && n == k;
            if [&a, &b, &c, &d].into_iter().all(moves) && !(backwards && square) {
                wirings.push(Wiring {
                    text: column_major_text(set),
                    inputs: [a, b, c],
                    d,
                    ..Wiring::default()
                });
            }
        }
    }
    wirings
}

fn column_major_text(set: u32) -> String {
    match set {
        1 => "A transposed: the unit reads A column-major".to_owned(),
        2 => "B transposed: the unit reads B column-major".to_owned(),
        4 => "C column-major: the unit reads C transposed".to_owned(),
        8 => "D column-major: the unit writes D transposed".to_owned(),
        _ => {
            let names: Vec<&str> = ["A", "B", "C", "D"]
                .into_iter()
                .enumerate()
                .filter_map(|(bit, name)| (set >> bit & 1 == 1).then_some(name))
                .collect();
            format!("{} column-major: the unit takes each of them as transposed", names.join(", "))
        }
    }
}

/// Row-major elements in column-major storage, or the other way round.
fn transposed(blocks: usize, rows: usize, columns: usize, backwards: bool) -> Positions {
    let (rows_, columns_) = if backwards { (columns, rows) } else { (rows, columns) };
    let size = rows * columns;
    (0..blocks * size)
        .map(|at| {
            let (row, column) = (at % size / columns_, at % columns_);
            at / size * size + column * rows_ + row
        })
        .collect()
}

fn is_identity(positions: &[usize]) -> bool {
    positions.iter().enumerate().all(|(at, &to)| at == to)
}

/// Lines of a matrix that can be in another order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Block,
    Row,
    Column,
}

impl Axis {
    const fn text(self) -> &'static str {
        match self {
            Axis::Block => "blocks",
            Axis::Row => "rows",
            Axis::Column => "columns",
        }
    }

    fn count(self, (blocks, rows, columns): (usize, usize, usize)) -> usize {
        [blocks, rows, columns][self as usize]
    }

    fn of(self, (_, rows, columns): (usize, usize, usize), at: usize) -> usize {
        match self {
            Axis::Block => at / (rows * columns),
            Axis::Row => at / columns % rows,
            Axis::Column => at % columns,
        }
    }

    /// Positions where line i lies at line `at[i]`.
    fn positions(self, shape: (usize, usize, usize), to: &[usize]) -> Positions {
        let (blocks, rows, columns) = shape;
        let step = [rows * columns, columns, 1][self as usize];
        (0..blocks * rows * columns)
            .map(|at| {
                let line = self.of(shape, at);
                at - line * step + to[line] * step
            })
            .collect()
    }
}

/// Rows, columns and blocks in another order. The order is observed: one line of an operand changes, and one line of D
/// with it.
fn orders(session: &mut Session<'_>) -> Result<Vec<Wiring>, Error> {
    const ASKED: [(usize, Axis); 7] = [
        (0, Axis::Row),
        (1, Axis::Column),
        (2, Axis::Row),
        (2, Axis::Column),
        (0, Axis::Block),
        (1, Axis::Block),
        (2, Axis::Block),
    ];
    let signature = session.signature();
    let shapes = signature.shapes();
    let mut wirings: Vec<Wiring> = Vec::new();
    let (mut all, mut mistakes) = (Wiring::default(), 0);
    for (operand, axis) in ASKED {
        let Some(shown) = shown_at(session, operand, axis)? else { continue };
        if is_identity(&shown) {
            continue;
        }
        let mut lies = vec![0; shown.len()];
        shown.iter().enumerate().for_each(|(line, &at)| lies[at] = line);
        let text = |of: &str| order_text(of, axis, &lies);
        let mut one = Wiring { text: text(OPERANDS[operand]), ..Wiring::default() };
        let positions = |shape| Some(axis.positions(shape, &lies));
        one.inputs[operand] = positions(shapes[operand]);
        if signature.scale.is_some() && operand < 2 {
            let mut with_scales = Wiring {
                text: format!("{}, with its scale factors", one.text),
                inputs: one.inputs.clone(),
                ..Wiring::default()
            };
            with_scales.scales[operand] = positions(shapes[3 + operand]);
            wirings.push(with_scales);
        }
        // A and C alike: it is D
        if operand < 2 {
            let d = Some(axis.positions(shapes[2], &shown));
            wirings.push(Wiring { text: text("D"), d, ..Wiring::default() });
        }
        mistakes += 1;
        all.text = if mistakes == 1 { one.text.clone() } else { format!("{}; {}", all.text, one.text) };
        for (all, one) in all.inputs.iter_mut().zip(&one.inputs) {
            *all = then(all.take(), one.as_ref());
        }
        wirings.push(one);
    }
    if mistakes > 1 {
        wirings.push(all);
    }
    Ok(wirings)
}

fn then(first: Option<Positions>, second: Option<&Positions>) -> Option<Positions> {
    match (first, second) {
        (first, None) => first,
        (None, Some(second)) => Some(second.clone()),
        (Some(first), Some(second)) => Some(first.iter().map(|&at| second[at]).collect()),
    }
}

/// A, B or C.
const OPERANDS: [&str; 3] = ["A", "B", "C"];

/// The operand of that number.
fn input(matrices: &mut Matrices, operand: usize) -> &mut Matrix {
    match operand {
        0 => &mut matrices.a,
        1 => &mut matrices.b,
        _ => &mut matrices.c,
    }
}

/// For each line of an operand, the line of D that changes with it; `None` where it is not one line each.
fn shown_at(session: &mut Session<'_>, operand: usize, axis: Axis) -> Result<Option<Vec<usize>>, Error> {
    let signature = session.signature();
    let drawn = |index| {
        matrices(signature, Family::Normal, 5, index).map_err(|source| Error::Unit {
            answered: 0,
            purpose: "wiring",
            source,
        })
    };
    let (mut base, mut other) = (drawn(0)?, drawn(1)?);
    let (plain, foreign) = (input(&mut base, operand).clone(), input(&mut other, operand));
    let shape = plain.shape();
    let count = axis.count(shape);
    let mut asked = vec![base.clone()];
    for line in 0..count {
        let codes = plain
            .iter()
            .zip(foreign.iter())
            .enumerate()
            .map(|(at, (own, strange))| if axis.of(shape, at) == line { strange } else { own });
        let changed = made(&plain, codes.collect())?;
        let mut one = base.clone();
        *input(&mut one, operand) = changed;
        asked.push(one);
    }
    let answers = session.instructions("wiring", &asked)?;
    let d = signature.shapes()[2];
    let mut shown = Vec::with_capacity(count);
    for codes in &answers[1..] {
        let mut lines: Vec<usize> =
            (0..codes.len()).filter(|&at| codes[at] != answers[0][at]).map(|at| axis.of(d, at)).collect();
        lines.dedup();
        lines.sort_unstable();
        lines.dedup();
        match lines[..] {
            [line] if !shown.contains(&line) => shown.push(line),
            _ => return Ok(None),
        }
    }
    Ok(Some(shown))
}

/// What is wrong with the order of lines; line i of D is computed from line `lies[i]`.
fn order_text(operand: &str, axis: Axis, lies: &[usize]) -> String {
    let (what, count) = (axis.text(), lies.len());
    let moved: Vec<usize> = (0..count).filter(|&line| lies[line] != line).collect();
    let every = |of: &dyn Fn(usize) -> usize| (0..count).all(|line| lies[line] == of(line));
    let by = lies[0];
    if let [one, other] = moved[..] {
        format!("{what} swapped: {what} {one} and {other} of {operand}")
    } else if every(&|line| line ^ 1) {
        format!("{what} swapped: {what} of {operand} in pairs, 0 with 1, 2 with 3")
    } else if every(&|line| count - 1 - line) {
        format!("{what} swapped: {what} of {operand} in reverse order")
    } else if every(&|line| (line + by) % count) && [1, count - 1].contains(&by) {
        format!("{what} off by one: {what} of {operand}")
    } else {
        let shown: Vec<String> = lies.iter().take(16).map(usize::to_string).collect();
        let more = if count > 16 { " and more" } else { "" };
        format!(
            "{what} in another order: {what} {}{more} of {operand} are used in this order",
            shown.join(" ")
        )
    }
}
