//! A summation tree as a picture.

use std::fmt::Write;

use crate::tree::{Sum, Tree};

const LEAF: usize = 34;
const LEVEL: usize = 56;
const MARGIN: usize = 20;

/// The color of a node.
pub(super) const fn colour(sum: Sum) -> &'static str {
    match sum {
        Sum::Binary => "#8a8f98",
        Sum::Swamped => "#c2571a",
        Sum::NotSwamped => "#1f7a5c",
        Sum::Undetermined => "#5b6bbf",
    }
}

/// The tree, root on top, leaves along the bottom in the order in which they are summed.
pub(super) fn tree(tree: &Tree, k: usize) -> String {
    let depth = tree.depth();
    let width = tree.leaves() * LEAF + 2 * MARGIN;
    let height = depth * LEVEL + 2 * MARGIN + 20;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"summation tree\">\n"
    );
    let mut next = 0;
    draw(tree, k, depth, depth, &mut next, &mut out);
    out.push_str("</svg>\n");
    out
}

/// Draws a tree whose root stands `level` levels above the leaves; its place in half pixels from the left.
fn draw(tree: &Tree, k: usize, level: usize, depth: usize, next: &mut usize, out: &mut String) -> usize {
    let y = MARGIN + 10 + (depth - level) * LEVEL;
    match tree {
        Tree::Leaf(leaf) => {
            let x = MARGIN + *next * LEAF + LEAF / 2;
            *next += 1;
            let name = if *leaf == k { "c".to_owned() } else { format!("p{leaf}") };
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\">{name}</text>",
                y + 4
            );
            x
        }
        Tree::Node { sum, children } => {
            let mut nodes = String::new();
            let places: Vec<(usize, usize)> = children
                .iter()
                .map(|child| {
                    let below = match child {
                        Tree::Leaf(_) => level - 1,
                        Tree::Node { .. } => child.depth(),
                    };
                    let x = draw(child, k, below, depth, next, &mut nodes);
                    (x, MARGIN + 10 + (depth - below) * LEVEL)
                })
                .collect();
            let x = places.iter().map(|(x, _)| x).sum::<usize>() / places.len().max(1);
            for (child_x, child_y) in &places {
                let _ = writeln!(
                    out,
                    "<line x1=\"{x}\" y1=\"{}\" x2=\"{child_x}\" y2=\"{}\" stroke=\"currentColor\" stroke-opacity=\"0.45\"/>",
                    y + 11,
                    child_y - 11
                );
            }
            let _ = writeln!(
                out,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"11\" fill=\"{}\"><title>{} of {}</title></circle>\
                 <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#fff\">{}</text>",
                colour(*sum),
                sum.text(),
                children.len(),
                y + 4,
                if children.len() == 2 { "+".to_owned() } else { children.len().to_string() }
            );
            out.push_str(&nodes);
            x
        }
    }
}
