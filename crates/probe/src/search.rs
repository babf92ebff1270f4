//! The loop: questions, hypotheses, validation, and again with what contradicted.

mod refined;

use bitmma_engine::{Case, MmaUnit, Model, Progress, Signature};
use bitmma_verify::inputs::Formats;
use bitmma_verify::shrink::shrink;

use crate::error::Error;
use crate::hypotheses::fit::{Fitted, fit};
use crate::hypotheses::space::Space;
use crate::hypotheses::{Observations, refine};
use crate::independence::{Evidence, Fault, alone, everywhere};
use crate::inputs::{Kind, directed};
use crate::log::Log;
use crate::outcome::{Counterexample, Found, NotExplained, Options, Outcome, Verdict, Where};
use crate::place::Place;
use crate::session::Session;
use crate::validate::{self, Mismatch, validate};
use crate::{features, order, report, wiring};

/// Questions that are asked before anything is supposed.
const BASE: [(Kind, u64); 3] = [(Kind::Pair, 200), (Kind::Dense, 400), (Kind::Any, 600)];
/// Questions of order that models are fitted to, about; all are compared with what fits.
const ORDER_QUESTIONS: usize = 400;
/// Contradictions by which a fit is mended at a time.
const MENDED_BY: usize = 20;
/// Times a model may be revised.
const REVISIONS: usize = 16;

/// Models still possible, the first of which speaks for them, and inputs tried in vain to part them.
struct Alive {
    models: Vec<Model>,
    tried: u64,
}

/// Finds out how `unit` computes.
///
/// `progress` is told of each stage; where a stage's length is not known, of the dot products answered in all.
pub fn probe(unit: &dyn MmaUnit, options: &Options, progress: &dyn Progress) -> Result<Outcome, Error> {
    let signature = unit.signature();
    let Signature { m, n, k, blocks, .. } = *signature;
    if m * n * k * blocks == 0 {
        return Err(Error::Empty { unit: signature.name.clone(), m, n, k, blocks });
    }
    if signature.d.is_integer() {
        return Err(Error::Integers { unit: signature.name.clone() });
    }
    let log = match &options.log {
        None => Log::none(),
        Some(path) => Log::open(path, &heading(signature, options), options.resume)?,
    };
    let mut session = Session::new(unit, log, progress);
    session.progress("independence", 0, 0)?;
    let (faults, independence_tests) = wiring::check(&mut session, options.seed)?;
    let mut outcome = Outcome {
        signature: signature.clone(),
        seed: options.seed,
        independence_tests,
        order: order::Order::default(),
        features: Vec::new(),
        questions: session.answered(),
        tests: 0,
        revisions: Vec::new(),
        verdict: Verdict::Faulty(faults.clone()),
    };
    if !faults.is_empty() {
        return Ok(outcome);
    }
    let mut search = Search {
        space: Space::new(signature),
        observations: Observations::new(signature),
        formats: Formats::from(signature),
        session,
        seed: options.seed,
        pools: 0,
    };
    search.session.progress("order", 0, 0)?;
    let (order, asked) = order::find(&mut search.session)?;
    outcome.order = order;
    let (cases, answers) = asked.into_iter().unzip();
    search.observations.extend_order(cases, answers, ORDER_QUESTIONS);
    search.session.progress("features", 0, 0)?;
    let (features, asked) = features::observe(&mut search.session)?;
    outcome.features = features;
    let (cases, answers) = asked.into_iter().unzip();
    search.observations.extend(cases, answers);
    search.base()?;
    search.run(options, &mut outcome)?;
    Ok(outcome)
}

/// What the log begins with: everything that decides what is asked.
fn heading(signature: &Signature, options: &Options) -> String {
    let Signature { name, m, n, k, blocks, a, b, c, d, scale } = signature;
    let scale = scale.map_or(String::new(), |scale| {
        format!(", scale factors {} for {} elements", scale.format, scale.size)
    });
    format!(
        "# bitmma probe {}, seed {}, {} tests\n# {}: {m}x{n}x{k}, {blocks} blocks, A {a}, B {b}, C {c}, D {d}{scale}\n",
        env!("CARGO_PKG_VERSION"),
        options.seed,
        options.tests,
        name.replace(['\n', '\r'], " "),
    )
}

struct Search<'u> {
    space: Space,
    observations: Observations,
    formats: Formats,
    session: Session<'u>,
    seed: u64,
    pools: u64,
}

impl Search<'_> {
    fn ask(&mut self, purpose: &'static str, cases: Vec<Case>) -> Result<Vec<u64>, Error> {
        let answers = self.session.dots(purpose, &cases)?;
        self.observations.extend(cases, answers.clone());
        Ok(answers)
    }

    fn base(&mut self) -> Result<(), Error> {
        for (kind, count) in BASE {
            let cases: Vec<Case> = (0..count)
                .map(|index| directed(&self.formats, self.space.signature.k, kind, self.seed, index))
                .collect();
            self.ask("hypotheses", cases)?;
        }
        Ok(())
    }

    fn run(&mut self, options: &Options, outcome: &mut Outcome) -> Result<(), Error> {
        self.session.progress("hypotheses", 0, 0)?;
        let mut nearest: Option<Model> = None;
        let mut alive = self.start_over(&mut nearest)?;
        while let Some(mut now) = alive {
            outcome.questions = self.session.answered();
            self.set_nan_code(&mut now.models);
            let model = now.models[0].clone();
            let before = self.session.answered();
            let validation = validate(&mut self.session, &model, (options.tests, self.seed), false)?;
            outcome.tests = self.session.answered() - before;
            nearest = Some(model.clone());
            let Some(mismatch) = validation.first else {
                outcome.verdict = self.found(model, now);
                return Ok(());
            };
            let counterexample = self.make_small(&model, mismatch)?;
            if counterexample.where_ == Where::NotAgain {
                outcome.questions = self.session.answered();
                outcome.verdict = self.not_deterministic(counterexample);
                return Ok(());
            }
            let everywhere = counterexample.where_ == Where::Everywhere;
            outcome.revisions.push(counterexample);
            alive = if everywhere && outcome.revisions.len() <= REVISIONS {
                self.session.progress("hypotheses", 0, 0)?;
                match self.revised(&now.models)? {
                    Some(alive) => Some(alive),
                    None => self.start_over(&mut nearest)?,
                }
            } else {
                None
            };
        }
        outcome.questions = self.session.answered();
        self.not_explained(options, outcome, nearest)
    }

    /// Models fitted to all observations, refined; `None` if nothing fits, `nearest` then says what came near.
    fn start_over(&mut self, nearest: &mut Option<Model>) -> Result<Option<Alive>, Error> {
        for _ in 0..REVISIONS {
            let fitted = fit(&self.space, &self.observations);
            let perfect: Vec<Model> = fitted
                .iter()
                .filter(|fitted| fitted.contradictions == 0)
                .map(|Fitted { model, .. }| model.clone())
                .collect();
            if perfect.is_empty() {
                if nearest.is_none() {
                    *nearest = fitted.first().map(|fitted| fitted.model.clone());
                }
                return Ok(None);
            }
            let missed: Vec<usize> =
                perfect.iter().flat_map(|model| self.observations.contradicting(model, MENDED_BY)).collect();
            if !missed.is_empty() {
                self.observations.fitting.extend(missed);
                continue;
            }
            if let Some(alive) = self.refined(perfect)? {
                return Ok(Some(alive));
            }
        }
        Ok(None)
    }

    /// What is left near models that a new observation contradicts.
    fn revised(&mut self, before: &[Model]) -> Result<Option<Alive>, Error> {
        let mut models = self.observations.survivors(before.to_vec(), &self.observations.all);
        if models.is_empty() {
            models = refine::rivals(&self.space, &self.observations, &before[0]);
            // the model itself is not in the list, and contradicted
            models = self.observations.survivors(models, &self.observations.all);
        }
        if models.is_empty() { Ok(None) } else { self.refined(models) }
    }

    /// The code of NaN results, where there is one.
    fn set_nan_code(&self, models: &mut [Model]) {
        let d = self.space.signature.d;
        let mut codes: Vec<u64> = self
            .observations
            .all
            .iter()
            .map(|&index| self.observations.case(index).1)
            .filter(|&answer| d.is_nan(answer))
            .collect();
        codes.sort_unstable();
        codes.dedup();
        let code = if codes.len() == 1 { Some(codes[0]) } else { None };
        for model in models {
            model.nan_code = code;
        }
    }

    fn found(&self, model: Model, alive: Alive) -> Verdict {
        let k = self.space.signature.k;
        let parameters =
            report::parameters::with_evidence(&self.space, &self.observations, &model, &alive.models);
        let known_as = report::names::known_as(&self.space.signature, &model, k);
        let tried = alive.tried;
        let equivalent = alive.models.into_iter().skip(1).collect();
        Verdict::Found(Box::new(Found { model, equivalent, tried, parameters, known_as }))
    }

    fn not_explained(
        &mut self,
        options: &Options,
        outcome: &mut Outcome,
        nearest: Option<Model>,
    ) -> Result<(), Error> {
        let mut agrees = (0, 0);
        if let Some(model) = &nearest {
            let validation = validate(&mut self.session, model, (options.tests, self.seed), true)?;
            agrees = (validation.tests - validation.differ, validation.tests);
            outcome.tests = validation.tests;
            // what it contradicts may be too rare for validation
            let contradicted = || {
                let (index, expected) =
                    self.observations.first_contradiction(model, &self.observations.all)?;
                let (case, answer) = self.observations.case(index);
                let place = Place { block: 0, row: 0, column: 0 };
                Some(Mismatch { instruction: None, place, batch: None, case: case.clone(), answer, expected })
            };
            if outcome.revisions.is_empty()
                && let Some(mismatch) = validation.first.or_else(contradicted)
            {
                let counterexample = self.make_small(model, mismatch)?;
                if counterexample.where_ == Where::NotAgain {
                    outcome.verdict = self.not_deterministic(counterexample);
                    return Ok(());
                }
                outcome.revisions.push(counterexample);
            }
        }
        let counterexamples = outcome.revisions.iter().rev().take(3).cloned().collect();
        outcome.verdict = Verdict::NotExplained(Box::new(NotExplained { nearest, agrees, counterexamples }));
        Ok(())
    }

    /// The mismatch asked again, in ever simpler company, and made small where it fails.
    fn make_small(&mut self, model: &Model, found: Mismatch) -> Result<Counterexample, Error> {
        let signature = self.session.signature();
        self.session.progress("making a case small", 0, 0)?;
        let again = self.session.dots("mismatch", std::slice::from_ref(&found.case))?[0];
        if !model.agrees(found.expected, again, false) {
            let ask = |search: &mut Self, cases: &[Case]| search.ask("mismatch", cases.to_vec());
            let smallest = self.shrunk(model, &found.case, ask)?;
            self.observations.extend(vec![found.case.clone()], vec![again]);
            let answer = self.ask("mismatch", vec![smallest.clone()])?[0];
            let expected = self.answer_of(model, &smallest);
            if model.agrees(expected, answer, false) {
                // small cases were asked in other places; what counts is whether the first one, alone, still fails
                let third = self.session.dots("mismatch", std::slice::from_ref(&found.case))?[0];
                let (smallest, expected) = (found.case.clone(), found.expected);
                if model.agrees(expected, third, false) {
                    let found = Mismatch { batch: None, answer: again, expected: third, ..found };
                    let where_ = Where::NotAgain;
                    return Ok(Counterexample { found, smallest, answer: again, expected: third, where_ });
                }
                return Ok(Counterexample {
                    found,
                    smallest,
                    answer: third,
                    expected,
                    where_: Where::Everywhere,
                });
            }
            return Ok(Counterexample { found, smallest, answer, expected, where_: Where::Everywhere });
        }
        // everywhere at once: in which places does it fail?
        let all = everywhere(signature, &found.case)?;
        let answers = self.session.instructions("mismatch", std::slice::from_ref(&all))?.remove(0);
        let second = self.session.instructions("mismatch", &[all])?.remove(0);
        if second != answers {
            return self.in_company(model, found); // what fails here by chance says nothing about places
        }
        let wrong: Vec<Place> = (0..answers.len())
            .filter(|&at| !model.agrees(found.expected, answers[at], false))
            .map(|at| Place::of(signature, at))
            .collect();
        let Some(&place) = wrong.first() else {
            return self.in_company(model, found);
        };
        let ask = |search: &mut Self, cases: &[Case]| {
            let asked =
                cases.iter().map(|case| alone(signature, place, case)).collect::<Result<Vec<_>, _>>()?;
            let answers = search.session.instructions("mismatch", &asked)?;
            Ok(answers.into_iter().map(|codes| codes[place.index(signature)]).collect())
        };
        let smallest = self.shrunk(model, &found.case, ask)?;
        let answer = ask(self, std::slice::from_ref(&smallest))?[0];
        let expected = self.answer_of(model, &smallest);
        Ok(Counterexample { found, smallest, answer, expected, where_: Where::Places(wrong, answers.len()) })
    }

    /// What the model answers to a case.
    fn answer_of(&self, model: &Model, case: &Case) -> u64 {
        let codes = crate::hypotheses::answers(model, self.session.signature().k, std::slice::from_ref(case));
        codes.map_or(0, |codes| codes[0])
    }

    /// The smallest case that the unit, asked so, answers otherwise than the model.
    fn shrunk(
        &mut self,
        model: &Model,
        case: &Case,
        mut ask: impl FnMut(&mut Self, &[Case]) -> Result<Vec<u64>, Error>,
    ) -> Result<Case, Error> {
        shrink(self.session.signature(), case, |cases| {
            let answers = ask(self, cases)?;
            let fails = |(case, answer)| !model.agrees(self.answer_of(model, case), answer, false);
            Ok(cases.iter().zip(answers).map(fails).collect())
        })
    }

    fn in_company(&mut self, model: &Model, found: Mismatch) -> Result<Counterexample, Error> {
        // the very same question: every instruction of the batch
        let again = validate::again(&mut self.session, model, self.seed, &found)?;
        let again_fails = again.is_some_and(|code| !model.agrees(found.expected, code, false));
        let where_ = if again_fails { Where::Company } else { Where::NotAgain };
        let (smallest, answer, expected) = (found.case.clone(), found.answer, found.expected);
        Ok(Counterexample { found, smallest, answer, expected, where_ })
    }

    /// What was answered differently when it was asked again.
    fn not_deterministic(&self, one: Counterexample) -> Verdict {
        let seed = self.seed;
        let Mismatch { instruction, place, batch, case, answer, expected } = one.found;
        // directed dot products are numbered by `row`; they are asked on diagonals, which have blocks * min(m, n) places
        let Signature { m, n, blocks, .. } = *self.session.signature();
        let side = m.min(n);
        let at = place.row % (blocks * side);
        let diagonal = Place { block: at / side, row: at % side, column: at % side };
        let (place, asked) = match (instruction, batch) {
            (Some((family, index)), _) => (
                place,
                format!(
                    "instruction {index} of family {} under seed {seed}, then the same again",
                    family.name()
                ),
            ),
            (None, Some(_)) => (diagonal, format!("directed dot product {}, then the same again", place.row)),
            (None, None) => {
                (diagonal, "the same dot product several times, among others and alone".to_owned())
            }
        };
        Verdict::Faulty(vec![Evidence {
            fault: Fault::NotDeterministic,
            place,
            elements: (1, 1),
            case,
            expected,
            answer,
            asked,
            explanation: None,
        }])
    }
}
