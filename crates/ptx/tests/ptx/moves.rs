//! Moves, parts of words, and addresses in their spaces.

use crate::line::{Row, check, integers, pairs};

#[test]
fn words_are_packed_and_unpacked() {
    let rows = pairs(&integers(64));
    check("mov.b32 $d, {%h5, %h6};", 64, 32, &rows, |[a, b, ..]| Some(a & 0xffff | (b & 0xffff) << 16));
    check("mov.b64 $d, {%r5, %r6};", 64, 64, &rows, |[a, b, ..]| Some(a & 0xffff_ffff | b << 32));
    check("mov.b64 $d, {%h5, %h6, %h7, %h8};", 64, 64, &rows, |row| {
        Some((0..4).map(|at| (row[at] & 0xffff) << (16 * at)).sum())
    });
    for (at, part) in ["{%h9, %h10}", "{%h10, %h9}"].iter().enumerate() {
        check(&format!("mov.b32 {part}, %r5;"), 64, 16, &rows, |row| Some(row[0] >> (16 * at) & 0xffff));
    }
    for (at, part) in ["{%r9, _}", "{_, %r9}"].iter().enumerate() {
        check(&format!("mov.b64 {part}, %d5;"), 64, 32, &rows, |row| Some(row[0] >> (32 * at) & 0xffff_ffff));
    }
    for at in 0..4 {
        let parts = ["%h10", "%h11", "%h12", "%h13"].map(str::to_owned);
        let parts: Vec<String> = parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| if index == at { "%h9".to_owned() } else { part })
            .collect();
        check(&format!("mov.b64 {{{}}}, %d5;", parts.join(", ")), 64, 16, &rows, |row| {
            Some(row[0] >> (16 * at) & 0xffff)
        });
    }
    // four bytes of a word; each is the lower part of a register
    check(
        "cvt.u16.u8 %h10, %h5; cvt.u16.u8 %h11, %h6; mov.b32 $d, {%h10, %h11};",
        64,
        32,
        &rows,
        |[a, b, ..]| Some(a & 0xff | (b & 0xff) << 16),
    );
    check("mov.b32 $d, {-1, %h5};", 64, 32, &rows, |[a, ..]| Some(0xffff | (a & 0xffff) << 16));
}

#[test]
fn special_registers_are_widened() {
    let rows: Vec<Row> = vec![[0; 4]; 64];
    let lanes: Vec<u64> = (0..64).map(|row| row % 32).collect();
    for line in ["mov.u32 $d, %laneid;", "mov.u32 %r9, %tid.x;"] {
        assert_eq!(crate::line::results(line, 32, 32, &rows), lanes, "{line}");
    }
    for line in ["cvt.u64.u32 $d, %laneid;", "cvt.s64.s32 $d, %tid.x;"] {
        assert_eq!(crate::line::results(line, 64, 64, &rows), lanes, "{line}");
    }
}

#[test]
fn addresses_move_between_spaces() {
    let row: [Row; 1] = [[0x1234, 0x80, 0, 0]];
    // to a space and back; a global address stays
    for space in ["shared", "shared::cta", "local"] {
        let line = format!("cvta.{space}.u64 %d10, %d5; cvta.to.{space}.u64 $d, %d10;");
        check(&line, 64, 64, &row, |row| Some(row[0]));
        let line = format!(
            "cvta.{space}.u64 %d10, %d5; sub.u64 %d11, %d10, %d5; setp.ne.u64 %p1, %d11, 0; selp.b32 $d, 1, 0, %p1;"
        );
        check(&line, 64, 32, &row, |_| Some(1));
    }
    for space in ["global", "const"] {
        check(&format!("cvta.{space}.u64 $d, %d5;"), 64, 64, &row, |row| Some(row[0]));
        check(&format!("cvta.to.{space}.u64 $d, %d5;"), 64, 64, &row, |row| Some(row[0]));
    }
    for from in ["shared", "shared::cta", "shared::cluster", "local", "global"] {
        for of in ["shared", "local", "global", "const"] {
            let line = format!("cvta.{from}.u64 %d10, %d5; isspacep.{of} %p1, %d10; selp.b32 $d, 1, 0, %p1;");
            check(&line, 64, 32, &row, |_| Some(from.starts_with(of).into()));
        }
    }
    // the lower half of an address, which is in no window
    for (of, is_in) in [("shared", 0), ("global", 1)] {
        let line = format!("isspacep.{of} %p1, %r5; selp.b32 $d, 1, 0, %p1;");
        check(&line, 64, 32, &row, |_| Some(is_in));
    }
    // a cluster has one block
    check("mapa.shared::cluster.u32 $d, %r5, 0;", 32, 32, &row, |row| Some(row[0]));
    let line = "cvta.shared.u64 %d10, %d5; mapa.u64 %d11, %d10, 0; sub.u64 $d, %d11, %d10;";
    check(line, 64, 64, &row, |_| Some(0));
}

#[test]
fn the_number_of_lanes_is_a_constant() {
    check("mov.u32 $d, WARP_SZ;", 32, 32, &pairs(&integers(32)), |_| Some(32));
}

/// An instruction may stand behind the place in the source that it was compiled from.
#[test]
fn instructions_on_the_line_of_their_source() {
    let rows = pairs(&integers(32));
    for line in [
        ".loc 1 2 3 mov.b32 $d, $a;",
        ".loc 1 2 3, function_name $L, inlined_at 1 4 5\nmov.b32 $d, $a;",
        ".loc 1 2 3\nmov.b32 $d, $a;",
    ] {
        check(line, 32, 32, &rows, |[a, ..]| Some(a));
    }
}
