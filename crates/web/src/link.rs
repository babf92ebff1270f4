//! Links to the explorer: the part of an address after `#`, as the page writes it.

use std::collections::BTreeMap;

use bitmma_engine::formats::text::{display, hex};
use bitmma_engine::formats::{Class, Format, decode};
use bitmma_engine::{Case, Revision};

use crate::unit::{Asked, MOST, Unit};

/// What to type for some codes: decimals, and codes for NaN, which has several.
pub(crate) fn typed(format: &Format, codes: &[u64]) -> String {
    let one = |code: &u64| match decode(format, *code).class {
        Class::Nan => hex(format, *code),
        _ => display(format, *code),
    };
    codes.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The elements along K that are not zero at the end: as many as are typed, at least one.
pub(crate) fn given(case: &Case) -> usize {
    let used = |codes: &[u64]| codes.iter().rposition(|code| *code != 0).map_or(0, |last| last + 1);
    used(&case.a).max(used(&case.b)).max(1)
}

/// The state in which the page shows what units, each a chip and its instruction, make of an input in their formats; `None`
/// where it would show anything else. Blanks are blanks, which `bitmma explore` takes.
pub fn link(units: &[&str], revision: Revision, case: &Case) -> Option<String> {
    if revision != Revision::Hardware || units.len() > MOST {
        return None; // the page has the models of that revision
    }
    let read = |unit: &&str| Unit::read(&Asked { unit: (*unit).to_owned(), edit: BTreeMap::new() }).ok();
    let read: Vec<Unit> = units.iter().map(read).collect::<Option<_>>()?;
    let k = case.a.len();
    // zeros at the end are left out where they do not say how many instructions there are
    let until = if read.iter().all(|unit| unit.step == k) { given(case) } else { k };
    if !read.iter().all(|unit| unit.length(until).is_ok_and(|length| length == k)) {
        return None;
    }
    let model = &read.first()?.model;
    let mut parts: Vec<String> = units.iter().map(|unit| format!("u={unit}")).collect();
    parts.push(format!("a={}", typed(&model.a, &case.a[..until])));
    parts.push(format!("b={}", typed(&model.b, &case.b[..until])));
    parts.push(format!("c={}", typed(&model.c, &[case.c])));
    if let Some(scale) = model.scale {
        parts.push(format!("sa={}", typed(&scale.format, &case.scale_a)));
        parts.push(format!("sb={}", typed(&scale.format, &case.scale_b)));
    }
    Some(parts.join("&").replace('+', "%2B"))
}
