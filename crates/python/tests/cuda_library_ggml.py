"""Quantized kernels in CUDA C++, in the manner of ggml."""

from __future__ import annotations

import numpy as np
from cuda_library import BLOCK_SUM, F32, block_sum, expf, fma, library, normal, warp_sum

RNG = np.random.default_rng(9)


GGML = r"""
#include <cuda_fp16.h>
#define Q 32
struct block_q4_0 { __half d; unsigned char qs[Q / 2]; };
struct block_q8_1 { __half2 ds; signed char qs[Q]; };
static_assert(sizeof(block_q4_0) == 18 && sizeof(block_q8_1) == 36, "sizes of blocks");
"""


def quantized(x):
    """The blocks of ``quantize_q8_1``: scale and sum as halves, and 32 bytes."""
    blocks = x.reshape(-1, 32)
    most, total = abs(blocks).max(1), warp_sum(blocks)
    d = most / F32(127)
    scaled = np.divide(blocks, d[:, None], out=np.zeros_like(blocks), where=d[:, None] != 0)
    q = np.copysign(np.floor(abs(scaled) + F32(0.5)), scaled).astype(np.int8)
    return d.astype(np.float16), total.astype(np.float16), q


@library(GGML + r"""
__global__ void quantize_q8_1(const float* __restrict__ x, void* __restrict__ vy, long long n) {
  long long i = (long long)blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  block_q8_1* y = (block_q8_1*)vy + i / Q;
  float xi = x[i], amax = fabsf(xi), sum = xi;
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) { amax = fmaxf(amax, __shfl_xor_sync(0xffffffff, amax, o, 32)); sum += __shfl_xor_sync(0xffffffff, sum, o, 32); }
  float d = amax / 127.0f;
  y->qs[i % Q] = amax == 0.0f ? 0 : roundf(xi / d);
  if (i % Q > 0) return;
  y->ds = make_half2(d, sum);
}""")
def quantize_q8_1(module, chip):
    x = normal(12, 2048)
    x[64:96] = 0
    y = np.zeros((64, 36), np.uint8)
    module.quantize_q8_1[8, 256](x, y, 2048)
    d, total, q = quantized(x)
    return (y[:, :4].copy().view(np.float16), y[:, 4:].copy()), (np.stack([d, total], 1), q.view(np.uint8))


@library(GGML + r"""
__device__ int load_int(const unsigned char* p, int i) { const unsigned short* s = (const unsigned short*)p; return s[2 * i] | s[2 * i + 1] << 16; }
// y = A x: rows of A in 4 bits, x in 8; a warp per row, each lane half a block
__global__ void mul_mat_vec(const void* __restrict__ va, const void* __restrict__ vx, float* __restrict__ y, int columns, int rows) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const block_q4_0* a = (const block_q4_0*)va + row * (columns / Q);
  const block_q8_1* x = (const block_q8_1*)vx;
  float sum = 0.0f;
  for (int i = threadIdx.x / 2; i < columns / Q; i += 16) {
    int first = 2 * (threadIdx.x % 2), dot = 0;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      int v = load_int(a[i].qs, first + j), u0 = ((const int*)x[i].qs)[first + j], u1 = ((const int*)x[i].qs)[first + j + 4];
      dot = __dp4a(v & 0x0F0F0F0F, u0, dot);
      dot = __dp4a(v >> 4 & 0x0F0F0F0F, u1, dot);
    }
    float2 ds = __half22float2(x[i].ds);
    sum += __half2float(a[i].d) * (dot * ds.x - 4 * ds.y);
  }
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o, 32);
  if (threadIdx.x == 0) y[row] = sum;
}""", asked=True)
def q4_0_times_q8_1_by_dp4a(module, chip):
    rows, columns = 6, 1024
    d, total, q = quantized(normal(13, columns))
    x = np.concatenate([np.stack([d, total], 1).view(np.uint8), q.view(np.uint8)], 1)
    a = RNG.integers(0, 256, (rows, 32, 18), np.uint8)
    scales = RNG.uniform(0.1, 1, (rows, 32)).astype(np.float16)
    a[:, :, :2] = scales.view(np.uint8).reshape(rows, 32, 2)
    y = np.zeros(rows, F32)
    module.mul_mat_vec[2, (32, 3)](a, x, y, columns, rows)
    codes = np.concatenate([a[:, :, 2:] & 15, a[:, :, 2:] >> 4], 2).astype(np.int32)
    parts = (codes * q.astype(np.int32)).reshape(rows, 32, 2, 2, 8).sum((2, 4)).astype(F32)  # of each half of a block
    each = fma(parts, d.astype(F32)[:, None], -(F32(4) * total.astype(F32))[:, None])
    lanes = np.zeros((rows, 32), F32)
    for turn in range(2):
        at = np.s_[:, 16 * turn : 16 * turn + 16]
        lanes = fma(np.repeat(scales[at].astype(F32), 2, 1), each[at].reshape(rows, 32), lanes)
    return y, warp_sum(lanes)


@library(BLOCK_SUM + r"""
struct rope_corr_dims { float v[2]; };
__device__ float ramp(float low, float high, int i0) { return 1.0f - fminf(1.0f, fmaxf(0.0f, (i0 / 2 - low) / fmaxf(0.001f, high - low))); }
template <bool forward>
__global__ void rope(const float* x, float* dst, int ne0, const int* pos, float freq_scale, float ext_factor, rope_corr_dims corr,
                     float theta_scale) {
  int i0 = 2 * (blockDim.y * blockIdx.y + threadIdx.y), row = blockDim.x * blockIdx.x + threadIdx.x;
  if (i0 >= ne0) return;
  float base = pos[row] * powf(theta_scale, i0 / 2.0f), theta = freq_scale * base;
  if (ext_factor != 0.0f) { float mix = ramp(corr.v[0], corr.v[1], i0) * ext_factor; theta = theta * (1 - mix) + base * mix; }
  float c = cosf(theta), s = sinf(theta);
  if (!forward) s *= -1.0f;
  float x0 = x[row * ne0 + i0], x1 = x[row * ne0 + i0 + 1];
  dst[row * ne0 + i0] = x0 * c - x1 * s;
  dst[row * ne0 + i0 + 1] = x0 * s + x1 * c;
}
// scale, mask, slope; the row in shared memory
__global__ void soft_max(const float* x, const float* mask, float* dst, int ncols, float scale, float slope) {
  extern __shared__ float values[];
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float most = -__int_as_float(0x7f800000);
  for (int c = threadIdx.x; c < ncols; c += blockDim.x) {
    float v = x[blockIdx.x * ncols + c] * scale + (mask ? slope * mask[c] : 0.0f);
    values[c] = v;
    most = max(most, v);
  }
  for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
  if (warp == 0) part[lane] = -__int_as_float(0x7f800000);
  __syncthreads();
  if (lane == 0) part[warp] = most;
  __syncthreads();
  most = part[lane];
  for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
  float sum = 0;
  for (int c = threadIdx.x; c < ncols; c += blockDim.x) sum += values[c] = expf(values[c] - most);
  float inverse = 1.0f / block_sum(sum);
  for (int c = threadIdx.x; c < ncols; c += blockDim.x) dst[blockIdx.x * ncols + c] = values[c] * inverse;
}""", names=("rope<true>",), within=2e-6, asked=True)
def rope_and_soft_max_within_a_bound(module, chip):
    x, pos = normal(14, 6, 32), np.array([0, 1, 5, 100, 7, 2], np.int32)
    y, base = np.zeros_like(x), 10000 ** (-2 / 32)
    module["rope<true>"][(3, 4), (2, 4)](x, y, 32, pos, 0.5, 1.0, (3.0, 9.0), base)
    i = np.arange(16)
    theta = pos[:, None] * base**i
    mix = 1 - np.clip((i - 3) / 6, 0, 1)
    theta = theta * 0.5 * (1 - mix) + theta * mix
    c, s = np.cos(theta), np.sin(theta)
    turned = np.stack([x[:, ::2] * c - x[:, 1::2] * s, x[:, ::2] * s + x[:, 1::2] * c], -1).reshape(6, 32)
    scores, mask, out = normal(15, 3, 100), np.where(np.arange(100) < 70, 0, -10).astype(F32), np.zeros((3, 100), F32)
    module.soft_max[3, 64, 400](scores, mask, out, 100, 0.5, 1.0)
    e = np.exp(scores.astype(np.float64) * 0.5 + mask)
    return (y, out), (turned, e / e.sum(1, keepdims=True))
