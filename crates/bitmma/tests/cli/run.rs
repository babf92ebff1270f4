//! `bitmma run`: every type of file and every shape; what it refuses is in `run/refused.rs`.
//!
//! Expected answers are lines of the reference vectors, given in full in `run/vectors.rs`.

pub(crate) mod files;
mod refused;
mod vectors;

use files::{Bench, bytes, hex, matrix, npy, placed, safetensors, words};
use vectors::*;

const F16: &str = "mma.m16n8k16.f32.f16.f16.f32";

/// The columns of a row-major matrix, one after the other.
fn transposed(codes: &[u64], rows: usize, columns: usize) -> Vec<u64> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| codes[row * columns + column])).collect()
}

/// A bench with A, B and C of `hopper mma.m16n8k16.f32.f16.f16.f32` as .npy files.
fn hopper() -> Bench {
    let bench = Bench::new();
    let [a, b, c] = operands(&HOPPER_F16, (16, 8, 16));
    bench
        .put("a.npy", &matrix("<f2", (16, 16), &a))
        .put("b.npy", &matrix("<f2", (16, 8), &b))
        .put("c.npy", &matrix("<f4", (16, 8), &c));
    bench
}

#[test]
fn native_floats_in_npy() {
    let bench = hopper();
    let line = bench.runs(&format!("hopper {F16} --a a.npy --b b.npy --c c.npy --out d.npy"));
    assert_eq!(
        line,
        "hopper mma.m16n8k16.f32.f16.f16.f32 (T-FDPA): 16×16 f16 · 16×8 f16 + 16×8 f32 = 16×8 f32 in d.npy\n"
    );
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &HOPPER_F16, 8);
    assert_eq!(bench.names(), ["a.npy", "b.npy", "c.npy", "d.npy"]);

    // D in 16 bits
    let bench = Bench::new();
    let [a, b, c] = operands(&TURING_F16, (16, 8, 8));
    bench.put("a.npy", &matrix("<f2", (16, 8), &a)).put("b.npy", &matrix("<f2", (8, 8), &b));
    bench.put("c.npy", &matrix("<f2", (16, 8), &c));
    bench.runs("turing mma.m16n8k8.f16.f16.f16.f16 -a a.npy -b b.npy -c c.npy -o d.npy");
    check(&bench.npy("d.npy", "<f2", &[16, 8]), &TURING_F16, 8);

    // and in 64
    let bench = Bench::new();
    let [a, b, c] = operands(&AMPERE_F64, (8, 8, 4));
    bench.put("a.npy", &matrix("<f8", (8, 4), &a)).put("b.npy", &matrix("<f8", (4, 8), &b));
    bench.put("c.npy", &matrix("<f8", (8, 8), &c));
    bench.runs("ampere mma.m8n8k4.f64.f64.f64.f64 -a a.npy -b b.npy -c c.npy -o d.npy");
    check(&bench.npy("d.npy", "<f8", &[8, 8]), &AMPERE_F64, 8);
}

#[test]
fn byte_order_element_order_and_header_versions() {
    let [a, b, c] = operands(&HOPPER_F16, (16, 8, 16));
    let bench = Bench::new();
    bench
        .put("a.npy", &npy(">f2", false, "(16, 16)", &bytes(&a, 2, true)))
        .put("b.npy", &npy("<f2", true, "(16, 8)", &bytes(&transposed(&b, 16, 8), 2, false)))
        .put("c.npy", &npy(">f4", true, "(16, 8)", &bytes(&transposed(&c, 16, 8), 4, true)));
    bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -c c.npy -o d.npy"));
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &HOPPER_F16, 8);

    // versions 2.0 and 3.0 have four bytes of length
    for version in [2, 3] {
        let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        let header = b"{\"descr\": \"<f2\", \"fortran_order\": False, \"shape\": [16, 16]}\n";
        file.extend((header.len() as u32).to_le_bytes());
        file.extend(header);
        file.extend(bytes(&a, 2, false));
        bench.put("a.npy", &file);
        bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -c c.npy -o d.npy"));
        check(&bench.npy("d.npy", "<f4", &[16, 8]), &HOPPER_F16, 8);
    }
}

#[test]
fn unsigned_integers_hold_codes() {
    let [a, b, c] = operands(&HOPPER_BF16, (16, 8, 16));
    let bench = Bench::new();
    bench
        .put("a.npy", &matrix("<u2", (16, 16), &a))
        .put("b.safetensors", &safetensors(&[("b", "U16", &[16, 8], bytes(&b, 2, false))]))
        .put("c.npy", &matrix("<u4", (16, 8), &c));
    let instruction = "mma.m16n8k16.f32.bf16.bf16.f32";
    bench.runs(&format!("hopper {instruction} -a a.npy -b b.safetensors -c c.npy -o d.npy"));
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &HOPPER_BF16, 8);

    let [a, b, c] = operands(&AMPERE_F64, (8, 8, 4));
    let bench = Bench::new();
    bench
        .put("a.npy", &matrix("<u8", (8, 4), &a))
        .put("b.safetensors", &safetensors(&[("b", "U64", &[4, 8], bytes(&b, 8, false))]))
        .put("c.safetensors", &safetensors(&[("c", "F64", &[8, 8], bytes(&c, 8, false))]));
    let instruction = "mma.m8n8k4.f64.f64.f64.f64";
    bench.runs(&format!("ampere {instruction} -a a.npy -b b.safetensors -c c.safetensors -o d.npy"));
    check(&bench.npy("d.npy", "<f8", &[8, 8]), &AMPERE_F64, 8);

    // FP6 codes, one to a byte
    let [a, b, c] = operands(&MX_FP6, (16, 8, 32));
    let bench = Bench::new();
    let mut scales = vec![0x7f; 16];
    scales[place(0).0] = 0x83;
    let mut scale_b = vec![0x7f; 8];
    scale_b[place(0).1] = 0x7a;
    bench
        .put("a.npy", &matrix("|u1", (16, 32), &a))
        .put("b.safetensors", &safetensors(&[("b", "U8", &[32, 8], bytes(&b, 1, false))]))
        .put("c.safetensors", &safetensors(&[("c", "U32", &[16, 8], bytes(&c, 4, false))]))
        .put("sa.npy", &matrix("|u1", (16, 1), &scales))
        .put("sb.safetensors", &safetensors(&[("s", "U8", &[1, 8], bytes(&scale_b, 1, false))]));
    #[rustfmt::skip]
    bench.runs("rtx-blackwell mma.m16n8k32.kind::mxf8f6f4.block32.f32.e3m2.e2m3.f32.ue8m0 -a a.npy -b b.safetensors -c c.safetensors --scale-a sa.npy --scale-b sb.safetensors -o d.npy");
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &MX_FP6, 8);
}

/// Runs a case whose three operands stand in one .safetensors file under the names a, b:0 and c.
fn from_safetensors(
    architecture: &str,
    instruction: &str,
    vectors: &[Vector],
    (m, n, k): (usize, usize, usize),
    (type_a, type_b): (&str, &str),
    width: usize,
) {
    let [a, b, c] = operands(vectors, (m, n, k));
    let bench = Bench::new();
    let file = safetensors(&[
        ("c", "F32", &[m, n], bytes(&c, 4, false)),
        ("a", type_a, &[m, k], bytes(&a, width, false)),
        ("b:0", type_b, &[k, n], bytes(&b, width, false)),
    ]);
    bench.put("x.safetensors", &file);
    #[rustfmt::skip]
    bench.runs(&format!("{architecture} {instruction} -a x.safetensors:a -b x.safetensors:b:0 -c x.safetensors:c -o d.npy"));
    check(&bench.npy("d.npy", "<f4", &[m, n]), vectors, n);
}

#[test]
fn floats_in_safetensors() {
    from_safetensors("hopper", F16, &HOPPER_F16, (16, 8, 16), ("F16", "F16"), 2);
    let instruction = "mma.m16n8k16.f32.bf16.bf16.f32";
    from_safetensors("hopper", instruction, &HOPPER_BF16, (16, 8, 16), ("BF16", "BF16"), 2);
    let instruction = "mma.m16n8k16.f32.e4m3.e5m2.f32";
    from_safetensors("ada", instruction, &ADA_FP8, (16, 8, 16), ("F8_E4M3", "F8_E5M2"), 1);
    let instruction = "v_mfma_f32_16x16x32_bf8_fp8";
    from_safetensors("mi300x", instruction, &CDNA3_FP8, (16, 16, 32), ("F8_E5M2FNUZ", "F8_E4M3FNUZ"), 1);
    // TF32 and XF32 are FP32 words; the vectors' low bits are not zero
    let instruction = "mma.m16n8k8.f32.tf32.tf32.f32";
    from_safetensors("ampere", instruction, &AMPERE_TF32, (16, 8, 8), ("F32", "F32"), 4);
    from_safetensors("cdna3", "v_mfma_f32_16x16x8_xf32", &CDNA3_XF32, (16, 16, 8), ("F32", "F32"), 4);
}

#[test]
fn fp4_is_packed_low_nibble_first_and_nvfp4_scales_are_f8_e4m3() {
    let [a, b, c] = operands(&NVFP4, (16, 8, 64));
    let by_nibbles =
        |codes: &[u64]| -> Vec<u8> { codes.chunks(2).map(|pair| (pair[0] | pair[1] << 4) as u8).collect() };
    let packed = by_nibbles(&a);
    // the vector begins a 1 1 3: its bytes begin 1a 31
    assert_eq!(packed[place(0).0 * 32..][..2], [0x1a, 0x31]);
    let scale_a = placed(16, 4, &[(place(0).0, hex("26 32 3c 2f"))], true);
    let scale_b = placed(4, 8, &[(place(0).1, hex("2d 3a 32 37"))], false);
    let bench = Bench::new();
    bench
        .put("a.safetensors", &safetensors(&[("a", "F4", &[16, 64], packed)]))
        .put("b.safetensors", &safetensors(&[("b", "F4", &[64, 8], by_nibbles(&b))]))
        .put("c.npy", &matrix("<f4", (16, 8), &c))
        .put("sa.safetensors", &safetensors(&[("s", "F8_E4M3", &[16, 4], bytes(&scale_a, 1, false))]))
        .put("sb.npy", &matrix("|u1", (4, 8), &scale_b));
    let instruction = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3";
    #[rustfmt::skip]
    let line = bench.runs(&format!("rtx-blackwell {instruction} -a a.safetensors -b b.safetensors -c c.npy --scale-a sa.safetensors --scale-b sb.npy -o d.npy"));
    assert!(line.contains("16×64 e2m1 · 64×8 e2m1, scaled by ue4m3 in blocks of 16 + 16×8 f32"), "{line}");
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &NVFP4, 8);

    // transposed: B and its scale factors lie as a linear layer stores them
    bench
        .put("b.safetensors", &safetensors(&[("b", "F4", &[8, 64], by_nibbles(&transposed(&b, 64, 8)))]))
        .put("sb.npy", &matrix("|u1", (8, 4), &transposed(&scale_b, 4, 8)));
    #[rustfmt::skip]
    bench.runs(&format!("rtx-blackwell {instruction} -a a.safetensors -b b.safetensors -c c.npy --bt --scale-a sa.safetensors --scale-b sb.npy -o d.npy"));
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &NVFP4, 8);
}

#[test]
fn fp6_is_packed_four_to_three_bytes_and_e8m0_scales_read() {
    let [a, b, c] = operands(&MX_FP6, (16, 8, 32));
    let by_six = |codes: &[u64]| -> Vec<u8> {
        codes
            .chunks(4)
            .flat_map(|four| {
                let bits = four[0] | four[1] << 6 | four[2] << 12 | four[3] << 18;
                bits.to_le_bytes()[..3].to_vec()
            })
            .collect()
    };
    // by hand: 2d 28 2b 0d = 101101 101000 101011 001101, the last on top: 0011 0110 1011 1010 0010 1101
    assert_eq!(by_six(&a)[place(0).0 * 24..][..3], [0x2d, 0xba, 0x36]);
    let scale_a = placed(16, 1, &[(place(0).0, hex("83"))], true);
    let scale_b = placed(1, 8, &[(place(0).1, hex("7a"))], false);
    let bench = Bench::new();
    bench.put(
        "x.safetensors",
        &safetensors(&[
            ("c", "F32", &[16, 8], bytes(&c, 4, false)),
            ("a", "F6_E3M2", &[16, 32], by_six(&a)),
            ("b", "F6_E2M3", &[32, 8], by_six(&b)),
            ("sa", "F8_E8M0", &[16, 1], bytes(&scale_a, 1, false)),
            ("sb", "F8_E8M0", &[1, 8], bytes(&scale_b, 1, false)),
        ]),
    );
    let instruction = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e3m2.e2m3.f32.ue8m0";
    #[rustfmt::skip]
    bench.runs(&format!("rtx-blackwell {instruction} -a x.safetensors:a -b x.safetensors:b -c x.safetensors:c --scale-a x.safetensors:sa --scale-b x.safetensors:sb -o d.npy"));
    check(&bench.npy("d.npy", "<f4", &[16, 8]), &MX_FP6, 8);
    // E2M3 and E3M2 are both six bits wide and are not each other
    #[rustfmt::skip]
    bench.fails(&format!("rtx-blackwell {instruction} -a x.safetensors:b -b x.safetensors:b --scale-a x.safetensors:sa --scale-b x.safetensors:sb -o e.npy"),
        &["--a: x.safetensors:b holds F6_E2M3, 32×8; e3m2 is read from F6_E3M2 or from U8 codes"]);
}

#[test]
fn several_blocks() {
    // each vector in a block of its own, at the place of the first
    let per_block: Vec<_> = CDNA3_TWO_BLOCKS.chunks(1).map(|one| operands(one, (32, 32, 4))).collect();
    let [a, b, c] =
        [0, 1, 2].map(|which| [per_block[0][which].clone(), per_block[1][which].clone()].concat());
    let bench = Bench::new();
    bench
        .put("a.npy", &npy("<u2", false, "(2, 32, 4)", &bytes(&a, 2, false)))
        .put("b.safetensors", &safetensors(&[("b", "BF16", &[2, 4, 32], bytes(&b, 2, false))]))
        .put("c.npy", &npy("<f4", false, "(2, 32, 32)", &bytes(&c, 4, false)));
    let instruction = "v_mfma_f32_32x32x4_2b_bf16";
    let line = bench.runs(&format!("cdna3 {instruction} -a a.npy -b b.safetensors -c c.npy -o d.npy"));
    assert!(line.contains("2×32×4 bf16 · 2×4×32 bf16 + 2×32×32 f32 = 2×32×32 f32"), "{line}");
    let d = bench.npy("d.npy", "<f4", &[2, 32, 32]);
    check(&d[..1024], &CDNA3_TWO_BLOCKS[..1], 32);
    check(&d[1024..], &CDNA3_TWO_BLOCKS[1..], 32);

    // Fortran order in three dimensions: the block runs fastest
    let fortran: Vec<u64> = (0..4)
        .flat_map(|column| (0..32).flat_map(move |row| (0..2).map(move |block| (block, row, column))))
        .map(|(block, row, column)| a[(block * 32 + row) * 4 + column])
        .collect();
    bench.put("a.npy", &npy("<u2", true, "(2, 32, 4)", &bytes(&fortran, 2, false)));
    bench.runs(&format!("cdna3 {instruction} -a a.npy -b b.safetensors -c c.npy -o e.npy"));
    assert_eq!(bench.npy("e.npy", "<f4", &[2, 32, 32]), d);

    // one block, where two belong
    bench.put("a.npy", &npy("<u2", false, "(32, 4)", &bytes(&a[..128], 2, false)));
    bench.fails(
        &format!("cdna3 {instruction} -a a.npy -b b.safetensors -o f.npy"),
        &["A is 32×4, ", "takes 2×32×4"],
    );
    // three dimensions, where there is one block
    let [a, b, _] = operands(&HOPPER_F16, (16, 8, 16));
    bench
        .put("a.npy", &npy("<f2", false, "(1, 16, 16)", &bytes(&a, 2, false)))
        .put("b.npy", &npy("<f2", false, "(16, 8)", &bytes(&b, 2, false)));
    bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -o g.npy"));
    bench.npy("g.npy", "<f4", &[16, 8]);
}

#[test]
fn c_left_out_is_zero() {
    let bench = hopper();
    let line = bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -o without.npy"));
    assert!(line.contains("16×8 f16 + 0 = 16×8 f32"), "{line}");
    bench.put("zero.npy", &matrix("<f4", (16, 8), &[0; 128]));
    bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -c zero.npy -o with.npy"));
    assert_eq!(
        std::fs::read(bench.path("without.npy")).unwrap(),
        std::fs::read(bench.path("with.npy")).unwrap()
    );
}

#[test]
fn n_is_taken_from_b_where_the_name_leaves_it_open() {
    let bench = Bench::new();
    let [a, b, c] = operands(&WGMMA, (64, 24, 16));
    bench
        .put("a.npy", &matrix("<f2", (64, 16), &a))
        .put("b.npy", &matrix("<f2", (16, 24), &b))
        .put("bt.npy", &matrix("<f2", (24, 16), &transposed(&b, 16, 24)))
        .put("c.npy", &matrix("<f4", (64, 24), &c));
    for name in
        ["wgmma.m64nNk16.f32.f16.f16", "wgmma.m64n{8..256}k16.f32.f16.f16", "wgmma.m64n24k16.f32.f16.f16"]
    {
        let line = bench.runs(&format!("hopper {name} -a a.npy -b b.npy -c c.npy -o d.npy"));
        assert!(line.starts_with("hopper wgmma.m64n24k16.f32.f16.f16 (T-FDPA): "), "{line}");
        check(&bench.npy("d.npy", "<f4", &[64, 24]), &WGMMA, 24);
    }
    let open = "wgmma.m64nNk16.f32.f16.f16";
    bench.runs(&format!("hopper {open} -a a.npy -b bt.npy -c c.npy --b-transposed -o e.npy"));
    check(&bench.npy("e.npy", "<f4", &[64, 24]), &WGMMA, 24);

    bench.fails(
        "hopper wgmma.m64n8k16.f32.f16.f16 -a a.npy -b b.npy -o f.npy",
        &["B is 16×24, wgmma.m64n8k16.f32.f16.f16 takes 16×8"],
    );
    bench.fails(
        "hopper wgmma.m64n12k16.f32.f16.f16 -a a.npy -b b.npy -o f.npy",
        &["N is 12", "8 to 256 in steps of 8"],
    );
    bench.put("b12.npy", &matrix("<f2", (16, 12), &[0; 192]));
    bench.fails(
        &format!("hopper {open} -a a.npy -b b12.npy -o f.npy"),
        &["B is 16×12, so N is 12; N of wgmma.m64n{8..256}k16.f32.f16.f16 may be 8 to 256 in steps of 8"],
    );
    bench.put("b264.npy", &matrix("<f2", (16, 264), &[0; 16 * 264]));
    bench.fails(&format!("hopper {open} -a a.npy -b b264.npy -o f.npy"), &["so N is 264"]);
    bench.fails(
        &format!("hopper {open} -a a.npy -b bt.npy -o f.npy"),
        &["B is 24×16", "takes 16×16 (if B's file is N×K, say --b-transposed)"],
    );
}

#[test]
fn a_model_takes_any_shape_it_can_sum() {
    let model =
        "model = \"T-FDPA\"\nA = \"f16\"\nB = \"f16\"\nC = \"f32\"\nrho = \"RZ-FP32\"\nL_max = 16\nF = 25\n";
    let bench = Bench::new();
    // Hopper's model, written out
    let [a, b, _] = operands(&HOPPER_F16[..1], (4, 8, 16));
    bench
        .put("model.toml", model.as_bytes())
        .put("a.npy", &matrix("<f2", (4, 16), &a))
        .put("b.npy", &matrix("<f2", (16, 8), &b))
        .put("c.npy", &matrix("<f4", (4, 8), &operands(&HOPPER_F16[..1], (4, 8, 16))[2]));
    let line = bench.runs("--model model.toml -a a.npy -b b.npy -c c.npy -o d.npy");
    assert!(
        line.starts_with("model.toml (T-FDPA): 4×16 f16 · 16×8 f16 + 4×8 f32 = 4×8 f32 in d.npy"),
        "{line}"
    );
    check(&bench.npy("d.npy", "<f4", &[4, 8]), &HOPPER_F16[..1], 8);
    // with as many blocks as A and B have
    bench
        .put("a3.npy", &npy("<f2", false, "(3, 4, 16)", &bytes(&[&a[..], &a, &a].concat(), 2, false)))
        .put("b3.npy", &npy("<f2", false, "(3, 16, 8)", &bytes(&[&b[..], &b, &b].concat(), 2, false)));
    bench.runs("--model model.toml -a a3.npy -b b3.npy -o d3.npy");
    bench.npy("d3.npy", "<f4", &[3, 4, 8]);

    bench
        .put("a20.npy", &matrix("<f2", (4, 20), &[0; 80]))
        .put("b20.npy", &matrix("<f2", (20, 8), &[0; 160]));
    bench.fails(
        "--model model.toml -a a20.npy -b b20.npy -o e.npy",
        &["K is 20; T-FDPA takes multiples of 16"],
    );
    bench.fails("--model model.toml -a a.npy -b b20.npy -o e.npy", &["B is 20×8, T-FDPA takes 16×8"]);
    bench.put("a0.npy", &matrix("<f2", (4, 0), &[])).put("b0.npy", &matrix("<f2", (0, 8), &[]));
    bench.fails("--model model.toml -a a0.npy -b b0.npy -o e.npy", &["K is 0"]);
    bench.put("bad.toml", b"model = \"T-FDPA\"\n");
    bench.fails("--model bad.toml -a a.npy -b b.npy -o e.npy", &["bad.toml: "]);
}

#[test]
fn the_revision_is_passed_on() {
    // semantics: an MI300X answers otherwise than the paper; here only that the flag arrives
    let bench = Bench::new();
    let [a, b, c] = operands(&CDNA3_FP8, (16, 16, 32));
    bench
        .put("a.npy", &matrix("|u1", (16, 32), &a))
        .put("b.npy", &matrix("|u1", (32, 16), &b))
        .put("c.npy", &matrix("<f4", (16, 16), &c));
    let instruction = "v_mfma_f32_16x16x32_bf8_fp8";
    #[rustfmt::skip]
    let line = bench.runs(&format!("cdna3 {instruction} -a a.npy -b b.npy -c c.npy -o d.safetensors --revision paper"));
    assert!(line.contains("(GTR-FDPA, revision paper)"), "{line}");
    let file = std::fs::read(bench.path("d.safetensors")).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&file).unwrap();
    assert_eq!(metadata.metadata().as_ref().unwrap()["revision"], "paper");
}

#[test]
fn safetensors_are_written_with_what_ran() {
    let bench = hopper();
    let arguments = format!("hopper {F16} -a a.npy -b b.npy -c c.npy -o");
    bench.runs(&format!("{arguments} d.safetensors"));
    let file = std::fs::read(bench.path("d.safetensors")).unwrap();
    // by hand: eight bytes of length, a multiple of eight; then JSON; then the elements
    let length = words(&file[..8], 8)[0] as usize;
    assert_eq!(length % 8, 0);
    let header: serde_json::Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    assert_eq!(
        header,
        serde_json::json!({
            "__metadata__": {
                "architecture": "hopper",
                "bitmma": env!("CARGO_PKG_VERSION"),
                "instruction": F16,
                "revision": "hardware",
            },
            "d": { "dtype": "F32", "shape": [16, 8], "data_offsets": [0, 512] },
        })
    );
    check(&words(&file[8 + length..], 4), &HOPPER_F16, 8);
    // as the crate reads it
    let read = safetensors::SafeTensors::deserialize(&file).unwrap();
    assert_eq!(read.names(), ["d"]);
    let d = read.tensor("d").unwrap();
    assert_eq!((d.dtype(), d.shape()), (safetensors::Dtype::F32, &[16, 8][..]));
    // the same answer is the same file
    bench.runs(&format!("{arguments} again.safetensors"));
    assert_eq!(file, std::fs::read(bench.path("again.safetensors")).unwrap());
    // and is read back as C
    bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -c d.safetensors -o e.npy"));
}

#[test]
fn json_says_what_ran() {
    let bench = hopper();
    let text = bench.runs(&format!("H100 {F16} -a a.npy -b b.npy -o d.npy --json"));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        value,
        serde_json::json!({
            "schema": 1, "target": format!("hopper {F16}"),
            "architecture": "hopper", "instruction": F16, "revision": "hardware", "model_file": null,
            "model": {
                "family": "T-FDPA",
                "parameters": {
                    "L_max": 16, "L": 16, "F": 25, "term_rounding": "RZ", "e_zero": -133, "rho": "RZ-FP32",
                    "nan": "0x7fffffff",
                },
                "lowering": [],
            },
            "path": "kernel",
            "m": 16, "n": 8, "k": 16, "blocks": 1,
            "a": { "file": "a.npy", "format": "f16", "shape": [16, 16] },
            "b": { "file": "b.npy", "format": "f16", "shape": [16, 8] },
            "c": { "file": null, "format": "f32", "shape": [16, 8] },
            "scale_a": null, "scale_b": null,
            "d": { "file": "d.npy", "format": "f32", "shape": [16, 8] },
        })
    );
}

#[test]
fn every_nan_code_is_an_input() {
    let bench = Bench::new();
    let instruction = "v_mfma_f32_16x16x32_bf8_fp8";
    let nan = placed(16, 32, &[(0, vec![0x80])], true);
    bench
        .put("a.safetensors", &safetensors(&[("a", "F8_E5M2FNUZ", &[16, 32], bytes(&nan, 1, false))]))
        .put("b.npy", &matrix("|u1", (32, 16), &[0; 512]));
    bench.runs(&format!("cdna3 {instruction} -a a.safetensors -b b.npy -o d.npy"));
    let d = bench.npy("d.npy", "<f4", &[16, 16]);
    for (index, code) in d.iter().enumerate() {
        let is_nan = code & 0x7fff_ffff > 0x7f80_0000;
        assert_eq!(is_nan, index < 16, "d[{}, {}] is {code:08x}", index / 16, index % 16);
    }
    // any payload, either sign, signalling or quiet, in FP16
    let bench = hopper();
    for code in [0x7c01, 0x7e00, 0xfc01, 0xffff] {
        bench.put("a.npy", &matrix("<f2", (16, 16), &[code; 256]));
        bench.runs(&format!("hopper {F16} -a a.npy -b b.npy -o d.npy"));
        assert!(bench.npy("d.npy", "<f4", &[16, 8]).iter().all(|code| code & 0x7fff_ffff > 0x7f80_0000));
    }
}
