//! Whether two models compute the same, and if not, on which input they differ and how often.

pub mod json;

use bitmma_engine::Case;
use bitmma_engine::arithmetic::{Model, Operands};
use bitmma_engine::gemm::Target;
use bitmma_verify::apart::Rules;
use serde::Serialize;

use crate::apart::separating;
use crate::describe::{lowering, model_parameters};
use crate::discrepancy::{Answer, Difference, answer, comparable, matrix, simpler, smallest, smallest_of};
use crate::error::{Error, option};
use crate::scheme::Scheme;
use crate::subject::{Subject, essence};

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

/// Two models compared.
#[derive(Clone, Debug)]
pub struct Diff {
    /// K at which they were compared, the smallest that both take.
    pub k: usize,
    /// What it came to.
    pub verdict: Verdict,
    /// What is not the same in the models.
    pub parameters: Vec<Parameter>,
    /// The codes of D of both on the input that tells them apart.
    pub results: Option<(u64, u64)>,
    /// How often they differ; `None` where they are the same.
    pub share: Option<Share>,
    /// The models as they were compared, chained to K.
    pub models: [Model; 2],
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
    let share = match verdict {
        Verdict::Same(_) => None,
        _ => Some(share([&x, &y], k)?),
    };
    Ok(Diff { k, verdict, parameters: parameters(left, right, k), results, share, models: [x, y] })
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
    let Case { a, b, c, scale_a, scale_b } = case;
    model.dot(&Operands { a, b, c: *c, scale_a, scale_b }).ok()
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
pub fn different(left: &[(String, String)], right: &[(String, String)]) -> Vec<Parameter> {
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

/// Two products of any K compared: of plans, say.
#[derive(Clone, Debug)]
pub struct ProductDiff {
    /// K of the input; 0 where there is none.
    pub k: usize,
    /// What it came to.
    pub verdict: Verdict,
    /// The two products at that K, and the codes of D of both.
    pub found: Option<([Scheme; 2], (u64, u64))>,
}

/// Elements along K at which two products are compared, at most.
pub const LONGEST: usize = 1 << 12;
/// Random inputs that are tried at each K.
const DRAWN: usize = 1_536;

/// Compares two products; `at` gives both for a K. `alike`: what is around the models is the same by its fields.
pub fn diff_products(
    at: &dyn Fn(usize) -> Result<[Scheme; 2], Error>,
    alike: bool,
    rules: &Rules,
) -> Result<ProductDiff, Error> {
    let steps = |scheme: &Scheme| scheme.target.as_ref().map_or(1, Target::step);
    let first = at(LONGEST)?;
    let [x, y] = &first;
    if (x.a, x.b) != (y.a, y.b) {
        let text = |one: &Scheme| format!("{} · {}", one.a, one.b);
        return Err(option("A·B", text(y), &format!("the other is of {}", text(x))));
    }
    let same_model = match (&x.target, &y.target) {
        (None, None) => true,
        (Some(x), Some(y)) => {
            let k = x.step();
            let equal = |x: &Model, y: &Model| essence(x, k) == essence(y, k) || (rules.equivalent)(x, y, k);
            k == y.step() && equal(x.model(), y.model())
        }
        _ => false,
    };
    if alike && same_model {
        return Ok(ProductDiff { k: 0, verdict: Verdict::Same("the plans say the same"), found: None });
    }
    let (mut k, mut tried) = (steps(x).max(steps(y)), 0);
    while k <= LONGEST {
        let both = at(k)?;
        if let Some(case) = separating([&both[0], &both[1]], k, false, rules, (SEED, DRAWN))? {
            let code = |scheme: &Scheme| -> Result<u64, Error> {
                Ok(scheme.codes(std::slice::from_ref(&case))?.iter().next().unwrap_or(0))
            };
            let results = (code(&both[0])?, code(&both[1])?);
            return Ok(ProductDiff {
                k,
                verdict: Verdict::Differs(case, false),
                found: Some((both, results)),
            });
        }
        tried += DRAWN as u64;
        k *= 2;
    }
    Ok(ProductDiff { k: 0, verdict: Verdict::Unknown(tried), found: None })
}
