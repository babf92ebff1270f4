//! Summation trees: what is added to what.

use std::fmt;

/// How a node sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Two summands.
    Binary,
    /// Three or more at once; small ones are lost beside large ones even if those cancel.
    Swamped,
    /// Three or more at once; small ones survive large ones that cancel.
    NotSwamped,
    /// Three or more at once, or in sums that are not rounded in between; how small ones fare beside large ones is
    /// not known.
    Undetermined,
}

impl Sum {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Sum::Binary => "sum of two",
            Sum::Swamped => "fused sum, small summands swamped",
            Sum::NotSwamped => "fused sum, small summands not swamped",
            Sum::Undetermined => {
                "one sum, or several without rounding; not known whether small summands are swamped"
            }
        }
    }
}

/// A summation tree over products 0…K-1 and the accumulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Product k, or the accumulator where k = K.
    Leaf(usize),
    /// A sum.
    Node {
        /// How.
        sum: Sum,
        /// Of what.
        children: Vec<Tree>,
    },
}

impl Tree {
    /// Leaves below, itself included.
    pub fn leaves(&self) -> usize {
        match self {
            Tree::Leaf(_) => 1,
            Tree::Node { children, .. } => children.iter().map(Tree::leaves).sum(),
        }
    }

    /// Sums from the deepest leaf to the root.
    pub fn depth(&self) -> usize {
        match self {
            Tree::Leaf(_) => 0,
            Tree::Node { children, .. } => 1 + children.iter().map(Tree::depth).max().unwrap_or(0),
        }
    }

    /// The tree in lines, a node above its summands; `k` is the accumulator's leaf.
    pub fn to_text(&self, k: usize) -> String {
        let mut text = String::new();
        self.write(k, 0, &mut text);
        text
    }

    fn write(&self, k: usize, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        match self {
            Tree::Leaf(leaf) => text.push_str(&format!("{indent}{}\n", leaves(&[*leaf], k))),
            Tree::Node { sum, children } => {
                let own: Vec<usize> = children
                    .iter()
                    .filter_map(|child| match child {
                        Tree::Leaf(leaf) => Some(*leaf),
                        Tree::Node { .. } => None,
                    })
                    .collect();
                text.push_str(&format!(
                    "{indent}{} of {}: {}\n",
                    sum.text(),
                    children.len(),
                    leaves(&own, k)
                ));
                for child in children.iter().filter(|child| matches!(child, Tree::Node { .. })) {
                    child.write(k, depth + 1, text);
                }
            }
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(usize::MAX))
    }
}

/// Leaves as ranges: `c, p0…p7, p12`.
fn leaves(of: &[usize], k: usize) -> String {
    let mut sorted: Vec<usize> = of.to_vec();
    sorted.sort_unstable();
    let accumulator = sorted.contains(&k).then(|| "c".to_owned());
    sorted.retain(|&leaf| leaf != k);
    let runs = sorted.chunk_by(|one, next| one + 1 == *next).map(|run| match (run.first(), run.last()) {
        (Some(first), Some(last)) if last - first > 1 => format!("p{first}…p{last}"),
        (Some(first), Some(last)) if last > first => format!("p{first}, p{last}"),
        _ => format!("p{}", run[0]),
    });
    let all: Vec<String> = accumulator.into_iter().chain(runs).collect();
    if all.is_empty() { "the sums below".to_owned() } else { all.join(", ") }
}
