//! Coefficients: the files in `table/`, read by the compiler.

use crate::polynomial::Coefficients;

/// Rows of `rcp`.
pub(crate) static RCP: [Coefficients; 128] = parse(include_bytes!("../table/rcp.csv"));
/// Rows of `sqrt`: 64 for even exponents, then 64 for odd ones.
pub(crate) static SQRT: [Coefficients; 128] = parse(include_bytes!("../table/sqrt.csv"));
/// Rows of `rsqrt`: 64 for even exponents, then 64 for odd ones.
pub(crate) static RSQRT: [Coefficients; 128] = parse(include_bytes!("../table/rsqrt.csv"));
/// Rows of `ex2`.
pub(crate) static EX2: [Coefficients; 64] = parse(include_bytes!("../table/ex2.csv"));
/// Rows of `lg2`.
pub(crate) static LG2: [Coefficients; 64] = parse(include_bytes!("../table/lg2.csv"));
/// Rows of `sin` and `cos`.
pub(crate) static SIN: [Coefficients; 64] = parse(include_bytes!("../table/sin.csv"));

/// The rows of a file: lines `index,c0,c1,c2`, the index decimal and in order, the coefficients hexadecimal; lines
/// that begin with `#` or `i` are not rows.
const fn parse<const ROWS: usize>(text: &[u8]) -> [Coefficients; ROWS] {
    let mut rows = [Coefficients { c0: 0, c1: 0, c2: 0 }; ROWS];
    let mut count = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'#' || text[at] == b'i' {
            while text[at] != b'\n' {
                at += 1;
            }
            at += 1;
            continue;
        }
        let (index, after) = number(text, at, 10, b',');
        assert!(index as usize == count);
        let (c0, after) = number(text, after, 16, b',');
        let (c1, after) = number(text, after, 16, b',');
        let (c2, after) = number(text, after, 16, b'\n');
        rows[count] = Coefficients { c0, c1, c2 };
        count += 1;
        at = after;
    }
    assert!(count == ROWS);
    rows
}

/// The number that begins at a place and ends before `end`, and the place after that.
const fn number(text: &[u8], mut at: usize, base: u32, end: u8) -> (u32, usize) {
    let mut value = 0;
    while text[at] != end {
        let Some(digit) = (text[at] as char).to_digit(base) else { panic!("a digit") };
        value = value * base + digit;
        at += 1;
    }
    (value, at + 1)
}
