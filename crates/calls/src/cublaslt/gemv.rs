//! Kernels of ordinary threads, by ALGO_ID and CUSTOM_OPTION (rules 31 to 33).

use super::config::{Capability, Config, Query};
use super::recipe::host;
use crate::error::{Error, measured};
use crate::plan::{Evidence, Fold, Plan, Simt, SimtFamily};

/// ALGO_ID 13 by CUSTOM_OPTION: (V, W, CC, whether lanes fold by halves). Options that follow from sm_100 by the
/// rule that sm_90 differs in 0, 7 and 8 alone are of sm_90 as well; sm_103 differs in 8.
fn recipe(capability: Capability, custom: i64) -> Option<(i64, usize, usize, bool)> {
    let hopper = capability == Capability::Sm90;
    Some(match custom {
        0 if hopper => (1, 1, 512, false),
        7 if hopper => (1, 1, 256, false),
        8 if hopper || capability == Capability::Sm103 => (1, 1, 256, false),
        0 | 6 | 7 | 8 | 84 => (1, 1, 0, false),
        10 => (4, 32, 0, true),
        11 => (1, 16, 32, false),
        12..=14 => (1, 16, 16, false),
        68 | 72 | 74 | 89 | 92 | 96 | 100 | 101 | 102 | 106 | 110 if !hopper => return None,
        48 | 56 | 62 | 102 => (-64, 2, 0, true),
        40 | 50 | 58 | 68 | 86 | 96 | 110 => (-64, 4, 0, true),
        42 | 52 | 60 | 66 | 98 | 106 => (-64, 8, 0, true),
        44 | 54 | 72 | 90 | 100 => (-64, 16, 0, true),
        36 | 46 | 74 | 82 | 92 => (-64, 32, 0, true),
        49 | 57 | 63 | 95 => (1, 2, 0, true),
        41 | 51 | 59 | 65 | 69 => (1, 4, 0, true),
        43 | 53 | 61 | 67 | 89 => (1, 8, 0, true),
        35 | 45 | 55 | 81 | 91 | 101 => (1, 16, 0, true),
        37 | 47 | 75 | 83 | 93 => (1, 32, 0, true),
        _ => return None,
    })
}

/// ALGO_ID 11, 13, 14 and 16.
pub(super) fn simt(query: &Query, config: &Config, id: i64) -> Result<Plan, Error> {
    measured(
        matches!(query.capability, Capability::Sm90 | Capability::Sm100 | Capability::Sm103),
        format_args!("ALGO_ID {id} has no recipe on {}", query.capability.name()),
    )?;
    measured(!query.is_fp8(), format_args!("FP8 on a CUDA-core kernel was never measured"))?;
    measured(
        config.reduction.unwrap_or(0) == 0,
        format_args!("REDUCTION_SCHEME other than 0 with ALGO_ID {id}"),
    )?;
    let (custom, parts) = (config.custom.unwrap_or(0), config.splitk.unwrap_or(1) as usize);
    let (m, n, _) = query.shape;
    let unknown =
        || Error::declined(format!("CUSTOM_OPTION {custom} of ALGO_ID {id} on {}", query.capability.name()));
    let vector = m == 1 || n == 1;
    if matches!(id, 13 | 14) && !vector {
        return Err(Error::declined(format!("ALGO_ID {id} for M = {m} and N = {n}; one of both is 1")));
    }
    if matches!(id, 11 | 16) && parts != 1 {
        return Err(Error::declined(format!("SPLITK_NUM {parts} with ALGO_ID {id}; 1 was measured")));
    }
    let base = Simt::default();
    let simt = match (id, custom) {
        (11, 0) => Simt { threads: 2, block: 256, ..base },
        (11, 1) => Simt { threads: 4, block: 128, ..base },
        (16, 0) => base,
        (13, 5) if parts == 1 && m == 1 => {
            Simt { family: SimtFamily::GemvSlices, lanes: 32, block: 16, fold: Fold::InOrder, ..base }
        }
        (13, 5) => {
            return Err(Error::declined(format!(
                "CUSTOM_OPTION 5 of ALGO_ID 13 with SPLITK_NUM {parts} and M = {m}; 1 and M = 1 were measured"
            )));
        }
        (13, _) => {
            let (vector, lanes, tiles, down) = recipe(query.capability, custom).ok_or_else(unknown)?;
            if custom == 10 {
                let Some(count) = query.multiprocessors else {
                    return Err(Error::declined(
                        "CUSTOM_OPTION 10 of ALGO_ID 13 needs the number of multiprocessors",
                    ));
                };
                let most = count * 2048 / 32;
                if m.max(n) > most {
                    return Err(Error::declined(format!(
                        "CUSTOM_OPTION 10 of ALGO_ID 13 for {} outputs; up to {most} were measured",
                        m.max(n)
                    )));
                }
            }
            let fold = if down { Fold::Halves } else { Fold::InOrder };
            Simt { family: SimtFamily::Gemv, vector, lanes, tiles, fold, slices: parts, ..base }
        }
        (14, 0) => {
            let vector = if n == 1 { 2 } else { 1 };
            Simt { family: SimtFamily::Dot, vector, slices: parts, ..base }
        }
        _ => return Err(unknown()),
    };
    let mut plan = Plan::chain(query.capability.architecture(), "");
    plan.instruction = None;
    plan.simt = Some(simt);
    plan.epilogue = host();
    plan.evidence = Evidence::Measured;
    Ok(plan)
}
