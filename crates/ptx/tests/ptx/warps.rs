//! What the lanes of a warp exchange.

use crate::line::{Row, check, results};

/// Four warps: none, all, some and one of the lanes have a number other than zero.
fn rows() -> Vec<Row> {
    let number = |row: u64| match row / 32 {
        0 => 0,
        1 => 7 + row,
        2 => (row % 3) * 0x1000_0001 * (row % 5),
        _ => u64::from(row % 32 == 19),
    };
    (0..128).map(|row| [number(row), row % 32, 0, 0]).collect()
}

fn warps(rows: &[Row]) -> impl Iterator<Item = Vec<u32>> {
    rows.chunks(32).map(|warp| warp.iter().map(|row| row[0] as u32).collect())
}

/// Compares a line with a number for each warp.
fn same(line: &str, f: impl Fn(&[u32]) -> u32) {
    let rows = rows();
    let given = results(line, 32, 32, &rows);
    for (warp, codes) in warps(&rows).zip(given.chunks(32)) {
        assert_eq!(codes, [u64::from(f(&warp)); 32], "{line} of {warp:x?}");
    }
}

#[test]
fn votes() {
    let vote = |form: &str| {
        format!("setp.ne.u32 %p2, $a, 0; vote.sync.{form}.pred %p1, %p2, -1; selp.b32 $d, 1, 0, %p1;")
    };
    same(&vote("all"), |warp| warp.iter().all(|number| *number != 0).into());
    same(&vote("any"), |warp| warp.iter().any(|number| *number != 0).into());
    same(&vote("uni"), |warp| warp.iter().all(|number| (*number != 0) == (warp[0] != 0)).into());
    same("setp.ne.u32 %p2, $a, 0; vote.sync.ballot.b32 $d, %p2, -1;", |warp| {
        (0..32).map(|lane| u32::from(warp[lane] != 0) << lane).sum()
    });
}

#[test]
fn reductions() {
    type Reduce = fn(u32, u32) -> u32;
    let forms: [(&str, Reduce); 8] = [
        ("add.u32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("max.u32", u32::max),
        ("min.s32", |x, y| (x as i32).min(y as i32) as u32),
        ("max.s32", |x, y| (x as i32).max(y as i32) as u32),
        ("and.b32", |x, y| x & y),
        ("or.b32", |x, y| x | y),
        ("xor.b32", |x, y| x ^ y),
    ];
    for (form, f) in forms {
        // turned over, so that some are negative
        same(&format!("redux.sync.{form} $d, $a, -1;"), |warp| {
            warp.iter().copied().reduce(f).expect("32 lanes")
        });
        same(&format!("not.b32 %r10, $a; redux.sync.{form} $d, %r10, -1;"), |warp| {
            warp.iter().map(|number| !number).reduce(f).expect("32 lanes")
        });
    }
}

#[test]
fn shuffles() {
    let rows: Vec<Row> = (0..32).map(|lane| [100 + lane, lane, 0, 0]).collect();
    let from = |mode: &str, lane: u64, by: u64| match mode {
        "up" => lane.checked_sub(by).unwrap_or(lane),
        "down" if lane + by < 32 => lane + by,
        "down" => lane,
        "bfly" => lane ^ by,
        _ => by,
    };
    for (mode, bound) in [("up", 0), ("down", 31), ("bfly", 31), ("idx", 31)] {
        for by in 0..32 {
            check(&format!("shfl.sync.{mode}.b32 $d, $a, {by}, {bound}, -1;"), 32, 32, &rows, |row| {
                Some(100 + from(mode, row[1], by))
            });
        }
    }
}

/// Tiles of a warp: halves and quarters, each of which names its own lanes.
#[test]
fn lanes_may_name_different_masks() {
    let rows: Vec<Row> = (0..64).map(|row| [7 * row + 3, row % 32, 0, 0]).collect();
    let tile = "mov.u32 %r20, %laneid; and.b32 %r21, %r20, 24; mov.b32 %r22, 255; shl.b32 %r22, %r22, %r21;";
    let of_tile = |f: &dyn Fn(&[u64]) -> u64| -> Vec<u64> {
        rows.chunks(8).flat_map(|tile| [f(&tile.iter().map(|row| row[0]).collect::<Vec<_>>()); 8]).collect()
    };
    let run = |line: &str| results(&format!("{tile} {line}"), 32, 32, &rows);
    assert_eq!(run("redux.sync.add.u32 $d, $a, %r22;"), of_tile(&|all| all.iter().sum()));
    let least = "shfl.sync.idx.b32 $d, $a, 0, 0x1807, %r22;";
    assert_eq!(run(least), of_tile(&|all| all[0]));
    let vote = "setp.gt.u32 %p2, $a, 100; vote.sync.ballot.b32 $d, %p2, %r22; shr.b32 $d, $d, %r21;";
    let bits = |all: &[u64]| all.iter().enumerate().map(|(at, value)| u64::from(*value > 100) << at).sum();
    assert_eq!(run(vote), of_tile(&bits));
    // behind it the lanes are together again
    let after = "bar.warp.sync %r22; elect.sync %r23|%p2, %r22; activemask.b32 $d;";
    assert_eq!(run(after), [u64::from(u32::MAX); 64]);
    // tiles that come one after the other
    let apart = "setp.lt.u32 %p2, %r20, 8; @%p2 bra L; redux.sync.add.u32 $d, $a, %r22; bra M; L: redux.sync.add.u32 $d, $a, %r22; M:";
    assert_eq!(run(apart), of_tile(&|all| all.iter().sum()));
}

#[test]
fn lanes_must_be_in_their_masks_and_agree() {
    for (mask, expected) in [
        ("setp.eq.u32 %p2, $b, 5; selp.b32 %r22, 1, -1, %p2;", "names lane 5, whose own mask is 0x00000001"),
        (
            "setp.lt.u32 %p2, $b, 16; selp.b32 %r22, -1, 0xffff0000, %p2;",
            "names lane 16, whose own mask is 0xffff0000",
        ),
        ("mov.b32 %r22, 0xffff;", "the mask 0x0000ffff does not name this lane, 16"),
    ] {
        for line in ["shfl.sync.idx.b32 $d, $a, 0, 31, %r22;", "vote.sync.ballot.b32 $d, %p1, %r22;"] {
            let body = format!("setp.eq.u32 %p1, $a, 0; {mask} {line}");
            let rows: Vec<Row> = (0..32).map(|row| [row, row, 0, 0]).collect();
            let error = std::panic::catch_unwind(|| results(&body, 32, 32, &rows)).expect_err(line);
            let text = error.downcast_ref::<String>().expect("a message");
            assert!(text.contains(expected), "{body}: {text}");
        }
    }
}
