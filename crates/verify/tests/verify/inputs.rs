//! Random inputs: cases stand where they are said to stand, distributions are what they are called.
#![allow(clippy::float_arithmetic)] // moments of distributions

use bitmma_engine::formats::{self, Format};
use bitmma_engine::{
    Architecture, Error, Matrices, Matrix, MmaUnit, Operands, Revision, Signature, Simulator,
};
use bitmma_verify::inputs::{Family, case, matrices};

/// A unit without a way of its own to answer dot products.
struct Plain(Simulator);

impl MmaUnit for Plain {
    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.0.multiply(operands)
    }
}

const UNITS: [(Architecture, &str); 4] = [
    (Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32"),
    (Architecture::Cdna2, "v_mfma_f32_4x4x4f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
];

fn unit((architecture, name): (Architecture, &str)) -> Simulator {
    Simulator::instruction(architecture, name, Revision::Hardware).expect(name)
}

#[test]
fn dot_products_on_diagonals_are_those_of_the_model() {
    for named in UNITS {
        let (direct, plain) = (unit(named), Plain(unit(named)));
        let k = direct.signature().k;
        for count in [0, 1, 7, 300] {
            let cases: Vec<_> =
                (0..count).map(|index| case(direct.signature(), k, Family::Bits, 3, index)).collect();
            let expected = direct.dot_products(&cases).expect("valid");
            assert_eq!(plain.dot_products(&cases).expect("valid"), expected, "{named:?} {count}");
        }
    }
}

#[test]
fn the_diagonal_of_a_drawn_instruction_holds_whole_cases() {
    for named in UNITS {
        let unit = unit(named);
        let signature = unit.signature();
        for family in Family::ALL {
            let drawn: Matrices = matrices(signature, family, 5, 9).expect("valid");
            signature.check(&drawn.operands()).expect("fits");
            let lines = signature.m.max(signature.n);
            for block in 0..signature.blocks {
                for line in 0..signature.m.min(signature.n) {
                    let index = (9 * signature.blocks * lines + block * lines + line) as u64;
                    let whole = case(signature, signature.k, family, 5, index);
                    assert_eq!(drawn.case(block, line, line), whole, "{named:?} {} {index}", family.name());
                }
            }
        }
    }
}

fn value(format: &Format, code: u64) -> f64 {
    assert_eq!(format.name, "f32");
    f64::from(f32::from_bits(code as u32))
}

/// Mean and variance of 160,000 numbers, within five standard errors of the distribution's.
#[test]
fn distributions_have_their_moments() {
    let signature = unit((Architecture::Ampere, "mma.m16n8k8.f32.tf32.tf32.f32")).signature().clone();
    for (family, variance, fourth) in
        [(Family::Normal, 1.0_f64, 3.0), (Family::Uniform, 1.0 / 3.0, 0.2), (Family::Outliers, 1.1, 33.6)]
    {
        let count = 160_000;
        let drawn: Vec<f64> =
            (0..count).map(|index| value(&formats::F32, case(&signature, 4, family, 11, index).c)).collect();
        let moment = |power: i32| drawn.iter().map(|x| x.powi(power)).sum::<f64>() / count as f64;
        let allowed = 5.0 / (count as f64).sqrt();
        assert!(moment(1).abs() < allowed * variance.sqrt(), "{}: mean {}", family.name(), moment(1));
        let spread = (fourth - variance * variance).sqrt();
        assert!((moment(2) - variance).abs() < allowed * spread, "{}: {}", family.name(), moment(2));
    }
}

/// Literal codes: the same on every platform and in every version, or shards of a campaign do not merge.
#[test]
fn cases_stay_what_they_were() {
    let signature = unit(UNITS[0]).signature().clone();
    let first = |family| {
        let drawn = case(&signature, 2, family, 1, 2);
        [drawn.a[0], drawn.a[1], drawn.b[0], drawn.b[1], drawn.c]
    };
    assert_eq!(first(Family::Bits), [30006, 50775, 4309, 50249, 3997862436]);
    assert_eq!(first(Family::Normal), [15973, 47304, 13677, 10721, 1074410583]);
    assert_eq!(first(Family::Outliers), [13677, 45602, 10721, 46340, 3191623290]);
}
