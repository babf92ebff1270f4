//! Units that are broken in one way each: every one is found out, with the evidence.

use crate::common;

use std::cell::{Cell, RefCell};

use bitmma_engine::formats::decode;
use bitmma_engine::{
    Architecture, Case, Error, Matrices, Matrix, MmaUnit, Model, Operands, Revision, Signature, Simulator,
};
use bitmma_probe::independence::Fault;
use bitmma_probe::outcome::Where;
use bitmma_probe::{Evidence, Options, Outcome, Verdict, probe};
use bitmma_verify::inputs::{Family, matrices};

/// Spoils the codes of D of one instruction, given its operands and how many were asked before.
type Spoil = dyn Fn(&Operands<'_>, &mut Vec<u64>, u64) -> Result<(), Error>;

/// A simulated instruction that answers wrongly now and then.
struct Broken {
    unit: Simulator,
    asked: Cell<u64>,
    spoil: Box<Spoil>,
}

impl Broken {
    fn new(spoil: impl Fn(&Operands<'_>, &mut Vec<u64>, u64) -> Result<(), Error> + 'static) -> Broken {
        let unit =
            Simulator::instruction(Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f32", Revision::Hardware);
        Broken { unit: unit.unwrap(), asked: Cell::new(0), spoil: Box::new(spoil) }
    }

    fn probed(&self, tests: u64) -> Outcome {
        probe(self, &Options { tests, ..Options::default() }, &()).unwrap()
    }
}

impl MmaUnit for Broken {
    fn signature(&self) -> &Signature {
        self.unit.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let d = self.unit.multiply(operands)?;
        let mut codes: Vec<u64> = d.iter().collect();
        let before = self.asked.replace(self.asked.get() + 1);
        (self.spoil)(operands, &mut codes, before)?;
        Matrix::new(d.format(), d.shape(), codes)
    }
}

/// A simulated unit whose operands or answers are connected wrongly.
struct Wired {
    unit: Simulator,
    operands: fn(&mut Matrices),
    answers: fn(&mut Vec<Matrix>),
}

impl Wired {
    fn new(
        shape: (usize, usize, usize),
        operands: fn(&mut Matrices),
        answers: fn(&mut Vec<Matrix>),
    ) -> Wired {
        let toml = "model = 'T-FDPA'\nA = 'f16'\nB = 'f16'\nC = 'f32'\nL_max = 4\nF = 24\nrho = 'RZ-FP32'\n";
        let unit = Simulator::model(Model::from_toml(toml).unwrap(), shape).unwrap();
        Wired { unit, operands, answers }
    }
}

impl MmaUnit for Wired {
    fn signature(&self) -> &Signature {
        self.unit.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        Ok(self.multiply_many(std::slice::from_ref(operands))?.remove(0))
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        let mut answers = Vec::new();
        for one in batch {
            let mut asked = Matrices {
                a: one.a.clone(),
                b: one.b.clone(),
                c: one.c.expect("a probe gives C").clone(),
                scales: None,
            };
            (self.operands)(&mut asked);
            answers.push(self.unit.multiply(&asked.operands())?);
        }
        (self.answers)(&mut answers);
        Ok(answers)
    }
}

/// A matrix of one block whose element at (row, column) is that at `source`, of all as they are stored.
fn moved(matrix: &Matrix, source: impl Fn(usize, usize) -> usize) -> Matrix {
    let (_, rows, columns) = matrix.shape();
    let codes: Vec<u64> = matrix.iter().collect();
    let all = (0..rows * columns).map(|at| codes[source(at / columns, at % columns)]);
    Matrix::new(matrix.format(), matrix.shape(), all).unwrap()
}

/// The first fault of a unit; place, operands, both answers and the mistake are in its text.
#[track_caller]
fn explained(unit: &dyn MmaUnit, fault: Fault, mistake: &str) -> Evidence {
    let outcome = probe(unit, &Options { tests: 1000, ..Options::default() }, &()).unwrap();
    let Verdict::Faulty(faults) = &outcome.verdict else { panic!("{}", outcome.to_text()) };
    let first = &faults[0];
    assert_eq!(first.fault, fault, "{}", outcome.summary());
    assert_eq!(first.explanation.as_deref(), Some(mistake), "{}", outcome.summary());
    assert_ne!(first.answer, first.expected);
    shown(&outcome, first);
    first.clone()
}

/// Place, operands, both answers and the explanation stand in summary, report and page.
#[track_caller]
fn shown(outcome: &Outcome, evidence: &Evidence) {
    let (a, d) = (outcome.signature.a.hex_digits(), outcome.signature.d.hex_digits());
    let place = format!("row {}, column {}", evidence.place.row, evidence.place.column);
    // what is +0 is left out
    let Case { a: row, b: column, .. } = &evidence.case;
    let operand = match (0..row.len()).find(|&at| (row[at], column[at]) != (0, 0)) {
        Some(at) => format!("a{at} = 0x{:0a$x}", row[at]),
        None if evidence.case.c != 0 => "c = 0x".to_owned(),
        None => "everything +0".to_owned(),
    };
    let answers = [evidence.answer, evidence.expected].map(|code| format!("0x{code:0d$x}"));
    for text in [outcome.summary(), outcome.to_text(), outcome.to_html()] {
        assert!(text.contains("FAULTY") && text.contains(evidence.fault.text()), "{text}");
        assert!(text.contains(&place) && text.contains(&operand), "{place}, {operand}: {text}");
        assert!(answers.iter().all(|answer| text.contains(answer)), "{answers:?}: {text}");
        if let Some(mistake) = &evidence.explanation {
            assert!(text.contains(mistake), "{mistake}: {text}");
        }
    }
}

/// The answer of a unit at the place of some evidence.
fn answer_at(unit: &dyn MmaUnit, asked: &Matrices, evidence: &Evidence) -> u64 {
    let answers = unit.multiply_many(&[asked.operands()]).unwrap();
    answers[0].get(evidence.place.block, evidence.place.row, evidence.place.column)
}

/// What is said to be answered in a random instruction is answered there.
#[track_caller]
fn answered_at_random(unit: &dyn MmaUnit, evidence: &Evidence) {
    assert!(evidence.asked.starts_with("instruction 0 of family normal under seed 1"), "{}", evidence.asked);
    let asked = matrices(unit.signature(), Family::Normal, 1, 0).unwrap();
    assert_eq!(asked.case(0, evidence.place.row, evidence.place.column), evidence.case);
    assert_eq!(answer_at(unit, &asked, evidence), evidence.expected);
}

#[test]
fn rows_swapped() {
    let mistake = "rows swapped: rows of A in pairs, 0 with 1, 2 with 3";
    let pairs = Wired::new((8, 4, 8), |m| m.a = moved(&m.a, |row, k| (row ^ 1) * 8 + k), |_| ());
    answered_at_random(&pairs, &explained(&pairs, Fault::DependsOnOthers, mistake));
    // two of many rows: the places that are chosen at random need not meet them
    let two = Wired::new(
        (64, 4, 8),
        |m| m.a = moved(&m.a, |row, k| if [7, 41].contains(&row) { 48 - row } else { row } * 8 + k),
        |_| (),
    );
    explained(&two, Fault::DependsOnOthers, "rows swapped: rows 7 and 41 of A");
    let results = Wired::new(
        (8, 4, 8),
        |_| (),
        |all| all.iter_mut().for_each(|d| *d = moved(d, |row, column| (7 - row) * 4 + column)),
    );
    let mistake = "rows swapped: rows of D in reverse order";
    answered_at_random(&results, &explained(&results, Fault::DependsOnOthers, mistake));
    let columns = Wired::new((4, 8, 8), |m| m.b = moved(&m.b, |k, column| k * 8 + (column + 1) % 8), |_| ());
    explained(&columns, Fault::DependsOnOthers, "columns off by one: columns of B");
    let c = Wired::new((8, 8, 8), |m| m.c = moved(&m.c, |row, column| (row ^ 1) * 8 + column), |_| ());
    explained(&c, Fault::DependsOnOthers, "rows swapped: rows of C in pairs, 0 with 1, 2 with 3");
}

#[test]
fn b_transposed() {
    let mistake = "B transposed: the unit reads B column-major";
    for shape in [(8, 8, 8), (16, 8, 16), (4, 16, 8)] {
        // square or not: element (k, column) of N columns lies at column * K + k
        let b = |m: &mut Matrices| {
            let k = m.b.shape().1;
            m.b = moved(&m.b, |row, column| column * k + row);
        };
        let unit = Wired::new(shape, b, |_| ());
        let evidence = explained(&unit, Fault::DependsOnPosition, mistake);
        let uniform = everywhere(unit.signature(), &evidence.case);
        assert_eq!(answer_at(&unit, &uniform, &evidence), evidence.answer);
    }
    let a = |m: &mut Matrices| m.a = moved(&m.a, |row, k| k * 8 + row);
    explained(
        &Wired::new((8, 4, 8), a, |_| ()),
        Fault::DependsOnPosition,
        "A transposed: the unit reads A column-major",
    );
}

/// One row, one column and one element of C everywhere.
fn everywhere(signature: &Signature, case: &Case) -> Matrices {
    let Signature { m, n, k, a, b, c, .. } = *signature;
    Matrices {
        a: Matrix::single(a, m, k, (0..m * k).map(|at| case.a[at % k])).unwrap(),
        b: Matrix::single(b, k, n, (0..k * n).map(|at| case.b[at / n])).unwrap(),
        c: Matrix::single(c, m, n, vec![case.c; m * n]).unwrap(),
        scales: None,
    }
}

#[test]
fn c_column_major() {
    let mistake = "C column-major: the unit reads C transposed";
    let square = Wired::new((8, 8, 4), |m| m.c = moved(&m.c, |row, column| column * 8 + row), |_| ());
    answered_at_random(&square, &explained(&square, Fault::DependsOnOthers, mistake));
    let wide = Wired::new((16, 8, 16), |m| m.c = moved(&m.c, |row, column| column * 16 + row), |_| ());
    answered_at_random(&wide, &explained(&wide, Fault::DependsOnOthers, mistake));
    let d = Wired::new(
        (8, 8, 4),
        |_| (),
        |all| all.iter_mut().for_each(|d| *d = moved(d, |row, column| column * 8 + row)),
    );
    explained(&d, Fault::DependsOnOthers, "D column-major: the unit writes D transposed");
}

#[test]
fn a_batch_off_by_one() {
    let mistake = |other: &str| {
        format!(
            "batch off by one: each instruction of a batch is answered with D of the instruction {other} it"
        )
    };
    let late = Wired::new((8, 8, 8), |_| (), |all| all.rotate_right(1));
    explained(&late, Fault::DependsOnOthers, &mistake("before"));
    let early = Wired::new((8, 8, 8), |_| (), |all| all.rotate_left(1));
    explained(&early, Fault::DependsOnOthers, &mistake("after"));
    // the first answer is that of the batch before
    let late = Late { unit: Wired::new((8, 8, 8), |_| (), |_| ()), last: RefCell::default() };
    explained(&late, Fault::NotDeterministic, &mistake("before"));
}

/// A unit whose every answer is the one before.
struct Late {
    unit: Wired,
    last: RefCell<Option<Matrix>>,
}

impl MmaUnit for Late {
    fn signature(&self) -> &Signature {
        self.unit.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let d = self.unit.multiply(operands)?;
        let zero = Matrix::new(d.format(), d.shape(), vec![0; d.iter().count()])?;
        Ok(self.last.replace(Some(d)).unwrap_or(zero))
    }
}

/// One answer in 10,000 to 100,000 changes. Where the first change falls is chance: in step 1, in the questions of
/// order, in validation, or where a mismatch is asked again.
#[test]
fn a_unit_that_is_rarely_not_deterministic() {
    for seed in common::seeds(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 0..300) {
        let rate = [100_000, 30_000, 10_000][(seed % 3) as usize];
        let unit = Broken::new(move |_, codes, before| {
            for (at, code) in codes.iter_mut().enumerate() {
                let mut draw = common::Draw((seed << 40) + before * 256 + at as u64);
                if draw.bits().is_multiple_of(rate) {
                    *code ^= 2;
                }
            }
            Ok(())
        });
        let outcome = unit.probed(1_000_000);
        let Verdict::Faulty(faults) = &outcome.verdict else { panic!("seed {seed}: {}", outcome.to_text()) };
        assert_eq!(faults[0].fault, Fault::NotDeterministic, "seed {seed}: {}", outcome.summary());
        assert_eq!(faults[0].answer ^ faults[0].expected, 2, "seed {seed}: {}", outcome.summary());
        assert_eq!((faults.len(), &faults[0].explanation), (1, &None), "seed {seed}: {}", outcome.summary());
        shown(&outcome, &faults[0]);
    }
}

/// What depends on the batch, the same way each time, is not called random. Validation asks larger batches than
/// step 1.
#[test]
fn a_unit_that_depends_on_its_batch() {
    fn spoiled(all: &mut [Matrix], at: usize) {
        if let Some(d) = all.get_mut(100) {
            let codes = d.iter().enumerate().map(|(index, code)| code ^ u64::from(index == at));
            *d = Matrix::new(d.format(), d.shape(), codes.collect::<Vec<_>>()).unwrap();
        }
    }
    // in random instructions, and on the diagonal, in directed dot products
    let units = [
        Wired::new((8, 8, 8), |_| (), |all| spoiled(all, 11)),
        Wired::new((8, 8, 8), |_| (), |all| spoiled(all, 9)),
    ];
    for unit in units {
        let options = Options { tests: 200_000, ..Options::default() };
        let outcome = probe(&unit, &options, &()).unwrap();
        let Verdict::NotExplained(rest) = &outcome.verdict else { panic!("{}", outcome.to_text()) };
        assert_eq!(rest.counterexamples[0].where_, Where::Company, "{}", outcome.to_text());
    }
}

fn fault_of(outcome: &Outcome) -> Fault {
    match &outcome.verdict {
        Verdict::Faulty(faults) => faults[0].fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_element_that_depends_on_its_position() {
    let unit = Broken::new(|_, codes, _| {
        codes[19] ^= 1;
        Ok(())
    });
    let outcome = unit.probed(1000);
    let Verdict::Faulty(faults) = &outcome.verdict else { panic!("{}", outcome.to_text()) };
    assert_eq!(faults[0].fault, Fault::DependsOnPosition);
    assert_eq!((faults[0].place.row, faults[0].place.column), (2, 3));
    assert_eq!(faults[0].elements, (1, 256));
    assert_eq!(faults[0].answer ^ faults[0].expected, 1);
    assert!(outcome.to_text().contains("row 2, column 3"));
    assert!(outcome.to_html().contains("depends on position"));
}

#[test]
fn a_unit_that_is_not_deterministic() {
    let unit = Broken::new(|_, codes, before| {
        codes[5] ^= before & 1;
        Ok(())
    });
    assert_eq!(fault_of(&unit.probed(1000)), Fault::NotDeterministic);
}

#[test]
fn elements_that_depend_on_each_other() {
    // the sign of the first element of C leaks into the last bit of all others
    let unit = Broken::new(|operands, codes, _| {
        let leak = decode(
            &operands.c.expect("a probe gives C").format(),
            operands.c.expect("a probe gives C").get(0, 0, 0),
        )
        .negative;
        codes.iter_mut().skip(1).for_each(|code| *code ^= u64::from(leak));
        Ok(())
    });
    let outcome = unit.probed(1000);
    let Verdict::Faulty(faults) = &outcome.verdict else { panic!("{}", outcome.to_text()) };
    assert!(faults.iter().any(|fault| fault.fault == Fault::DependsOnOthers), "{faults:?}");
}

/// One value of one element of A, about one in a hundred thousand of all dot products.
#[test]
fn one_bit_pattern() {
    let unit = Broken::new(|operands, codes, _| {
        let n = operands.b.columns();
        for (at, code) in codes.iter_mut().enumerate() {
            if operands.a.get(0, at / n, 2) == 0x3555
                && decode(&operands.c.expect("a probe gives C").format(), *code).is_finite()
            {
                *code ^= 2;
            }
        }
        Ok(())
    });
    let outcome = unit.probed(400_000);
    let Verdict::NotExplained(rest) = &outcome.verdict else { panic!("{}", outcome.to_text()) };
    let smallest = &rest.counterexamples[0].smallest;
    assert_eq!(smallest.a, [0, 0, 0x3555, 0], "{}", outcome.to_text());
    assert_eq!((smallest.b.as_slice(), smallest.c), ([0; 4].as_slice(), 0));
    assert_eq!(rest.counterexamples[0].where_, Where::Everywhere);
    let (agrees, of) = rest.agrees;
    assert!(agrees < of && of - agrees < of / 5_000, "{agrees} of {of}");
    assert_eq!(rest.nearest.as_ref().unwrap().operation.name(), "T-FDPA");
}

/// One place of D, for sums in a narrow range only: step 1 does not see it.
#[test]
fn one_position() {
    let unit = Broken::new(|operands, codes, _| {
        if operands.c.expect("a probe gives C").get(0, 6, 1) >> 16 == 0x3f9d {
            codes[6 * 8 + 1] ^= 1;
        }
        Ok(())
    });
    let outcome = unit.probed(1_000_000);
    let Verdict::NotExplained(rest) = &outcome.verdict else { panic!("{}", outcome.to_text()) };
    let Where::Places(places, of) = &rest.counterexamples[0].where_ else {
        panic!("{}", outcome.to_text());
    };
    assert_eq!((places.len(), *of), (1, 256));
    assert_eq!((places[0].row, places[0].column), (6, 1));
    let smallest = &rest.counterexamples[0].smallest;
    assert_eq!((smallest.a.as_slice(), smallest.b.as_slice()), ([0; 4].as_slice(), [0; 4].as_slice()));
    assert_eq!(smallest.c, 0x3f9d_0000);
}

#[test]
fn a_unit_that_fails_midway() {
    let unit = Broken::new(|_, _, before| match before {
        100.. => Err(Error::Io(std::io::Error::other("the cable fell out"))),
        _ => Ok(()),
    });
    let error = probe(&unit, &Options::default(), &()).unwrap_err().to_string();
    assert!(error.contains("the cable fell out") && error.contains("answers"), "{error}");
}
