//! Approximate functions and divisions as ptxas expands them: the table of expansions, written out around the multi-function
//! unit, whose subnormal inputs and results are zero.

use bitmma_functions::Function;
use bitmma_ptx::Mode;

use crate::body::result;
use crate::line::{Row, check, floats, pairs};

const SIGN: u32 = 0x8000_0000;
const NAN: u32 = 0x7fff_ffff;
/// 2^-126, 0.25 and 2^24.
const SMALLEST: u32 = 0x0080_0000;
const QUARTER: f32 = 0.25;
const TWO_TO_24: f32 = 16_777_216.0;

fn flushed(code: u32) -> u32 {
    if code & 0x7f80_0000 == 0 { code & SIGN } else { code }
}

fn is_subnormal(code: u32) -> bool {
    (1..SMALLEST).contains(&(code & !SIGN))
}

fn code(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// The multi-function unit.
fn unit(function: Function, x: u32) -> u32 {
    flushed(function.evaluate(flushed(x)))
}

fn times(x: u32, factor: f32, flush: bool) -> u32 {
    let of = |code: u32| f32::from_bits(if flush { flushed(code) } else { code });
    let product = code(of(x) * factor);
    if flush { flushed(product) } else { product }
}

fn product(x: u32, y: u32, flush: bool) -> u32 {
    times(x, f32::from_bits(if flush { flushed(y) } else { y }), flush)
}

/// `sqrt`, `rsqrt`, `lg2`: a subnormal x times 2^24, the unit, and what undoes it.
fn scaled(function: Function, x: u32, undo: fn(f32) -> f32) -> u32 {
    if !is_subnormal(x) {
        return unit(function, x);
    }
    code(undo(f32::from_bits(unit(function, times(x, TWO_TO_24, false)))))
}

fn square_root(x: u32) -> u32 {
    scaled(Function::Sqrt, x, |root| root / 4096.0)
}

fn reciprocal_square_root(x: u32) -> u32 {
    scaled(Function::Rsqrt, x, |root| root * 4096.0)
}

fn logarithm(x: u32) -> u32 {
    scaled(Function::Lg2, x, |logarithm| logarithm - 24.0)
}

/// Below -126 the square of the power of half of x.
fn exponential(x: u32) -> u32 {
    if f32::from_bits(x) < -126.0 {
        let root = unit(Function::Ex2, times(x, 0.5, false));
        return product(root, root, false);
    }
    unit(Function::Ex2, x)
}

/// Beyond 2^126 times 0.25 before and after, subnormal times 2^24.
fn reciprocal(x: u32) -> u32 {
    let factor = match x & !SIGN {
        0x7e80_0001..0x7f80_0000 => QUARTER,
        _ if is_subnormal(x) => TWO_TO_24,
        _ => 1.0,
    };
    times(unit(Function::Rcp, times(x, factor, false)), factor, false)
}

fn divide(full: bool, flush: bool, x: u32, y: u32) -> u32 {
    let magnitude = f32::from_bits(y & !SIGN);
    let factor = if full && magnitude > 2.0f32.powi(126) {
        QUARTER
    } else if !flush && magnitude < f32::MIN_POSITIVE {
        TWO_TO_24
    } else {
        1.0
    };
    product(unit(Function::Rcp, times(y, factor, flush)), times(x, factor, flush), flush)
}

/// Awkward numbers, and numbers around the thresholds: 2^-126, 2^126, -126 and -149.
fn codes() -> Vec<u64> {
    let mut codes = floats(23, 8);
    let near = [0x7e80_0000u64, 0x7f00_0000, 0x0080_0000, 0x0040_0000, 0x0100_0000, 0x42fc_0000, 0x4315_0000];
    for code in near {
        codes.extend([code - 1, code, code + 1].iter().flat_map(|code| [*code, *code | 1 << 31]));
    }
    // subnormal numbers whose reciprocals are finite
    codes.extend((0..64).map(|at| 0x0020_0001 + at * 0x1_7a3f));
    // spread over all numbers
    codes.extend((0..400u64).map(|at| (at * 0x9e37_79b9) & 0xffff_ffff));
    codes
}

fn one(line: &str, codes: &[u64], f: impl Fn(u32) -> u32) {
    let rows: Vec<Row> = codes.iter().map(|code| [*code, 0, 0, 0]).collect();
    check(line, 32, 32, &rows, |row| Some(f(row[0] as u32).into()));
}

#[test]
fn functions_without_ftz_are_expanded() {
    let codes = codes();
    one("ex2.approx.f32 $d, $a;", &codes, exponential);
    one("sqrt.approx.f32 $d, $a;", &codes, square_root);
    one("rsqrt.approx.f32 $d, $a;", &codes, reciprocal_square_root);
    one("lg2.approx.f32 $d, $a;", &codes, logarithm);
    one("rcp.approx.f32 $d, $a;", &codes, reciprocal);
}

#[test]
fn functions_with_ftz_are_the_unit() {
    let codes = codes();
    for function in [Function::Ex2, Function::Sqrt, Function::Rsqrt, Function::Lg2, Function::Rcp] {
        one(&format!("{function}.approx.ftz.f32 $d, $a;"), &codes, |x| unit(function, x));
    }
}

#[test]
fn sine_and_cosine_are_near() {
    let codes: Vec<u64> = (-300..=300).map(|at| u64::from((at as f32 / 100.0).to_bits())).collect();
    let near = |line: &str, f: fn(f64) -> f64| {
        let rows: Vec<Row> = codes.iter().map(|code| [*code, 0, 0, 0]).collect();
        for (row, code) in rows.iter().zip(crate::line::results(line, 32, 32, &rows)) {
            let x = f64::from(f32::from_bits(row[0] as u32));
            let error = f64::from(f32::from_bits(code as u32)) - f(x);
            // PTX ISA: 2^-20.5 in -π to π
            assert!(error.abs() < 2f64.powf(-20.5), "{line} of {x}: {error}");
        }
    };
    for flush in ["", ".ftz"] {
        near(&format!("sin.approx{flush}.f32 $d, $a;"), f64::sin);
        near(&format!("cos.approx{flush}.f32 $d, $a;"), f64::cos);
    }
    check("sin.approx.ftz.f32 $d, $a;", 32, 32, &[[0x807f_ffff, 0, 0, 0]], |_| Some(0x8000_0000));
    check("cos.approx.ftz.f32 $d, $a;", 32, 32, &[[0x807f_ffff, 0, 0, 0]], |_| Some(0x3f80_0000));
}

#[test]
fn divisions_are_expanded() {
    let codes = codes();
    let some: Vec<u64> = codes.iter().copied().step_by(3).chain(floats(23, 8)).collect();
    let rows = pairs(&some);
    for (full, name) in [(true, "full"), (false, "approx")] {
        for (flush, flag) in [(false, ""), (true, ".ftz")] {
            check(&format!("div.{name}{flag}.f32 $d, $a, $b;"), 32, 32, &rows, |row| {
                Some(divide(full, flush, row[0] as u32, row[1] as u32).into())
            });
        }
    }
}

#[test]
fn fused_divisions_are_scaled_alike() {
    // -0 added: the quotient itself
    let minus_zero = 0x8000_0000;
    let fused = |form: &str, operands: [u64; 2], flush: bool| {
        let flag = if flush { ".ftz" } else { "" };
        let body = form.replace('$', flag) + &format!(" add{flag}.f32 %r9, %r5, %r3;");
        result(Mode::Gpu, &body, [operands[0], operands[1], minus_zero, 0])
    };
    let codes = codes();
    for code in &codes {
        let given = fused("rcp.approx.f32 %r5, %r1;", [*code, 0], false);
        assert_eq!(given, u64::from(reciprocal(*code as u32)), "rcp {code:x}");
    }
    for (x, y) in codes.iter().zip(codes.iter().rev()).chain(codes.iter().zip(&codes[7..])) {
        for (full, flush) in [(true, false), (true, true), (false, false), (false, true)] {
            let form = if full { "div.full$.f32 %r5, %r1, %r2;" } else { "div.approx$.f32 %r5, %r1, %r2;" };
            let expected = divide(full, flush, *x as u32, *y as u32);
            assert_eq!(fused(form, [*x, *y], flush), u64::from(expected), "{form} {flush} {x:x} {y:x}");
        }
    }
}
