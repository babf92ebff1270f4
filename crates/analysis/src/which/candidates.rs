//! Every model that takes the operands, in every order that is tried.

use bitmma_engine::arithmetic::{Conversion, InputFlush, Lowering, Model, Operation};
use bitmma_engine::catalogue::{Instruction, catalogue};
use bitmma_engine::formats::{F32, F64, Format, Overflow};
use bitmma_engine::gemm::schedule::{Chain, Factors, MergeOrder, MergeType, Schedule, Sums};
use bitmma_engine::gemm::{LibraryCall, OutputConversion, Target};
use bitmma_engine::{GemmOptions, Matrix, Revision};

use super::order::Order;
use super::{Observed, reads_as};
use crate::error::Error;
use crate::scheme::Scheme;
use crate::subject::essence;

/// Parts that K is split into, at most.
pub const MOST_SPLIT: usize = 16;
/// Elements of K after which an accumulator is moved to an FP32 sum.
pub const PROMOTIONS: [usize; 5] = [32, 64, 128, 256, 512];

/// A model with the instructions that compute so.
pub(super) struct Subject {
    /// None: sums of threads that no model describes.
    pub(super) model: Option<Model>,
    pub(super) k: usize,
    pub(super) rows: Vec<&'static Instruction>,
    pub(super) threads: bool,
    /// One for each number of elements that the instructions take at a time.
    targets: Vec<Target>,
}

/// A model in an order.
pub(super) struct Entrant {
    /// Its place among the subjects.
    pub(super) subject: usize,
    pub(super) order: Order,
    pub(super) scheme: Scheme,
}

/// The models that take the operands, and FP32 (or FP64) fused multiply-adds of ordinary threads.
pub(super) fn subjects(observed: &Observed<'_>, revision: Revision) -> Vec<Subject> {
    let mut all: Vec<Subject> = vec![];
    for row in catalogue() {
        let Some(model) = row.model(revision).filter(|model| takes(observed, model)) else { continue };
        let k = row.products();
        let plain = reduced(&model, k, observed.c.is_some());
        let place = place_of(&mut all, plain, k);
        let known = &mut all[place];
        known.rows.push(row);
        if !known.targets.iter().any(|target| target.step() == k)
            && let Ok(target) = Target::of_model(model, Some(k))
        {
            known.targets.push(target);
        }
    }
    if let Some(target) = fused_multiply_add(observed) {
        let plain = reduced(target.model(), 1, observed.c.is_some());
        let place = place_of(&mut all, plain, 1);
        all[place].threads = true;
        all[place].targets.push(target);
    }
    all
}

/// Where a model is among the subjects; at their end if it is new.
fn place_of(all: &mut Vec<Subject>, model: Model, k: usize) -> usize {
    let known = all.iter().position(|known| known.model.as_ref() == Some(&model));
    known.unwrap_or_else(|| {
        all.push(Subject { model: Some(model), k, rows: vec![], threads: false, targets: vec![] });
        all.len() - 1
    })
}

/// Whether a model takes the operands; its result may be converted to D's format.
fn takes(observed: &Observed<'_>, model: &Model) -> bool {
    let format = |matrix: &Matrix| matrix.format();
    let (blocks, k) = (observed.a.blocks(), observed.a.columns());
    let scales = match (model.scale, observed.scale_a, observed.scale_b) {
        (None, None, None) => true,
        (Some(scale), Some(a), Some(b)) => {
            let along = k.div_ceil(scale.size);
            let is_scale = |matrix: &Matrix, given: usize| format(matrix) == scale.format && given == along;
            is_scale(a, a.columns()) && is_scale(b, b.rows())
        }
        _ => false,
    };
    blocks > 0
        && scales
        && reads_as(format(observed.a), model.a)
        && reads_as(format(observed.b), model.b)
        && observed.c.is_none_or(|c| c.format() == model.c)
}

/// The model in the words that those share which compute alike: without a C it is as wide as D.
pub(super) fn reduced(model: &Model, k: usize, has_c: bool) -> Model {
    let mut plain = essence(model, k);
    let holds =
        plain.c.fraction_bits <= plain.d.fraction_bits && plain.c.max_exponent() <= plain.d.max_exponent();
    if !has_c && holds && plain.d == plain.conversion.container() {
        let mut narrow = plain.clone();
        narrow.c = plain.d;
        // of +0; every later step starts from a D
        narrow.lowering.widen_accumulator = None;
        if is_one_chain(&narrow) && (plain.c != plain.d || plain.lowering.widen_accumulator.is_none()) {
            plain = narrow;
        }
    }
    plain
}

/// Whether nothing happens between two steps along K that does not happen between two operations of one step.
pub(super) fn is_one_chain(model: &Model) -> bool {
    let Lowering { widen_operands, .. } = model.lowering;
    model.lowering == (Lowering { widen_operands, ..Lowering::NONE })
        && model.flush_accumulator == InputFlush::Never
}

/// What threads without a matrix unit compute: products and sums in one rounding, in FP32, or FP64 where A is FP64.
fn fused_multiply_add(observed: &Observed<'_>) -> Option<Target> {
    let (a, b) = (observed.a.format(), observed.b.format());
    if observed.scale_a.is_some() || observed.scale_b.is_some() {
        return None;
    }
    let wide = if a == F64 || b == F64 { F64 } else { F32 };
    let conversion = Conversion::new(bitmma_engine::formats::Rounding::NearestEven, wide);
    let mut model = Model::new(a, b, wide, Operation::Fma, conversion);
    model.lowering.widen_operands = (a != wide || b != wide).then_some(wide);
    let takes_c = observed.c.is_none_or(|c| c.format() == wide);
    Target::of_model(model, Some(1)).ok().filter(|_| takes_c)
}

/// Every model in every order, plain chains first; calls stand with the model that they run.
pub(super) fn entrants(
    observed: &Observed<'_>,
    subjects: &[Subject],
    calls: Vec<LibraryCall>,
) -> Result<Vec<Entrant>, Error> {
    let mut all: Vec<Entrant> = vec![];
    for (index, subject) in subjects.iter().enumerate() {
        let first = all.len();
        let plain = subject.model.as_ref().is_some_and(is_one_chain);
        for target in &subject.targets {
            for (order, scheme) in along(observed, target) {
                // the same order of an instruction with another K is the same, where steps are nothing but operations
                let alike = |known: &Entrant| {
                    let step = known.scheme.target.as_ref().map(Target::step);
                    known.scheme.schedule == scheme.schedule && (step == Some(target.step()) || plain)
                };
                if !all[first..].iter().any(alike) {
                    all.push(Entrant { subject: index, order, scheme });
                }
            }
        }
    }
    for call in calls {
        let model = call.target.as_ref().map(|target| reduced(target.model(), target.step(), false));
        let place = subjects.iter().position(|known| match &model {
            Some(model) => known.model.as_ref() == Some(model),
            None => known.threads,
        });
        let Some(subject) = place else { continue };
        let (a, b) = (observed.a.format(), observed.b.format());
        let scheme = Scheme { target: call.target, schedule: call.schedule, a, b };
        let known = all.iter().any(|known| {
            known.subject == subject
                && same_but_zeros(&known.scheme.schedule, &scheme.schedule)
                && known.scheme.schedule.factors == scheme.schedule.factors
        });
        if !known {
            all.push(Entrant { subject, order: Order::of_call(call.name), scheme });
        }
    }
    // the simplest of every model first
    all.sort_by_key(|Entrant { order, .. }| {
        let Order { split_k, promote_every, c_last, saturate, .. } = *order;
        let parts = usize::from(split_k > Some(1)) + usize::from(promote_every.is_some());
        (order.call.is_some(), parts, c_last, saturate, split_k)
    });
    Ok(all)
}

/// Whether two orders differ in the sign of zeros and the code of NaN at most.
pub(super) fn same_but_zeros(one: &Schedule, other: &Schedule) -> bool {
    let conversion = |schedule: &Schedule| schedule.output.map(|output| (output.conversion, output.overflow));
    let scaled = |schedule: &Schedule| matches!(schedule.factors, Factors::Linear { .. });
    let to = |schedule: &Schedule| conversion(schedule).filter(|(to, _)| to.container() != schedule.working);
    let same_sums = match (in_turn(one), in_turn(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.sums == other.sums && one.merge == other.merge,
        _ => false,
    };
    same_sums
        && one.scale_blocks == other.scale_blocks
        && (scaled(one), to(one)) == (scaled(other), to(other))
}

/// The chains whose results are added one after the other, from +0 or from the first; `None` where more is done.
fn in_turn(schedule: &Schedule) -> Option<Vec<&Chain>> {
    let Sums::Chains { parts, promoted } = &schedule.sums else { return None };
    let is_wide = schedule.output.is_none_or(|output| output.conversion.container() == schedule.working);
    let in_working = schedule.merge.kind == MergeType::F32 || is_wide;
    let chains = || Some(parts.iter().flatten().flatten().collect());
    match (parts.len(), promoted) {
        (1, _) if parts[0].len() == 1 => chains(),
        (_, false) if parts.iter().all(|part| part.len() == 1) => {
            (schedule.merge.order != MergeOrder::Pairwise && in_working).then(chains)?
        }
        _ => None,
    }
}

/// The orders of one instruction.
fn along(observed: &Observed<'_>, target: &Target) -> Vec<(Order, Scheme)> {
    let model = target.model();
    let mut shapes = observed.shapes();
    (shapes.a.0, shapes.b.0) = (model.a, model.b);
    let k = observed.a.columns();
    let d = observed.d.format();
    let output = (d != model.d).then_some(d);
    let saturates: &[bool] =
        if output.is_some_and(|format: Format| format.bits() <= 8) { &[false, true] } else { &[false] };
    let mut all = vec![];
    let mut parts = 0;
    for split_k in 1..=MOST_SPLIT {
        if target.parts(k, split_k) == parts {
            break; // there are no more steps
        }
        parts = target.parts(k, split_k);
        let longest = k.div_ceil(target.step()).div_ceil(parts.max(1)) * target.step();
        let promotions =
            PROMOTIONS.into_iter().filter(|every| *every < longest && every.is_multiple_of(target.step()));
        for promote_every in std::iter::once(None).chain(promotions.map(Some)) {
            for c_last in if observed.c.is_some() && split_k == 1 { &[false, true][..] } else { &[false] } {
                for &saturate in saturates {
                    let overflow = if saturate { Overflow::Saturate } else { Overflow::Ieee };
                    let options = GemmOptions {
                        split_k: Some(split_k),
                        promote_every,
                        c_last: *c_last,
                        output: output.map(|format| OutputConversion::new(format, None, Some(overflow))),
                        ..GemmOptions::default()
                    };
                    let Ok(schedule) = Schedule::new(target, &shapes, &options) else { continue };
                    let order = Order {
                        k_step: Some(target.step()),
                        split_k: Some(split_k),
                        promote_every,
                        c_last: Some(*c_last),
                        output: output.map(|format| format.name),
                        saturate: Some(saturate),
                        call: None,
                    };
                    let scheme = Scheme { target: Some(target.clone()), schedule, a: model.a, b: model.b };
                    all.push((order, scheme));
                }
            }
        }
    }
    all
}
