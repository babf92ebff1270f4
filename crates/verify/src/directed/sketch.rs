//! A case written as what is not zero in it.

use std::collections::BTreeMap;

use bitmma_engine::Case;

use crate::inputs::Formats;

/// Up to this K every product is written down, so that one case has one sketch: a sketch of zeros names at most
/// three products, one of equal products leaves at most one of them out.
const SHORT: usize = 8;

/// A dot product of any K. Two sketches for one K are equal where their cases are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sketch {
    /// The codes of A and B at every place that is not named.
    others: (u64, u64),
    /// The codes of A and B at the others, by place.
    products: BTreeMap<usize, (u64, u64)>,
    /// The code of C.
    c: u64,
    /// Scale factors that are not one, by block.
    factors: BTreeMap<usize, (u64, u64)>,
}

impl Sketch {
    /// Every product zero, scale factors one.
    pub(super) fn zeros(c: u64) -> Sketch {
        Sketch { others: (0, 0), products: BTreeMap::new(), c, factors: BTreeMap::new() }
    }

    /// Every one of `k` products the same, scale factors one.
    pub(super) fn alike(k: usize, product: (u64, u64), c: u64) -> Sketch {
        let mut sketch = Sketch::zeros(c);
        if k > SHORT {
            sketch.others = product;
        } else {
            (0..k).for_each(|place| sketch.product(place, product));
        }
        sketch
    }

    /// Sets the codes of A and B at a place.
    pub(super) fn product(&mut self, place: usize, codes: (u64, u64)) {
        set(&mut self.products, place, codes, self.others);
    }

    /// Sets the scale factors of a block, `one` being the code of 1.
    pub(super) fn factors(&mut self, block: usize, codes: (u64, u64), one: u64) {
        set(&mut self.factors, block, codes, (one, one));
    }

    /// Written out for dot products of `k` elements.
    pub(super) fn case(&self, formats: &Formats, k: usize) -> Case {
        let (a, b) = written(k, self.others, &self.products);
        let (scale_a, scale_b) = match formats.scale {
            Some(scale) => {
                let one = scale.format.one_code();
                written(k / scale.size, (one, one), &self.factors)
            }
            None => (Vec::new(), Vec::new()),
        };
        Case { a, b, c: self.c, scale_a, scale_b }
    }
}

/// Names `codes` at a place, unless they are those of the places that are not named.
fn set(named: &mut BTreeMap<usize, (u64, u64)>, place: usize, codes: (u64, u64), others: (u64, u64)) {
    if codes == others {
        named.remove(&place);
    } else {
        named.insert(place, codes);
    }
}

/// `count` codes of each operand.
fn written(count: usize, others: (u64, u64), named: &BTreeMap<usize, (u64, u64)>) -> (Vec<u64>, Vec<u64>) {
    let (mut a, mut b) = (vec![others.0; count], vec![others.1; count]);
    for (&place, &(of_a, of_b)) in named {
        (a[place], b[place]) = (of_a, of_b);
    }
    (a, b)
}
