//! Which instruction set work is compiled for, decided at run time.

#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512};
use super::{Portable, Simd};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Whatever the compiler makes of plain arrays (SSE2 on x86-64, NEON on AArch64).
    Portable,
    /// NEON, which every AArch64 has.
    Neon,
    /// AVX2, FMA, F16C and POPCNT.
    Avx2,
    /// AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
}

impl Level {
    /// Every level this processor has, the fastest last.
    pub fn available() -> Vec<Level> {
        let all = [Level::Portable, Level::Neon, Level::Avx2, Level::Avx512];
        all.into_iter().filter(|level| level.is_available()).collect()
    }

    /// The fastest level this processor has.
    pub fn best() -> Level {
        Level::available().pop().unwrap_or(Level::Portable)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        let neon = cfg!(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"));
        self == Level::Portable || self == Level::Neon && neon
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Level::Portable => true,
            Level::Neon => false,
            Level::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("popcnt")
            }
            Level::Avx512 => {
                Level::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
        }
    }

    /// The level for so few columns that half a panel of AVX-512 holds them.
    pub(crate) fn for_columns(self, columns: usize) -> Level {
        if columns <= 32 { self.min(Level::Avx2) } else { self }
    }

    /// 32-bit lanes of a vector.
    pub(crate) fn lanes(self) -> usize {
        struct Lanes;
        impl Work for Lanes {
            type Output = usize;
            fn run<S: Simd>(self, _: S) -> usize {
                S::LANES
            }
        }
        self.run(Lanes)
    }

    /// Runs work compiled for this level; where the processor does not have it, for the portable one.
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,popcnt")]
            fn avx512<W: Work>(work: W) -> W::Output {
                work.run(Avx512(()))
            }
            #[target_feature(enable = "avx2,fma,f16c,popcnt")]
            fn avx2<W: Work>(work: W) -> W::Output {
                work.run(Avx2(()))
            }
            if self.is_available() {
                match self {
                    // SAFETY: the processor has these instructions, as was just asked
                    Level::Avx512 => return unsafe { avx512(work) },
                    // SAFETY: as above
                    Level::Avx2 => return unsafe { avx2(work) },
                    Level::Portable | Level::Neon => {}
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        if self == Level::Neon && self.is_available() {
            return work.run(Neon(()));
        }
        work.run(Portable(()))
    }

    /// What a function makes, compiled for this level.
    #[inline(always)]
    pub(crate) fn compiled<T>(self, function: impl FnOnce() -> T) -> T {
        struct Compiled<F>(F);
        impl<T, F: FnOnce() -> T> Work for Compiled<F> {
            type Output = T;
            #[inline(always)]
            fn run<S: Simd>(self, _: S) -> T {
                (self.0)()
            }
        }
        self.run(Compiled(function))
    }
}

/// Work that is generic over the instruction set. What it calls is inlined, so that it is compiled for it too.
pub(crate) trait Work {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}
