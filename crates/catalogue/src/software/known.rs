//! Names that are known and are not an instruction of the catalogue: calls of libraries, some integer and sparse
//! instructions, instructions of architectures that are not modeled.

use super::meaning::Meaning;

const DOT: &str = "is an integer dot product of one thread; bitmma models matrix instructions";
const XOR: &str = "counts the bits of A and B that differ (.xor.popc), which is no sum of products; bitmma models .and.popc";
const SATURATES: &str =
    "saturates its result (.satfinite, .SAT), which bitmma does not model of floating point";
const RDNA: &str = "is an instruction of RDNA, which bitmma does not model";
const CDNA4: &str =
    "is an instruction of CDNA4 (gfx950), which bitmma does not model; CDNA3 has shorter ones of its own";
const SPARSE: &str = "is a sparse instruction of CDNA3, which bitmma does not model";
const XE: &str = "is an instruction of Intel's, which bitmma does not model";
const PRODUCT: &str =
    "is a call of a library, not an instruction: `bitmma gemm --like CHIP` computes it as that chip would";
const SCALED: &str = "is a call of a library, not an instruction: `bitmma call CHIP scaled_mm` computes it";
const LT: &str = "is a call of a library, not an instruction: `bitmma call` computes it where the choice of kernel is known (docs/calls.md)";
const ATTENTION: &str =
    "is several products with a softmax between them; ask for each product by `bitmma gemm --like CHIP`";
const PAIR: &str = "works on a pair of CTAs (cta_group::2), which bitmma does not model";

/// What a name begins with, in lower case, and what it is.
#[rustfmt::skip]
const BEGINNINGS: &[(&[&str], &str)] = &[
    (&["v_dot", "__dp4a", "dp4a", "dp2a"], DOT),
    (&["v_wmma", "__builtin_amdgcn_wmma", "__builtin_amdgcn_swmmac", "v_swmmac", "llvm.amdgcn.wmma", "rocdl.wmma"], RDNA),
    (&["v_smfmac", "__builtin_amdgcn_smfmac", "llvm.amdgcn.smfmac", "rocdl.smfmac"], SPARSE),
    (&["v_mfma_scale", "__builtin_amdgcn_mfma_scale", "v_mfma_f32_16x16x128", "v_mfma_f32_32x32x64", "v_mfma_f32_16x16x32_f16", "v_mfma_f32_16x16x32_bf16",
       "v_mfma_f32_32x32x16_f16", "v_mfma_f32_32x32x16_bf16", "__builtin_amdgcn_mfma_f32_16x16x32_f16", "__builtin_amdgcn_mfma_f32_16x16x32_bf16",
       "__builtin_amdgcn_mfma_f32_32x32x16_f16", "__builtin_amdgcn_mfma_f32_32x32x16_bf16"], CDNA4),
    (&["dpas", "xmx", "joint_matrix"], XE),
    (&["torch._scaled_mm", "torch.nn.functional.scaled_mm", "scaled_mm", "torch._scaled_grouped_mm", "torch.nn.functional.scaled_grouped_mm"], SCALED),
    (&["cublasltmatmul", "hipblasltmatmul", "cublaslt", "hipblaslt"], LT),
    (&["torch.matmul", "torch.mm", "torch.bmm", "torch.addmm", "torch.baddbmm", "torch.einsum", "torch.nn.linear", "torch.nn.functional.linear", "f.linear", "torch.linalg.matmul",
       "torch.addbmm", "torch.nn.conv2d", "torch.nn.functional.conv2d", "torch.nn.bilinear", "torch.tensordot", "torch.inner", "torch.mv",
       "jnp.matmul", "jnp.dot", "jnp.einsum", "jnp.tensordot", "jax.numpy.", "jax.lax.dot", "lax.dot", "pl.dot", "cublasgemm", "cublass", "cublash", "cublasd", "rocblas_", "hipblas",
       "cupy.matmul", "np.matmul", "tf.matmul", "tf.linalg.matmul", "aten::mm", "aten::addmm", "aten::bmm", "aten::matmul", "aten::linear"], PRODUCT),
    (&["flash_attn", "torch.nn.functional.scaled_dot_product_attention", "f.scaled_dot_product_attention", "flex_attention", "torch.nn.multiheadattention"], ATTENTION),
];

/// What a name of PTX, SASS or AMD's assembler contains, and what it is.
const PARTS: &[(&str, &str)] = &[
    ("xor.popc", XOR),
    (".satfinite.f", SATURATES),
    (".f16.sat", SATURATES),
    (".f32.sat", SATURATES),
    (".ashift", "shifts the rows of A (.ashift), which bitmma does not model"),
    (
        ".collector::",
        "says what stays in the collector buffer (.collector), which changes no result; leave it out",
    ),
    ("scale-input-d", "scales D by a power of two first (scale-input-d), which bitmma does not model"),
    ("cbsz", "broadcasts blocks of A (cbsz, abid), which bitmma does not model"),
    ("abid", "broadcasts blocks of A (cbsz, abid), which bitmma does not model"),
    ("blgp", "permutes or negates B (blgp), which bitmma does not model"),
    ("neg:[", "negates operands (neg), which bitmma does not model"),
    ("cta_group::2", PAIR),
    ("tcgen05.mma.sp", "is a sparse tcgen05.mma, which bitmma does not model"),
    ("tcgen05.mma.ws", "is a .ws form of tcgen05.mma, which bitmma does not model"),
];

pub(super) fn meaning(text: &str) -> Option<Meaning> {
    let lower = text.to_ascii_lowercase();
    let begins = |(names, _): &&(&[&str], &str)| names.iter().any(|name| lower.starts_with(name));
    let part = || PARTS.iter().find(|(part, _)| lower.contains(part)).map(|(_, about)| *about);
    BEGINNINGS.iter().find(begins).map(|(_, about)| *about).or_else(part).map(Meaning::Known)
}
