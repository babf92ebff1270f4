//! Comparisons, classes of floats and selections on awkward operands.

use std::cmp::Ordering;

use crate::floats::{BF16, F16, F32, F64, Kind};
use crate::line::{Row, check, integers, pairs};

/// The order of two floats; none where one is NaN.
fn order(kind: Kind, a: u64, b: u64) -> Option<Ordering> {
    let value = |code: u64| {
        let magnitude = (code & !kind.sign()) as i64;
        if code & kind.sign() != 0 { -magnitude } else { magnitude }
    };
    (!kind.is_nan(a) && !kind.is_nan(b)).then(|| value(a).cmp(&value(b)))
}

/// Comparisons by their names, whether they hold by the order, and where one operand is NaN (PTX ISA, `setp`).
const COMPARISONS: [(&str, &[Ordering], bool); 14] = {
    use Ordering::{Equal, Greater, Less};
    [
        ("eq", &[Equal], false),
        ("ne", &[Less, Greater], false),
        ("lt", &[Less], false),
        ("le", &[Less, Equal], false),
        ("gt", &[Greater], false),
        ("ge", &[Greater, Equal], false),
        ("equ", &[Equal], true),
        ("neu", &[Less, Greater], true),
        ("ltu", &[Less], true),
        ("leu", &[Less, Equal], true),
        ("gtu", &[Greater], true),
        ("geu", &[Greater, Equal], true),
        ("num", &[Less, Equal, Greater], false),
        ("nan", &[], true),
    ]
};

/// A predicate as 1 or 0.
const SELECTED: &str = "selp.b32 $d, 1, 0, %p1;";

#[test]
fn floats_are_compared() {
    for kind in [F16, BF16, F32, F64] {
        let (bits, rows) = (kind.bits(), pairs(&kind.codes()));
        for (name, holds, unordered) in COMPARISONS {
            let outcome = |a, b| order(kind, a, b).map_or(unordered, |order| holds.contains(&order));
            let line = format!("setp.{name}.{} %p1, $a, $b; {SELECTED}", kind.name);
            check(&line, bits, 32, &rows, |[a, b, ..]| Some(outcome(a, b).into()));
            if matches!(kind, F16 | F32) {
                let line = format!("setp.{name}.ftz.{} %p1, $a, $b; {SELECTED}", kind.name);
                check(&line, bits, 32, &rows, |[a, b, ..]| {
                    Some(outcome(kind.flushed(a), kind.flushed(b)).into())
                });
            }
            if bits == 16 {
                let line = format!(
                    "setp.{name}.{}x2 %p1|%p2, $a, $b; selp.b32 %r9, 1, 0, %p1; selp.b32 %r10, 2, 0, %p2; add.u32 $d, %r9, %r10;",
                    kind.name
                );
                let packed: Vec<Row> =
                    rows.iter().map(|row| [row[0] | row[2] << 16, row[1] | row[3] << 16, 0, 0]).collect();
                check(&line, 32, 32, &packed, |[a, b, ..]| {
                    let low = outcome(a & 0xffff, b & 0xffff);
                    let high = outcome(a >> 16, b >> 16);
                    Some(u64::from(low) + 2 * u64::from(high))
                });
            }
            // all ones, or 1.0
            if kind == F32 {
                check(&format!("set.{name}.u32.f32 $d, $a, $b;"), 32, 32, &rows, |[a, b, ..]| {
                    Some(if outcome(a, b) { 0xffff_ffff } else { 0 })
                });
                check(&format!("set.{name}.ftz.f32.f32 $d, $a, $b;"), 32, 32, &rows, |[a, b, ..]| {
                    Some(if outcome(kind.flushed(a), kind.flushed(b)) { kind.one() } else { 0 })
                });
            }
        }
    }
}

#[test]
fn integers_are_compared() {
    let unsigned = [("lo", 2), ("ls", 3), ("hi", 4), ("hs", 5)];
    for bits in [16, 32, 64] {
        let rows = pairs(&integers(bits));
        for letter in ['s', 'u', 'b'] {
            let up = 64 - bits;
            let order = |[a, b, ..]: Row| match letter {
                's' => ((a << up) as i64).cmp(&((b << up) as i64)),
                _ => a.cmp(&b),
            };
            let names = COMPARISONS[..6].iter().map(|(name, holds, _)| (*name, *holds));
            let others = unsigned.map(|(name, same)| (name, COMPARISONS[same].1));
            for (name, holds) in names.chain(others.into_iter().filter(|_| letter == 'u')) {
                if letter == 'b' && !matches!(name, "eq" | "ne") {
                    continue;
                }
                let line = format!("setp.{name}.{letter}{bits} %p1, $a, $b; {SELECTED}");
                check(&line, bits, 32, &rows, |row| Some(holds.contains(&order(row)).into()));
            }
        }
    }
}

#[test]
fn outcomes_are_combined() {
    let rows = pairs(&[0, 1, 2]);
    type Combine = fn(bool, bool) -> bool;
    let logic: [(&str, Combine); 3] = [("and", |p, q| p && q), ("or", |p, q| p || q), ("xor", |p, q| p != q)];
    for (name, f) in logic {
        for (not, turned) in [("", false), ("!", true)] {
            let line = format!(
                "setp.eq.u32 %p2, $c, 1; setp.lt.{name}.u32 %p1|%p3, $a, $b, {not}%p2; selp.b32 %r9, 1, 0, %p1; selp.b32 %r10, 2, 0, %p3; add.u32 $d, %r9, %r10;"
            );
            check(&line, 32, 32, &rows, |[a, b, c, _]| {
                let q = (c == 1) != turned;
                Some(u64::from(f(a < b, q)) + 2 * u64::from(f(a >= b, q)))
            });
        }
        let line =
            format!("setp.eq.u32 %p2, $a, 1; setp.eq.u32 %p3, $b, 1; {name}.pred %p1, %p2, %p3; {SELECTED}");
        check(&line, 32, 32, &rows, |[a, b, ..]| Some(f(a == 1, b == 1).into()));
    }
    check(&format!("setp.eq.u32 %p2, $a, 1; not.pred %p1, %p2; {SELECTED}"), 32, 32, &rows, |row| {
        Some((row[0] != 1).into())
    });
    check(&format!("setp.eq.u32 %p2, $a, 1; mov.pred %p1, %p2; {SELECTED}"), 32, 32, &rows, |row| {
        Some((row[0] == 1).into())
    });
}

#[test]
fn an_outcome_may_be_left() {
    let rows = pairs(&[0, 1, 2]);
    // the last predicate keeps its value
    let keep = "setp.eq.u32 %p8, $c, 1;";
    let add = "selp.b32 %r9, 1, 0, %p1; selp.b32 %r10, 2, 0, %p8; add.u32 $d, %r9, %r10;";
    let last = |c: u64| if c == 1 { 2 } else { 0 };
    check(&format!("{keep} setp.lt.u32 %p1|_, $a, $b; {add}"), 32, 32, &rows, |[a, b, c, _]| {
        Some(u64::from(a < b) + last(c))
    });
    check(&format!("{keep} setp.lt.u32 _|%p1, $a, $b; {add}"), 32, 32, &rows, |[a, b, c, _]| {
        Some(u64::from(a >= b) + last(c))
    });
}

#[test]
fn floats_are_classified() {
    for kind in [F32, F64] {
        let rows = pairs(&kind.codes());
        let unit = 1u64 << kind.fraction_bits;
        let infinity = unit * ((1 << kind.exponent_bits) - 1);
        let classes: [(&str, &dyn Fn(u64) -> bool); 6] = [
            ("finite", &|size| size < infinity),
            ("infinite", &|size| size == infinity),
            ("number", &|size| size <= infinity),
            ("notanumber", &|size| size > infinity),
            ("normal", &|size| size == 0 || (unit..infinity).contains(&size)),
            ("subnormal", &|size| (1..unit).contains(&size)),
        ];
        for (name, is) in classes {
            let line = format!("testp.{name}.{} %p1, $a; {SELECTED}", kind.name);
            check(&line, kind.bits(), 32, &rows, |row| Some(is(row[0] & !kind.sign()).into()));
        }
    }
}

#[test]
fn selections() {
    for (bits, types) in
        [(16, ["b16", "u16", "s16"].as_slice()), (32, &["b32", "f32"]), (64, &["b64", "f64"])]
    {
        let rows = pairs(&integers(bits));
        for kind in types {
            let line = format!("setp.lt.u32 %p1, %r7, %r8; selp.{kind} $d, $a, $b, %p1;");
            check(&line, bits, bits, &rows, |[a, b, c, e]| Some(if (c as u32) < e as u32 { a } else { b }));
        }
    }
}

#[test]
fn outcomes_of_16_bits_and_outcomes_with_a_predicate() {
    let rows = pairs(&F32.codes());
    let less = |a, b| order(F32, a, b) == Some(Ordering::Less);
    for (kind, one) in [("f16", 0x3c00), ("bf16", 0x3f80)] {
        check(&format!("set.lt.{kind}.f32 $d, %r5, %r6;"), 32, 16, &rows, |[a, b, ..]| {
            Some(if less(a, b) { one } else { 0 })
        });
    }
    let halves = pairs(&F16.codes());
    for kind in ["u16", "s16"] {
        check(&format!("set.lt.{kind}.f16 $d, $a, $b;"), 16, 16, &halves, |[a, b, ..]| {
            Some(if order(F16, a, b) == Some(Ordering::Less) { 0xffff } else { 0 })
        });
    }
    // with whether c is less than 7
    for (word, f) in
        [("and", (|x, y| x && y) as fn(bool, bool) -> bool), ("or", |x, y| x || y), ("xor", |x, y| x != y)]
    {
        let line = format!("setp.lt.u32 %p1, $c, 7; set.lt.{word}.u32.f32 $d, $a, $b, !%p1;");
        check(&line, 32, 32, &rows, |[a, b, c, _]| Some(if f(less(a, b), c >= 7) { 0xffff_ffff } else { 0 }));
    }
}
