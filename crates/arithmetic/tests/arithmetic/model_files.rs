//! Models as files: what is written reads back, a wrong file is an error in so many words, and a
//! hypothetical model runs like any other.

use bitmma_arithmetic::{
    Chains, Conversion, FusedSum, InputFlush, Lowering, Model, Operands, Operation, Order, ResultFlush,
    RoundedSum,
};
use bitmma_formats::{
    BF16, BlockScale, E2M1, E4M3, E4M3FNUZ, E5M2, E8M13, F16, F32, F64, Format, Rounding, TF32, UE4M3, UE8M0,
    XF32,
};

fn fused(max_length: usize, fraction_bits: u32, zero_exponent: Option<i32>) -> FusedSum {
    FusedSum { zero_exponent, ..FusedSum::new(max_length, fraction_bits) }
}

fn rounded(max_length: usize, hardware: bool) -> RoundedSum {
    RoundedSum {
        max_length,
        fraction_bits: 24,
        sum_fraction_bits: 31,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: hardware,
        zero_accumulator_exponent: hardware.then_some(-126),
        product_overflow: Some(128),
    }
}

fn plain(ab: Format, c: Format, operation: Operation, conversion: Conversion) -> Model {
    Model::new(ab, ab, c, operation, conversion)
}

/// A model of each kind the catalogue has, and some it has not.
fn models() -> Vec<Model> {
    let rne = Conversion::RNE_FP32;
    let rz = Conversion::RZ_FP32;
    let ftz =
        |ab, pairing| plain(ab, F32, Operation::FtzAddMul { pairing }, rne).flushing(InputFlush::Positive);
    let t = |ab, c, sum, conversion: Conversion| Model {
        nan_code: Some(if conversion.format == F16 { 0x7fff } else { 0x7fff_ffff }),
        ..plain(ab, c, Operation::TFdpa(sum), conversion)
    };
    let scaled = |ab, operation, format, size| Model {
        scale: Some(BlockScale { format, size }),
        ..plain(ab, F32, operation, rz)
    };
    let on_fp16 = t(E4M3, F32, fused(16, 25, Some(-133)), rz);
    let grouped = Operation::GstFdpa { sum: fused(64, 35, Some(-139)), group: 16 };
    let mut models = vec![
        ftz(BF16, 2),
        ftz(BF16, 4),
        ftz(F16, 4),
        ftz(BF16, 2).flushing(InputFlush::Signed),
        plain(F64, F64, Operation::Fma, Conversion::RNE_FP64),
        plain(F32, F32, Operation::Fma, rne),
        plain(BF16, F32, Operation::FtzFma { max_length: 2 }, rne),
        plain(BF16, F32, Operation::EFdpa { max_length: 2 }, rne),
        plain(F16, F32, Operation::EFdpa { max_length: 4 }, rne),
        t(F16, F32, fused(4, 23, Some(-131)), rz),
        t(F16, F16, fused(4, 23, Some(-19)), Conversion::RNE_FP16),
        t(F16, F16, fused(4, 23, None), rz),
        t(TF32, F32, fused(4, 24, None), rz),
        t(E5M2, F32, fused(16, 13, Some(-132)), Conversion::RZ_E8M13),
        scaled(E5M2, Operation::StFdpa(fused(32, 25, Some(-133))), UE8M0, 32),
        scaled(E2M1, grouped, UE4M3, 16),
        plain(XF32, F32, Operation::TrFdpa(rounded(4, true)), rne),
        plain(BF16, F32, Operation::TrFdpa(rounded(8, false)), rne),
        plain(E4M3FNUZ, F32, Operation::GtrFdpa(rounded(16, true)), rne),
        Model {
            lowering: Lowering {
                widen_operands: Some(F16),
                order: Order::Interleaved { run: 2, period: 4 },
                add_accumulator_last: Some(rne),
                ..Lowering::NONE
            },
            ..on_fp16.clone()
        },
        Model {
            d: F16,
            nan_code: None,
            lowering: Lowering {
                widen_accumulator: Some(F64),
                order: Order::Reversed,
                narrow_output: Some(Conversion::RNE_FP16),
                ..Lowering::NONE
            },
            ..on_fp16
        },
    ];
    for (flush, _) in ResultFlush::ALL {
        for saturate in [false, true] {
            let rho = Conversion { flush, saturate, ..Conversion::RZ_FP32 };
            let sum = FusedSum { accumulator_fraction_bits: Some(27), ..fused(4, 20, None) };
            let model = plain(F16, F32, Operation::TFdpa(sum), rho);
            models.push(Model { flush_operands: InputFlush::Signed, ..model.clone() });
            models.push(Model { flush_accumulator: InputFlush::Positive, ..model.clone() });
            let order = Order::Interleaved { run: 1, period: 2 };
            let chains = Some(Chains { count: 2, merge: rho });
            let add_accumulator_last = Some(Conversion { flush, ..rne });
            let lowering = Lowering { order, chains, add_accumulator_last, ..Lowering::NONE };
            models.push(Model { lowering, ..model });
        }
    }
    for (rounding, _) in Rounding::ALL {
        let sum = FusedSum { term_rounding: rounding, ..fused(3, 0, Some(-65536)) };
        models.push(plain(F16, F32, Operation::TFdpa(sum), Conversion::new(rounding, E8M13)));
        let sum = RoundedSum { sum_rounding: rounding, product_overflow: None, ..rounded(65536, true) };
        models.push(plain(F16, BF16, Operation::GtrFdpa(sum), Conversion::new(rounding, BF16)));
    }
    models
}

#[test]
fn every_model_comes_back() {
    for model in models() {
        model.validate().unwrap_or_else(|error| panic!("{error}: {model:?}"));
        let text = model.to_toml();
        let back = Model::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(back == model, "{text}\n{back:?}\n{model:?}");
        assert_eq!(back.to_toml(), text, "written the same again");
    }
}

/// NaN codes up to the largest of FP64.
#[test]
fn every_nan_code_comes_back() {
    for nan in [0x7ff8_0000_0000_0000, 0x7fff_ffff_ffff_ffff, 0xfff8_0000_0000_0000, u64::MAX] {
        let model = Model { nan_code: Some(nan), ..plain(F64, F64, Operation::Fma, Conversion::RNE_FP64) };
        model.validate().unwrap_or_else(|error| panic!("{error}"));
        let text = model.to_toml();
        let back = Model::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(back.nan_code, Some(nan), "{text}");
    }
}

/// What a user writes, with everything left out that has a default.
const SHORT: &str = "model = 'T-FDPA'\nA = 'f16'\nB = 'f16'\nC = 'f32'\nrho = 'RZ-FP32'\nL_max = 4\nF = 20\n";

#[test]
fn defaults() {
    let model = Model::from_toml(SHORT).expect("reads");
    assert_eq!(model, plain(F16, F32, Operation::TFdpa(fused(4, 20, None)), Conversion::RZ_FP32));
    // names without regard to case, D from the last conversion
    let lower = SHORT.replace("T-FDPA", "t-fdpa").replace("f16", "F16").replace("RZ-FP32", "rz-e8m13");
    let model = Model::from_toml(&lower).expect("reads");
    assert_eq!((model.d, model.conversion), (F32, Conversion::RZ_E8M13));
    let narrowed = format!("{SHORT}[lowering]\nnarrow_output = 'RNE-FP16'\n");
    assert_eq!(Model::from_toml(&narrowed).expect("reads").d, F16);
    let tr = SHORT.replace("T-FDPA", "TR-FDPA").replace("F = 20", "F = 20\nF2 = 27");
    let Operation::TrFdpa(sum) = Model::from_toml(&tr).expect("reads").operation else { panic!("TR-FDPA") };
    let expected = RoundedSum {
        max_length: 4,
        fraction_bits: 20,
        sum_fraction_bits: 27,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: false,
        zero_accumulator_exponent: None,
        product_overflow: None,
    };
    assert_eq!(sum, expected);
}

/// A and B, and C, are flushed each by its key.
#[test]
fn operands_and_the_accumulator_are_flushed_each_by_a_key() {
    let read = |lines: &str| {
        let model = Model::from_toml(&format!("{SHORT}{lines}")).expect("reads");
        [model.flush_operands, model.flush_accumulator]
    };
    assert_eq!(read(""), [InputFlush::Never; 2]);
    assert_eq!(read("flush_operands = 'never'\n"), [InputFlush::Never; 2]);
    assert_eq!(read("flush_operands = 'signed'\n"), [InputFlush::Signed, InputFlush::Never]);
    assert_eq!(read("flush_accumulator = 'positive'\n"), [InputFlush::Never, InputFlush::Positive]);
}

/// The words after a conversion's format.
#[test]
fn conversions_have_words() {
    let reads = |text: &str| text.parse::<Conversion>();
    let (rne, flush) = (Conversion::RNE_FP32, ResultFlush::AfterRounding);
    assert_eq!(reads("RNE-FP32 saturate"), Ok(Conversion { saturate: true, ..rne }));
    assert_eq!(reads("rne-fp32  FTZ Saturate "), Ok(Conversion { saturate: true, flush, ..rne }));
    assert_eq!(Conversion { saturate: true, flush, ..rne }.to_string(), "RNE-FP32 saturate ftz");
    let flush = ResultFlush::BeforeRounding;
    assert_eq!(reads("RNE-FP32 ftz-before"), Ok(Conversion { flush, ..rne }));
    let flush = ResultFlush::Subnormal;
    assert_eq!(reads("RNE-FP32 ftz-subnormal"), Ok(Conversion { flush, ..rne }));
    for wrong in ["", " ", "RNE", "RNE-FP32 sat", "RNE-FP32 saturate saturate", "RNE-FP32 ftz ftz-before"] {
        assert!(reads(wrong).is_err(), "'{wrong}'");
    }
}

fn refused(text: &str) -> String {
    Model::from_toml(text).expect_err("wrong").to_string()
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let changed = |from: &str, to: &str| {
        assert!(SHORT.contains(from), "{from}");
        refused(&SHORT.replace(from, to))
    };
    let formats = bitmma_formats::table::names();
    let families = bitmma_arithmetic::family::names(|_| true).join(" ");
    assert!(families.starts_with("FTZ-AddMul FMA E-FDPA T-FDPA ST-FDPA GST-FDPA TR-FDPA GTR-FDPA FTZ-FMA"));
    // values
    assert_eq!(changed("T-FDPA", "X-FDPA"), format!("model file: unknown model 'X-FDPA'; one of {families}"));
    assert_eq!(
        changed("C = 'f32'", "C = 'f31'"),
        format!("model file: unknown format 'f31'; one of {formats}")
    );
    assert_eq!(
        changed("RZ-FP32", "RZ_FP32"),
        "model file: unknown conversion 'RZ_FP32'; write ROUNDING-FORMAT, as in RZ-FP32, RZ-E8M13, RNE-FP16, \
         and after it what there is of saturate and one of ftz, ftz-before, ftz-subnormal; of \
         integers S32 or S32 saturate"
    );
    assert_eq!(
        changed("F = 20", "F = 20\nterm_rounding = 'down'"),
        "model file: unknown rounding 'down'; one of RZ RA RU RD RNE RNO RNU RND RNZ RNA RO"
    );
    // ranges
    assert_eq!(changed("F = 20", "F = 61"), "F is 61; it may be 0 to 60");
    assert_eq!(changed("F = 20", "F = -1"), "F is -1; it may be 0 to 60");
    assert_eq!(changed("F = 20", "F = 4294967316"), "F is 4294967316; it may be 0 to 60");
    assert_eq!(changed("L_max = 4", "L_max = -1"), "L_max is -1; it may be 1 to 65536");
    assert_eq!(changed("L_max = 4", "L_max = 0"), "L_max is 0; it may be 1 to 65536");
    assert_eq!(changed("F = 20", "F = 20\nD = 'f16'"), "D is f16; the last conversion gives f32");
    // keys that are missing, or belong to another family
    assert_eq!(changed("F = 20\n", ""), "model file: F is missing");
    assert_eq!(changed("L_max = 4\n", ""), "model file: L_max is missing");
    assert_eq!(changed("F = 20", "F = 20\nF2 = 31"), "model file: T-FDPA has no parameter F2");
    assert_eq!(changed("F = 20", "F = 20\nG = 16"), "model file: T-FDPA has no parameter G");
    let own = SHORT.replace("T-FDPA", "E-FDPA").replace("F = 20", "F_c = 20");
    assert_eq!(refused(&own), "model file: E-FDPA has no parameter F_c");
    assert_eq!(changed("F = 20", "F = 20\nP = 2"), "model file: T-FDPA has no parameter P");
    assert_eq!(
        changed("F = 20", "F = 20\nrenormalize = false"),
        "model file: T-FDPA has no parameter renormalize"
    );
    assert_eq!(changed("F = 20", "F = 20\ne_zero_c = 0"), "model file: T-FDPA has no parameter e_zero_c");
    assert_eq!(changed("T-FDPA", "FMA"), "model file: FMA has no parameter L_max");
    assert_eq!(changed("T-FDPA", "TR-FDPA"), "model file: F2 is missing");
    assert_eq!(changed("T-FDPA", "FTZ-AddMul"), "model file: P is missing");
    assert_eq!(changed("T-FDPA", "GST-FDPA"), "model file: G is missing");
    assert_eq!(changed("T-FDPA", "ST-FDPA"), "scale is none; ST-FDPA and GST-FDPA take scale factors");
    // what the TOML reader says: the line, and the keys there are
    for (from, to, parts) in [
        ("rho = 'RZ-FP32'\n", "", &["missing field `rho`"][..]),
        ("F = 20", "f = 20", &["unknown field `f`", "`F`", "7 | f = 20"]),
        ("F = 20", "F = 20\nF = 21", &["duplicate key", "8 | F = 21"]),
        ("F = 20", "F = 'twenty'", &["invalid type: string \"twenty\"", "7 | F = 'twenty'"]),
        ("F = 20", "F = 20.5", &["invalid type: floating point `20.5`"]),
        ("F = 20", "F = ", &["7 | F = "]),
        ("F = 20", "F = 20\n[scales]\n", &["unknown field `scales`", "`scale`"]),
        ("F = 20", "F = 20\n[scale]\nformat = 'ue8m0'\n", &["missing field `block`"]),
        ("F = 20", "F = 20\n[scale]\nformat = 'ue8m0'\nblock = 32\nsize = 32\n", &["unknown field `size`"]),
        (
            "F = 20",
            "F = 20\n[lowering]\norder = 'backwards'\n",
            &["unknown variant `backwards`", "`reversed`"],
        ),
        ("F = 20", "F = 20\n[lowering]\nF = 20\n", &["unknown field `F`", "`widen_operands`"]),
        (
            "F = 20",
            "F = 20\n[lowering]\norder = { interleaved = { run = 2 } }\n",
            &["missing field `period`"],
        ),
        ("F = 20", "F = 20\nflush_operands = true\n", &["flush_operands = true"]),
        ("F = 20", "F = 20\nflush_operands = 'yes'\n", &["unknown variant `yes`", "`signed`"]),
        ("F = 20", "F = 20\n[lowering]\nchains = { count = 2 }\n", &["missing field `merge`"]),
        ("F = 20", "F = 20\n[lowering]\nchains = 2\n", &["chains = 2"]),
    ] {
        let actual = changed(from, to);
        assert!(actual.starts_with("model file: "), "{actual}");
        for part in parts {
            assert!(actual.contains(part), "'{to}' says\n{actual}\nwithout '{part}'");
        }
    }
    // a key of the model under the heading of a table
    let misplaced = format!("[scale]\nformat = 'ue8m0'\nblock = 32\n{SHORT}");
    let actual = refused(&misplaced);
    assert!(actual.contains("unknown field") && actual.contains("expected `format` or `block`"), "{actual}");
    assert!(refused("").contains("missing field `model`"), "{}", refused(""));
}

/// D of products of FP16 ones and powers of two, codes given.
fn dot(text: &str, a: &[u64], b: &[u64], c: u64) -> u64 {
    let model = Model::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    model.dot(&Operands { a, b, c, scale_a: &[], scale_b: &[] }).unwrap_or_else(|error| panic!("{error}"))
}

/// F = 20: 1 + 2^-20 stays, 1 + 2^-21 is cut; no GPU has it.
#[test]
fn a_hypothetical_f_of_20() {
    let (one, a) = (0x3f80_0000, [0x1400, 0, 0, 0]); // 2^-10
    // 2^-10 * 2^-10 = 2^-20: bit 3 of FP32's fraction
    assert_eq!(dot(SHORT, &a, &[0x1400, 0, 0, 0], one), 0x3f80_0008);
    // 2^-10 * 2^-11
    assert_eq!(dot(SHORT, &a, &[0x1000, 0, 0, 0], one), 0x3f80_0000);
    assert_eq!(dot(&SHORT.replace("20", "21"), &a, &[0x1000, 0, 0, 0], one), 0x3f80_0004);
    // terms cut upward instead: 2^-21 becomes 2^-20
    let up = format!("{SHORT}term_rounding = 'RU'\n");
    assert_eq!(dot(&up, &a, &[0x1000, 0, 0, 0], one), 0x3f80_0008);
    // and away from zero: -2^-21 becomes -2^-20; 1 - 2^-20 = 0x3f7ffff0
    let away = format!("{SHORT}term_rounding = 'RA'\n");
    assert_eq!(dot(&away, &a, &[0x9000, 0, 0, 0], one), 0x3f7f_fff0);
}

/// The paper's hypothetical `v_mfma_f32_32x32x8_f16_rz`: RZ in place of RD in TR-FDPA. Product 2^24,
/// c = -0.5: RD takes a whole unit, RZ nothing.
#[test]
fn a_hypothetical_tr_fdpa_that_rounds_toward_zero() {
    let rd = "model = 'TR-FDPA'\nA = 'f16'\nB = 'f16'\nC = 'f32'\nrho = 'RNE-FP32'\nL_max = 8\nF = 24\nF2 = 31\n\
              renormalize = true\ne_zero_c = -126\nproduct_overflow = 128\n";
    let rz = format!("{rd}sum_rounding = 'RZ'\n");
    let mut a = [0; 8];
    a[0] = 0x6c00; // 2^12
    let (minus_half, half) = (0xbf00_0000, 0x3f00_0000);
    assert_eq!(dot(rd, &a, &a, minus_half), 0x4b7f_ffff); // 2^24 - 1
    assert_eq!(dot(&rz, &a, &a, minus_half), 0x4b80_0000); // 2^24
    let mut negative = a;
    negative[0] = 0xec00;
    assert_eq!(dot(rd, &negative, &a, half), 0xcb80_0000);
    assert_eq!(dot(&rz, &negative, &a, half), 0xcb80_0000);
}
