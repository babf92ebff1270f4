//! `wmma.mma` on FP64, the one shape the hardware has: operands stand in memory, by row (B by column).

use bitmma_engine::Signature;
use bitmma_engine::catalogue::lookup::Found;

use super::text::{Kernel, Text, identifier, spelling};
use crate::gpu::Error;
use crate::gpu::image::{Placement, TileLayout, Words};

/// A warp.
const THREADS: usize = 32;

fn layout(signature: &Signature) -> TileLayout {
    let Signature { n, k: all_k, a, b, c, d, .. } = *signature;
    let [shape_a, shape_b, shape_c, ..] = signature.shapes();
    let mut words = Words::default();
    let mut take = |(_, rows, columns): (usize, usize, usize)| words.take(2 * rows * columns);
    let by_row = move |_, row, column| 64 * (row * n + column);
    let inputs = [
        Placement::new(a, shape_a, take(shape_a), |_, row, k| 64 * (row * all_k + k)),
        Placement::new(b, shape_b, take(shape_b), |_, k, column| 64 * (column * all_k + k)),
        Placement::new(c, shape_c, take(shape_c), by_row),
    ];
    let output = Placement::new(d, shape_c, 0..inputs[2].words.len(), by_row);
    TileLayout { inputs, scales: None, output, background: vec![] }
}

/// The kernel.
pub(super) fn kernel(found: &Found) -> Result<Kernel, Error> {
    let signature = Signature::found(found);
    let Signature { m, n, k, .. } = signature;
    let layout = layout(&signature);
    let spelled = spelling(found, "wmma.mma.sync.aligned.row.col.")?;
    let name = identifier(&spelled);
    let mut text = Text::entry(&name, THREADS, &layout);
    text.line(".reg .f64 a, b, c0, c1, d0, d1;");
    let shape = format!("m{m}n{n}k{k}.global.f64");
    for (operand, order, register, stride, placement) in [
        ("a", "row", "{a}", k, &layout.inputs[0]),
        ("b", "col", "{b}", k, &layout.inputs[1]),
        ("c", "row", "{c0,c1}", n, &layout.inputs[2]),
    ] {
        text.line(format_args!("add.u64 address, input, {};", 4 * placement.words.start));
        text.line(format_args!(
            "wmma.load.{operand}.sync.aligned.{order}.{shape} {register}, [address], {stride};"
        ));
    }
    text.line(format_args!("{spelled} {{d0,d1}}, {{a}}, {{b}}, {{c0,c1}};"));
    text.line(format_args!("wmma.store.d.sync.aligned.row.{shape} [output], {{d0,d1}}, {n};"));
    Ok(Kernel::new(found, name, text.end(), THREADS, layout))
}
