//! The models: they make sense, and their parameters are those the paper prints and the project's
//! semantics page corrects.

use bitmma_arithmetic::{Conversion, FusedSum, InputFlush, Model, Operation, Order, RoundedSum};
use bitmma_catalogue::Architecture::{
    Ada, Ampere, Blackwell, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Turing, Volta,
};
use bitmma_catalogue::{Architecture, Revision, amd, catalogue, find, nvidia};
use bitmma_formats::{BF16, F16, F32, F64, Rounding};

fn model(architecture: Architecture, name: &str) -> Model {
    revised(architecture, name, Revision::Hardware)
}

fn revised(architecture: Architecture, name: &str, revision: Revision) -> Model {
    find(architecture, name).unwrap().instruction.model(revision).unwrap()
}

fn fused(model: &Model) -> FusedSum {
    match model.operation {
        Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => sum,
        ref other => panic!("{other:?} is no truncated sum"),
    }
}

fn rounded(model: &Model) -> RoundedSum {
    match model.operation {
        Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => sum,
        ref other => panic!("{other:?} is no rounded sum"),
    }
}

#[test]
fn every_model_makes_sense_and_fits_its_row() {
    for row in catalogue() {
        for revision in Revision::ALL {
            let place = format!("{} {row}, revision {revision}", row.architecture);
            let Some(model) = row.model(revision) else {
                assert!(row.unknown.is_some(), "{place}");
                continue;
            };
            assert!(row.unknown.is_none(), "{place}");
            model.validate().unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(row.products() % model.length(row.products()), 0, "{place}");
            if let Order::Interleaved { run, period } = model.lowering.order {
                assert_eq!((row.products() % period, period % run), (0, 0), "{place}");
            }
            assert_eq!((row.a, row.b, row.c, row.d), (model.a, model.b, model.c, model.d), "{place}");
            assert_eq!(row.scale, model.scale, "{place}");
            assert_eq!(row.scale.is_some(), model.operation.is_scaled(), "{place}");
            let output = model.lowering.narrow_output.unwrap_or(model.conversion).container();
            assert_eq!(output, row.d, "{place}");
            // rule 9: T-, ST- and GST-FDPA have canonical NaNs, the others have none specified
            let canonical = match model.operation {
                Operation::TFdpa(_) | Operation::StFdpa(_) | Operation::GstFdpa { .. } => {
                    Some(if row.d == F16 { 0x7FFF } else { 0x7FFF_FFFF })
                }
                // an H100 showed those of what it has in place of m8n8k4
                _ if row.composed_of.as_ref().is_some_and(|parts| parts.part == "FFMA") => {
                    Some(if row.d == F16 { 0x7FFF } else { 0x7FFF_FFFF })
                }
                _ => None,
            };
            assert_eq!(model.nan_code, canonical, "{place}");
            let flush = match model.operation {
                Operation::FtzAddMul { .. } => InputFlush::Positive,
                _ => InputFlush::Never,
            };
            assert_eq!([model.flush_operands, model.flush_accumulator], [flush; 2], "{place}");
        }
    }
}

#[test]
fn table_of_t_and_st_fdpa_is_the_papers() {
    let expected = "\
volta | FP16 | FP32 | 4 | 23 | RZ-FP32
volta | FP16 | FP16 | 4 | 23 | RNE-FP16
turing | FP16 | FP32 | 8 | 24 | RZ-FP32
turing | FP16 | FP16 | 8 | 24 | RNE-FP16
ampere | TF32 | FP32 | 4 | 24 | RZ-FP32
ampere | BF16 | FP32 | 8 | 24 | RZ-FP32
ampere | FP16 | FP32 | 8 | 24 | RZ-FP32
ampere | FP16 | FP16 | 8 | 24 | RNE-FP16
ada | TF32 | FP32 | 4 | 24 | RZ-FP32
ada | BF16 | FP32 | 8 | 24 | RZ-FP32
ada | FP16 | FP32 | 8 | 24 | RZ-FP32
ada | FP16 | FP16 | 8 | 24 | RNE-FP16
ada | FP8 | FP32 | 16 | 13 | RZ-E8M13
ada | FP8 | FP16 | 16 | 13 | RNE-FP16
hopper | TF32 | FP32 | 8 | 25 | RZ-FP32
hopper | BF16 | FP32 | 16 | 25 | RZ-FP32
hopper | FP16 | FP32 | 16 | 25 | RZ-FP32
hopper | FP16 | FP16 | 16 | 25 | RNE-FP16
hopper | FP8 | FP32 | 32 | 13 | RZ-E8M13
hopper | FP8 | FP16 | 32 | 13 | RNE-FP16
blackwell | TF32 | FP32 | 8 | 25 | RZ-FP32
blackwell | BF16 | FP32 | 16 | 25 | RZ-FP32
blackwell | FP16 | FP32 | 16 | 25 | RZ-FP32
blackwell | FP16 | FP16 | 16 | 25 | RNE-FP16
blackwell | FP8/6/4 | FP32 | 32 | 25 | RZ-FP32
blackwell | FP8/6/4 | FP16 | 32 | 25 | RNE-FP16
blackwell | MXFP8/6/4 | FP32 | 32 | 25 | RZ-FP32
rtx-blackwell | TF32 | FP32 | 8 | 25 | RZ-FP32
rtx-blackwell | BF16 | FP32 | 16 | 25 | RZ-FP32
rtx-blackwell | FP16 | FP32 | 16 | 25 | RZ-FP32
rtx-blackwell | FP16 | FP16 | 16 | 25 | RNE-FP16
rtx-blackwell | FP8/6/4 | FP32 | 32 | 25 | RZ-FP32
rtx-blackwell | FP8/6/4 | FP16 | 32 | 25 | RNE-FP16
rtx-blackwell | MXFP8/6/4 | FP32 | 32 | 25 | RZ-FP32";
    let ours: Vec<_> = nvidia::parameters::FUSED.iter().map(ToString::to_string).collect();
    assert_eq!(ours, expected.lines().collect::<Vec<_>>());
}

#[test]
fn table_of_gst_fdpa_is_the_papers() {
    let ours: Vec<_> = nvidia::parameters::GROUPED.iter().map(ToString::to_string).collect();
    assert_eq!(
        ours,
        [
            "blackwell | MXFP4/NVFP4 | 64 | 16 | 35 | RZ-FP32",
            "rtx-blackwell | MXFP4/NVFP4 | 64 | 16 | 35 | RZ-FP32",
        ]
    );
}

#[test]
fn tables_of_amd_are_the_papers() {
    let ours: Vec<_> = amd::parameters::MODELS.iter().map(ToString::to_string).collect();
    assert_eq!(
        ours,
        [
            "cdna1 | f32 | FMA | N/A",
            "cdna1 | bf16 | E-FDPA | L=2 | RNE-FP32",
            "cdna1 | f16 | E-FDPA | L=4 | RNE-FP32",
            "cdna2 | f64/f32 | FMA | N/A",
            "cdna2 | bf16 (w/o _1k) | FTZ-AddMul | P=2 | RNE-FP32",
            "cdna2 | bf16 (w/ _1k) | FTZ-AddMul | P=4 | RNE-FP32",
            "cdna2 | f16 | FTZ-AddMul | P=4 | RNE-FP32",
            "cdna3 | f64/f32 | FMA | N/A",
            "cdna3 | xf32 | TR-FDPA | 4 | 24 | 31 | RNE-FP32",
            "cdna3 | bf16/f16 | TR-FDPA | 8 | 24 | 31 | RNE-FP32",
            "cdna3 | e5m2fnuz/e4m3fnuz | GTR-FDPA | 16 | 24 | 31 | RNE-FP32",
        ]
    );
}

/// The project's semantics, rule 2; FP8 is in it because its row goes by architecture, not by F.
#[test]
fn zero_terms_have_the_exponents_of_the_semantics() {
    #[rustfmt::skip]
    let expected = [
        (Volta, "mma.m8n8k4.f32.f16.f16.f32", -131),
        (Volta, "mma.m8n8k4.f32.f16.f16.f16", -131),
        (Volta, "mma.m8n8k4.f16.f16.f16.f16", -19),
        (Turing, "mma.m8n8k4.f32.f16.f16.f32", -131),
        (Turing, "mma.m8n8k4.f16.f16.f16.f16", -19),
        (Turing, "mma.m16n8k8.f32.f16.f16.f32", -132),
        (Turing, "mma.m16n8k8.f16.f16.f16.f16", -20),
        (Ampere, "mma.m16n8k16.f32.bf16.bf16.f32", -132),
        (Ampere, "mma.m16n8k16.f16.f16.f16.f16", -20),
        (Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32", -132),
        (Ada, "mma.m16n8k32.f16.e4m3.e4m3.f16", -20),
        (Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", -133),
        (Hopper, "wgmma.m64n8k32.f16.e4m3.e4m3", -21),
        (Blackwell, "tcgen05.mma.m64n8k32.kind::f8f6f4.f32.e2m1.e3m2", -133),
        (Blackwell, "tcgen05.mma.m128n8k32.kind::mxf8f6f4.block32.f32.e2m1.e3m2.ue8m0", -133),
        (Blackwell, "tcgen05.mma.m128n8k64.kind::mxf4.block32.f32.e2m1.e2m1.ue8m0", -139),
        (RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16", -21),
        (RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", -139),
    ];
    for (architecture, name, exponent) in expected {
        assert_eq!(fused(&model(architecture, name)).zero_exponent, Some(exponent), "{name}");
        let paper = revised(architecture, name, Revision::Paper);
        assert_eq!(fused(&paper).zero_exponent, None, "{name}");
    }
}

#[test]
fn quarters_of_turing_compute_as_on_volta() {
    for types in ["f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"] {
        let name = format!("mma.m8n8k4.{types}");
        for revision in Revision::ALL {
            assert_eq!(revised(Turing, &name, revision), revised(Volta, &name, revision));
        }
        let sum = fused(&model(Turing, &name));
        assert_eq!((sum.fraction_bits, sum.max_length, sum.term_rounding), (23, 4, Rounding::TowardZero));
    }
}

#[test]
fn revisions_differ_only_where_they_should() {
    for row in catalogue().iter().filter(|row| row.unknown.is_none()) {
        let hardware = row.model(Revision::Hardware).unwrap();
        let mut paper = row.model(Revision::Paper).unwrap();
        match (&hardware.operation, &mut paper.operation) {
            (Operation::TFdpa(ours), Operation::TFdpa(theirs))
            | (Operation::StFdpa(ours), Operation::StFdpa(theirs))
            | (Operation::GstFdpa { sum: ours, .. }, Operation::GstFdpa { sum: theirs, .. }) => {
                assert_eq!(theirs.zero_exponent, None);
                theirs.zero_exponent = ours.zero_exponent;
            }
            (Operation::TrFdpa(_), Operation::TrFdpa(theirs))
            | (Operation::GtrFdpa(_), Operation::GtrFdpa(theirs)) => {
                assert_eq!((theirs.renormalize, theirs.zero_accumulator_exponent), (false, None));
                (theirs.renormalize, theirs.zero_accumulator_exponent) = (true, Some(-126));
            }
            _ => {}
        }
        assert_eq!(hardware, paper, "{row}");
    }
    assert_eq!(Revision::default(), Revision::Hardware);
}

#[test]
fn fp8_without_a_unit_for_it_is_composed_as_recorded() {
    for (architecture, name) in [
        (Hopper, "mma.m16n8k32.f32.e4m3.e5m2.f32"),
        (Hopper, "mma.m16n8k16.f16.e5m2.e5m2.f16"),
        (Blackwell, "mma.m16n8k32.f16.e4m3.e4m3.f16"),
        (Blackwell, "mma.m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32"),
    ] {
        let found = find(architecture, name).unwrap().instruction;
        let model = found.model(Revision::Hardware).unwrap();
        let (rho, last) = match model.d {
            F16 => (Conversion::RNE_FP16, Conversion::RNE_FP16),
            _ => (Conversion::RZ_FP32, Conversion::RNE_FP32),
        };
        assert_eq!(model.lowering.widen_operands, Some(F16));
        assert_eq!(model.lowering.order, Order::Interleaved { run: 2, period: 4 });
        assert_eq!(model.lowering.add_accumulator_last, Some(last));
        assert_eq!((model.lowering.widen_accumulator, model.lowering.narrow_output), (None, None));
        assert_eq!(model.conversion, rho);
        let sum = fused(&model);
        assert_eq!((sum.max_length, sum.fraction_bits), (16, 25));
        assert_eq!(model.length(found.k), found.k / 2);
    }
    // 0 1 4 5 … first, 2 3 6 7 … after
    let order = Order::Interleaved { run: 2, period: 4 }.indices(8);
    assert_eq!(order, [0, 1, 4, 5, 2, 3, 6, 7]);
}

#[test]
fn wmma_computes_as_its_parts() {
    // columns: architecture, wmma, the part
    #[rustfmt::skip]
    let same = [
        (Turing, "wmma.m16n16k16.f16.f16.f16.f16", "mma.m16n8k8.f16.f16.f16.f16"),
        (Turing, "wmma.m8n32k16.f32.f16.f16.f32", "mma.m16n8k8.f32.f16.f16.f32"),
        (Ampere, "wmma.m32n8k16.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"),
        (Ampere, "wmma.m16n16k16.f32.bf16.bf16.f32", "mma.m16n8k16.f32.bf16.bf16.f32"),
        (Hopper, "wmma.m16n16k16.f16.f16.f16.f16", "mma.m16n8k16.f16.f16.f16.f16"),
        (Ada, "wmma.m8n8k4.rz.f64.f64.f64.f64", "mma.m8n8k4.rz.f64.f64.f64.f64"),
    ];
    for (architecture, whole, part) in same {
        assert_eq!(model(architecture, whole), model(architecture, part), "{whole}");
    }
    // the part has four products, whatever a longer instruction could sum
    for architecture in [Ampere, Ada, Hopper, Blackwell, RtxBlackwell] {
        let tf32 = model(architecture, "wmma.m16n16k8.f32.tf32.tf32.f32");
        assert_eq!(fused(&tf32).max_length, 4);
    }
    let narrowed = model(Hopper, "wmma.m16n16k16.f16.f16.f16.f32");
    assert_eq!(narrowed.conversion, Conversion::RZ_FP32);
    assert_eq!(narrowed.lowering.narrow_output, Some(Conversion::RNE_FP16));
    assert_eq!(narrowed.lowering.widen_accumulator, None);
    assert_eq!(fused(&narrowed).zero_exponent, Some(-133));
    let widened = model(Hopper, "wmma.m16n16k16.f32.f16.f16.f16");
    assert_eq!(widened.lowering.widen_accumulator, Some(F32));
    assert_eq!(widened.lowering.narrow_output, None);
    assert_eq!(widened.conversion, Conversion::RZ_FP32);
}

#[test]
fn fp64_rounds_as_its_name_says() {
    for (suffix, rounding) in [
        ("", Rounding::NearestEven),
        (".rz", Rounding::TowardZero),
        (".rm", Rounding::Down),
        (".rp", Rounding::Up),
    ] {
        for architecture in [Ampere, Ada, Hopper, Blackwell, RtxBlackwell] {
            for shape in ["mma.m8n8k4", "wmma.m8n8k4", "mma.m16n8k4", "mma.m16n8k8", "mma.m16n8k16"] {
                if shape.contains("m16") && matches!(architecture, Ampere | Ada) {
                    continue;
                }
                let model = model(architecture, &format!("{shape}{suffix}.f64.f64.f64.f64"));
                assert_eq!(model.operation, Operation::Fma);
                assert_eq!(model.conversion, Conversion::new(rounding, F64));
            }
        }
    }
}

#[test]
fn cdna_rows_have_their_generations_model() {
    assert_eq!(model(Cdna1, "v_mfma_f32_32x32x4bf16").operation, Operation::EFdpa { max_length: 2 });
    assert_eq!(model(Cdna1, "v_mfma_f32_32x32x8f16").operation, Operation::EFdpa { max_length: 4 });
    assert_eq!(model(Cdna1, "v_mfma_f32_4x4x1f32").operation, Operation::Fma);
    for (name, pairing) in [
        ("v_mfma_f32_16x16x2bf16", 2),
        ("v_mfma_f32_32x32x4bf16", 2),
        ("v_mfma_f32_32x32x4bf16_1k", 4),
        ("v_mfma_f32_4x4x4f16", 4),
    ] {
        let model = model(Cdna2, name);
        assert_eq!(model.operation, Operation::FtzAddMul { pairing }, "{name}");
        assert_eq!([model.flush_operands, model.flush_accumulator], [InputFlush::Positive; 2]);
        assert_eq!(model.conversion, Conversion::RNE_FP32);
    }
    let f64 = model(Cdna2, "v_mfma_f64_16x16x4f64");
    assert_eq!((f64.operation, f64.conversion), (Operation::Fma, Conversion::RNE_FP64));
    let expected = |max_length| RoundedSum {
        max_length,
        fraction_bits: 24,
        sum_fraction_bits: 31,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: true,
        zero_accumulator_exponent: Some(-126),
        product_overflow: Some(128),
    };
    for (name, length, family) in [
        ("v_mfma_f32_16x16x8_xf32", 4, "TR-FDPA"),
        ("v_mfma_f32_32x32x8_bf16", 8, "TR-FDPA"),
        ("v_mfma_f32_4x4x4_16b_f16", 8, "TR-FDPA"),
        ("v_mfma_f32_16x16x32_bf8_fp8", 16, "GTR-FDPA"),
    ] {
        let model = model(Cdna3, name);
        assert_eq!(model.operation.name(), family);
        assert_eq!(rounded(&model), expected(length), "{name}");
    }
    let mixed = model(Cdna3, "v_mfma_f32_16x16x32_bf8_fp8");
    assert_eq!((mixed.a.name, mixed.b.name), ("e5m2fnuz", "e4m3fnuz"));
}

#[test]
fn mixed_inputs_have_the_parameters_of_either() {
    let mixed = model(Blackwell, "tcgen05.mma.m64n8k16.kind::f16.f32.f16.bf16");
    assert_eq!((mixed.a, mixed.b), (F16, BF16));
    for pure in ["f16.f16", "bf16.bf16"] {
        let pure = model(Blackwell, &format!("tcgen05.mma.m64n8k16.kind::f16.f32.{pure}"));
        assert_eq!((pure.operation, pure.conversion), (mixed.operation, mixed.conversion));
    }
}

#[test]
fn precision_in_one_line() {
    let line =
        |architecture, name| find(architecture, name).unwrap().instruction.precision_line(Revision::Hardware);
    assert_eq!(
        line(Hopper, "mma.m16n8k16.f32.f16.f16.f32"),
        "products exact, terms cut (RZ) to 25 bits below the largest exponent, sums of 16, result RZ-FP32"
    );
    assert_eq!(
        line(Hopper, "mma.m16n8k32.f32.e4m3.e4m3.f32"),
        "A and B widened to f16; products exact, terms cut (RZ) to 25 bits below the largest exponent, sums of \
         16, result RZ-FP32; C added last, RNE-FP32"
    );
    assert_eq!(
        line(Cdna3, "v_mfma_f32_32x32x8_f16"),
        "products exact, cut (RZ) to 24 bits below the largest exponent, sums of 8, then added to C with 32 bits of \
         the sum and 24 of C kept (RD), normalized and cut (RD) to 31 bits, result RNE-FP32"
    );
    assert!(line(Ampere, "mma.m8n8k4.f32.f16.f16.f32").starts_with("not known: the compiler expands"));
    for row in catalogue() {
        let line = row.precision_line(Revision::Paper);
        assert!(!line.is_empty() && !line.contains('\n'), "{row}");
    }
}

/// An H100 found it so for each on floating point, and sums of integers are exact: of every such sparse row there is a dense one of half the K, and they have one model.
#[test]
fn sparse_instructions_sum_as_dense_ones_of_half_the_k() {
    let mut count = [0; 2];
    for row in catalogue().iter().filter(|row| row.family.is_sparse()) {
        let is_known = row.architecture == Hopper || row.d.is_integer();
        assert_eq!(row.dense.is_some(), is_known, "{} {row}", row.architecture);
        let Some(dense) = &row.dense else { continue };
        let dense = find(row.architecture, dense).unwrap().instruction;
        assert_eq!((dense.k, dense.products()), (row.products(), row.products()), "{row}");
        assert!(dense.is_native() == row.is_native() && !dense.family.is_sparse(), "{row}");
        for revision in Revision::ALL {
            assert_eq!(row.model(revision), dense.model(revision), "{row}");
        }
        count[usize::from(row.d.is_integer())] += 1;
    }
    assert_eq!(count, [20, 168]);
}
