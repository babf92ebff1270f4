//! What a library would run, for every architecture and the types people multiply.

use bitmma_catalogue::library::{FAMILIES, Product, block_scale, choose};
use bitmma_catalogue::{Architecture, LookupError};
use bitmma_formats::{
    BF16, BlockScale, E2M1, E4M3, E4M3FNUZ, F16, F32, F64, Format, TF32, UE4M3, UE8M0, XF32,
};

fn chosen(architecture: Architecture, a: Format, d: Format) -> Result<String, LookupError> {
    choose(architecture, &Product { a, b: a, d, scale: None }).map(|found| found.instruction.name())
}

#[test]
fn every_architecture_has_families() {
    let listed: Vec<_> = FAMILIES.iter().map(|(architecture, _)| *architecture).collect();
    let units = Architecture::ALL.into_iter().filter(|one| one.unit() == *one);
    assert_eq!(listed, units.collect::<Vec<_>>());
}

#[rustfmt::skip]
const CHOSEN: &[(Architecture, Format, Format, &str)] = &[
    (Architecture::Volta, F16, F32, "mma.m8n8k4.f32.f16.f16.f32"),
    (Architecture::Turing, F16, F32, "mma.m16n8k8.f32.f16.f16.f32"),
    (Architecture::Ampere, F16, F32, "mma.m16n8k16.f32.f16.f16.f32"),
    (Architecture::Ampere, F16, F16, "mma.m16n8k16.f16.f16.f16.f16"),
    (Architecture::Ampere, TF32, F32, "mma.m16n8k8.f32.tf32.tf32.f32"),
    (Architecture::Ampere, F64, F64, "mma.m8n8k4.f64.f64.f64.f64"),
    (Architecture::Ada, E4M3, F32, "mma.m16n8k32.f32.e4m3.e4m3.f32"),
    (Architecture::Hopper, F16, F32, "wgmma.m64n{8..256}k16.f32.f16.f16"),
    (Architecture::Hopper, BF16, F32, "wgmma.m64n{8..256}k16.f32.bf16.bf16"),
    (Architecture::Hopper, E4M3, F32, "wgmma.m64n{8..256}k32.f32.e4m3.e4m3"),
    (Architecture::Hopper, F64, F64, "mma.m16n8k16.f64.f64.f64.f64"),
    (Architecture::Blackwell, F16, F32, "tcgen05.mma.m{64|128}n{8..256}k16.kind::f16.f32.f16.f16"),
    (Architecture::Blackwell, E4M3, F32, "tcgen05.mma.m{64|128}n{8..256}k32.kind::f8f6f4.f32.e4m3.e4m3"),
    (Architecture::RtxBlackwell, E4M3, F32, "mma.m16n8k32.f32.e4m3.e4m3.f32"),
    (Architecture::Cdna1, BF16, F32, "v_mfma_f32_16x16x8bf16"),
    (Architecture::Cdna2, F16, F32, "v_mfma_f32_16x16x16f16"),
    (Architecture::Cdna2, BF16, F32, "v_mfma_f32_16x16x16bf16_1k"),
    (Architecture::Cdna2, F32, F32, "v_mfma_f32_16x16x4f32"),
    (Architecture::Cdna3, F16, F32, "v_mfma_f32_16x16x16_f16"),
    (Architecture::Cdna3, XF32, F32, "v_mfma_f32_16x16x8_xf32"),
    (Architecture::Cdna3, TF32, F32, "v_mfma_f32_16x16x8_xf32"),
    (Architecture::Cdna3, E4M3FNUZ, F32, "v_mfma_f32_16x16x32_fp8_fp8"),
];

#[test]
fn the_instructions_that_published_kernels_use() {
    for (architecture, a, d, name) in CHOSEN {
        assert_eq!(chosen(*architecture, *a, *d).as_deref(), Ok(*name), "{architecture} {a} {d}");
    }
}

#[test]
fn block_scales_choose_too() {
    let mut product =
        Product { a: E2M1, b: E2M1, d: F32, scale: Some(BlockScale { format: UE4M3, size: 16 }) };
    let nvfp4 = choose(Architecture::Blackwell, &product).unwrap();
    assert!(nvfp4.name().contains("block16") && nvfp4.instruction.k == 64, "{}", nvfp4.name());
    product.scale = Some(BlockScale { format: UE8M0, size: 32 });
    product.a = E4M3;
    product.b = E4M3;
    assert!(choose(Architecture::Blackwell, &product).unwrap().name().contains("mxf8f6f4"));
    assert!(choose(Architecture::Hopper, &product).is_err());
}

#[test]
fn what_is_not_said_is_as_libraries_have_it() {
    let product = Product::new((F16, F16), None, None);
    assert_eq!((product.a, product.b, product.d, product.scale), (F16, F16, F32, None));
    assert_eq!(Product::new((F64, F64), None, None).d, F64);
    assert_eq!(Product::new((F16, F16), Some(F16), None).d, F16);
    let nvfp4 = Some(BlockScale { format: UE4M3, size: 16 });
    assert_eq!(Product::new((E2M1, E2M1), None, Some((E4M3, None))).scale, nvfp4);
    assert_eq!(block_scale(UE4M3, Some(32)), BlockScale { format: UE4M3, size: 32 });
    assert_eq!(block_scale(UE8M0, None), BlockScale { format: UE8M0, size: 32 });
    assert_eq!(block_scale(UE8M0, Some(16)), BlockScale { format: UE8M0, size: 16 });
}

#[test]
fn what_no_library_does_is_an_error_that_offers_something() {
    let error = chosen(Architecture::Hopper, F32, F32).unwrap_err().to_string();
    assert!(error.starts_with("no library multiplies f32 by f32 into f32"), "{error}");
    assert!(error.contains("tf32") && error.contains("e4m3"), "{error}");
}
