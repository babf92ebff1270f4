"""Kernels of a transformer in CUDA C++, in the manner of llm.c."""

from __future__ import annotations

import numpy as np
from cuda_library import F32, expf, fma, in_turn, library, normal, rsqrt, tree, warp_sum

B, T, C, V, HEADS = 2, 8, 64, 50, 4
RNG = np.random.default_rng(7)

WARP = r"""
__device__ float warp_sum(float v) { for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o); return v; }
__device__ float warp_max(float v) { for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); return v; }
"""


@library(r"""
__global__ void encode(float* out, const int* tokens, const float* wte, const float* wpe, int n, int T, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int row = i / C, c = i % C;
    out[i] = wte[tokens[row] * C + c] + wpe[row % T * C + c];
  }
}""")
def encoder_forward(module, chip):
    tokens, wte, wpe = RNG.integers(0, V, (B, T), np.int32), normal(1, V, C), normal(2, T, C)
    out = np.zeros((B, T, C), F32)
    module.encode[-(-out.size // 128), 128](out, tokens, wte, wpe, out.size, T, C)
    return out, wte[tokens] + wpe


@library(r"""
__global__ void encode_backward(float* dwte, const float* dout, const int* tokens, int T, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / C;
  if (row < T) atomicAdd(&dwte[tokens[row] * C + i % C], dout[i]);
}""")
def encoder_backward_with_atomics(module, chip):
    # small integers: the sum is the same in any order
    tokens, dout = RNG.integers(0, 5, T, np.int32), RNG.integers(-9, 9, (T, C)).astype(F32)
    dwte, expected = np.zeros((V, C), F32), np.zeros((V, C), F32)
    module.encode_backward[T * C // 64, 64](dwte, dout, tokens, T, C)
    np.add.at(expected, tokens, dout)
    return dwte, expected


@library(WARP + r"""
__global__ void layernorm(float* out, float* mean, float* rstd, const float* x, const float* w, const float* b, int N, int C) {
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= N) return;
  x += row * C;
  float sum = 0.0f;
  for (int i = lane; i < C; i += 32) sum += x[i];
  float m = warp_sum(sum) / C;
  sum = 0.0f;
  for (int i = lane; i < C; i += 32) { float d = x[i] - m; sum += d * d; }
  float s = rsqrtf(warp_sum(sum) / C + 1e-5f);
  if (lane == 0) { mean[row] = m; __stcs(rstd + row, s); }
  for (int i = lane; i < C; i += 32) out[row * C + i] = s * (__ldcs(x + i) - m) * w[i] + b[i];
}""", asked=True)
def layernorm_forward(module, chip):
    x, w, b = normal(3, B * T, C), normal(4, C), normal(5, C)
    out, mean, rstd = np.zeros_like(x), np.zeros(B * T, F32), np.zeros(B * T, F32)
    module.layernorm[-(-B * T // 3), 96](out, mean, rstd, x, w, b, B * T, C)
    lanes = x.reshape(B * T, C // 32, 32)
    m = warp_sum(lanes[:, 0] + lanes[:, 1]) / F32(C)
    d = lanes - m[:, None, None]
    variance = warp_sum(fma(d[:, 1], d[:, 1], d[:, 0] * d[:, 0])) / F32(C)
    s = rsqrt(variance + F32(1e-5))
    return (out, mean, rstd), (fma(s[:, None] * (x - m[:, None]), w, b), m, s)


@library(WARP + r"""
__global__ void layernorm_backward(float* dx, float* dw, float* db, const float* dout, const float* x, const float* w,
                                   const float* mean, const float* rstd, int N, int C) {
  extern __shared__ float shared[];
  float *sum_b = shared, *sum_w = shared + C;
  for (int i = threadIdx.x; i < 2 * C; i += blockDim.x) shared[i] = 0;
  __syncthreads();
  int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < N; row += blockDim.x / 32) {
    float a = 0, ax = 0;
    for (int i = lane; i < C; i += 32) {
      float norm = (x[row * C + i] - mean[row]) * rstd[row], d = w[i] * dout[row * C + i];
      a += d;
      ax += d * norm;
    }
    a = warp_sum(a) / C;
    ax = warp_sum(ax) / C;
    for (int i = lane; i < C; i += 32) {
      float norm = (x[row * C + i] - mean[row]) * rstd[row], g = dout[row * C + i];
      atomicAdd(&sum_b[i], g);
      atomicAdd(&sum_w[i], norm * g);
      dx[row * C + i] += (w[i] * g - a - norm * ax) * rstd[row];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < C; i += blockDim.x) { dw[i] += sum_w[i]; db[i] += sum_b[i]; }
}""", within=2e-6)
def layernorm_backward_within_a_bound(module, chip):
    x, w, dout = normal(6, 10, C), normal(7, C), normal(8, 10, C)
    mean, rstd = x.mean(1), (1 / x.std(1)).astype(F32)
    dx, dw, db = np.zeros_like(x), np.zeros(C, F32), np.zeros(C, F32)
    module.layernorm_backward[1, 128, 8 * C](dx, dw, db, dout, x, w, mean, rstd, 10, C)
    wide, m, s = x.astype(np.float64), mean[:, None].astype(np.float64), rstd[:, None].astype(np.float64)
    norm, d = (wide - m) * s, w.astype(np.float64) * dout
    expected = (d - d.mean(1, keepdims=True) - norm * (d * norm).mean(1, keepdims=True)) * s
    return (dx, dw, db), (expected, (norm * dout).sum(0), dout.astype(np.float64).sum(0))


@library(r"""
template <int TILE>
__global__ void __launch_bounds__(TILE * TILE) matmul(float* out, const float* x, const float* w, const float* bias, int N, int C, int OC) {
  __shared__ float xs[TILE][TILE], ws[TILE][TILE + 1];
  int row = blockIdx.x * TILE + threadIdx.y, o = blockIdx.y * TILE + threadIdx.x;
  float sum = bias != nullptr ? bias[o] : 0.0f;
  for (int c = 0; c < C; c += TILE) {
    xs[threadIdx.y][threadIdx.x] = x[row * C + c + threadIdx.x];
    ws[threadIdx.y][threadIdx.x] = w[(blockIdx.y * TILE + threadIdx.y) * C + c + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k++) sum += xs[threadIdx.y][k] * ws[threadIdx.x][k];
    __syncthreads();
  }
  if (row < N) out[row * OC + o] = sum;
}""", asked=True)
def matmul_with_bias(module, chip):
    x, w, bias = normal(9, 16, C), normal(10, 32, C), normal(11, 32)
    got = []
    for b in (bias, None):
        got.append(np.zeros((16, 32), F32))
        module["matmul<16>"][(1, 2), (16, 16)](got[-1], x, w, b, 16, C, 32)
    expected = tuple(in_turn(x[:, None], w[None], 0 if b is None else b) for b in (bias, None))
    return tuple(got), expected


@library(r"""
__global__ void permute(float* q, float* k, float* v, const float* qkv, int B, int T, int NH, int D) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= B * NH * T * D) return;
  int d = i % D, t = i / D % T, h = i / D / T % NH, b = i / D / T / NH;
  const float* row = qkv + (b * T + t) * 3 * NH * D + h * D + d;
  q[i] = __ldcs(row); k[i] = __ldcs(row + NH * D); v[i] = __ldcs(row + 2 * NH * D);
}
__global__ void unpermute(float* out, const float* x, int T, int NH, int D) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, d = i % D, t = i / D % T, h = i / D / T % NH, b = i / D / T / NH;
  out[((b * T + t) * NH + h) * D + d] = __ldcs(&x[i]);
}""")
def attention_permute_and_back(module, chip):
    qkv, d = normal(12, B, T, 3, HEADS, C // HEADS), C // HEADS
    q, k, v = np.zeros((3, B, HEADS, T, d), F32)
    module.permute[-(-q.size // 192), 192](q, k, v, qkv, B, T, HEADS, d)
    back = np.zeros((B, T, HEADS, d), F32)
    module.unpermute[back.size // 256, 256](back, v, T, HEADS, d)
    return (q, k, v, back), (*(qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3)), qkv[:, :, 2])


@library(WARP + r"""
// a row per warp, running maximum and sum, as in "online softmax"; causal
__global__ void softmax(float* out, const float* x, float scale, int T) {
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, last = row % T;
  x += row * T;
  float most = -3.402823466e+38f, sum = 0;
  for (int i = lane; i <= last; i += 32) {
    float before = most;
    most = fmaxf(most, x[i]);
    sum *= expf(scale * (before - most));
    sum += expf(scale * (x[i] - most));
  }
  float all = warp_max(most);
  sum = warp_sum(sum * expf(scale * (most - all)));
  float norm = 1.f / sum;
  for (int i = lane; i < T; i += 32) __stcs(out + row * T + i, i <= last ? expf(scale * (x[i] - all)) * norm : 0.f);
}""")
def attention_softmax_online(module, chip):
    t = 32
    x, scale = normal(13, t, t) * F32(3), F32(0.25)
    out = np.full_like(x, 7)
    module.softmax[t // 4, 128](out, x, float(scale), t)
    causal = np.tri(t, dtype=bool)
    all_ = np.where(causal, x, -np.inf).max(1, keepdims=True).astype(F32)
    # one element a lane: its own sum is exp(0) = 1, that of a lane without one 0
    corrections = np.where(causal, expf(np.clip(scale * (x - all_), -80, 80)), F32(0))
    norm = F32(1) / warp_sum(corrections)
    return out, np.where(causal, corrections * norm[:, None], F32(0))


@library(r"""
__global__ void residual(float4* out, const float4* a, const float4* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 x = a[i], y = __ldg(b + i); out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); }
}""")
def residual_of_vectors(module, chip):
    a, b = normal(14, 1000), normal(15, 1000)
    out = np.zeros_like(a)
    module.residual[2, 128](out, a, b, 250)
    return out, a + b


@library(r"""
#define SCALE 0.7978845608028654f
__device__ float fast_tanh(float x) { return 1.f - 2.f / (expf(2.f * x) + 1.f); }
__global__ void gelu(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float x = in[i], cube = 0.044715f * x * x * x; out[i] = 0.5f * x * (1.f + fast_tanh(SCALE * (x + cube))); }
}
__global__ void gelu_backward(float* dx, const float* in, const float* dout, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], cube = 0.044715f * x * x * x, u = SCALE * (x + cube), t = fast_tanh(u), c = coshf(u);
  dx[i] = (0.5f * (1.f + t) + x * 0.5f * (1.f / (c * c)) * SCALE * (1.f + 3.f * 0.044715f * x * x)) * dout[i];
}""", within=1e-6)
def gelu_forward_and_backward_within_a_bound(module, chip):
    x, dout = normal(16, 1000) * F32(2), normal(17, 1000)
    y, dx = np.zeros_like(x), np.zeros_like(x)
    module.gelu[8, 128](y, x, 1000)
    module.gelu_backward[8, 128](dx, x, dout, 1000)
    wide, s = x.astype(np.float64), np.sqrt(2 / np.pi)
    u = s * (wide + 0.044715 * wide**3)
    t = np.tanh(u)
    slope = 0.5 * (1 + t) + wide * 0.5 / np.cosh(u) ** 2 * s * (1 + 3 * 0.044715 * wide**2)
    return (y, dx), (0.5 * wide * (1 + t), slope * dout)


@library(r"""
__device__ float fast_tanh(float x) { return 1.f - 2.f / (expf(2.f * x) + 1.f); }
__global__ void gelu(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float x = in[i], cube = 0.044715f * x * x * x; out[i] = 0.5f * x * (1.f + fast_tanh(0.7978845608028654f * (x + cube))); }
}""")
def gelu_by_expf(module, chip):
    x = normal(18, 1000)
    y = np.zeros_like(x)
    module.gelu[8, 128](y, x, 1000)
    u = F32(0.7978845608028654) * fma(F32(0.044715) * x * x, x, x)
    t = F32(1) - F32(2) / (expf(u * F32(2)) + F32(1))
    return y, F32(0.5) * x * (F32(1) + t)


@library(WARP + r"""
// softmax, loss and its gradient in one pass; the logits are overwritten
__global__ void classifier(float* logits, float* losses, const int* targets, float dloss, int V, int P) {
  __shared__ float part[8];
  int row = gridDim.x - 1 - blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float* x = logits + row * P;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < V; i += blockDim.x) most = fmaxf(most, x[i]);
  most = warp_max(most);
  if (lane == 0) part[warp] = most;
  __syncthreads();
  most = warp_max(lane < warps ? part[lane] : -INFINITY);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < V; i += blockDim.x) sum += expf(x[i] - most);
  sum = warp_sum(sum);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = warp_sum(lane < warps ? part[lane] : 0.f);
  float scale = 1.f / sum;
  int target = targets[row];
  if (threadIdx.x == 0) losses[row] -= logf(expf(x[target] - most) * scale);
  __syncthreads();
  for (int i = threadIdx.x; i < V; i += blockDim.x) x[i] = (expf(x[i] - most) * scale - (i == target ? 1.f : 0.f)) * dloss;
}""".replace("INFINITY", "__int_as_float(0x7f800000)"))
def fused_classifier(module, chip):
    rows, padded = 6, 64
    logits, targets = normal(19, rows, padded) * F32(2), RNG.integers(0, V, rows, np.int32)
    got, losses, dloss = logits.copy(), np.zeros(rows, F32), F32(1 / 48)
    module.classifier[rows, 64](got, losses, targets, float(dloss), V, padded)
    x = logits[:, :V] - logits[:, :V].max(1, keepdims=True)
    e = expf(x)
    threads = np.zeros((rows, 2, 32), F32)
    threads.reshape(rows, 64)[:, :V] = e
    parts = np.zeros((rows, 32), F32)
    parts[:, :2] = warp_sum(threads)
    scale = F32(1) / warp_sum(parts)[:, None]
    hot = (np.arange(V) == targets[:, None]).astype(F32)
    expected = logits.copy()
    expected[:, :V] = fma(e, scale, -hot) * dloss
    assert np.allclose(losses, -np.log((e * scale)[np.arange(rows), targets]), rtol=1e-6)
    return got, expected


@library(r"""
#include <cuda_bf16.h>
__device__ unsigned hashed(unsigned x, unsigned seed) {
  x = x * 0x9E3779B1u ^ seed;
  x ^= x >> 15; x *= 0x85EBCA77u; x ^= x >> 13; x *= 0xC2B2AE3Du;
  return x ^ x >> 16;
}
__global__ void adamw(__nv_bfloat16* p, const float* g, float* m, float* v, int n, float lr, float b1, float b2, float c1, float c2,
                      float eps, float decay, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float old = __bfloat162float(p[i]);
  float mi = fmaf(b1, m[i], fmaf(-b1, g[i], g[i])), vi = fmaf(b2, v[i], fmaf(-b2, g[i] * g[i], g[i] * g[i]));
  m[i] = mi;
  v[i] = vi;
  float update = fmaf(decay, old, __fdiv_rn(mi / c1, sqrtf(vi / c2) + eps)), param = fmaf(-lr, update, old);
  // rounds up with the probability that the discarded bits say
  unsigned bits = __float_as_uint(param), up = hashed(i, seed) & 0xFFFF;
  bits = (bits & 0xFFFF) > up ? (bits | 0xFFFF) + 1 : bits;
  p[i] = __float2bfloat16_rz(__uint_as_float(bits));
}""")
def adamw_with_stochastic_rounding(module, chip):
    n, seed = 500, 1234567
    wide, g, m, v = normal(20, n), normal(21, n), normal(22, n), abs(normal(23, n))
    old = (wide.view(np.uint32) & 0xFFFF0000).view(F32)
    p, gm, gv = (old.view(np.uint32) >> 16).astype(np.uint16), m.copy(), v.copy()
    lr, b1, b2, c1, c2, eps, decay = map(F32, (1e-3, 0.9, 0.95, 0.5, 0.3, 1e-8, 0.1))
    from ml_dtypes import bfloat16

    module.adamw[-(-n // 128), 128](p.view(bfloat16), g, gm, gv, n, *map(float, (lr, b1, b2, c1, c2, eps, decay)), seed)
    mi = fma(b1, m, fma(-b1, g, g))
    vi = fma(b2, v, fma(-b2, g * g, g * g))
    param = fma(-lr, fma(decay, old, (mi / c1) / (np.sqrt(vi / c2) + eps)), old)
    x = np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B1) ^ np.uint32(seed)
    x = (x ^ x >> 15) * np.uint32(0x85EBCA77)
    x = (x ^ x >> 13) * np.uint32(0xC2B2AE3D)
    up, bits = (x ^ x >> 16) & 0xFFFF, param.view(np.uint32)
    rounded = np.where((bits & 0xFFFF) > up, (bits | 0xFFFF) + 1, bits)
    return (p, gm, gv), ((rounded >> 16).astype(np.uint16), mi, vi)


@library(WARP + r"""
template <typename T> __global__ void norm_squared(float* out, const T* data, size_t count) {
  __shared__ float part[32];
  float sum = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += (float)data[i] * (float)data[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.f);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
__global__ void add_blocks(float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  for (int n = blockDim.x / 2; n; n /= 2) { if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n]; __syncthreads(); }
  if (threadIdx.x == 0) out[0] = s[0];
}""", asked=True)
def global_norm(module, chip):
    data, blocks = normal(24, 16 * 128 * 3), 16
    out = np.zeros(blocks, F32)
    module["norm_squared<float>"][blocks, 128](out, data, data.size)
    module.add_blocks[1, blocks](out)
    threads = in_turn(*[data.reshape(3, -1).T] * 2).reshape(blocks, 4, 32)
    parts = np.zeros((blocks, 32), F32)
    parts[:, :4] = warp_sum(threads)
    each = warp_sum(parts)
    return out, np.concatenate([[tree(each)], each[1:]])


@library(r"""
// two sums of a block into global memory: both first guesses before both loops
__global__ void add_gradients(unsigned* dw, unsigned* db, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned w = __ldcg(dw + i), b = __ldcg(db + i), old_w = atomicCAS(dw + i, w, w + 1), old_b = atomicCAS(db + i, b, b + 2);
    while (old_w != w) { w = old_w; old_w = atomicCAS(dw + i, w, w + 1); }
    while (old_b != b) { b = old_b; old_b = atomicCAS(db + i, b, b + 2); }
  }
}""")
def two_gradients_by_compare_and_swap(module, chip):
    dw, db = np.zeros(8, np.uint32), np.zeros(8, np.uint32)
    module.add_gradients[4, 32](dw, db, 8)
    return (dw, db), (np.full(8, 4, np.uint32), np.full(8, 8, np.uint32))
