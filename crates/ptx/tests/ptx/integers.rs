//! Integer forms on awkward operands, against the formulas of the PTX ISA in integers of 128 bits.

use crate::line::{Row, check, cut, integers, pairs, read};

/// The amount of a shift, which is a register of 32 bits.
fn amount(b: i128) -> u32 {
    b as u32
}

type Formula = fn(i128, i128, i128, u32) -> i128;

/// A form, the letters of its types, its operands, and its result by the operands and the width. A division by zero gives all
/// ones, and so does its remainder.
const ARITHMETIC: &[(&str, &str, &str, Formula)] = &[
    ("add", "su", "$a, $b", |a, b, _, _| a + b),
    ("sub", "su", "$a, $b", |a, b, _, _| a - b),
    ("mul.lo", "su", "$a, $b", |a, b, _, _| a.wrapping_mul(b)),
    ("mul.hi", "su", "$a, $b", |a, b, _, width| a.wrapping_mul(b) >> width),
    ("mad.lo", "su", "$a, $b, $c", |a, b, c, _| a.wrapping_mul(b).wrapping_add(c)),
    ("mad.hi", "su", "$a, $b, $c", |a, b, c, width| (a.wrapping_mul(b) >> width).wrapping_add(c)),
    ("min", "su", "$a, $b", |a, b, _, _| a.min(b)),
    ("max", "su", "$a, $b", |a, b, _, _| a.max(b)),
    ("div", "su", "$a, $b", |a, b, _, _| a.checked_div(b).unwrap_or(-1)),
    ("rem", "su", "$a, $b", |a, b, _, _| a.checked_rem(b).unwrap_or(-1)),
    ("abs", "s", "$a", |a, _, _, _| a.abs()),
    ("neg", "s", "$a", |a, _, _, _| -a),
    ("and", "b", "$a, $b", |a, b, _, _| a & b),
    ("or", "b", "$a, $b", |a, b, _, _| a | b),
    ("xor", "b", "$a, $b", |a, b, _, _| a ^ b),
    ("not", "b", "$a", |a, _, _, _| !a),
    ("cnot", "b", "$a", |a, _, _, _| (a == 0).into()),
    ("mov", "b", "$a", |a, _, _, _| a),
    ("shl", "b", "$a, %r6", |a, b, _, width| if amount(b) < width { a << amount(b) } else { 0 }),
    ("shr", "sub", "$a, %r6", |a, b, _, _| a >> amount(b).min(100)),
];

#[test]
fn arithmetic_of_every_width() {
    for bits in [16, 32, 64] {
        let rows = pairs(&integers(bits));
        for (name, letters, operands, formula) in ARITHMETIC {
            for letter in letters.chars() {
                check(&format!("{name}.{letter}{bits} $d, {operands};"), bits, bits, &rows, |row| {
                    let [a, b, c, _] = row.map(|code| read(code, letter, bits));
                    Some(cut(formula(a, b, c, bits), bits))
                });
            }
        }
    }
}

#[test]
fn amounts_of_shifts_are_words() {
    let rows = pairs(&integers(16));
    for form in ["shl.b16", "shr.u16"] {
        check(&format!("{form} $d, $a, 65537;"), 16, 16, &rows, |_| Some(0));
    }
}

#[test]
fn saturating_sums_and_wide_products() {
    let rows = pairs(&integers(32));
    let clamped = |value: i128| Some(cut(value.clamp(i32::MIN.into(), i32::MAX.into()), 32));
    let of = |row: Row| row.map(|code| read(code, 's', 32));
    check("add.sat.s32 $d, $a, $b;", 32, 32, &rows, |row| clamped(of(row)[0] + of(row)[1]));
    check("sub.sat.s32 $d, $a, $b;", 32, 32, &rows, |row| clamped(of(row)[0] - of(row)[1]));
    for (bits, letter) in [(16, 's'), (16, 'u'), (32, 's'), (32, 'u')] {
        let rows = pairs(&integers(bits));
        let wide = 2 * bits;
        let product = |row: Row| read(row[0], letter, bits) * read(row[1], letter, bits);
        check(&format!("mul.wide.{letter}{bits} $d, $a, $b;"), bits, wide, &rows, |row| {
            Some(cut(product(row), wide))
        });
        let c = if wide == 64 { "%d7" } else { "%r7" };
        check(&format!("mad.wide.{letter}{bits} $d, $a, $b, {c};"), bits, wide, &rows, |row| {
            Some(cut(product(row) + i128::from(row[2]), wide))
        });
    }
}

#[test]
fn carries() {
    // the lower part of a number is a, the upper one b; of the second number c and e
    for bits in [32, 64] {
        let rows = pairs(&integers(bits));
        let whole = |low: u64, high: u64| u128::from(high) << bits | u128::from(low);
        let numbers = |row: Row| (whole(row[0], row[1]), whole(row[2], row[3]));
        let upper = |value: u128| Some((value >> bits) as u64 & u64::MAX >> (64 - bits));
        let third = |row: Row, extra: i128| Some(cut(i128::from(row[0]) + i128::from(row[3]) + extra, bits));
        let u = format!("u{bits}");
        let line = format!("add.cc.{u} $d, $a, $c;\naddc.{u} $d, $b, $e;");
        check(&line, bits, bits, &rows, |row| upper(numbers(row).0.wrapping_add(numbers(row).1)));
        let line = format!("sub.cc.{u} $d, $a, $c;\nsubc.{u} $d, $b, $e;");
        check(&line, bits, bits, &rows, |row| upper(numbers(row).0.wrapping_sub(numbers(row).1)));
        let line = format!("mad.lo.cc.{u} $d, $a, $b, $c;\nmadc.hi.{u} $d, $a, $b, $e;");
        let product = |row: Row| u128::from(row[0]) * u128::from(row[1]);
        check(&line, bits, bits, &rows, |row| upper(product(row).wrapping_add(numbers(row).1)));
        let line = format!("mad.lo.cc.s{bits} $d, $a, $b, $c;\nmadc.hi.s{bits} $d, $a, $b, $e;");
        check(&line, bits, bits, &rows, |row| {
            let product = read(row[0], 's', bits) * read(row[1], 's', bits);
            upper((product as u128).wrapping_add(numbers(row).1))
        });
        // a carry of the middle of three goes on; without .cc the last one stays
        let line = format!("add.cc.{u} $d, $a, $b;\naddc.cc.{u} $d, $b, $c;\naddc.{u} $d, $a, $e;");
        check(&line, bits, bits, &rows, |row| {
            let [a, b, c, _] = row.map(u128::from);
            third(row, ((b + c + ((a + b) >> bits)) >> bits) as i128)
        });
        let line = format!("add.cc.{u} $d, $a, $b;\nadd.{u} $d, $b, $c;\naddc.{u} $d, $a, $e;");
        check(&line, bits, bits, &rows, |row| {
            third(row, ((u128::from(row[0]) + u128::from(row[1])) >> bits) as i128)
        });
        let line = format!("add.cc.{u} $d, $a, $b;\nmadc.lo.cc.{u} $d, $a, $b, $c;\naddc.{u} $d, $a, $e;");
        check(&line, bits, bits, &rows, |row| {
            let [a, b, c, _] = row.map(u128::from);
            let low = (a * b) & u128::from(u64::MAX >> (64 - bits));
            third(row, ((low + c + ((a + b) >> bits)) >> bits) as i128)
        });
    }
}

#[test]
fn carries_into_halves() {
    // of the sum of c and e
    let rows = pairs(&integers(32));
    let carry = |row: Row| i128::from((row[2] + row[3]) >> 32);
    let borrow = |row: Row| i128::from(row[2] < row[3]);
    for letter in ['s', 'u'] {
        let of = |row: Row| [0, 1].map(|at| read(row[at] & 0xffff, letter, 16));
        let half = |line: &str| {
            format!("cvt.u16.u32 %h20, $a; cvt.u16.u32 %h21, $b;\n{line}; cvt.u32.u16 $d, %h20;")
        };
        let line = half(&format!("add.cc.u32 %r20, $c, $e; addc.{letter}16 %h20, %h20, %h21"));
        check(&line, 32, 32, &rows, |row| Some(cut(of(row)[0] + of(row)[1] + carry(row), 16)));
        let line = half(&format!("sub.cc.u32 %r20, $c, $e; subc.{letter}16 %h20, %h20, %h21"));
        check(&line, 32, 32, &rows, |row| Some(cut(of(row)[0] - of(row)[1] - borrow(row), 16)));
        let line = half(&format!("add.cc.u32 %r20, $c, $e; madc.hi.{letter}16 %h20, %h20, %h21, %h20"));
        check(&line, 32, 32, &rows, |row| {
            let [a, b] = of(row);
            Some(cut(((a * b) >> 16) + a + carry(row), 16))
        });
    }
}

/// `fns`, as the PTX ISA writes it.
fn nth_set([mask, base, n, _]: Row) -> Option<u64> {
    let (n, mut place) = (i64::from(n as u32 as i32), i64::from(base as u32));
    let is_set = |place: i64| (0..32).contains(&place) && mask >> place & 1 == 1;
    let mut left = n.abs().max(1);
    while (0..32).contains(&place) {
        left -= i64::from(is_set(place));
        if left == 0 {
            return Some(place as u64);
        }
        place = if n == 0 { 32 } else { place + n.signum() };
    }
    Some(0xffff_ffff)
}

#[test]
fn bits_that_are_found_and_extended() {
    let mut rows = vec![];
    for mask in [0, 1, 0x8000_0000, 0xaaaa_aaaa, 0x1234_5678, 0xffff_ffff] {
        for base in [0, 1, 2, 3, 5, 16, 30, 31, 32, 33, 40, 0xffff_ffff] {
            rows.extend(
                [0, 1, 2, 3, 17, 32, 33, -1, -2, -3, -16, -32, -33, i32::MAX]
                    .map(|n| [mask, base, u64::from(n as u32), 0]),
            );
        }
    }
    check("fns.b32 $d, $a, $b, $c;", 32, 32, &rows, nth_set);
    // the manual's examples
    for (base, n, expected) in [(3, 1, 3), (3, -1, 3), (2, 1, 3), (2, -1, 1)] {
        let line = format!("fns.b32 $d, 0xaaaaaaaa, {base}, {n};");
        check(&line, 32, 32, &rows[..1], |_| Some(expected));
    }
    // its absolute value is none: as in the code of ptxas 12.9 and 13.5
    check("fns.b32 $d, $a, $b, 0x80000000;", 32, 32, &rows, |_| Some(0));
    let rows = pairs(&integers(32));
    for (mode, letter) in [("wrap", 's'), ("wrap", 'u'), ("clamp", 's'), ("clamp", 'u')] {
        check(&format!("szext.{mode}.{letter}32 $d, $a, $b;"), 32, 32, &rows, |[a, b, ..]| {
            let bits = if mode == "wrap" { b & 31 } else { b.min(32) } as u32;
            Some(if bits == 0 { 0 } else { cut(read(cut(a.into(), bits), letter, bits), 32) })
        });
    }
}

/// `bfe`, as the PTX ISA writes it.
fn extract(row: Row, letter: char, bits: u32) -> Option<u64> {
    let [a, b, c, _] = row;
    let (place, length, last) = (b & 0xff, c & 0xff, u64::from(bits) - 1);
    let bit = |at: u64| a >> at & 1;
    let sign = if letter == 'u' || length == 0 { 0 } else { bit((place + length - 1).min(last)) };
    let one = |at: u64| if at < length && place + at <= last { bit(place + at) } else { sign };
    Some((0..=last).map(|at| one(at) << at).sum())
}

/// `bfi`, as the PTX ISA writes it.
fn insert(row: Row, bits: u32) -> Option<u64> {
    let [a, b, c, e] = row;
    let (place, length, last) = (c & 0xff, e & 0xff, u64::from(bits) - 1);
    let within = (0..length).filter(|at| place + at <= last);
    Some(within.fold(b, |f, at| f & !(1 << (place + at)) | (a >> at & 1) << (place + at)))
}

/// `bfind`, as the PTX ISA writes it.
fn find(a: u64, letter: char, bits: u32, shift: bool) -> Option<u64> {
    let a = read(a, letter, bits);
    let a = if a < 0 { !a } else { a };
    let place = (0..bits).rev().find(|place| a >> place & 1 == 1);
    Some(place.map_or(0xffff_ffff, |place| u64::from(if shift { bits - 1 - place } else { place })))
}

#[test]
fn bits_and_fields() {
    for bits in [32, 64] {
        let rows = pairs(&integers(bits));
        let places = [0, 1, 5, 16, 31, 32, 33, 40, 63, 64, 65, 255, 256, 0x108];
        let values = [0x8000_0001_8000_0001, 0x1234_5678_9abc_def0, 0x7fff_ffff_7fff_ffff, u64::MAX, 0];
        let mut fields: Vec<Row> = vec![];
        for (at, place) in places.iter().enumerate() {
            for (index, value) in values.iter().enumerate() {
                let other = values[(at + index) % 5] & u64::MAX >> (64 - bits);
                let value = value & u64::MAX >> (64 - bits);
                fields.extend(places.map(|length| [value, *place, length, other]));
            }
        }
        let swapped: Vec<Row> =
            fields.iter().map(|[a, place, length, b]| [*a, *b, *place, *length]).collect();
        for letter in ['s', 'u'] {
            let line = format!("bfe.{letter}{bits} $d, $a, %r6, %r7;");
            check(&line, bits, bits, &fields, |row| extract(row, letter, bits));
            for (shift, name) in [(false, "bfind"), (true, "bfind.shiftamt")] {
                let line = format!("{name}.{letter}{bits} $d, $a;");
                check(&line, bits, 32, &rows, |row| find(row[0], letter, bits, shift));
            }
        }
        check(&format!("bfi.b{bits} $d, $a, $b, %r7, %r8;"), bits, bits, &swapped, |row| insert(row, bits));
        check(&format!("popc.b{bits} $d, $a;"), bits, 32, &rows, |row| {
            Some((0..bits).map(|at| row[0] >> at & 1).sum())
        });
        check(&format!("clz.b{bits} $d, $a;"), bits, 32, &rows, |row| {
            Some((0..bits).rev().take_while(|at| row[0] >> at & 1 == 0).count() as u64)
        });
        check(&format!("brev.b{bits} $d, $a;"), bits, bits, &rows, |row| {
            Some((0..bits).map(|at| (row[0] >> at & 1) << (bits - 1 - at)).sum())
        });
    }
}

#[test]
fn masks() {
    let rows = pairs(&integers(32));
    let mask = |place: u64, length: u64| {
        (0..32).filter(|at| (place..place + length).contains(at)).map(|at| 1 << at).sum::<u64>()
    };
    check("bmsk.clamp.b32 $d, $a, $b;", 32, 32, &rows, |[a, b, ..]| Some(mask(a, b)));
    check("bmsk.wrap.b32 $d, $a, $b;", 32, 32, &rows, |[a, b, ..]| Some(mask(a & 31, b & 31)));
}

#[test]
fn shifts_of_two_words() {
    let rows = pairs(&integers(32));
    for (mode, amount) in [("wrap", (|c| c & 31) as fn(u64) -> u64), ("clamp", |c| c.min(32))] {
        let both = |row: Row| u128::from(row[1]) << 32 | u128::from(row[0]);
        check(&format!("shf.l.{mode}.b32 $d, $a, $b, $c;"), 32, 32, &rows, |row| {
            Some(cut((both(row) << amount(row[2]) >> 32) as i128, 32))
        });
        check(&format!("shf.r.{mode}.b32 $d, $a, $b, $c;"), 32, 32, &rows, |row| {
            Some(cut((both(row) >> amount(row[2])) as i128, 32))
        });
    }
}

#[test]
fn logic_of_three_words() {
    // the table's value of a is f0, of b cc, of c aa
    let rows = [[0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa, 0]];
    for table in 0..=255u64 {
        let line = format!("lop3.b32 $d, $a, $b, $c, {table};");
        check(&line, 32, 32, &rows, |_| Some(table * 0x0101_0101));
    }
    // whether the word is not zero, and another predicate
    let rows = pairs(&[0, 1, 0xffff_ffff]);
    for (logic, q) in
        [("and", "%p2"), ("and", "!%p2"), ("or", "%p2"), ("or", "!%p2"), ("and", "1"), ("or", "0")]
    {
        for d in ["$d", "_"] {
            let line = format!(
                "mov.b32 $d, 7; setp.ne.u32 %p2, $c, 0;\nlop3.{logic}.b32 {d}|%p2, $a, $b, 1, 0x80, {q};\n@%p2 add.u32 $d, $d, 16;"
            );
            check(&line, 32, 32, &rows, |[a, b, c, _]| {
                let (word, p) = (a & b & 1, c != 0);
                let q = if q.starts_with('!') {
                    !p
                } else if q == "%p2" {
                    p
                } else {
                    q == "1"
                };
                let p = if logic == "and" { word != 0 && q } else { word != 0 || q };
                Some(if d == "_" { 7 } else { word } + 16 * u64::from(p))
            });
        }
    }
}

#[test]
fn bytes() {
    // the bytes of the result, the last one first, by the selector's two bits (PTX ISA, prmt)
    let tables = [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    let word = |bytes: [u64; 4]| bytes.iter().fold(0, |word, byte| word << 8 | byte);
    for (mode, table) in tables {
        let rows = [0, 1, 2, 3, 4, 7].map(|selector| [0x4342_4140, 0x4746_4544, selector, 0]);
        check(&format!("prmt.b32.{mode} $d, $a, $b, $c;"), 32, 32, &rows, |row| {
            Some(word(table[row[2] as usize & 3].map(|byte| 0x40 + byte)))
        });
    }
    // four selectors of four bits; the fourth bit repeats the sign of the byte
    let rows = [
        ([0x4342_4140, 0x4746_4544, 0x7654_3210, 0], 0x4342_4140),
        ([0x4342_4140, 0x4746_4544, 0x0123, 0], 0x4041_4243),
        ([0x4342_4140, 0x4746_4544, 0x7564, 0], 0x4745_4644),
        ([0x83c2_4100, 0x7f80_ff01, 0xfedc, 0], 0x00ff_ff00),
        ([0x83c2_4100, 0x7f80_ff01, 0xba98, 0], 0xffff_0000),
    ];
    for (row, expected) in rows {
        check("prmt.b32 $d, $a, $b, $c;", 32, 32, &[row], |_| Some(expected));
    }
}

#[test]
fn sums_of_products_of_bytes() {
    let rows = pairs(&integers(32));
    let part = |word: u64, bits: u32, at: u32, letter: char| read(word >> (bits * at), letter, bits);
    for (x, y) in [('s', 's'), ('s', 'u'), ('u', 's'), ('u', 'u')] {
        let c = |row: Row| read(row[2], 's', 32);
        check(&format!("dp4a.{x}32.{y}32 $d, $a, $b, $c;"), 32, 32, &rows, |row| {
            let products = (0..4).map(|at| part(row[0], 8, at, x) * part(row[1], 8, at, y));
            Some(cut(c(row) + products.sum::<i128>(), 32))
        });
        for (half, first) in [("lo", 0), ("hi", 2)] {
            check(&format!("dp2a.{half}.{x}32.{y}32 $d, $a, $b, $c;"), 32, 32, &rows, |row| {
                let products = (0..2).map(|at| part(row[0], 16, at, x) * part(row[1], 8, first + at, y));
                Some(cut(c(row) + products.sum::<i128>(), 32))
            });
        }
        check(&format!("sad.{x}32 $d, $a, $b, $c;"), 32, 32, &rows, |row| {
            let [a, b, c, _] = row.map(|code| read(code, x, 32));
            Some(cut(c + (a - b).abs(), 32))
        });
    }
    check("slct.b32.s32 $d, $a, $b, $c;", 32, 32, &rows, |row| {
        Some(if read(row[2], 's', 32) >= 0 { row[0] } else { row[1] })
    });
}

/// `mul24` and `mad24`, as the PTX ISA has them.
#[test]
fn products_of_24_bits() {
    let rows = pairs(&integers(32));
    for letter in ['s', 'u'] {
        let product = |row: Row| {
            let part = |code: u64| match letter {
                's' => (read(code, 's', 32) << 104) >> 104,
                _ => i128::from(code & 0xff_ffff),
            };
            part(row[0]) * part(row[1])
        };
        let c = |row: Row| read(row[2], letter, 32);
        for (part, shift) in [("lo", 0), ("hi", 16)] {
            check(&format!("mul24.{part}.{letter}32 $d, $a, $b;"), 32, 32, &rows, |row| {
                Some(cut(product(row) >> shift, 32))
            });
            check(&format!("mad24.{part}.{letter}32 $d, $a, $b, $c;"), 32, 32, &rows, |row| {
                Some(cut((product(row) >> shift) + c(row), 32))
            });
        }
    }
    let part = |code: u64| (read(code, 's', 32) << 104) >> 104;
    check("mad24.hi.sat.s32 $d, $a, $b, $c;", 32, 32, &rows, |row| {
        let high = (part(row[0]) * part(row[1])) >> 16;
        let sum = i128::from(high as i32) + read(row[2], 's', 32);
        Some(cut(sum.clamp(i32::MIN.into(), i32::MAX.into()), 32))
    });
}

#[test]
fn differences_and_choices_of_every_width() {
    for bits in [16, 64] {
        let rows = pairs(&integers(bits));
        for letter in ['s', 'u'] {
            check(&format!("sad.{letter}{bits} $d, $a, $b, $c;"), bits, bits, &rows, |row| {
                let [a, b, c, _] = row.map(|code| read(code, letter, bits));
                Some(cut(c + (a - b).abs(), bits))
            });
        }
    }
    let numbers =
        [0, 0x8000_0000, 1, 0x8000_0001, 0x3f80_0000, 0xbf80_0000, 0x7fc0_0000, 0xffc0_0000, 0xff80_0000];
    for (bits, c) in [(32, "%r7"), (64, "%r7")] {
        let rows: Vec<Row> = numbers.iter().map(|c| [5, 9, *c, 0]).collect();
        check(&format!("slct.b{bits}.s32 $d, $a, $b, {c};"), bits, bits, &rows, |row| {
            Some(if read(row[2], 's', 32) >= 0 { row[0] } else { row[1] })
        });
        for (ftz, least) in [("", 1), (".ftz", 0x0080_0000)] {
            check(&format!("slct{ftz}.b{bits}.f32 $d, $a, $b, {c};"), bits, bits, &rows, |row| {
                let (magnitude, negative) = (row[2] & 0x7fff_ffff, row[2] >> 31 == 1);
                let below = negative && magnitude >= least;
                Some(if magnitude > 0x7f80_0000 || below { row[1] } else { row[0] })
            });
        }
    }
}

#[test]
fn halves_of_words() {
    let rows = pairs(&integers(32));
    type Half = fn(i128, i128) -> i128;
    let forms: [(&str, &str, Half); 5] = [
        ("add", "su", |a, b| a + b),
        ("min", "su", i128::min),
        ("max", "su", i128::max),
        ("min.relu", "s", |a, b| a.min(b).max(0)),
        ("max.relu", "s", |a, b| a.max(b).max(0)),
    ];
    for (name, letters, f) in forms {
        for letter in letters.chars() {
            check(&format!("{name}.{letter}16x2 $d, $a, $b;"), 32, 32, &rows, |[a, b, ..]| {
                let half = |code: u64, shift: u32| read(code >> shift & 0xffff, letter, 16);
                let one = |shift: u32| cut(f(half(a, shift), half(b, shift)), 16);
                Some(one(16) << 16 | one(0))
            });
        }
        if name.ends_with("relu") {
            check(&format!("{name}.s32 $d, $a, $b;"), 32, 32, &rows, |[a, b, ..]| {
                Some(cut(f(read(a, 's', 32), read(b, 's', 32)), 32))
            });
        }
    }
}
