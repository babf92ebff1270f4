//! Functions of each element. How near they are to the exact values is tested in Python, against a library of many digits.

use bitmma_portable::{FUNCTIONS, Numbers, NumbersMut, apply, function};

#[test]
fn names_are_unique() {
    for (place, one) in FUNCTIONS.iter().enumerate() {
        assert!(FUNCTIONS[place + 1..].iter().all(|other| other.name != one.name), "{}", one.name);
        assert!((1..=3).contains(&one.inputs) && std::ptr::eq(function(one.name).expect("found"), one));
    }
}

#[test]
fn arrays_are_computed_as_single_numbers() {
    let x: Vec<f32> = (0..5000).map(|i| (i as f32 - 2500.0) / 311.0).collect();
    let y: Vec<f32> = (0..5000).map(|i| ((i * 31 % 97) as f32 - 40.0) / 7.0).collect();
    let z: Vec<f32> = (0..5000).map(|i| ((i * 17 % 89) as f32 + 1.0) / 9.0).collect();
    for one in FUNCTIONS {
        let mut out = vec![0.0f32; 5000];
        let inputs = [Numbers::F32(&x), Numbers::F32(&y), Numbers::F32(&z)];
        apply(one, [0.3, 0.7, 1.1], &inputs, NumbersMut::F32(&mut out));
        for place in 0..5000 {
            let elements = [x[place], y[place], z[place]].map(f64::from);
            let expected = one.evaluate(elements, [0.3, 0.7, 1.1]) as f32;
            assert!(
                out[place].to_bits() == expected.to_bits()
                    || (expected.is_nan() && out[place].to_bits() == 0x7fc0_0000),
                "{} of {elements:?}",
                one.name
            );
        }
    }
}

#[test]
fn special_values() {
    let of = |name: &str, x: f64, y: f64, p: f64| {
        function(name).expect(name).evaluate([x, y, 0.0], [p, 20.0, 1.0])
    };
    let infinity = f64::INFINITY;
    for (name, x, expected) in [
        ("exp", -infinity, 0.0),
        ("sigmoid", -infinity, 0.0),
        ("sigmoid", infinity, 1.0),
        ("silu", infinity, infinity),
        ("gelu", infinity, infinity),
        ("log_sigmoid", -infinity, -infinity),
        ("log_sigmoid", infinity, 0.0),
        ("softplus", infinity, infinity),
        ("softplus", -infinity, 0.0),
        ("rsqrt", 0.0, infinity),
        ("log", 0.0, -infinity),
        ("tanh", infinity, 1.0),
    ] {
        assert_eq!(of(name, x, 0.0, 1.0), expected, "{name} of {x}");
    }
    for name in [
        "exp",
        "log",
        "sigmoid",
        "softplus",
        "log_sigmoid",
        "gelu",
        "silu",
        "mish",
        "hardswish",
        "elu",
        "erf",
        "sin",
    ] {
        assert!(of(name, f64::NAN, 0.0, 1.0).is_nan(), "{name} of NaN");
    }
    assert_eq!(of("remainder", -5.0, 3.0, 0.0), 1.0);
    assert_eq!(of("fmod", -5.0, 3.0, 0.0), -2.0);
    assert_eq!(of("floor_divide", -5.0, 3.0, 0.0), -2.0);
    assert_eq!(of("floor_divide", 5.0, 0.0, 0.0), infinity);
    assert_eq!(of("maximum", -0.0, 0.0, 0.0).to_bits(), 0.0f64.to_bits());
    assert_eq!(of("minimum", 0.0, -0.0, 0.0).to_bits(), (-0.0f64).to_bits());
    assert!(of("maximum", 1.0, f64::NAN, 0.0).is_nan());
    assert_eq!(of("fmax", 1.0, f64::NAN, 0.0), 1.0);
}
