//! Copies of elements of 4 bits, of which 16 fill 8 of 16 bytes of shared memory (`.b4x16_p64`).

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program, TensorMap};

const ROWS: u32 = 4;
const COLUMNS: u32 = 256;
/// What shared memory holds before.
const BEFORE: u32 = 0x1111_1111;

fn map() -> TensorMap {
    TensorMap { kind: 14, rank: 2, ..TensorMap::default() }.with(
        &[COLUMNS, ROWS],
        &[u64::from(COLUMNS / 2)],
        &[128, 2],
        &[1, 1],
    )
}

/// The words of the matrix, which count from 1 on.
fn word(row: u32, at: u32) -> u32 {
    row * COLUMNS / 8 + at + 1
}

/// What shared memory holds after a copy from a column and a row on, which brings so many bytes.
fn loaded(map: TensorMap, (column, row): (u32, i32), bytes: u32) -> Result<Vec<u32>, String> {
    left(
        map,
        &format!(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes};\n\
             cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {{{column}, {row}}}], [m];\n\
             W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;"
        ),
    )
}

fn left(map: TensorMap, body: &str) -> Result<Vec<u32>, String> {
    let fill: String = (0..64).map(|at| format!("st.shared.b32 [s+{}], {BEFORE};\n", 4 * at)).collect();
    let show: String = (0..64)
        .filter(|at| at % 4 < 2) // nobody knows what the rest holds
        .map(|at| format!("ld.shared.b32 %r1, [s+{0}]; st.global.b32 [%d2+{0}], %r1;\n", 4 * at))
        .collect();
    let text = format!(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry one(.param .align 64 .b8 map[128], .param .u64 y)\n.reqntid 1\n{{\n\
         .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %d<3>; .shared .align 1024 .b8 s[512]; .shared .align 8 .b8 m[8];\n\
         mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [y]; mbarrier.init.shared::cta.b64 [m], 1;\n\
         {fill}fence.proxy.async.shared::cta;\n{body}\n{show}ret; }}\n"
    );
    let program = Program::parse(&text).map_err(|error| error.to_string())?;
    let kernel = program.kernel(None, None, Mode::Text).map_err(|error| error.to_string())?;
    let words = (0..ROWS).flat_map(|row| (0..COLUMNS / 8).map(move |at| word(row, at)));
    let buffer = |name: &str, bytes: Vec<u8>| Buffer { name: name.to_owned(), bytes, ..Buffer::default() };
    let mut buffers = [buffer("x", words.flat_map(u32::to_le_bytes).collect()), buffer("y", vec![0; 256])];
    let launch = Launch { limits: Limits { threads: 1, turns: 1000 }, ..Launch::new(&kernel, [1; 3]) };
    let arguments = [Argument::TensorMap { buffer: 0, map }, Argument::Pointer { buffer: 1, offset: 0 }];
    launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    Ok(buffers[1].bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Sixteen bytes after sixteen bytes: two words of the matrix, or zeros where it ends; what is behind them is not shown.
fn expected(column: u32, row: u32, swizzled: bool) -> Vec<u32> {
    let mut words = vec![0; 64];
    for (line, chunk) in (0..2).flat_map(|line| (0..8).map(move |chunk| (line, chunk))) {
        let place = if swizzled { chunk ^ line } else { chunk };
        for half in 0..2 {
            let value = word(row + line, column / 8 + 2 * chunk + half);
            words[(32 * line + 4 * place + half) as usize] = if row + line < ROWS { value } else { 0 };
        }
    }
    words
}

#[test]
fn sixteen_elements_fill_half_of_sixteen_bytes() {
    for (column, row) in [(0, 0), (128, 1), (128, 3)] {
        for swizzle in [0, 3] {
            let found = loaded(TensorMap { swizzle, ..map() }, (column, row as i32), 128).expect("runs");
            assert_eq!(found, expected(column, row, swizzle == 3), "{column} {row} {swizzle}");
        }
    }
    // outside of the matrix
    let found = loaded(map(), (256, 0), 128).expect("runs");
    assert!(found.chunks(4).all(|chunk| chunk == [0; 4]), "{found:x?}");
}

/// PTX ISA, "Padding and alignment of the sub-byte types": the padding is uninitialized.
#[test]
fn the_padding_is_the_copys() {
    let load = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128;\n\
        cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {0, 0}], [m];";
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;";
    let read = "ld.shared.b32 %r1, [s+8]; st.global.b32 [%d2], %r1;";
    let put = "st.shared.b32 [s+8], 7;";
    left(map(), &format!("{load} {wait} {put} {read}")).expect("it is written again");
    for (during, after, wanted) in [
        ("", read, "depends on what was never written"),
        (put, "", "that was not waited for"),
        (read, "", "that was not waited for"),
    ] {
        let error = left(map(), &format!("{load} {during} {wait} {after}")).expect_err(wanted);
        assert!(error.contains(wanted), "{during}{after}: {error}");
    }
}

/// Rows are gathered by a map whose box has one row, from a multiple of 128 on, too.
#[test]
fn rows_are_gathered_of_padded_elements() {
    let gather = |map: TensorMap, column: u32| {
        let body = format!(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 256;\n\
             cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [s], [%d1, {{{column}, 3, 1, 0, 2}}], [m];\n\
             W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;"
        );
        left(map, &body)
    };
    let map = |lengths: [u32; 2]| map().with(&[COLUMNS, ROWS], &[128], &lengths, &[1, 1]);
    let found = gather(map([128, 1]), 128).expect("runs");
    assert_eq!([found[0], found[32]], [word(3, 16), word(1, 16)]);
    let error = gather(map([128, 1]), 64).expect_err("64");
    assert!(error.contains("begins at a multiple of 128 elements, not at 64"), "{error}");
    let error = gather(map([128, 2]), 0).expect_err("two rows");
    assert!(error.contains("whose box has one row, not 2"), "{error}");
}

#[test]
fn what_such_maps_cannot_have_is_an_error() {
    let with =
        |sizes: [u32; 2], stride: u64, lengths: [u32; 2]| map().with(&sizes, &[stride], &lengths, &[1, 1]);
    for (map, at, bytes, wanted) in [
        (map(), (0, 0), 256, "128 bytes are missing"),
        (map(), (64, 0), 128, "begins at a multiple of 128 elements, not at 64"),
        (with([COLUMNS, ROWS], 128, [64, 2]), (0, 0), 64, "and a box 128, not 64"),
        (
            with([192, ROWS], 128, [128, 2]),
            (0, 0),
            128,
            "has a multiple of 128 elements along dimension 0, not 192",
        ),
        (with([COLUMNS, ROWS - 1], 144, [128, 2]), (0, 0), 128, "are multiples of 32, not 0x90"),
        (TensorMap { swizzle: 2, ..map() }, (0, 0), 128, "no swizzle or that of 128 bytes"),
        (TensorMap { fills_nan: true, ..map() }, (0, 0), 128, "and zeros outside"),
        (
            TensorMap { kind: 0, fills_nan: true, ..map() },
            (0, 0),
            128,
            "of integers fills with zeros, not with NaN",
        ),
        (with([COLUMNS, ROWS], 1 << 40, [128, 2]), (0, 0), 128, "are less than 2^40 bytes"),
    ] {
        let error = loaded(map, at, bytes).expect_err(wanted);
        assert!(error.contains(wanted), "{error}");
    }
    let store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {0, 0}], [s]; cp.async.bulk.commit_group;\n\
        cp.async.bulk.wait_group 0;";
    let error = left(map(), store).expect_err("a store");
    assert!(error.contains("which can be loaded alone"), "{error}");
}
