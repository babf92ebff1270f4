//! Operations along rows against plain formulas with the stated sums; rows that threads share against rows one by one.

use bitmma_portable::{
    Affine, Numbers, NumbersMut, along, apply, function, layer_norm, reduce, reduction, row_operation, sum,
};

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 % 1009) as f32 - 500.0) / 97.0).collect()
}

#[test]
fn reductions_are_their_formulas() {
    let x = numbers(300);
    let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let of = |name: &str, p: f64| {
        let mut out = [0.0f64];
        reduce(reduction(name).expect(name), p, x.len(), Numbers::F32(&x), NumbersMut::F64(&mut out));
        out[0].to_bits()
    };
    let mean = sum(&wide) / 300.0;
    let squares: Vec<f64> = wide.iter().map(|x| (x - mean) * (x - mean)).collect();
    let most = wide.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = wide.iter().map(|x| libm::exp(x - most)).collect();
    assert_eq!(of("sum", 0.0), sum(&wide).to_bits());
    assert_eq!(of("mean", 0.0), mean.to_bits());
    assert_eq!(of("max", 0.0), most.to_bits());
    assert_eq!(of("var", 1.0), (sum(&squares) / 299.0).to_bits());
    assert_eq!(of("std", 0.0), (sum(&squares) / 300.0).sqrt().to_bits());
    assert_eq!(of("logsumexp", 0.0), (libm::log(sum(&powers)) + most).to_bits());
    assert_eq!(of("norm", 1.0), sum(&wide.iter().map(|x| x.abs()).collect::<Vec<_>>()).to_bits());
    assert_eq!(of("norm", 2.0), sum(&wide.iter().map(|x| x * x).collect::<Vec<_>>()).sqrt().to_bits());
}

#[test]
fn zeros_have_an_order_and_nan_is_the_largest() {
    let of = |name: &str, x: &[f64]| {
        let mut out = [0.0f64];
        reduce(reduction(name).expect(name), 0.0, x.len(), Numbers::F64(x), NumbersMut::F64(&mut out));
        out[0].to_bits()
    };
    assert_eq!(of("max", &[-0.0, 0.0, -0.0]), 0.0f64.to_bits());
    assert_eq!(of("min", &[0.0, -0.0, 0.0]), (-0.0f64).to_bits());
    assert_eq!(of("max", &[1.0, -f64::NAN, 2.0]), 0x7ff8 << 48);
    assert_eq!(of("min", &[1.0, -f64::NAN, 2.0]), 0x7ff8 << 48);
}

#[test]
fn threads_change_nothing() {
    let x = numbers(1 << 17);
    for (name, length) in [("softmax", 64), ("log_softmax", 1000), ("cumsum", 1 << 16)] {
        let operation = row_operation(name).expect(name);
        let rows = x.len() / length;
        let x = &x[..rows * length];
        let mut whole = vec![0.0f32; x.len()];
        along(operation, length, &[Numbers::F32(x)], NumbersMut::F32(&mut whole));
        let mut each = vec![0.0f32; x.len()];
        for (from, to) in x.chunks(length).zip(each.chunks_mut(length)) {
            along(operation, length, &[Numbers::F32(from)], NumbersMut::F32(to));
        }
        assert!(whole.iter().zip(&each).all(|(x, y)| x.to_bits() == y.to_bits()), "{name}");
    }
    let silu = function("silu").expect("silu");
    let (mut whole, mut each) = (vec![0.0f32; x.len()], vec![0.0f32; x.len()]);
    apply(silu, [0.0; 3], &[Numbers::F32(&x)], NumbersMut::F32(&mut whole));
    for (from, to) in x.chunks(777).zip(each.chunks_mut(777)) {
        apply(silu, [0.0; 3], &[Numbers::F32(from)], NumbersMut::F32(to));
    }
    assert!(whole.iter().zip(&each).all(|(x, y)| x.to_bits() == y.to_bits()));
    let (mut sums, mut one) = (vec![0.0f32; 1 << 10], [0.0f32]);
    let sum = reduction("sum").expect("sum");
    reduce(sum, 0.0, 128, Numbers::F32(&x), NumbersMut::F32(&mut sums));
    for (row, total) in x.chunks(128).zip(&sums) {
        reduce(sum, 0.0, 128, Numbers::F32(row), NumbersMut::F32(&mut one));
        assert_eq!(one[0].to_bits(), total.to_bits());
    }
}

#[test]
fn a_layer_norm_is_its_formula() {
    let x = numbers(96);
    let (weight, bias) = (numbers(48), numbers(48));
    let affine =
        Affine { weight: Some(Numbers::F32(&weight)), bias: Some(Numbers::F32(&bias)), epsilon: 1e-5 };
    let (mut out, mut means, mut factors) = (vec![0.0f32; 96], [0.0f64; 2], [0.0f64; 2]);
    let moments = (NumbersMut::F64(&mut means), NumbersMut::F64(&mut factors));
    layer_norm(48, affine, Numbers::F32(&x), NumbersMut::F32(&mut out), moments);
    for row in 0..2 {
        let wide: Vec<f64> = x[48 * row..][..48].iter().map(|&x| f64::from(x)).collect();
        let mean = sum(&wide) / 48.0;
        let centred: Vec<f64> = wide.iter().map(|x| x - mean).collect();
        let factor = 1.0 / (sum(&centred.iter().map(|x| x * x).collect::<Vec<_>>()) / 48.0 + 1e-5).sqrt();
        assert_eq!((means[row].to_bits(), factors[row].to_bits()), (mean.to_bits(), factor.to_bits()));
        for (place, x) in centred.iter().enumerate() {
            let expected = (x * factor * f64::from(weight[place]) + f64::from(bias[place])) as f32;
            assert_eq!(out[48 * row + place].to_bits(), expected.to_bits());
        }
    }
}
