"""Kernels in CUDA C++ in the manner of PyTorch's own, ATen."""

from __future__ import annotations

import numpy as np
from cuda_library import F32, TABLE, fma, library, normal, rsqrt

from bitmma import functions

RNG = np.random.default_rng(9)


@library(r"""
struct Welford { float mean, m2; int n; };
__device__ Welford combine(Welford a, Welford b) {
  if (a.n == 0) return b;
  if (b.n == 0) return a;
  float delta = b.mean - a.mean;
  int n = a.n + b.n;
  float part = (float)b.n / n;
  return {a.mean + delta * part, a.m2 + b.m2 + delta * delta * a.n * part, n};
}
__global__ void layer_norm(float* y, float* statistics, const float* x, int N, float eps) {
  Welford w = {0, 0, 0};
  for (int i = threadIdx.x; i < N; i += 32) {
    float v = x[blockIdx.x * N + i], delta = v - w.mean;
    w.n++;
    w.mean += delta / w.n;
    w.m2 += delta * (v - w.mean);
  }
  for (int o = 16; o; o >>= 1)
    w = combine(w, Welford{__shfl_down_sync(~0u, w.mean, o), __shfl_down_sync(~0u, w.m2, o), __shfl_down_sync(~0u, w.n, o)});
  float mean = __shfl_sync(~0u, w.mean, 0), rstd = rsqrtf(__shfl_sync(~0u, w.m2, 0) / N + eps);
  if (threadIdx.x == 0) { statistics[2 * blockIdx.x] = mean; statistics[2 * blockIdx.x + 1] = rstd; }
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = (x[blockIdx.x * N + i] - mean) * rstd;
}""", asked=True)
def layer_norm_by_welford(module, chip):
    x = normal(16, 3, 128) + F32(5)
    y, statistics = np.zeros_like(x), np.zeros((3, 2), F32)
    module.layer_norm[3, 32](y, statistics, x, 128, 1e-5)
    mean, m2 = np.zeros((3, 32), F32), np.zeros((3, 32), F32)
    for n, v in enumerate(x.reshape(3, 4, 32).transpose(1, 0, 2), 1):
        delta = v - mean
        mean = mean + delta / F32(n)
        m2 = fma(delta, v - mean, m2)
    n = 4
    while mean.shape[1] > 1:
        half = mean.shape[1] // 2
        delta = mean[:, half:] - mean[:, :half]
        m2 = fma(delta * delta * F32(n), F32(0.5), m2[:, :half] + m2[:, half:])
        mean = fma(delta, F32(0.5), mean[:, :half])
        n *= 2
    rstd = rsqrt(m2[:, 0] / F32(128) + F32(1e-5))
    return (y, statistics), ((x - mean) * rstd[:, None], np.stack([mean[:, 0], rstd], 1))


@library(r"""
template <typename T, int N> struct alignas(sizeof(T) * N) aligned_vector { T val[N]; };
// four accumulators a thread, of vectors; then across the threads of a row
template <typename T, typename Op> __global__ void reduce(T* out, const T* in, int n, T ident, Op op) {
  using Vector = aligned_vector<T, 4>;
  T acc[4] = {ident, ident, ident, ident};
  const Vector* row = reinterpret_cast<const Vector*>(in + blockIdx.x * n);
  for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
    Vector v = row[i];
#pragma unroll
    for (int j = 0; j < 4; j++) acc[j] = op(acc[j], v.val[j]);
  }
#pragma unroll
  for (int j = 1; j < 4; j++) acc[0] = op(acc[0], acc[j]);
  for (int o = 1; o < 32; o <<= 1) acc[0] = op(acc[0], __shfl_down_sync(~0u, acc[0], o));
  if (threadIdx.x == 0) out[blockIdx.x] = acc[0];
}
struct Add { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Clamped { int limit; __device__ int operator()(int a, int b) const { return min(max(a, b), limit); } };
""", names=("reduce<float, Add>", "reduce<int, Clamped>"))
def reduction_of_vectors(module, chip):
    x, i = normal(17, 3, 512), RNG.integers(-100, 100, (2, 256), np.int32)
    out, most = np.zeros(3, F32), np.zeros(2, np.int32)
    module["reduce<float, Add>"][3, 32](out, x, 512, 0.0, (np.uint8(0),))
    module["reduce<int, Clamped>"][2, 32](most, i, 256, -200, (90,))
    acc = np.zeros((3, 32, 4), F32)
    for turn in x.reshape(3, 4, 32, 4).transpose(1, 0, 2, 3):
        acc = acc + turn
    lanes = acc[..., 0] + acc[..., 1] + acc[..., 2] + acc[..., 3]
    while lanes.shape[1] > 1:
        lanes = lanes[:, ::2] + lanes[:, 1::2]
    return (out, most), (lanes[:, 0], np.minimum(i.max(1), 90))


@library(r"""
template <typename T, typename I> __global__ void index_select(T* out, const T* src, const I* index, int rows, int width, int total) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    I at = index[i / width];
    if (at < 0) at += rows;
    out[i] = src[at * width + i % width];
  }
}
__global__ void index_add(unsigned long long* out, const long long* src, const long long* index, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[index[i]], (unsigned long long)src[i]);
}""", names=("index_select<double, long long>",))
def index_select_and_add(module, chip):
    src, index = normal(18, 10, 7, dtype=np.float64), RNG.integers(-10, 10, 20)
    out, total, values = np.zeros((20, 7)), np.zeros(10, np.uint64), RNG.integers(-(2**40), 2**40, 20)
    module["index_select<double, long long>"][2, 32](out, src, index, 10, 7, 140)
    module.index_add[1, 32](total, values, index % 10, 20)
    expected = np.zeros(10, np.int64)
    np.add.at(expected, index, values)
    return (out, total), (src[index], expected.view(np.uint64))


@library(r"""
struct PhiloxState { unsigned long long seed, offset; };
__device__ uint4 philox(uint2 key, uint4 c) {
#pragma unroll
  for (int i = 0; i < 10; i++) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
    key.x += 0x9E3779B9u; key.y += 0xBB67AE85u;
  }
  return c;
}
__global__ void dropout(float4* out, uchar4* mask, const float4* x, int vectors, float p, PhiloxState state) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  uint4 r = philox(make_uint2(state.seed, state.seed >> 32), make_uint4(state.offset, state.offset >> 32, i, 0));
  float4 v = x[i];
  float scale = 1.f / p;
  uchar4 keep = make_uchar4(r.x * 2.3283064e-10f + 1.1641532e-10f < p, r.y * 2.3283064e-10f + 1.1641532e-10f < p,
                            r.z * 2.3283064e-10f + 1.1641532e-10f < p, r.w * 2.3283064e-10f + 1.1641532e-10f < p);
  out[i] = make_float4(v.x * keep.x * scale, v.y * keep.y * scale, v.z * keep.z * scale, v.w * keep.w * scale);
  mask[i] = keep;
}""")
def dropout_by_philox(module, chip):
    x, seed, offset, p = normal(19, 1200), 0x123456789ABCDEF, 5, F32(0.7)
    out, mask = np.zeros_like(x), np.zeros(1200, np.uint8)
    module.dropout[3, 128](out, mask, x, 300, float(p), (np.uint64(seed), np.uint64(offset)))
    c = [np.full(300, word, np.uint64) for word in (offset, 0, 0, 0)]
    c[2] = np.arange(300, dtype=np.uint64)
    k, low = [seed & 0xFFFFFFFF, seed >> 32], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [b >> 32 ^ c[1] ^ np.uint64(k[0]), b & low, a >> 32 ^ c[3] ^ np.uint64(k[1]), a & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    uniform = fma(np.stack(c, 1).astype(F32), F32(2.3283064e-10), F32(1.1641532e-10))
    keep = (uniform < p).reshape(-1)
    return (out, mask), (x * keep.astype(F32) * (F32(1) / p), keep.astype(np.uint8))


@library(r"""
#include <cuda_fp16.h>
__global__ void functions(__half* y, const __half* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = hrcp(x[i]); y[i + n] = hsqrt(x[i]); y[i + 2 * n] = hrsqrt(x[i]);
}""")
def functions_of_halves(module, chip):
    x = abs(normal(20, 100, dtype=np.float16))
    y = np.zeros((3, 100), np.float16)
    module.functions[4, 32](y, x, 100)
    wide = x.astype(F32)
    return y, np.stack([each(wide, chip=TABLE, ftz=True).astype(np.float16) for each in (functions.rcp, functions.sqrt, functions.rsqrt)])
