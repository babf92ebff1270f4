//! What the tests of the probe share: hidden models, and whether two units answer alike.

pub(crate) mod edges;

use bitmma_engine::arithmetic::{
    Conversion, FusedSum, InputFlush, Lowering, Operation, Order, Prepared, RoundedSum,
};
use bitmma_engine::formats::{
    BF16, BlockScale, E2M1, E2M3, E3M2, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ, E8M13, F16, F32, Format, Rounding,
    TF32, UE4M3, UE8M0,
};
use bitmma_engine::{Case, MmaUnit, Model, Simulator};
use bitmma_verify::inputs::{Family, case};

/// Whether everything is to be tested.
pub(crate) fn all() -> bool {
    std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all")
}

/// The seeds to draw models from: those of `BITMMA_SEEDS` (`100..200`) where it is set, else `all` of them with
/// `BITMMA_TESTS=all` and `few` without.
pub(crate) fn seeds(few: &[u64], all: std::ops::Range<u64>) -> Vec<u64> {
    let chosen = std::env::var("BITMMA_SEEDS").ok();
    match chosen.as_deref().and_then(|range| range.split_once("..")) {
        Some((first, last)) => (first.parse().unwrap()..last.parse().unwrap()).collect(),
        None if self::all() => all.collect(),
        None => few.to_vec(),
    }
}

/// Whether a name holds one of the texts of `BITMMA_ROWS` (`hopper/mma,ada/`), or that is not set.
pub(crate) fn chosen(name: &str) -> bool {
    match std::env::var("BITMMA_ROWS") {
        Ok(texts) => texts.split(',').any(|text| name.contains(text)),
        Err(_) => true,
    }
}

/// SplitMix64, written apart from the crate's own.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    pub(crate) fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as usize) as i32
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn rounding(&mut self) -> Rounding {
        let at = self.below(10);
        Rounding::ALL[at].0
    }
}

/// A model nobody has seen, with its K: any family, any parameters.
pub(crate) fn hidden(seed: u64) -> (Model, usize) {
    let mut draw = Draw(seed.wrapping_mul(0x1234_5678_9abc_def1));
    loop {
        if let Some((model, k)) = try_hidden(&mut draw)
            && Prepared::new(&model, k).is_ok()
        {
            return (model, k);
        }
    }
}

fn try_hidden(draw: &mut Draw) -> Option<(Model, usize)> {
    let family = draw.one(&["T", "T", "T", "T", "ST", "GST", "TR", "GTR", "E", "FTZ", "FMA"]);
    let narrow = [E4M3, E5M2, E3M2, E2M3, E2M1, E4M3FNUZ, E5M2FNUZ];
    let (a, b) = match family {
        "ST" | "GST" => (draw.one(&narrow[..5]), draw.one(&narrow[..5])),
        _ if draw.chance(35) => (draw.one(&narrow), draw.one(&narrow)),
        _ => {
            let format = draw.one(&[F16, BF16, TF32, F32]);
            (format, format)
        }
    };
    let k: usize = if a.bits() <= 8 { draw.one(&[16, 32, 64]) } else { draw.one(&[4, 8, 16, 32]) };
    let lengths: Vec<usize> = (1..=k).filter(|length| k.is_multiple_of(*length)).collect();
    let length = draw.one(&lengths);
    let fused = FusedSum {
        max_length: length,
        fraction_bits: draw.between(8, 40) as u32,
        term_rounding: draw.rounding(),
        zero_exponent: if draw.chance(40) { None } else { Some(draw.between(-140, 20)) },
        accumulator_fraction_bits: None,
    };
    let rounded = RoundedSum {
        max_length: length,
        fraction_bits: fused.fraction_bits,
        sum_fraction_bits: draw.between(8, 40) as u32,
        term_rounding: fused.term_rounding,
        sum_rounding: draw.rounding(),
        renormalize: draw.chance(50),
        zero_accumulator_exponent: fused.zero_exponent,
        product_overflow: if draw.chance(50) { None } else { Some(draw.between(100, 130)) },
    };
    let groups: Vec<usize> = (1..=length).filter(|group| length.is_multiple_of(*group)).collect();
    let operation = match family {
        "T" => Operation::TFdpa(fused),
        "ST" => Operation::StFdpa(fused),
        "GST" => Operation::GstFdpa { sum: fused, group: draw.one(&groups) },
        "TR" => Operation::TrFdpa(rounded),
        "GTR" => Operation::GtrFdpa(rounded),
        "E" => Operation::EFdpa { max_length: length },
        "FTZ" => Operation::FtzAddMul { pairing: length },
        _ => Operation::Fma,
    };
    let scale = match family {
        "ST" => Some(BlockScale { format: UE8M0, size: draw.one(&[16, 32]) }),
        "GST" => Some(BlockScale { format: draw.one(&[UE8M0, UE4M3]), size: draw.one(&[16, 32]) }),
        _ => None,
    };
    let inner = draw.one(&[F32, F32, F32, E8M13, F16]);
    let conversion = Conversion::new(draw.rounding(), inner);
    let mut lowering = Lowering::NONE;
    if scale.is_none() {
        if draw.chance(40) {
            lowering.order = match draw.below(3) {
                0 => Order::Reversed,
                _ => {
                    let periods: Vec<usize> =
                        lengths.iter().copied().filter(|period| *period > 1 && *period < k).collect();
                    let period = *periods.get(draw.below(periods.len().max(1)))?;
                    let runs: Vec<usize> = (1..period).filter(|run| period.is_multiple_of(*run)).collect();
                    Order::Interleaved { run: draw.one(&runs), period }
                }
            };
        }
        if draw.chance(15) {
            lowering.add_accumulator_last = Some(Conversion::new(draw.rounding(), inner));
        }
        if draw.chance(15) && inner != F16 {
            lowering.narrow_output = Some(Conversion::new(draw.rounding(), F16));
        }
        if draw.chance(10) {
            lowering.widen_operands = Some(draw.one(&[F16, F32]));
        }
    }
    let last = lowering.narrow_output.or(lowering.add_accumulator_last).unwrap_or(conversion);
    let d: Format = last.container();
    let c = if matches!(operation, Operation::FtzAddMul { .. }) {
        conversion.container()
    } else {
        draw.one(&[F32, F32, F16, d])
    };
    let flush = if draw.chance(25) { InputFlush::Positive } else { InputFlush::Never };
    let nan_code = if draw.chance(50) { d.nan_code() } else { None };
    Some((
        Model {
            a,
            b,
            c,
            d,
            scale,
            operation,
            conversion,
            flush_operands: flush,
            flush_accumulator: flush,
            nan_code,
            lowering,
        },
        k,
    ))
}

/// The first case on which the unit answers otherwise than the model, bit for bit, of many of all families.
pub(crate) fn first_difference(
    unit: &dyn MmaUnit,
    model: &Model,
    each: u64,
    seed: u64,
) -> Option<(Case, u64, u64)> {
    let signature = unit.signature();
    let other = Simulator::model(model.clone(), (signature.m, signature.n, signature.k)).unwrap();
    for family in Family::ALL {
        let cases: Vec<Case> =
            (0..each).map(|index| case(signature, signature.k, family, seed, index)).collect();
        let (one, two) = (unit.dot_products(&cases).unwrap(), other.dot_products(&cases).unwrap());
        if let Some(at) = (0..cases.len()).find(|&at| one[at] != two[at]) {
            return Some((cases[at].clone(), one[at], two[at]));
        }
    }
    None
}
