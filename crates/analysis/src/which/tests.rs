//! Those that match: which are the same for every input, and inputs on which others differ.

use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::text::hex;
use bitmma_engine::{Case, Model};
use bitmma_verify::apart::Rules;

use super::candidates::{Entrant, Subject, is_one_chain, reduced, same_but_zeros};
use super::search::Found;
use super::{Given, Match, Observed, Pair, Scales, Test, Together};
use crate::apart::separating;
use crate::describe::input;
use crate::discrepancy::{Answer, answer};
use crate::error::Error;
use crate::scheme::Scheme;

/// Tests at most.
const MOST_TESTS: usize = 6;
/// Pairs for which an input is searched, at most.
const MOST_PAIRS: usize = 24;
/// Pairs without such an input, after which no more are searched.
const MOST_UNTOLD: usize = 6;
/// Random inputs that are tried for a pair.
const TRIES: usize = 1_536;
/// Candidates that are told apart, at most.
const MOST: usize = 96;
const SEED: u64 = 1;

/// One that matches: a row, and a place among its orders.
type Place = (usize, usize);

/// Inputs that tell those that match apart, and those that no input tells apart.
pub(super) fn tests(
    observed: &Observed<'_>,
    subjects: &[Subject],
    entrants: &[Entrant],
    found: &Found,
    rules: &Rules,
) -> Result<(Vec<Test>, Vec<Together>), Error> {
    let places =
        |(row, own): (usize, &Vec<usize>)| (0..own.len()).map(move |at| (row, at)).collect::<Vec<Place>>();
    let all: Vec<Place> = found.entrants.iter().enumerate().flat_map(places).collect();
    let scheme = |&(row, at): &Place| &entrants[found.entrants[row][at]].scheme;
    let (k, with_c) = (observed.a.columns(), observed.c.is_some());
    // those that are the same by argument stand together from here on
    let mut groups: Vec<Vec<Place>> = vec![];
    for place in all {
        match groups.iter().position(|group| same(scheme(&group[0]), scheme(&place), with_c, rules)) {
            Some(group) => groups[group].push(place),
            None if groups.len() < MOST => groups.push(vec![place]),
            None => {}
        }
    }
    let mut classes: Vec<Vec<usize>> = vec![(0..groups.len()).collect()];
    let mut found_tests: Vec<Test> = vec![];
    let mut untold: Vec<(usize, usize)> = vec![];
    let mut searched = 0;
    while found_tests.len() < MOST_TESTS && searched < MOST_PAIRS && untold.len() < MOST_UNTOLD {
        let open = |class: &Vec<usize>| {
            let (first, rest) = class.split_first()?;
            rest.iter().find(|other| !untold.contains(&(*first, **other))).map(|other| (*first, *other))
        };
        let Some((one, other)) = classes.iter().find_map(open) else { break };
        searched += 1;
        let pair = [one, other].map(|group| scheme(&groups[group][0]));
        let Some(case) = separating(pair, k, with_c, rules, (SEED, TRIES))? else {
            untold.push((one, other));
            continue;
        };
        let results = results(&case, &groups, &scheme);
        classes = classes.iter().flat_map(|class| parted(class, &results)).collect();
        let model = groups[one]
            .first()
            .and_then(|&(row, at)| subjects[entrants[found.entrants[row][at]].subject].model.as_ref());
        found_tests
            .push(Test { results: given(observed, found, &groups, &results), ..Test::of(case, model) });
    }
    let is_searched =
        |class: &Vec<usize>| class.iter().skip(1).all(|other| untold.contains(&(class[0], *other)));
    let groups_of =
        |class: &Vec<usize>| class.iter().map(|&group| matches(found, &groups[group])).collect::<Vec<_>>();
    let together: Vec<Together> = classes
        .iter()
        .map(|class| Together { groups: groups_of(class), searched: is_searched(class) })
        .collect();
    let together = together.into_iter().filter(|one| one.groups.iter().flatten().count() > 1).collect();
    Ok((found_tests, together))
}

/// Whether two give the same for every input, but for the sign of zeros and the code of NaN.
fn same(one: &Scheme, other: &Scheme, with_c: bool, rules: &Rules) -> bool {
    let reads_c_alike = !with_c || one.schedule.c == other.schedule.c;
    if (one.a, one.b) != (other.a, other.b)
        || !same_but_zeros(&one.schedule, &other.schedule)
        || !reads_c_alike
    {
        return false;
    }
    let (Some(x), Some(y)) = (&one.target, &other.target) else {
        return one.target.is_none() && other.target.is_none();
    };
    let (plain, its) = (reduced(x.model(), x.step(), with_c), reduced(y.model(), y.step(), with_c));
    let same_step = x.step() == y.step();
    plain == its && (same_step || is_one_chain(&plain))
        || same_step && (rules.equivalent)(x.model(), y.model(), x.step())
}

/// What every group gives; `None` where it gives none.
fn results<'s>(
    case: &Case,
    groups: &[Vec<Place>],
    scheme: &impl Fn(&Place) -> &'s Scheme,
) -> Vec<Option<(Answer, u64)>> {
    let of = |group: &Vec<Place>| {
        let scheme = scheme(&group[0]);
        let codes = scheme.codes(std::slice::from_ref(case)).ok()?;
        let code = codes.iter().next()?;
        Some((answer(&codes.format(), code), code))
    };
    groups.iter().map(of).collect()
}

/// A class cut into those with the same result.
fn parted(class: &[usize], results: &[Option<(Answer, u64)>]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![];
    let number = |group: usize| results[group].map(|(number, _)| number);
    for &group in class {
        match parts.iter_mut().find(|part| number(part[0]) == number(group)) {
            Some(part) => part.push(group),
            None => parts.push(vec![group]),
        }
    }
    parts
}

fn matches(found: &Found, places: &[Place]) -> Vec<Match> {
    let of = |&(row, at): &Place| Match { row, configuration: found.rows[row].matching[at].clone() };
    places.iter().map(of).collect()
}

/// Every result.
fn given(
    observed: &Observed<'_>,
    found: &Found,
    groups: &[Vec<Place>],
    results: &[Option<(Answer, u64)>],
) -> Vec<Given> {
    let all: Vec<usize> = (0..groups.len()).filter(|&group| results[group].is_some()).collect();
    let of = |part: Vec<usize>| {
        let code = results[part[0]].map_or(0, |(_, code)| code);
        let of = part.iter().flat_map(|&group| matches(found, &groups[group])).collect();
        Given { result: Coded::new(&observed.d.format(), code), of }
    };
    parted(&all, results).into_iter().map(of).collect()
}

impl Test {
    /// The operands, in the formats of one of the models.
    fn of(case: Case, model: Option<&Model>) -> Test {
        let Some(model) = model else {
            let (words, inputs, scales) = (String::new(), vec![], vec![]);
            return Test { case, words, inputs, scales, c: None, results: vec![] };
        };
        let inputs = (0..case.a.len()).filter(|&k| (case.a[k], case.b[k]) != (0, 0));
        let pair = |k: usize| Pair { k, a: hex(&model.a, case.a[k]), b: hex(&model.b, case.b[k]) };
        let scales = model.scale.iter().flat_map(|scale| {
            let (format, one) = (&scale.format, scale.format.one_code());
            let is_other = |&block: &usize| (case.scale_a[block], case.scale_b[block]) != (one, one);
            let other = (0..case.scale_a.len()).filter(is_other).collect::<Vec<_>>();
            other.into_iter().map(|block| Scales {
                block,
                scale_a: hex(format, case.scale_a[block]),
                scale_b: hex(format, case.scale_b[block]),
            })
        });
        Test {
            words: input(model, &case),
            inputs: inputs.map(pair).collect(),
            scales: scales.collect(),
            c: Some(hex(&model.c, case.c)),
            results: vec![],
            case,
        }
    }
}
