//! Instructions of this processor as units.
#![allow(unsafe_code)] // an instruction of the processor is called by its intrinsic

use bitmma_engine::catalogue::{Processor, find_processor, processors};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{About, Error, Fault, Matrix, MmaUnit, Operands, Signature};

#[cfg(target_arch = "x86_64")]
mod amx;
mod chain;
#[cfg(target_arch = "x86_64")]
mod x86;

/// D in the order of its codes.
type Multiply = fn(&Signature, &Operands<'_>) -> Vec<u64>;

/// An instruction of this processor.
#[derive(Clone, Debug)]
pub struct Cpu {
    signature: Signature,
    multiply: Multiply,
}

impl Cpu {
    /// The instruction of that name; an error that says what is missing where the processor has it not.
    pub fn open(name: &str) -> Result<Cpu, Error> {
        let unavailable =
            |problem| Error::Unit { unit: format!("cpu:{name}"), fault: Fault::Unavailable, problem };
        let row = find_processor(name).map_err(|unknown| unavailable(unknown.to_string()))?;
        let multiply = find(row).map_err(|missing| {
            unavailable(format!("this processor ({}) has no {missing}", std::env::consts::ARCH))
        })?;
        let signature = Signature::of_model(format!("cpu:{}", row.name), &row.model, row.shape);
        Ok(Cpu { signature, multiply })
    }

    /// The names that this processor has.
    pub fn available() -> impl Iterator<Item = &'static str> {
        processors().iter().filter(|row| find(row).is_ok()).map(|row| row.name)
    }
}

#[cfg(target_arch = "x86_64")]
const ARM: &str = "FEAT_BF16, which is AArch64's; crates/verify/tests/peers/arm.c asks it there, over exec:";

/// What computes the row here, or what is missing.
#[cfg(target_arch = "x86_64")]
fn find(row: &Processor) -> Result<Multiply, &'static str> {
    let fma = is_x86_feature_detected!("fma");
    let bf16 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
    match row.name {
        "fma.f32" if fma => Ok(x86::fma_f32),
        "fma.f64" if fma => Ok(x86::fma_f64),
        "vdpbf16ps" | "vdpbf16ps.k32" if bf16 => Ok(x86::vdpbf16ps),
        "tdpbf16ps" => amx::missing_bf16().map_or(Ok(amx::tdpbf16ps as Multiply), Err),
        "tdpfp16ps" => amx::missing_fp16().map_or(Ok(amx::tdpfp16ps as Multiply), Err),
        "fma.f32" | "fma.f64" => Err("FMA3"),
        "bfdot" | "bfmmla" => Err(ARM),
        _ => Err("AVX512_BF16"),
    }
}

/// What computes the row here, or what is missing.
#[cfg(target_arch = "aarch64")]
fn find(row: &Processor) -> Result<Multiply, &'static str> {
    use chain::{chain, f32s, f64s};
    match row.name {
        // `mul_add` is the instruction FMADD here
        "fma.f32" => Ok(|signature, operands| {
            chain(signature, operands, f32s, |a, b, c| a.mul_add(b, c), |d| u64::from(d.to_bits()))
        }),
        "fma.f64" => Ok(|signature, operands| {
            chain(signature, operands, f64s, |a, b, c| a.mul_add(b, c), f64::to_bits)
        }),
        "bfdot" | "bfmmla" => Err("kernel for it here; crates/verify/tests/peers/arm.c asks it, over exec:"),
        "tdpbf16ps" | "tdpfp16ps" => Err("AMX"),
        _ => Err("AVX512_BF16"),
    }
}

/// What computes the row here, or what is missing.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn find(_: &Processor) -> Result<Multiply, &'static str> {
    Err("instruction that is known here")
}

impl MmaUnit for Cpu {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> About {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = info.lines().find(|line| line.trim_end().starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let numbers = ["cpu family", "model\t", "stepping"].map(|name| field(name).unwrap_or_default());
        let device = field("model name").map(|name| {
            format!("{name}, family {}, model {}, stepping {}", numbers[0], numbers[1], numbers[2])
        });
        About { device, driver: None }
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        self.signature.check(operands)?;
        let Signature { m, n, d, .. } = self.signature;
        Matrix::new(d, (1, m, n), (self.multiply)(&self.signature, operands))
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.par_iter().with_min_len(16).map(|operands| self.multiply(operands)).collect()
    }
}
