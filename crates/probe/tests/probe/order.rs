//! The order of sums of FP4 and FP6 products: told as far as it shows, and what does not show said.

use bitmma_engine::arithmetic::{Conversion, FusedSum, Lowering, Operation, Order};
use bitmma_engine::formats::{BlockScale, E2M1, E2M3, F32, UE4M3, UE8M0};
use bitmma_engine::{Model, Simulator};
use bitmma_probe::summation_order;
use bitmma_probe::tree::{Sum, Tree};

fn sum(length: usize, fraction_bits: u32) -> FusedSum {
    FusedSum::new(length, fraction_bits)
}

fn found(model: &Model, k: usize) -> bitmma_probe::Order {
    let unit = Simulator::model(model.clone(), (4, 4, k)).unwrap();
    summation_order(&unit).unwrap()
}

/// The accumulator and these groups of products, one after the other.
fn chain(k: usize, groups: &[Vec<usize>], of_many: Sum) -> Tree {
    groups.iter().fold(Tree::Leaf(k), |tree, group| {
        let sum = if group.len() == 1 { Sum::Binary } else { of_many };
        let leaves = group.iter().map(|&leaf| Tree::Leaf(leaf));
        Tree::Node { sum, children: std::iter::once(tree).chain(leaves).collect() }
    })
}

fn plain(operation: Operation, conversion: Conversion, order: Order) -> Model {
    let lowering = Lowering { order, ..Lowering::NONE };
    Model { lowering, ..Model::new(E2M1, E2M3, F32, operation, conversion) }
}

#[test]
fn chains_of_fused_sums() {
    let quarters: Vec<Vec<usize>> = (0..4).map(|step| (8 * step..8 * step + 8).collect()).collect();
    for conversion in [Conversion::RZ_FP32, Conversion::RNE_FP32, Conversion::RZ_E8M13] {
        let model = plain(Operation::TFdpa(sum(8, 25)), conversion, Order::Sequential);
        let order = found(&model, 32);
        assert_eq!(
            order.tree,
            Some(chain(32, &quarters, Sum::Undetermined)),
            "{conversion}: {:?}",
            order.notes
        );
    }
    let interleaved = Order::Interleaved { run: 2, period: 4 };
    let model = plain(Operation::EFdpa { max_length: 8 }, Conversion::RNE_FP32, interleaved);
    let groups = [0, 2].map(|first| (0..16).filter(|index| index % 4 / 2 == first / 2).collect::<Vec<_>>());
    assert_eq!(found(&model, 16).tree, Some(chain(16, &groups, Sum::Undetermined)));
}

#[test]
fn chains_of_single_products() {
    let model = plain(Operation::Fma, Conversion::RNE_FP32, Order::Reversed);
    let groups: Vec<Vec<usize>> = (0..16).rev().map(|leaf| vec![leaf]).collect();
    assert_eq!(found(&model, 16).tree, Some(chain(16, &groups, Sum::Binary)));
}

/// Scale factors swamp, where one sum takes several blocks.
#[test]
fn scale_factors_swamp() {
    for (format, size, operation, of_many) in [
        (UE8M0, 16, Operation::StFdpa(sum(64, 25)), Sum::Swamped),
        (UE4M3, 16, Operation::GstFdpa { sum: sum(64, 8), group: 16 }, Sum::Undetermined),
        (UE8M0, 32, Operation::StFdpa(sum(32, 25)), Sum::Undetermined),
    ] {
        let model = Model {
            scale: Some(BlockScale { format, size }),
            ..Model::new(E2M1, E2M1, F32, operation, Conversion::RZ_FP32)
        };
        let order = found(&model, 64);
        let length = operation.max_length();
        let groups: Vec<Vec<usize>> =
            (0..64 / length).map(|step| (length * step..length * (step + 1)).collect()).collect();
        let expected = match operation {
            // eight bits cut what the question is made of
            Operation::GstFdpa { .. } => None,
            _ => Some(chain(64, &groups, of_many)),
        };
        assert_eq!(order.tree, expected, "{:?}", order.notes);
    }
}

/// Where terms are cut before half a last place shows, nothing is claimed.
#[test]
fn what_is_cut_is_not_told() {
    let model = plain(Operation::TFdpa(sum(8, 13)), Conversion::RZ_FP32, Order::Sequential);
    let order = found(&model, 32);
    assert_eq!(order.tree, None);
    assert!(order.notes.iter().any(|note| note.contains("cannot be told")), "{:?}", order.notes);
}
