//! Every call of a library that has a recipe, for operands of some formats and one shape.

use std::collections::HashMap;

use bitmma_engine::Architecture;
use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format};
use bitmma_engine::gemm::schedule::Schedule;
use bitmma_engine::gemm::{LibraryCall, Shapes, Target};

use crate::call::Scales;
use crate::cublaslt::{Assume, Capability, Config, Query, plan};
use crate::error::Error;
use crate::execute::scheduled;
use crate::plan::Plan;

/// Parts that K is split into, at most.
pub const MOST_SPLIT: i64 = 16;
/// CUSTOM_OPTIONs of matrix times vector, at most.
const MOST_CUSTOM: i64 = 110;

/// Those that compute A·B of these operands, each arithmetic once; none where there is a C or scale factors, or where calls of
/// these formats are not known.
pub fn proposals(operands: &Shapes, out: Format) -> Vec<LibraryCall> {
    let ((a, (blocks, m, k)), (b, (_, _, n))) = (operands.a, operands.b);
    let is_fp8 = [a, b].iter().all(|format| [E4M3, E5M2].contains(format));
    let is_half = a == b && [F16, BF16].contains(&a);
    let plain = blocks == 1 && operands.c.is_none() && operands.scale_a.is_none();
    if !plain || k == 0 || !(is_fp8 || is_half) || ![F32, BF16, F16, E4M3, E5M2].contains(&out) {
        return vec![];
    }
    let mut targets = Targets::default();
    let mut all: Vec<(Plan, LibraryCall)> = vec![];
    for capability in Capability::ALL {
        for fast in if is_fp8 { &[false, true][..] } else { &[false] } {
            let version = "13.1.1".to_owned();
            let query = Query {
                capability,
                version,
                multiprocessors: Some(132),
                shape: (m, n, k),
                a,
                b,
                out,
                fast: *fast,
            };
            let configs = if is_fp8 { fp8(capability, *fast) } else { half(capability, a, m == 1 || n == 1) };
            for config in configs {
                let assume = Assume { version: true, empty_parts: true, ..Assume::default() };
                let Ok(planned) = plan(&query, &config, assume) else { continue };
                let Ok((target, schedule)) = targets.schedule(&planned.plan, (k, out)) else { continue };
                let same = |(known, call): &(Plan, LibraryCall)| {
                    call.schedule == schedule
                        && known.instruction == planned.plan.instruction
                        && known.arch == planned.plan.arch
                };
                if all.iter().any(same) {
                    continue;
                }
                let name = format!("{} cuBLASLt: {config}", capability.name());
                let architecture = planned.plan.arch;
                all.push((planned.plan, LibraryCall { name, architecture, target, schedule }));
            }
        }
    }
    all.into_iter().map(|(_, call)| call).collect()
}

/// Instructions that were looked up.
#[derive(Default)]
struct Targets(HashMap<(Architecture, Option<String>), Option<Target>>);

impl Targets {
    fn schedule(
        &mut self,
        plan: &Plan,
        (k, out): (usize, Format),
    ) -> Result<(Option<Target>, Schedule), Error> {
        let key = (plan.arch, plan.instruction.clone());
        let target = match self.0.get(&key) {
            Some(target) => target.clone(),
            None => self.0.entry(key).or_insert(plan.target()?).clone(),
        };
        let schedule = scheduled(plan, target.as_ref(), (k, Scales::ONE, out))?;
        Ok((target, schedule))
    }
}

/// A configuration; fields of zero, and one part, are left out.
fn config(id: i64, splitk: i64, reduction: i64, custom: i64, stages: i64) -> Config {
    let [reduction, custom, stages] =
        [reduction, custom, stages].map(|value| Some(value).filter(|value| *value != 0));
    Config {
        id: Some(id),
        splitk: Some(splitk).filter(|parts| *parts > 1),
        reduction,
        custom,
        stages,
        ..Config::default()
    }
}

/// Parts of K, and with several the schemes by which they are reduced.
fn splits(schemes: &[i64]) -> Vec<(i64, i64)> {
    let several = (2..=MOST_SPLIT).flat_map(|parts| schemes.iter().map(move |scheme| (parts, *scheme)));
    std::iter::once((1, 0)).chain(several).collect()
}

/// Kernels for FP8.
fn fp8(capability: Capability, fast: bool) -> Vec<Config> {
    let of_splits = splits(&[2]);
    match capability {
        Capability::Sm89 => {
            let id = if fast { 60 } else { 35 };
            let orders = |(parts, scheme)| [0, 1].map(|custom| config(id, parts, scheme, custom, 15));
            of_splits.into_iter().flat_map(orders).collect()
        }
        _ => of_splits.into_iter().map(|(parts, scheme)| config(66, parts, scheme, 0, 36)).collect(),
    }
}

/// Kernels for FP16 and BF16.
fn half(capability: Capability, format: Format, is_vector: bool) -> Vec<Config> {
    let mut all = vec![];
    let schemes = [0, 2, 4];
    if matches!(capability, Capability::Sm90 | Capability::Sm100 | Capability::Sm103) {
        for stages in [35, 36] {
            all.extend(splits(&[2]).into_iter().map(|(parts, scheme)| config(66, parts, scheme, 0, stages)));
        }
        // elements of K in a block: 32, 64, 128, and 32 with dot products of 8
        for stages in [7, 13, 19, 0] {
            all.extend(
                splits(&schemes).into_iter().map(|(parts, scheme)| config(21, parts, scheme, 0, stages)),
            );
        }
        all.extend([config(11, 1, 0, 0, 0), config(11, 1, 0, 1, 0), config(16, 1, 0, 0, 0)]);
        if is_vector {
            all.extend((0..=MOST_CUSTOM).map(|custom| config(13, 1, 0, custom, 0)));
            all.push(config(14, 1, 0, 0, 0));
        }
    }
    if format == BF16 {
        for kernel in ["", "sliced1x2"] {
            let named = |(parts, scheme)| Config {
                kernel: Some(kernel.to_owned()),
                ..config(1, parts, scheme, 0, 0)
            };
            all.extend(splits(&schemes).into_iter().map(named));
        }
    }
    all
}
