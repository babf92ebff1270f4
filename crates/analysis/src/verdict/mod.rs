//! Whether two models compute the same, and if not, on which input they differ and how often.

mod document;
mod products;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::explain::json::Coded;
use bitmma_engine::{Case, Signature};
use bitmma_verify::apart::Rules;
use serde::{Serialize, Serializer};

use crate::describe::{lowering, model_parameters};
use crate::discrepancy::{Answer, Difference, answer, comparable, matrix, simpler, smallest, smallest_of};
use crate::error::{Error, option};
use crate::json::Operands;
use crate::subject::{Subject, essence};

pub use products::{LONGEST, Product, diff_products};

/// One of the two.
#[derive(Clone, Debug)]
pub struct Side {
    /// For messages.
    pub name: String,
    /// The model.
    pub model: Model,
    /// Elements along K of its instruction; `None`: any.
    pub k: Option<usize>,
}

/// What a comparison came to.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// No input tells them apart; why.
    Same(&'static str),
    /// An input on which they differ; whether no simpler one does.
    Differs(Case, bool),
    /// Neither; inputs tried.
    Unknown(u64),
}

impl Verdict {
    /// In one word.
    pub const fn name(&self) -> &'static str {
        match self {
            Verdict::Same(_) => "same",
            Verdict::Differs(..) => "differs",
            Verdict::Unknown(_) => "unknown",
        }
    }

    /// In a sentence.
    pub fn reason(&self) -> String {
        match self {
            Verdict::Same(why) => (*why).to_owned(),
            Verdict::Differs(_, true) => "no simpler input that was tried differs".to_owned(),
            Verdict::Differs(_, false) => "there may be a simpler input".to_owned(),
            Verdict::Unknown(tried) => format!("{tried} inputs show no difference, and there is no proof"),
        }
    }
}

/// A parameter that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its symbol or key.
    pub parameter: String,
    /// On the left.
    pub in_left: String,
    /// On the right.
    pub in_right: String,
}

/// How often two differ on random inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Of inputs from N(0,1).
    pub normal: u64,
    /// Of adversarial ones.
    pub adversarial: u64,
    /// Inputs from N(0,1).
    pub cases_normal: u64,
    /// Adversarial ones.
    pub cases_adversarial: u64,
}

/// What both give on the input on which they differ.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// The left one.
    pub of_left: Coded,
    /// The right one.
    pub of_right: Coded,
}

/// Two sides compared: models, or the products of two plans.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// The name of one.
    pub left: String,
    /// Of the other.
    pub right: String,
    /// K at which they were compared, for models the smallest that both take; 0 for products that do not differ.
    pub k: usize,
    /// What it came to.
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
    /// The verdict in a sentence.
    reason: String,
    /// What is not the same in them, whether or not it changes a result.
    pub differences: Vec<Parameter>,
    /// The operands on which they differ, as codes.
    inputs: Option<Operands>,
    /// What both give on them.
    pub results: Option<Results>,
    /// How often models differ; `None` where they are the same.
    #[serde(rename = "differing")]
    pub share: Option<Share>,
    /// The models as they were compared, chained to K; of products one, in whose formats the operands are.
    #[serde(skip)]
    pub models: Vec<Model>,
}

fn in_a_word<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(verdict.name())
}

impl Diff {
    fn new(
        names: [&str; 2],
        k: usize,
        verdict: Verdict,
        differences: Vec<Parameter>,
        models: Vec<Model>,
    ) -> Diff {
        let inputs = match &verdict {
            Verdict::Differs(case, _) => {
                Some(Operands::new(case, &Signature::of_model(String::new(), &models[0], (1, 1, k))))
            }
            _ => None,
        };
        let [left, right] = names.map(str::to_owned);
        let reason = verdict.reason();
        Diff { left, right, k, verdict, reason, differences, inputs, results: None, share: None, models }
    }
}

/// Inputs of each kind that the search for the smallest tries, at most.
const BUDGET: u64 = 200_000;
/// Constructed inputs that are tried after it, at most.
const TRIES: u64 = 100_000;
/// Inputs of every family on which the share is counted, at most.
const EACH: u64 = 2_000;
/// Elements of the inputs of a kind, at most: from some K on there are fewer inputs.
const MOST_ELEMENTS: u64 = 1 << 22;
/// Elements of the inputs of a family on which the share is counted, at most.
const MOST_COUNTED: u64 = 1 << 19;
const SEED: u64 = 1;

/// Compares two models that take the same operands, at the smallest K of both.
pub fn diff(left: &Side, right: &Side, rules: &Rules) -> Result<Diff, Error> {
    comparable(&left.model, &right.model)?;
    let k = common(&[left, right]);
    let models = [chained(left), chained(right)];
    let verdict = verdict(&models[0], &models[1], k, rules)?;
    compared([left, right], models, k, verdict)
}

/// Compares every two of several models that take the same operands. Where they differ it is on the smallest input on which not
/// all results are the same, at the smallest K of all, and by two whose results differ on it. Otherwise two of which it is not
/// proven that they compute the same come first.
pub fn diff_of_several(sides: &[Side], rules: &Rules) -> Result<((usize, usize), Diff), Error> {
    let places =
        |count: usize| (0..count).flat_map(move |left| (left + 1..count).map(move |right| (left, right)));
    if let [first, others @ ..] = sides
        && others.len() > 1
    {
        let k = common(&sides.iter().collect::<Vec<_>>());
        let (x, rest) = (chained(first), others.iter().map(chained).collect::<Vec<_>>());
        let most = BUDGET.min((MOST_ELEMENTS / k.max(1) as u64).max(1));
        if let Difference::Found { case, smallest, .. } =
            smallest_of(&x, &rest.iter().collect::<Vec<_>>(), k, most, SEED)?
        {
            let models: Vec<&Model> = [&x].into_iter().chain(&rest).collect();
            let answers: Vec<Option<Answer>> =
                models.iter().map(|model| result(model, &case).map(|d| answer(&model.d, d))).collect();
            if let Some((left, right)) =
                places(sides.len()).find(|(left, right)| answers[*left] != answers[*right])
            {
                let models = [left, right].map(|place| models[place].clone());
                let verdict = Verdict::Differs(case, smallest);
                return Ok(((left, right), compared([&sides[left], &sides[right]], models, k, verdict)?));
            }
        }
    }
    let mut found: Option<((usize, usize), Diff)> = None;
    for (left, right) in places(sides.len()) {
        let one = diff(&sides[left], &sides[right], rules)?;
        match one.verdict {
            Verdict::Differs(..) => return Ok(((left, right), one)),
            Verdict::Unknown(_) => found = Some(((left, right), one)),
            Verdict::Same(_) => found = found.or(Some(((left, right), one))),
        }
    }
    found.ok_or_else(|| option("sides", sides.len(), "two are compared"))
}

/// A model whose instruction is chained: its own K sets how many products are summed at once.
fn chained(side: &Side) -> Model {
    let mut model = side.model.clone();
    if let Some(own) = side.k {
        model.operation = model.operation.with_length(model.length(own));
    }
    model
}

fn compared(
    [left, right]: [&Side; 2],
    [x, y]: [Model; 2],
    k: usize,
    verdict: Verdict,
) -> Result<Diff, Error> {
    let results = match &verdict {
        Verdict::Differs(case, _) => result(&x, case).zip(result(&y, case)),
        _ => None,
    };
    let results = results.map(|(of_left, of_right)| Results {
        of_left: Coded::new(&x.d, of_left),
        of_right: Coded::new(&y.d, of_right),
    });
    let share = match verdict {
        Verdict::Same(_) => None,
        _ => Some(share([&x, &y], k)?),
    };
    let differences = parameters(left, right, k);
    Ok(Diff { results, share, ..Diff::new([&left.name, &right.name], k, verdict, differences, vec![x, y]) })
}

/// Whether two models of `k` elements compute the same.
pub fn verdict(left: &Model, right: &Model, k: usize, rules: &Rules) -> Result<Verdict, Error> {
    if left.d == right.d {
        if essence(left, k) == essence(right, k) {
            return Ok(Verdict::Same("the models are equal"));
        }
        if (rules.equivalent)(left, right, k) {
            return Ok(Verdict::Same(
                "the parameters that differ change no result: no operand reaches what they decide",
            ));
        }
    }
    let most = (MOST_ELEMENTS / k.max(1) as u64).max(1);
    let (budget, tries) = (BUDGET.min(most), TRIES.min(most));
    let tried = match smallest(left, right, k, budget, SEED)? {
        Difference::Found { case, smallest, .. } => return Ok(Verdict::Differs(case, smallest)),
        Difference::Never { tried: 0 } => return Ok(Verdict::Same("the models are equal")),
        Difference::Never { .. } => return Ok(Verdict::Same("every input was tried")),
        Difference::NotFound { tried } => tried,
    };
    if left.d == right.d
        && let Some(case) = (rules.differing)(left, right, k, SEED, tries)
        && let Some(case) = simpler(left, right, &case)?
    {
        return Ok(Verdict::Differs(case, false));
    }
    Ok(Verdict::Unknown(tried + tries))
}

fn result(model: &Model, case: &Case) -> Option<u64> {
    model.dot(&case.operands()).ok()
}

fn parameters(left: &Side, right: &Side, k: usize) -> Vec<Parameter> {
    let all = |side: &Side| {
        let model = &side.model;
        let mut all = vec![
            ("model".to_owned(), model.operation.name().to_owned()),
            ("D".to_owned(), model.d.name.to_owned()),
            ("around it".to_owned(), lowering(&model.lowering).join("; ")),
        ];
        let parameters = model_parameters(model, Some(side.k.unwrap_or(k))).into_iter();
        // L_max says nothing beyond L
        let told = parameters.filter(|one| one.symbol != "L_max");
        all.extend(told.map(|one| (one.symbol.to_owned(), one.text())));
        all
    };
    different(&all(left), &all(right))
}

/// What is not the same in two lists of names and values.
fn different(left: &[(String, String)], right: &[(String, String)]) -> Vec<Parameter> {
    let value = |side: &[(String, String)], name: &str| {
        side.iter().find(|(other, _)| other == name).map_or("none".to_owned(), |(_, value)| value.clone())
    };
    let mut names: Vec<&String> = vec![];
    for (name, _) in left.iter().chain(right) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let differ = |name: &String| {
        let [in_left, in_right] = [left, right].map(|side| value(side, name));
        (in_left != in_right).then(|| Parameter { parameter: name.clone(), in_left, in_right })
    };
    names.into_iter().filter_map(differ).collect()
}

/// The smallest K that all take.
fn common(sides: &[&Side]) -> usize {
    let step = |side: &Side| {
        side.k.unwrap_or_else(|| {
            let longest = side.model.operation.max_length();
            side.model.scale.map_or(longest, |scale| longest.next_multiple_of(scale.size))
        })
    };
    sides.iter().fold(1, |common, side| {
        let step = step(side).clamp(1, 1 << 12);
        let (mut x, mut y) = (common, step);
        while y != 0 {
            (x, y) = (y, x % y);
        }
        common / x * step
    })
}

fn share(models: [&Model; 2], k: usize) -> Result<Share, Error> {
    let subjects = models.map(|model| Subject::of_model("", model.clone(), k)).to_vec();
    let each = EACH.min(MOST_COUNTED / k.max(1) as u64).max(1);
    let found = matrix(subjects, each, SEED)?;
    let (cases_adversarial, cases_normal) = found.cases;
    let (adversarial, normal) =
        found.differing.first().and_then(|row| row.get(1)).copied().unwrap_or_default();
    Ok(Share { normal, adversarial, cases_normal, cases_adversarial })
}
