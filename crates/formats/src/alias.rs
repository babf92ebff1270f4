//! What other projects call a format: dtypes of PyTorch, JAX, ml_dtypes, Triton and safetensors, types of CUDA, HIP,
//! CUTLASS and rocWMMA.

use thiserror::Error;

use crate::format::Format;
use crate::table::{self, *};

/// A format, and what others call it, in lower case and without what [`bare`] takes away. The first is the dtype of NumPy, ml_dtypes
/// and PyTorch.
#[rustfmt::skip]
const ALIASES: &[(Format, &[&str])] = &[
    // PyTorch and JAX; C++; cuBLAS and hipBLAS (the same for every row)
    (F64, &["float64", "fp64", "double", "float64_t", "r_64f"]),
    (F32, &["float32", "fp32", "float", "single", "float32_t", "r_32f"]),
    // CUDA, CUTLASS, CUTLASS' MLIR
    (TF32, &["tensorfloat32", "tfloat32_t", "tfloat32", "precision::tf32", "float_tf32"]),
    // rocWMMA
    (XF32, &["xfloat32", "xfloat32_t", "rocwmma_xfloat32"]),
    // CUDA (__nv_bfloat16), HIP (hip_bfloat16, __hip_bfloat16), CUTLASS and rocWMMA (bfloat16_t), safetensors (BF16)
    (BF16, &["bfloat16", "bfloat16_t", "nv_bfloat16", "hip_bfloat16", "r_16bf", "bfloat"]),
    // CUDA and HIP (half, __half, _Float16), CUTLASS (half_t), rocWMMA (float16_t, hfloat16_t)
    (F16, &["float16", "fp16", "half", "half_t", "float16_t", "hfloat16_t", "r_16f"]),
    // PyTorch, ml_dtypes; Triton (fp8e5, float8e5); CUDA (__nv_fp8_e5m2); CUTLASS; HIP; rocWMMA (bfloat8_t)
    (E5M2, &["float8_e5m2", "fp8_e5m2", "f8_e5m2", "fp8e5", "float8e5", "f8e5m2", "float8e5m2", "nv_fp8_e5m2", "float_e5m2_t", "hip_fp8_e5m2", "bfloat8_t", "r_8f_e5m2"]),
    // the same; Triton calls it fp8e4nv, XLA and MLIR F8E4M3FN, ONNX FLOAT8E4M3FN, safetensors F8_E4M3
    (E4M3, &["float8_e4m3fn", "e4m3fn", "fp8_e4m3", "fp8_e4m3fn", "f8_e4m3", "fp8e4nv", "float8e4nv", "f8e4m3fn", "float8e4m3fn", "nv_fp8_e4m3", "float_e4m3_t", "hip_fp8_e4m3", "float8_t", "r_8f_e4m3"]),
    // PyTorch, ml_dtypes; Triton (fp8e5b16); HIP; rocWMMA
    (E5M2FNUZ, &["float8_e5m2fnuz", "fp8_e5m2_fnuz", "fp8e5b16", "float8e5b16", "f8e5m2fnuz", "float8e5m2fnuz", "hip_fp8_e5m2_fnuz", "bfloat8_fnuz_t", "r_8f_e5m2_fnuz"]),
    (E4M3FNUZ, &["float8_e4m3fnuz", "fp8_e4m3_fnuz", "fp8e4b8", "float8e4b8", "f8e4m3fnuz", "float8e4m3fnuz", "hip_fp8_e4m3_fnuz", "float8_fnuz_t", "r_8f_e4m3_fnuz"]),
    // ml_dtypes; CUTLASS; CUDA (__nv_fp6_e3m2); XLA and MLIR
    (E3M2, &["float6_e3m2fn", "float_e3m2_t", "nv_fp6_e3m2", "fp6_e3m2", "f6e3m2fn", "r_6f_e3m2"]),
    (E2M3, &["float6_e2m3fn", "float_e2m3_t", "nv_fp6_e2m3", "fp6_e2m3", "f6e2m3fn", "r_6f_e2m3"]),
    // PyTorch stores two in a byte
    (E2M1, &["float4_e2m1fn", "float4_e2m1fn_x2", "float_e2m1_t", "nv_fp4_e2m1", "fp4_e2m1", "f4e2m1fn", "float4e2m1", "r_4f_e2m1", "fp4", "float4"]),
    // PyTorch, ml_dtypes; CUTLASS; CUDA (__nv_fp8_e8m0)
    (UE8M0, &["float8_e8m0fnu", "e8m0", "e8m0fnu", "f8e8m0fnu", "f8_e8m0", "float_ue8m0_t", "nv_fp8_e8m0", "r_8f_ue8m0"]),
    (UE4M3, &["float_ue4m3_t", "r_8f_ue4m3"]),
    // NumPy, ml_dtypes, PyTorch; C++; CUTLASS; cuBLAS; quantized dtypes of PyTorch; LLVM
    (S32, &["int32", "int32_t", "int", "i32", "r_32i", "qint32"]),
    (S8, &["int8", "int8_t", "i8", "r_8i", "qint8"]),
    (U8, &["uint8", "uint8_t", "r_8u", "quint8"]),
    (S4, &["int4", "int4b_t", "i4", "r_4i"]),
    (U4, &["uint4", "uint4b_t", "r_4u"]),
    (B1, &["bool", "uint1b_t", "uint1", "u1"]),
];

/// Formats without a dtype, and the format whose dtype holds them: the narrower ones ignore bits of its codes.
const HELD_AS: &[(Format, Format)] = &[(TF32, F32), (XF32, F32), (E8M13, F32), (UE4M3, E4M3)];

const FP8: &str = "is the name of several formats: e4m3 or e5m2, on CDNA3 e4m3fnuz or e5m2fnuz";
const FP6: &str = "is the name of two formats: e3m2 or e2m3";
const INTEGER: &str = "is an integer that no matrix unit multiplies; these are s32, s8, u8, s4, u4 and b1";
const COMPLEX: &str =
    "is a complex number, whose products are made of real ones; bitmma models the real ones";

/// Names that are known, and are not a format here; why not.
#[rustfmt::skip]
const OTHERS: &[(&[&str], &str)] = &[
    (&["fp8", "float8", "f8"], FP8),
    (&["fp6", "float6", "f6"], FP6),
    (&["mxfp8", "mx8"], "is e4m3 or e5m2 in blocks of 32 with scale factors in ue8m0"),
    (&["mxfp6", "mx6"], "is e3m2 or e2m3 in blocks of 32 with scale factors in ue8m0"),
    (&["mxfp4", "mx4"], "is e2m1 in blocks of 32 with scale factors in ue8m0"),
    (&["nvfp4"], "is e2m1 in blocks of 16 with scale factors in ue4m3"),
    (&["int1", "int16", "uint16", "uint32", "int64", "uint64", "int16_t", "uint16_t", "uint32_t", "int64_t", "uint64_t", "i16", "i64"], INTEGER),
    (&["complex64", "complex128", "complex32", "cfloat", "cdouble", "chalf", "c_32f", "c_64f", "c64", "gc64"], COMPLEX),
    (&["float8_e4m3", "float8e4m3"], "is the format of IEEE 754's kind, with infinities; the matrix units have e4m3 (float8_e4m3fn), without them"),
    (&["fp8e4b15", "float8e4b15", "float8_e4m3b11fnuz", "f8e4m3b11fnuz", "fp8e4b15x4"], "is a format that no matrix unit multiplies"),
    (&["float8_e3m4", "f8e3m4", "float8_e8m0", "float128", "float80", "longdouble"], "is a format that no matrix unit multiplies"),
];

/// Why a name is not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnknownFormat {
    /// A name that others use for several formats, or for something else.
    #[error("'{given}' {about}")]
    Other {
        /// What was asked for.
        given: String,
        /// What it is, beginning with a verb.
        about: &'static str,
    },
    /// Nobody calls a format that.
    #[error("unknown format '{given}'; one of {}", table::names())]
    Unknown {
        /// What was asked for.
        given: String,
    },
}

/// Packages whose dtypes are known.
const PACKAGES: [&str; 8] =
    ["torch", "jnp", "jax.numpy", "np", "numpy", "ml_dtypes", "tl", "triton.language"];

/// Lower case, without the package (`torch.`, `jnp.`, `tl.`), namespace (`cutlass::`, `rocwmma::`) or prefix
/// (`CUDA_`, `HIP_`, `__`) before a type's name. `kind::` is no namespace, `kind::f16` is BF16 too; nor is anything with a dot.
fn bare(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let package = PACKAGES.iter().find_map(|package| lower.strip_prefix(package)?.strip_prefix('.'));
    let word = package.unwrap_or(&lower);
    let word = match word.rsplit_once("::") {
        Some((space, last)) if space.ends_with("precision") => return format!("precision::{last}"),
        Some((space, last)) if !space.contains('.') && !space.ends_with("kind") => last,
        _ => word,
    };
    let word = word.trim_start_matches('_');
    // the types of cuBLAS and hipBLAS: CUDA_R_16F, HIP_R_16F
    word.strip_prefix("cuda_")
        .or_else(|| word.strip_prefix("hip_").filter(|rest| rest.starts_with("r_")))
        .unwrap_or(word)
        .to_owned()
}

/// The format that `text` names: as the table does, or as another project does.
///
/// # Errors
///
/// A name of several formats (`fp8`), of something else (`int8`), or of nothing.
pub fn find(text: &str) -> Result<Format, UnknownFormat> {
    let word = bare(text);
    let own = by_name(text.trim()).or_else(|| by_name(&word));
    let alias =
        || ALIASES.iter().find(|(_, names)| names.contains(&word.as_str())).map(|(format, _)| *format);
    let given = text.to_owned();
    own.or_else(alias).ok_or_else(|| match OTHERS.iter().find(|(names, _)| names.contains(&word.as_str())) {
        Some((_, about)) => UnknownFormat::Other { given, about },
        None => UnknownFormat::Unknown { given },
    })
}

/// The dtype of NumPy, ml_dtypes and PyTorch that holds codes of `format`, if there is one.
pub fn dtype(format: &Format) -> Option<&'static str> {
    let held_as = HELD_AS.iter().find(|(one, _)| one == format).map_or(format, |(_, other)| other);
    aliases(held_as).first().copied()
}

/// Every alias of `format`, in lower case.
pub fn aliases(format: &Format) -> &'static [&'static str] {
    ALIASES.iter().find(|(one, _)| one == format).map_or(&[], |(_, names)| names)
}
