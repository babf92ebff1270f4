//! Units that are broken in one way each: every one is found out, with the evidence.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::cell::Cell;

use bitmma::formats::decode;
use bitmma::{Architecture, Error, Matrix, MmaUnit, Operands, Revision, Signature, Simulator};
use bitmma_probe::independence::Fault;
use bitmma_probe::search::Where;
use bitmma_probe::{Options, Outcome, Verdict, probe};

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
        probe(self, &Options { tests, ..Options::default() }, &mut |_| {}).unwrap()
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
        let leak = decode(&operands.c.format(), operands.c.get(0, 0, 0)).negative;
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
            if operands.a.get(0, at / n, 2) == 0x3555 && decode(&operands.c.format(), *code).is_finite() {
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
        if operands.c.get(0, 6, 1) >> 16 == 0x3f9d {
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
    let error = probe(&unit, &Options::default(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("the cable fell out") && error.contains("answers"), "{error}");
}
