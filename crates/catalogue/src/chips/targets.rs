//! The table: compiler targets and the products that carry them.
//!
//! Sources: NVIDIA, "CUDA GPU Compute Capability" and the CUDA C++ Programming Guide; LLVM, "User Guide for AMDGPU
//! Backend", table of processors; AMD ROCm, "Accelerator and GPU hardware specifications".

use crate::architecture::Architecture::{self, *};

/// A compiler target and its products.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The vendor compiler's name, without the suffix for features of one architecture: `sm_90`, `gfx942`. For what is not
    /// a GPU of NVIDIA or AMD, its family.
    pub name: &'static str,
    /// What it is, in words.
    pub about: &'static str,
    /// Whose rows it uses, if it is modeled.
    pub architecture: Option<Architecture>,
    /// The modeled architecture that is nearest to it, if it is not modeled and one is near.
    pub nearest: Option<Architecture>,
    /// What others have compared on it with the nearest architecture's instructions: library calls may be computed with
    /// these. `None`: nothing.
    pub compared: Option<&'static str>,
    /// Products, lower case, without vendor and brand; one that ends in `*` stands for all names that begin so.
    pub products: &'static [&'static str],
}

impl Target {
    /// The architecture whose instructions library calls on it are computed with, if any.
    pub const fn of_calls(&self) -> Option<Architecture> {
        match (self.architecture, self.compared) {
            (None, Some(_)) => self.nearest,
            (own, _) => own,
        }
    }
}

const fn modelled(
    name: &'static str,
    architecture: Architecture,
    products: &'static [&'static str],
) -> Target {
    Target { name, about: "", architecture: Some(architecture), nearest: None, compared: None, products }
}

const fn known(
    name: &'static str,
    about: &'static str,
    nearest: Option<Architecture>,
    products: &'static [&'static str],
) -> Target {
    Target { name, about, architecture: None, nearest, compared: None, products }
}

impl Target {
    const fn compared(self, compared: &'static str) -> Target {
        Target { compared: Some(compared), ..self }
    }
}

/// RDNA multiplies matrices by other instructions (`v_wmma_*`), with another arithmetic than CDNA's.
const WMMA: &str = "its v_wmma instructions are not those of CDNA";
const NO_MATRIX_UNIT: &str = "it has no matrix unit";
/// What is known of sm_103; `plan gb300` and `show b300` both print it.
const COMPARED_ON_GB300: &str = "others (bitequiv) compared cuBLASLt 13.1.1's FP8, FP16 and BF16 products on a GB300 with \
                                 blackwell's instructions, and 0.2 % of them differ; nothing else was compared";
const ACCELERATOR: &str = "an accelerator that is not a GPU of NVIDIA or AMD";
const PROCESSOR: &str = "a processor, whose instructions are units of their own: cpu:vdpbf16ps, cpu:tdpbf16ps (AMX), cpu:bfmmla (Arm)";

#[rustfmt::skip]
pub(crate) static TARGETS: &[Target] = &[
    modelled("sm_70", Volta, &["v100", "v100s", "titan v", "gv100", "dgx-1", "dgx-2"]),
    modelled("sm_75", Turing, &[
        "t4", "t4g", "rtx 2060", "rtx 2060 super", "rtx 2070", "rtx 2070 super", "rtx 2080", "rtx 2080 super", "rtx 2080 ti", "titan rtx",
        "rtx 3000", "rtx 4000", "rtx 5000", "rtx 6000", "rtx 8000",
    ]),
    modelled("sm_80", Ampere, &["a100", "a100x", "a800", "a30", "a30x", "dgx a100"]),
    modelled("sm_86", Ampere, &[
        "a2", "a10", "a10g", "a10m", "a16", "a40", "rtx 2050", "rtx 3050", "rtx 3050 ti", "rtx 3060", "rtx 3060 ti", "rtx 3070", "rtx 3070 ti", "rtx 3080", "rtx 3080 ti",
        "rtx 3090", "rtx 3090 ti", "rtx a500", "rtx a1000", "rtx a2000", "rtx a3000", "rtx a4000", "rtx a4500", "rtx a5000", "rtx a5500", "rtx a6000",
    ]),
    modelled("sm_89", Ada, &[
        "ada lovelace", "l2", "l4", "l20", "l40", "l40g", "l40s", "rtx 4050", "rtx 4060", "rtx 4060 ti", "rtx 4070", "rtx 4070 super", "rtx 4070 ti", "rtx 4070 ti super",
        "rtx 4080", "rtx 4080 super", "rtx 4090", "rtx 4090 d", "rtx 500 ada", "rtx 1000 ada", "rtx 2000 ada", "rtx 3000 ada", "rtx 3500 ada", "rtx 4000 ada", "rtx 4000 sff ada",
        "rtx 4500 ada", "rtx 5000 ada", "rtx 5880 ada", "rtx 6000 ada",
    ]),
    modelled("sm_90", Hopper, &["h100", "h100 nvl", "h200", "h200 nvl", "h800", "h20", "gh200", "dgx h100", "dgx h200"]),
    modelled("sm_100", Blackwell, &["b100", "b200", "gb200", "dgx b200"]),
    modelled("sm_120", RtxBlackwell, &[
        "rtx 5050", "rtx 5060", "rtx 5060 ti", "rtx 5070", "rtx 5070 ti", "rtx 5080", "rtx 5090", "rtx 5090 d", "rtx pro 500", "rtx pro 1000", "rtx pro 2000", "rtx pro 3000",
        "rtx pro 4000", "rtx pro 4500", "rtx pro 5000", "rtx pro 6000", "rtx pro 500 blackwell", "rtx pro 1000 blackwell", "rtx pro 2000 blackwell", "rtx pro 3000 blackwell",
        "rtx pro 4000 blackwell", "rtx pro 4500 blackwell", "rtx pro 5000 blackwell", "rtx pro 6000 blackwell",
    ]),
    modelled("gfx908", Cdna1, &["mi100", "arcturus"]),
    modelled("gfx90a", Cdna2, &["mi210", "mi250", "mi250x", "aldebaran"]),
    modelled("gfx942", Cdna3, &["mi300a", "mi300x", "mi308x", "mi325x", "aqua vanjaram"]),

    known("sm_35", NO_MATRIX_UNIT, None, &["kepler", "k20", "k40", "sm_37", "k80", "gtx titan", "gtx 780"]),
    known("sm_52", NO_MATRIX_UNIT, None, &["maxwell", "sm_50", "sm_53", "tesla m4", "tesla m40", "m40", "tesla m60", "m60", "tesla m10", "gtx 750", "gtx 950", "gtx 960", "gtx 970", "gtx 980", "gtx 980 ti", "gtx titan x"]),
    known("sm_60", NO_MATRIX_UNIT, None, &["p100", "gp100", "pascal"]),
    known("sm_61", NO_MATRIX_UNIT, None, &["p4", "p40", "gtx 1050", "gtx 1050 ti", "gtx 1060", "gtx 1070", "gtx 1070 ti", "gtx 1080", "gtx 1080 ti", "titan x", "titan xp", "sm_62", "tx2"]),
    known("sm_72", "Volta of Jetson Xavier", Some(Volta), &["xavier", "agx xavier", "xavier nx"]),
    known("sm_75 without Tensor Cores", NO_MATRIX_UNIT, None, &["gtx 1630", "gtx 1650", "gtx 1650 super", "gtx 1650 ti", "gtx 1660", "gtx 1660 super", "gtx 1660 ti", "t400", "t500", "t550", "t600", "t1000", "t1200"]),
    known("sm_87", "Ampere of Jetson Orin", Some(Ampere), &["orin", "agx orin", "orin nx", "orin nano"]),
    known("sm_88", "Ampere of an embedded chip", Some(Ampere), &[]),
    known("sm_103", "Blackwell Ultra", Some(Blackwell), &["b300", "gb300", "dgx b300", "blackwell ultra"]).compared(COMPARED_ON_GB300),
    known("sm_101", "Blackwell of Thor, as older compilers call it", Some(Blackwell), &[]),
    known("sm_110", "Blackwell of Thor", Some(Blackwell), &["thor", "agx thor", "jetson t4000", "jetson t5000", "drive thor"]),
    known("sm_121", "Blackwell of GB10", Some(RtxBlackwell), &["gb10", "dgx spark", "n1x"]),
    known("rubin", "the generation after Blackwell", None, &["r100", "vr200", "vera rubin"]),
    known("gfx803", NO_MATRIX_UNIT, None, &["mi6", "mi8", "rx 470", "rx 480", "rx 570", "rx 580", "rx 590"]),
    known("gfx900", NO_MATRIX_UNIT, None, &["mi25", "vega 10", "vega 56", "vega 64", "rx vega 56", "rx vega 64"]),
    known("gfx906", NO_MATRIX_UNIT, None, &["mi50", "mi60", "vega 20", "radeon vii"]),
    known("gfx940", "a stepping of CDNA3 before it was sold", Some(Cdna3), &["gfx941"]),
    known("gfx950", "CDNA4", Some(Cdna3), &["cdna4", "mi350x", "mi355x", "mi350", "mi355", "mi350p"]),
    known("cdna5", "the generation after CDNA4", Some(Cdna3), &["mi400", "mi430x", "mi440x", "mi450", "mi450x", "mi455x", "gfx1250"]),
    known("gfx1010", NO_MATRIX_UNIT, None, &["rdna", "rdna1", "rx 5700", "rx 5700 xt", "rx 5600", "rx 5600 xt", "gfx1011", "gfx1012", "rx 5500", "rx 5500 xt"]),
    known("gfx1030", NO_MATRIX_UNIT, None, &["rdna2", "rx 6800", "rx 6800 xt", "rx 6900", "rx 6900 xt", "rx 6950", "rx 6950 xt", "w6800", "pro w6800"]),
    known("gfx1031", NO_MATRIX_UNIT, None, &["rx 6700", "rx 6700 xt", "rx 6750", "rx 6750 xt"]),
    known("gfx1032", NO_MATRIX_UNIT, None, &["rx 6600", "rx 6600 xt", "rx 6650", "rx 6650 xt", "w6600"]),
    known("gfx1034", NO_MATRIX_UNIT, None, &["rx 6400", "rx 6500", "rx 6500 xt"]),
    known("gfx1035", NO_MATRIX_UNIT, None, &["gfx1033", "gfx1036", "680m", "660m", "steam deck"]),
    known("gfx1100", WMMA, None, &["rdna3", "rx 7900", "rx 7900 xtx", "rx 7900 xt", "rx 7900 gre", "w7900", "w7800", "pro w7900", "pro w7800"]),
    known("gfx1101", WMMA, None, &["rx 7800", "rx 7800 xt", "rx 7700 xt", "rx 7700", "w7700", "pro w7700", "pro v710", "v710"]),
    known("gfx1102", WMMA, None, &["rx 7600", "rx 7600 xt", "rx 7650", "rx 7650 gre", "w7600", "w7500", "pro w7600", "pro w7500"]),
    known("gfx1103", WMMA, None, &["780m", "760m", "740m", "phoenix"]),
    known("gfx1150", WMMA, None, &["rdna3.5", "890m", "880m", "strix point"]),
    known("gfx1151", WMMA, None, &["8060s", "8050s", "strix halo", "ryzen ai max", "ryzen ai max+ 395"]),
    known("gfx1152", WMMA, None, &["860m", "840m", "krackan"]),
    known("gfx1200", WMMA, None, &["rdna4", "rx 9060", "rx 9060 xt"]),
    known("gfx1201", WMMA, None, &["rx 9070", "rx 9070 xt", "rx 9070 gre", "ai pro r9700", "r9700"]),

    known("TPU", "Google's accelerator", None, &["tpu*", "google tpu*", "cloud tpu*", "edge tpu", "coral", "trillium", "ironwood", "v5e", "v5p", "v6e", "v5litepod*"]),
    known("Trainium", "AWS's accelerator", None, &["trainium*", "aws trainium*", "trn1*", "trn2*", "trn3*"]),
    known("Inferentia", "AWS's accelerator", None, &["inferentia*", "aws inferentia*", "inf1", "inf2", "neuron", "neuroncore*"]),
    known("MTIA", "Meta's accelerator", None, &["mtia*", "meta mtia*"]),
    known("Maia", "Microsoft's accelerator", None, &["maia*", "microsoft maia*"]),
    known("Gaudi", "Intel's accelerator", None, &["gaudi*", "intel gaudi*", "habana*", "hpu", "hl-205", "hl-225", "hl-325"]),
    known("Apple's GPU", "a GPU of Apple silicon", None, &[
        "apple*", "m1", "m1 pro", "m1 max", "m1 ultra", "m2", "m2 pro", "m2 max", "m2 ultra", "m3", "m3 pro", "m3 max", "m3 ultra", "m4", "m4 pro", "m4 max", "m4 ultra",
        "m5", "m5 pro", "m5 max", "m5 ultra", "macbook*", "mps", "metal",
    ]),
    known("Intel's GPU", "its XMX instructions are not modeled", None, &[
        "arc", "arc a*", "arc b*", "arc pro*", "intel arc*", "a310", "a380", "a580", "a750", "a770", "b50", "b60", "b570", "b580", "alchemist", "battlemage", "xe", "xe2", "xe3",
        "xe-hpg", "xe-hpc", "xmx", "ponte vecchio", "pvc", "data center gpu max*", "intel data center gpu*", "gpu max*", "max 1100", "max 1550", "flex 140", "flex 170", "intel gpu",
        "intel xe", "intel xe2", "intel iris xe", "crescent island", "iris xe", "lunar lake", "panther lake",
    ]),
    known("NPU", ACCELERATOR, None, &["npu", "xdna*", "amd xdna*", "intel npu", "hexagon*", "neural engine", "ethos*", "dla", "nvdla"]),
    known("Mobile GPU", "a GPU that is not of NVIDIA or AMD", None, &["adreno*", "mali*", "immortalis*", "powervr*"]),
    known("Ascend", ACCELERATOR, None, &["ascend*", "huawei ascend*", "huawei*", "910", "910a", "910b", "910c", "310p"]),
    known("Accelerator", ACCELERATOR, None, &[
        "cerebras*", "wse", "wse-2", "wse-3", "cs-2", "cs-3", "groq*", "lpu", "graphcore*", "ipu", "sambanova*", "tenstorrent*", "grayskull*", "wormhole*", "blackhole*", "cambricon*",
        "mlu*", "biren*", "moore threads*", "mtt s*", "musa", "kunlun*", "iluvatar*", "metax*", "enflame*", "hygon*", "dcu", "dojo", "d-matrix*", "etched*", "sohu", "furiosa*",
        "rebellions*", "cloud ai 100", "ai100",
    ]),
    known("Processor", PROCESSOR, None, &[
        "cpu", "x86", "x86-64", "x86_64", "avx2", "avx512", "avx-512", "amx", "amx-bf16", "amx-fp16", "xeon*", "intel xeon*", "sapphire rapids", "emerald rapids", "granite rapids",
        "epyc*", "amd epyc*", "zen4", "zen5", "aarch64", "arm64", "arm", "neon", "sve", "sme", "neoverse*", "graviton*", "grace", "power10", "risc-v",
    ]),
];
