//! Float forms on awkward operands, against `rustc_apfloat`, an independent implementation of IEEE 754.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, Round};

use crate::line::{Row, check, floats, pairs, results, results_on};

/// A format with its NaN of arithmetic: all bits below the sign, in FP64 the quiet one with the sign.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) fraction_bits: u32,
    pub(crate) exponent_bits: u32,
    pub(crate) nan: u64,
}

pub(crate) const F16: Kind = Kind { name: "f16", fraction_bits: 10, exponent_bits: 5, nan: 0x7fff };
pub(crate) const BF16: Kind = Kind { name: "bf16", fraction_bits: 7, exponent_bits: 8, nan: 0x7fff };
pub(crate) const F32: Kind = Kind { name: "f32", fraction_bits: 23, exponent_bits: 8, nan: 0x7fff_ffff };
pub(crate) const F64: Kind =
    Kind { name: "f64", fraction_bits: 52, exponent_bits: 11, nan: 0xfff8_0000_0000_0000 };

pub(crate) const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

impl Kind {
    pub(crate) fn bits(self) -> u32 {
        1 + self.fraction_bits + self.exponent_bits
    }

    pub(crate) fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    pub(crate) fn one(self) -> u64 {
        ((1 << (self.exponent_bits - 1)) - 1) << self.fraction_bits
    }

    pub(crate) fn is_nan(self, code: u64) -> bool {
        code & !self.sign() > self.infinity()
    }

    /// A subnormal number becomes zero of its sign.
    pub(crate) fn flushed(self, code: u64) -> u64 {
        if code & self.infinity() == 0 { code & self.sign() } else { code }
    }

    pub(crate) fn codes(self) -> Vec<u64> {
        floats(self.fraction_bits, self.exponent_bits)
    }
}

#[derive(Clone, Copy, Default)]
struct Modifiers {
    flush: bool,
    saturate: bool,
    relu: bool,
}

fn apply<F: Float>(name: &str, round: Round, codes: [u64; 3]) -> u64 {
    let [a, b, c] = codes.map(|code| F::from_bits(code.into()));
    let value = match name {
        "add" => a.add_r(b, round),
        "sub" => a.sub_r(b, round),
        "mul" => a.mul_r(b, round),
        "div" => a.div_r(b, round),
        "rcp" => F::from_u128(1).value.div_r(a, round),
        _ => a.mul_add_r(b, c, round),
    };
    value.value.to_bits() as u64
}

fn arithmetic(kind: Kind, name: &str, round: Round, modifiers: Modifiers, row: Row) -> u64 {
    let flushed = |code: u64| if modifiers.flush { kind.flushed(code) } else { code };
    let codes = [flushed(row[0]), flushed(row[1]), flushed(row[2])];
    let code = match kind {
        F16 => apply::<Half>(name, round, codes),
        BF16 => apply::<BFloat>(name, round, codes),
        F32 => apply::<Single>(name, round, codes),
        _ => apply::<Double>(name, round, codes),
    };
    let code = if kind.is_nan(code) { kind.nan } else { flushed(code) };
    let negative = code & kind.sign() != 0;
    match modifiers {
        Modifiers { saturate: true, .. } if negative || code == kind.nan => 0,
        Modifiers { saturate: true, .. } => code.min(kind.one()),
        Modifiers { relu: true, .. } if negative && code != kind.nan => 0,
        _ => code,
    }
}

fn operands(name: &str) -> &'static str {
    match name {
        "fma" => "$a, $b, $c",
        "rcp" => "$a",
        _ => "$a, $b",
    }
}

const PLAIN: Modifiers = Modifiers { flush: false, saturate: false, relu: false };
const FLUSH: Modifiers = Modifiers { flush: true, ..PLAIN };
const SATURATE: Modifiers = Modifiers { saturate: true, ..PLAIN };
const BOTH: Modifiers = Modifiers { flush: true, ..SATURATE };
const RELU: Modifiers = Modifiers { relu: true, ..PLAIN };
const FLUSH_RELU: Modifiers = Modifiers { flush: true, ..RELU };

/// Every form of the PTX ISA.
fn forms() -> Vec<(Kind, &'static str, &'static str, Round, &'static str, Modifiers)> {
    let mut forms = vec![];
    let modes = [
        ("", PLAIN),
        (".ftz", FLUSH),
        (".sat", SATURATE),
        (".ftz.sat", BOTH),
        (".relu", RELU),
        (".ftz.relu", FLUSH_RELU),
    ];
    for (word, round) in ROUNDINGS {
        for name in ["add", "sub", "mul", "fma"] {
            forms.extend(modes[..4].iter().map(|(flags, mode)| (F32, name, word, round, *flags, *mode)));
            forms.push((F64, name, word, round, "", PLAIN));
        }
        for name in ["div", "rcp"] {
            forms.extend(modes[..2].iter().map(|(flags, mode)| (F32, name, word, round, *flags, *mode)));
            forms.push((F64, name, word, round, "", PLAIN));
        }
    }
    let (word, round) = ROUNDINGS[0];
    for name in ["add", "sub", "mul", "fma"] {
        let count = if name == "fma" { 6 } else { 4 };
        forms.extend(modes[..count].iter().map(|(flags, mode)| (F16, name, word, round, *flags, *mode)));
        forms.push((BF16, name, word, round, "", PLAIN));
    }
    forms.push((BF16, "fma", word, round, ".relu", RELU));
    forms
}

#[test]
fn arithmetic_in_every_rounding() {
    for (kind, name, word, round, flags, modifiers) in forms() {
        let line = format!("{name}.{word}{flags}.{} $d, {};", kind.name, operands(name));
        let rows = pairs(&kind.codes());
        check(&line, kind.bits(), kind.bits(), &rows, |row| {
            Some(arithmetic(kind, name, round, modifiers, row))
        });
    }
}

#[test]
fn packed_arithmetic() {
    for (kind, name, word, round, flags, modifiers) in forms() {
        let bits = kind.bits();
        if matches!(name, "div" | "rcp") || kind == F64 || kind == F32 && modifiers.saturate {
            continue;
        }
        let line = format!("{name}.{word}{flags}.{}x2 $d, {};", kind.name, operands(name));
        let rows = pairs(&kind.codes());
        // the other half in reverse order
        let packed: Vec<Row> = rows
            .iter()
            .zip(rows.iter().rev())
            .map(|(low, high)| [0, 1, 2, 3].map(|at| low[at] | high[at] << bits))
            .collect();
        check(&line, 2 * bits, 2 * bits, &packed, |row| {
            let part = |at: u32| row.map(|code| code >> (bits * at) & u64::MAX >> (64 - bits));
            let result = |at| arithmetic(kind, name, round, modifiers, part(at));
            Some(result(0) | result(1) << bits)
        });
    }
}

/// `min` and `max`: of a number and NaN the number, with `.NaN` NaN; -0 is below +0.
fn extreme(kind: Kind, maximum: bool, nan: bool, flush: bool, a: u64, b: u64) -> u64 {
    let flushed = |code| if flush { kind.flushed(code) } else { code };
    let (a, b) = (flushed(a), flushed(b));
    let order =
        |code: u64| if code & kind.sign() != 0 { -i128::from(code & !kind.sign()) - 1 } else { code.into() };
    match (kind.is_nan(a), kind.is_nan(b)) {
        (true, true) => kind.nan,
        (true, false) => {
            if nan {
                kind.nan
            } else {
                b
            }
        }
        (false, true) => {
            if nan {
                kind.nan
            } else {
                a
            }
        }
        _ if (order(a) > order(b)) == maximum => a,
        _ => b,
    }
}

#[test]
fn minima_and_maxima() {
    for (name, maximum) in [("min", false), ("max", true)] {
        for (kind, flags) in [
            (F32, ["", ".ftz", ".NaN", ".ftz.NaN"].as_slice()),
            (F16, &["", ".ftz", ".NaN", ".ftz.NaN"]),
            (BF16, &["", ".NaN"]),
            (F64, &[""]),
        ] {
            let (bits, rows) = (kind.bits(), pairs(&kind.codes()));
            for flags in flags {
                let (nan, flush) = (flags.contains("NaN"), flags.contains("ftz"));
                let line = format!("{name}{flags}.{} $d, $a, $b;", kind.name);
                check(&line, bits, bits, &rows, |row| {
                    Some(extreme(kind, maximum, nan, flush, row[0], row[1]))
                });
                if bits != 16 {
                    continue;
                }
                let line = format!("{name}{flags}.{}x2 $d, $a, $b;", kind.name);
                let packed: Vec<Row> =
                    rows.iter().map(|row| [row[0] | row[2] << 16, row[1] | row[3] << 16, 0, 0]).collect();
                check(&line, 32, 32, &packed, |row| {
                    let part = |at: u32| {
                        extreme(kind, maximum, nan, flush, row[0] >> at & 0xffff, row[1] >> at & 0xffff)
                    };
                    Some(part(0) | part(16) << 16)
                });
            }
            if kind == F64 {
                continue;
            }
            // of the magnitudes, with the product of the signs
            let line = format!("{name}.xorsign.abs.{} $d, $a, $b;", kind.name);
            check(&line, bits, bits, &rows, |row| {
                let sign = (row[0] ^ row[1]) & kind.sign();
                let code = extreme(kind, maximum, false, false, row[0] & !kind.sign(), row[1] & !kind.sign());
                Some(if kind.is_nan(code) { code } else { code | sign })
            });
        }
    }
}

#[test]
fn signs() {
    for kind in [F16, BF16, F32, F64] {
        let (bits, rows) = (kind.bits(), pairs(&kind.codes()));
        for flush in [false, true] {
            if flush && !matches!(kind, F16 | F32) {
                continue;
            }
            let form = format!("{}.{}", if flush { ".ftz" } else { "" }, kind.name);
            let of = |row: Row, f: fn(u64, u64) -> u64| {
                let code = if flush { kind.flushed(row[0]) } else { row[0] };
                // of FP64's NaN nothing is known
                match kind.is_nan(code) {
                    true if kind == F64 => None,
                    true => Some(kind.nan),
                    false => Some(f(code, kind.sign())),
                }
            };
            check(&format!("neg{form} $d, $a;"), bits, bits, &rows, |row| of(row, |a, sign| a ^ sign));
            check(&format!("abs{form} $d, $a;"), bits, bits, &rows, |row| of(row, |a, sign| a & !sign));
            if bits == 16 {
                let packed: Vec<Row> = rows.iter().map(|row| [row[0] | row[1] << 16, 0, 0, 0]).collect();
                let halves = |row: Row, f: fn(u64, u64) -> u64| {
                    let half = |code: u64| of([code & 0xffff, 0, 0, 0], f);
                    Some(half(row[0])? | half(row[0] >> 16)? << 16)
                };
                check(&format!("neg{form}x2 $d, $a;"), 32, 32, &packed, |row| {
                    halves(row, |a, sign| a ^ sign)
                });
                check(&format!("abs{form}x2 $d, $a;"), 32, 32, &packed, |row| {
                    halves(row, |a, sign| a & !sign)
                });
            }
        }
        if bits > 16 {
            // b with the sign of a
            let line = format!("copysign.{} $d, $a, $b;", kind.name);
            check(&line, bits, bits, &rows, |[a, b, ..]| Some(a & kind.sign() | b & !kind.sign()));
        }
    }
}

/// The significand and the exponent of a positive number.
fn parts(kind: Kind, code: u64) -> (u128, i32) {
    let field = (code >> kind.fraction_bits) as i32;
    let fraction = u128::from(code & ((1 << kind.fraction_bits) - 1));
    let bias = (1 << (kind.exponent_bits - 1)) - 1 + kind.fraction_bits as i32;
    if field == 0 { (fraction, 1 - bias) } else { (fraction | 1 << kind.fraction_bits, field - bias) }
}

#[test]
fn square_roots_in_every_rounding() {
    for kind in [F32, F64] {
        let positive: Vec<u64> =
            kind.codes().into_iter().filter(|code| (1..kind.infinity()).contains(code)).collect();
        let rows = pairs(&positive);
        for (word, _) in ROUNDINGS {
            let line = format!("sqrt.{word}.{} $d, $a;", kind.name);
            for (row, root) in rows.iter().zip(crate::line::results(&line, kind.bits(), kind.bits(), &rows)) {
                // x in units of the square of half the root's last place
                let ((x, x_exponent), (root, exponent)) = (parts(kind, row[0]), parts(kind, root));
                let (x, root) = (x << (x_exponent - 2 * exponent + 2), 2 * root);
                let square = |root: u128| root * root;
                let right = match word {
                    "rn" => square(root - 1) < x && x < square(root + 1),
                    "rp" => square(root - 2) < x && x <= square(root),
                    _ => square(root) <= x && x < square(root + 2),
                };
                assert!(right, "{line} of {:#x}", row[0]);
            }
            let (infinity, sign, nan) = (kind.infinity(), kind.sign(), kind.nan);
            let cases =
                [(0, 0), (sign, sign), (infinity, infinity), (infinity | 1, nan), (infinity | sign, nan)];
            for (x, expected) in cases.into_iter().chain([(sign | 1, nan), (sign | kind.one(), nan)]) {
                check(&line, kind.bits(), kind.bits(), &[[x, 0, 0, 0]], |_| Some(expected));
            }
        }
    }
    for word in ["rn", "rz"] {
        let line = format!("sqrt.{word}.ftz.f32 $d, $a;");
        for (x, expected) in [(0x7f_ffff, 0), (0x807f_ffff, 0x8000_0000), (0x80_0000, 0x2000_0000)] {
            check(&line, 32, 32, &[[x, 0, 0, 0]], |_| Some(expected));
        }
    }
}

#[test]
fn multiply_adds_next_to_ties_are_rounded_once() {
    // 97·257·673 = 2^24 + 1 and 1549·10831 = 2^24 + 3 are in the middle between two numbers; c is less than half of FP64's last
    // place off the middle, or off its neighbours in FP64
    let tiny = 2f64.powi(-28);
    let offsets = [0.125, 0.5, 0.875, 1.0, 1.125, 1.875, 2.0, 2.125, 3.0].map(|places| places * tiny);
    let code = |value: f64| u64::from((value as f32).to_bits());
    let mut rows: Vec<Row> = vec![];
    for (a, b) in [(97.0 * 257.0, 673.0), (1549.0, 10831.0)] {
        for offset in offsets.into_iter().flat_map(|offset| [offset, -offset]) {
            rows.extend([[code(a), code(b), code(offset), 0], [code(-a), code(b), code(offset), 0]]);
        }
    }
    check("fma.rn.f32 $d, $a, $b, $c;", 32, 32, &rows, |row| {
        Some(arithmetic(F32, "fma", Round::NearestTiesToEven, PLAIN, row))
    });
    // 3·683 = 2049 and 7·293 = 2051 are in the middle of two FP16 numbers; c is their smallest number, or larger
    let rows: Vec<Row> = [(0x4200, 0x6156), (0x4700, 0x5c94)]
        .into_iter()
        .flat_map(|(a, b)| [0, 1, 2, 0x0400, 0x1000].map(|c| [a, b, c, 0]))
        .flat_map(|[a, b, c, e]| [[a, b, c, e], [a, b, c | 0x8000, e], [a | 0x8000, b, c, e]])
        .collect();
    check("fma.rn.f16 $d, $a, $b, $c;", 16, 16, &rows, |row| {
        Some(arithmetic(F16, "fma", Round::NearestTiesToEven, PLAIN, row))
    });
}

#[test]
fn extremes_of_three_numbers() {
    let codes = F32.codes();
    let rows: Vec<Row> = codes
        .iter()
        .enumerate()
        .flat_map(|(at, a)| codes.iter().map(move |b| (at, *a, *b)))
        .map(|(at, a, b)| [a, b, codes[(3 * at + 1) % codes.len()], 0])
        .collect();
    for name in ["min", "max"] {
        for words in ["", ".ftz", ".NaN", ".ftz.NaN"] {
            let two = |a: Vec<Row>| results(&format!("{name}{words}.f32 $d, $a, $b;"), 32, 32, &a);
            let first = two(rows.clone());
            let second = rows.iter().zip(first).map(|(row, first)| [first, row[2], 0, 0]).collect();
            let line = format!("{name}{words}.f32 $d, $a, $b, $c;");
            assert_eq!(results_on("sm_100a", &line, 32, 32, &rows), two(second), "{line}");
        }
        // of their magnitudes
        let plain: Vec<Row> = rows.iter().map(|row| row.map(|code| code & 0x7fff_ffff)).collect();
        let magnitudes = results_on("sm_100a", &format!("{name}.f32 $d, $a, $b, $c;"), 32, 32, &plain);
        let line = format!("{name}.abs.f32 $d, $a, $b, $c;");
        assert_eq!(results_on("sm_100a", &line, 32, 32, &rows), magnitudes, "{line}");
    }
}

/// Halves in operations of FP32, as Triton compiles `x - max(x)` for Blackwell: each half is an FP32 number.
#[test]
fn operations_of_fp32_on_halves() {
    let halves = [0x3c00, 0xbc01, 0x0001, 0x7bff, 0xfc00, 0x7e00, 0x8000, 0x4049, 0x7f7f, 0xff81];
    let singles: [u64; 6] = [0x3f80_0000, 0x8000_0001, 0x7f7f_ffff, 0xff80_0000, 0x3301_0000, 0x7fc0_0000];
    let rows: Vec<Row> =
        halves.iter().flat_map(|half| singles.map(|single| [*half, single, *half ^ 0x8155, 0])).collect();
    for kind in ["f16", "bf16"] {
        let wide = format!("cvt.f32.{kind} %r20, %h5; cvt.f32.{kind} %r21, %h7;");
        for (mixed, plain) in [
            (format!("add.rn.f32.{kind} $d, %h5, %r6;"), "add.rn.f32 $d, %r20, %r6;"),
            (format!("add.f32.{kind} $d, %h5, %r6;"), "add.rn.f32 $d, %r20, %r6;"),
            (format!("sub.sat.f32.{kind} $d, %h5, %r6;"), "sub.rn.sat.f32 $d, %r20, %r6;"),
            (format!("sub.rz.f32.{kind} $d, %h5, %r6;"), "sub.rz.f32 $d, %r20, %r6;"),
            (format!("sub.rn.sat.f32.{kind} $d, %h5, %r6;"), "sub.rn.sat.f32 $d, %r20, %r6;"),
            (format!("fma.rm.f32.{kind} $d, %h5, %h7, %r6;"), "fma.rm.f32 $d, %r20, %r21, %r6;"),
        ] {
            let given = results_on("sm_100a", &mixed, 32, 32, &rows);
            assert_eq!(given, results_on("sm_100a", &format!("{wide} {plain}"), 32, 32, &rows), "{mixed}");
        }
    }
}
