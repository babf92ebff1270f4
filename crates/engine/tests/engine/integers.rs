//! Integer instructions: kernel and reference path against sums of the host's 128-bit integers.

use bitmma_engine::catalogue::{Architecture, Family, Instruction, Revision, catalogue, find};
use bitmma_engine::formats::{F32, Format, Overflow, Rounding};
use bitmma_engine::gemm::{GemmOptions, OutputConversion, Target, gemm};
use bitmma_engine::{FastSimulator, Matrix, Operands, Simulator};

/// The number of a code, read as the name of its format says.
fn number(format: Format, code: u64) -> i128 {
    match format.name {
        "s32" => (code as u32 as i32).into(),
        "s8" => (code as u8 as i8).into(),
        "s4" => [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1][code as usize],
        _ => code.into(),
    }
}

/// D of one element: `step` products at a time, each step wraps or saturates as the name of the instruction says.
fn expected(row: &Instruction, a: &[i128], b: &[i128], c: i128) -> u64 {
    let step = row.products();
    let sum = a.chunks(step).zip(b.chunks(step)).fold(c, |sum, (a, b)| {
        let sum = sum + a.iter().zip(b).map(|(a, b)| a * b).sum::<i128>();
        match row.name().contains("satfinite") {
            true => sum.clamp(i32::MIN.into(), i32::MAX.into()),
            false => i128::from(sum as i32),
        }
    });
    u64::from(sum as i32 as u32)
}

/// A linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 32
    }

    /// A code: any, or one of the ends of the range.
    fn code(&mut self, format: Format, extreme: bool) -> u64 {
        let top = 1 << (format.bits() - 1);
        match extreme {
            true => {
                [0, 1, top - 1, top, top + 1, format.max_code()][self.next() as usize % 6] & format.max_code()
            }
            false => self.next() & format.max_code(),
        }
    }

    fn matrix(&mut self, format: Format, shape: (usize, usize, usize), extreme: bool) -> Matrix {
        Matrix::from_fn(format, shape, |_, _, _| self.code(format, extreme)).unwrap()
    }
}

fn rows() -> impl Iterator<Item = &'static Instruction> {
    catalogue().iter().filter(|row| row.d.is_integer())
}

/// Every row, M and N of the instruction, four times its K; operands random, at the ends of their ranges, and all at one end so
/// that sums run over the range of S32.
#[test]
fn kernel_and_reference_agree_with_wide_sums() {
    let mut random = Random(21);
    let (mut wrapped, mut count) = (0, 0);
    for row in rows() {
        let target = Simulator::found(
            &find(row.architecture, &row.name_for(row.m.first, row.n.first)).unwrap(),
            Revision::Hardware,
        )
        .unwrap();
        let fast = FastSimulator::new(target.clone());
        let (m, n, k) = (row.m.first.min(16), row.n.first.min(16), 4 * row.products());
        for kind in 0..4 {
            let [a, b] = [(row.a, m, k), (row.b, k, n)].map(|(format, rows, columns)| match kind {
                0 => random.matrix(format, (1, rows, columns), false),
                1 => random.matrix(format, (1, rows, columns), true),
                // the largest and the smallest number
                _ => {
                    let [least, largest] = format.integer_range();
                    let value = if kind == 2 { largest } else { least };
                    Matrix::from_fn(format, (1, rows, columns), |_, _, _| value as u64 & format.max_code())
                        .unwrap()
                }
            });
            let c = random.matrix(row.c, (1, m, n), kind > 0);
            let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
            let d = fast.multiply_blocks(&operands).unwrap();
            let reference =
                bitmma_engine::simulate_steps(target.own_model(), row.products(), &operands).unwrap();
            assert_eq!(d, reference, "{} {row}", row.architecture);
            for i in 0..m {
                for j in 0..n {
                    let line: Vec<i128> = a.row(0, i).map(|code| number(row.a, code)).collect();
                    let column: Vec<i128> = b.column(0, j).map(|code| number(row.b, code)).collect();
                    let start = number(row.c, c.get(0, i, j));
                    let exact = start + line.iter().zip(&column).map(|(a, b)| a * b).sum::<i128>();
                    wrapped += usize::from(exact != i128::from(exact as i32));
                    let context = format!("{} {row} [{i}, {j}]", row.architecture);
                    assert_eq!(d.get(0, i, j), expected(row, &line, &column, start), "{context}");
                    count += 1;
                }
            }
        }
    }
    // sums beyond S32 are among them
    assert!(wrapped > 10_000 && count > 100_000, "{wrapped} of {count}");
}

/// Each step saturates before the next begins: 2^31-1 + 1 - 1 is 2^31-2, where the sum wraps it is 2^31-1.
#[test]
fn every_instruction_of_a_chain_saturates() {
    for (name, d) in [
        ("mma.m16n8k32.satfinite.s32.s8.s8.s32", 0x7fff_fffe_u64),
        ("mma.m16n8k32.s32.s8.s8.s32", 0x7fff_ffff),
    ] {
        let target = Target::instruction(Architecture::Ampere, name, Revision::Hardware).unwrap();
        let one_then_minus_one = |k: usize| {
            if k == 0 {
                1
            } else if k == 32 {
                0xff
            } else {
                0
            }
        };
        let a = Matrix::from_fn(target.model().a, (1, 1, 64), |_, _, k| one_then_minus_one(k)).unwrap();
        let b = Matrix::from_fn(target.model().b, (1, 64, 1), |_, _, _| 1).unwrap();
        let c = Matrix::new(target.model().c, (1, 1, 1), [0x7fff_ffff]).unwrap();
        assert_eq!(
            gemm(&target, &a, &b, Some(&c), &GemmOptions::default()).unwrap().get(0, 0, 0),
            d,
            "{name}"
        );
    }
}

/// Shapes that fill no tile, several blocks, a B that lies by its columns, K that is padded, no C, and K = 0.
#[test]
fn products_of_any_shape() {
    let mut random = Random(7);
    for name in [
        "mma.m16n8k16.s32.u8.s8.s32",
        "mma.m16n8k64.satfinite.s32.s4.u4.s32",
        "mma.m16n8k256.s32.b1.b1.s32.and.popc",
    ] {
        let row = find(Architecture::Ada, name).unwrap().instruction;
        let target = Target::instruction(Architecture::Ada, name, Revision::Hardware).unwrap();
        assert!(target.has_kernel(), "{name}");
        for (blocks, m, n, k) in
            [(1, 1, 1, 1), (1, 5, 17, 100), (3, 4, 33, 300), (2, 9, 1, 0), (1, 0, 3, 4), (1, 70, 70, 257)]
        {
            let a = random.matrix(row.a, (blocks, m, k), true);
            let b = random.matrix(row.b, (blocks, k, n), true);
            let c = random.matrix(row.c, (blocks, m, n), true);
            for c in [None, Some(&c)] {
                let d = gemm(&target, &a, &b, c, &GemmOptions::default()).unwrap();
                for (block, i, j) in
                    (0..blocks).flat_map(|x| (0..m).flat_map(move |i| (0..n).map(move |j| (x, i, j))))
                {
                    let line: Vec<i128> = a.row(block, i).map(|code| number(row.a, code)).collect();
                    let column: Vec<i128> = b.column(block, j).map(|code| number(row.b, code)).collect();
                    let start = c.map_or(0, |c| number(row.c, c.get(block, i, j)));
                    assert_eq!(
                        d.get(block, i, j),
                        expected(row, &line, &column, start),
                        "{name} {m}x{n}x{k}"
                    );
                }
            }
        }
        let (a, b) = (random.matrix(row.a, (1, 6, 512), false), random.matrix(row.b, (1, 9, 512), false));
        let c = random.matrix(row.c, (1, 6, 9), true);
        let turned = Matrix::from_fn(row.b, (1, 512, 9), |_, k, j| b.get(0, j, k)).unwrap();
        let fast =
            FastSimulator::new(Simulator::instruction(Architecture::Ada, name, Revision::Hardware).unwrap());
        let by_columns = fast.multiply_columns(&a, &b, &c, None).unwrap();
        assert_eq!(
            by_columns,
            gemm(&target, &a, &turned, Some(&c), &GemmOptions::default()).unwrap(),
            "{name}"
        );
    }
}

/// D in a floating-point format is rounded once, from the integer.
#[test]
fn results_are_converted() {
    let target =
        Target::instruction(Architecture::Hopper, "wgmma.m64n8k32.s32.u8.u8", Revision::Hardware).unwrap();
    let a = Matrix::from_fn(target.model().a, (1, 1, 32), |_, _, _| 255).unwrap();
    let b = Matrix::from_fn(target.model().b, (1, 32, 1), |_, _, _| 255).unwrap();
    let c = Matrix::new(target.model().c, (1, 1, 1), [u64::from(i32::MIN as u32)]).unwrap();
    for (rounding, host) in
        [(Rounding::NearestEven, -2145402848.0_f32), (Rounding::TowardZero, -2145402752.0)]
    {
        let output = Some(OutputConversion::new(F32, Some(rounding), Some(Overflow::Ieee)));
        let d = gemm(&target, &a, &b, Some(&c), &GemmOptions { output, ..GemmOptions::default() }).unwrap();
        // -2^31 + 32 * 65025 = -2145402848
        assert_eq!(d.get(0, 0, 0), u64::from(host.to_bits()), "{rounding}");
    }
}

/// What changes the order of floating-point sums is refused by name, and so is what needs another format.
#[test]
fn options_of_floating_point_are_refused() {
    let target =
        Target::instruction(Architecture::Hopper, "wgmma.m64n8k32.s32.s8.s8", Revision::Hardware).unwrap();
    let (a, b) = (
        Matrix::zeros(target.model().a, (1, 2, 64)).unwrap(),
        Matrix::zeros(target.model().b, (1, 64, 2)).unwrap(),
    );
    let one = target.working_format().one_code();
    let refused = |options: GemmOptions<'_>| gemm(&target, &a, &b, None, &options).unwrap_err().to_string();
    for (name, options) in [
        ("split_k", GemmOptions { split_k: Some(2), ..GemmOptions::default() }),
        ("promote_every", GemmOptions { promote_every: Some(32), ..GemmOptions::default() }),
        ("c_last", GemmOptions { c_last: true, ..GemmOptions::default() }),
        ("alpha", GemmOptions { alpha: Some(0), ..GemmOptions::default() }),
        ("beta", GemmOptions { beta: Some(0), ..GemmOptions::default() }),
    ] {
        let message = refused(options);
        assert!(message.contains(name) && message.contains("sums integers and C exactly"), "{message}");
    }
    let output = Some(OutputConversion::nearest(target.model().a));
    let message = refused(GemmOptions { output, ..GemmOptions::default() });
    assert!(message.contains("D is converted to a floating-point format"), "{message}");
    // what changes nothing is taken
    let options =
        GemmOptions { split_k: Some(1), alpha: Some(one), beta: Some(one), ..GemmOptions::default() };
    assert!(gemm(&target, &a, &b, None, &options).is_ok());
}

/// A model file may name integers, and nothing else beside them.
#[test]
fn model_files_have_integers() {
    use bitmma_engine::arithmetic::Model;
    for row in rows().filter(|row| row.family != Family::Wmma) {
        let model = row.model(Revision::Hardware).unwrap();
        assert_eq!(Model::from_toml(&model.to_toml()).unwrap(), model, "{row}");
    }
    let text = find(Architecture::Ada, "mma.m16n8k32.satfinite.s32.s8.s8.s32")
        .unwrap()
        .instruction
        .model(Revision::Paper)
        .unwrap()
        .to_toml();
    assert!(text.contains("rho = \"S32 saturate\""), "{text}");
    for (from, to, why) in [
        ("A = \"s8\"", "A = \"f16\"", "integers together"),
        ("rho = \"S32 saturate\"", "rho = \"RNE-FP32\"", "integers together"),
        ("rho = \"S32 saturate\"", "rho = \"RNE-S32\"", "unknown conversion"),
        ("rho = \"S32 saturate\"", "rho = \"S32 ftz\"", "unknown conversion"),
        ("model = \"E-FDPA\"", "model = \"Dot-Add\"", "E-FDPA"),
    ] {
        assert!(text.contains(from), "{text}");
        let error =
            Model::from_toml(&text.replace(from, to).replace("D = \"s32\"\n", "")).unwrap_err().to_string();
        assert!(error.contains(why), "{from} -> {to}: {error}");
    }
}
