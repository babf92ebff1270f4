"""Kernels of inference in CUDA C++, in the manner of vLLM."""

from __future__ import annotations

import numpy as np
from cuda_library import BLOCK_SUM, F32, block_sum, expf, fma, library, normal, rsqrt, warp_sum
from ml_dtypes import bfloat16, float8_e4m3fn

RNG = np.random.default_rng(9)


@library("#include <cuda_fp16.h>\n" + BLOCK_SUM + r"""
template <int WIDTH> struct __align__(16) Halves { __half2 data[WIDTH / 2]; };
template <int WIDTH>
__global__ void rms_norm(__half* __restrict__ out, const __half* __restrict__ in, const __half* __restrict__ weight, float eps, int hidden) {
  __shared__ float scale;
  auto* row = reinterpret_cast<const Halves<WIDTH>*>(in + blockIdx.x * hidden);
  auto* w = reinterpret_cast<const Halves<WIDTH>*>(weight);
  float sum = 0;
  for (int i = threadIdx.x; i < hidden / WIDTH; i += blockDim.x) {
    Halves<WIDTH> v = row[i];
#pragma unroll
    for (int j = 0; j < WIDTH / 2; j++) { float2 z = __half22float2(v.data[j]); sum += z.x * z.x + z.y * z.y; }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) scale = rsqrtf(sum / hidden + eps);
  __syncthreads();
  for (int i = threadIdx.x; i < hidden / WIDTH; i += blockDim.x) {
    Halves<WIDTH> v = row[i], m = w[i];
#pragma unroll
    for (int j = 0; j < WIDTH / 2; j++) {
      float2 z = __half22float2(v.data[j]);
      v.data[j] = __hmul2(__floats2half2_rn(z.x * scale, z.y * scale), m.data[j]);
    }
    reinterpret_cast<Halves<WIDTH>*>(out + blockIdx.x * hidden)[i] = v;
  }
}""", names=("rms_norm<8>",), asked=True)
def rms_norm_of_vectors(module, chip):
    x, w = normal(1, 4, 1024, dtype=np.float16), normal(2, 1024, dtype=np.float16)
    out = np.zeros_like(x)
    module["rms_norm<8>"][4, 64](out, x, w, 1e-6, 1024)
    wide = x.astype(F32)
    pairs = wide.reshape(4, 2, 64, 4, 2)
    threads = np.zeros((4, 64), F32)
    for turn in range(2):
        for j in range(4):
            a, b = pairs[:, turn, :, j, 0], pairs[:, turn, :, j, 1]
            threads = threads + fma(a, a, b * b)
    scale = rsqrt(block_sum(threads) / F32(1024) + F32(1e-6))
    return out, (wide * scale[:, None]).astype(np.float16) * w


@library(r"""
template <typename T, bool NEOX> __device__ void rotate(T* arr, const T* cos, const T* sin, int at, int half) {
  int xi = NEOX ? at : 2 * at, yi = NEOX ? half + at : 2 * at + 1;
  T c = __ldg(cos + (NEOX ? xi : xi / 2)), s = __ldg(sin + (NEOX ? xi : xi / 2)), x = arr[xi], y = arr[yi];
  arr[xi] = x * c - y * s;
  arr[yi] = y * c + x * s;
}
template <typename T, bool NEOX>
__global__ void rotary(const long long* __restrict__ positions, T* __restrict__ query, T* __restrict__ key, const T* __restrict__ cache,
                       int rotated, long long query_stride, long long key_stride, int heads, int kv_heads, int head_size) {
  int token = blockIdx.x, half = rotated / 2;
  const T* cos = cache + positions[token] * rotated;
  for (int i = threadIdx.x; i < heads * half; i += blockDim.x)
    rotate<T, NEOX>(query + token * query_stride + i / half * head_size, cos, cos + half, i % half, half);
  if (key != nullptr)
    for (int i = threadIdx.x; i < kv_heads * half; i += blockDim.x)
      rotate<T, NEOX>(key + token * key_stride + i / half * head_size, cos, cos + half, i % half, half);
}""", names=("rotary<float, true>", "rotary<float, false>"), asked=True)
def rotary_embedding(module, chip):
    positions = np.array([3, 0, 15, 7, 8], np.int64)
    angle = np.arange(16)[:, None] / 100 ** (np.arange(8) / 8)
    cache = np.concatenate([np.cos(angle), np.sin(angle)], 1).astype(F32)
    query, key = normal(3, 5, 4, 16), normal(4, 5, 2, 16)
    got, expected = [], []
    for neox in (True, False):
        q, k = query.copy(), key.copy()
        module[f"rotary<float, {str(neox).lower()}>"][5, 32](positions, q, k if neox else None, cache, 16, 64, 32, 4, 2, 16)
        got += [q, k]
        c, s = cache[positions, None, :8], cache[positions, None, 8:]
        for given, turns in ((query, True), (key, neox)):
            halves = (np.s_[..., :8], np.s_[..., 8:]) if neox else (np.s_[..., 0::2], np.s_[..., 1::2])
            x, y = (given[half] for half in halves)
            each = given.copy()
            if turns:
                each[halves[0]], each[halves[1]] = fma(x, c, -(y * s)), fma(x, s, y * c)
            expected.append(each)
    return tuple(got), tuple(expected)


@library(r"""
#include <cuda_bf16.h>
template <typename T> __device__ __forceinline__ T silu(const T& x) { return (T)((float)x / (1.0f + expf((float)-x))); }
template <typename T, T (*ACT)(const T&)> __global__ void act_and_mul(T* __restrict__ out, const T* __restrict__ in, int d) {
  for (long long i = threadIdx.x; i < d; i += blockDim.x) {
    T x = __ldg(&in[blockIdx.x * 2 * d + i]), y = __ldg(&in[blockIdx.x * 2 * d + d + i]);
    out[blockIdx.x * d + i] = ACT(x) * y;
  }
}""", names=("act_and_mul<__nv_bfloat16, silu<__nv_bfloat16>>",))
def silu_and_multiply(module, chip):
    x = normal(5, 3, 200, dtype=bfloat16)
    out = np.zeros((3, 100), bfloat16)
    module["act_and_mul<__nv_bfloat16, silu<__nv_bfloat16>>"][3, 64](out, x, 100)
    gate, up = x[:, :100].astype(F32), x[:, 100:].astype(F32)
    activated = (gate / (F32(1) + expf(-gate))).astype(bfloat16).astype(F32)
    return out.view(np.uint16), (activated * up).astype(bfloat16).view(np.uint16)


@library(r"""
#include <cuda_fp8.h>
__device__ float atomic_max(float* p, float v) { return __int_as_float(atomicMax((int*)p, __float_as_int(v))); }
__global__ void absmax(float* scale, const float* x, int n) {
  __shared__ float cache[256];
  float most = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) most = fmaxf(most, fabsf(x[i]));
  cache[threadIdx.x] = most;
  __syncthreads();
  for (int s = blockDim.x / 2; s; s /= 2) {
    if (threadIdx.x < s) cache[threadIdx.x] = fmaxf(cache[threadIdx.x], cache[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) atomic_max(scale, cache[0] / 448.0f);
}
__global__ void quantize(__nv_fp8_e4m3* out, const float* x, const float* scale, int n) {
  float inverse = 1.0f / *scale;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    float4 v = reinterpret_cast<const float4*>(x)[i];
    float r[4] = {v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse};
#pragma unroll
    for (int j = 0; j < 4; j++) out[4 * i + j] = __nv_fp8_e4m3(fmaxf(-448.f, fminf(r[j], 448.f)));
  }
}""")
def fp8_quantization_of_a_tensor(module, chip):
    x, scale = normal(6, 2000), np.zeros(1, F32)
    out = np.zeros(2000, np.uint8)
    module.absmax[4, 256](scale, x, 2000)
    module.quantize[4, 64](out, x, scale, 2000)
    expected = abs(x).max() / F32(448)
    scaled = np.clip(x * (F32(1) / expected), F32(-448), F32(448))
    return (out, scale), (scaled.astype(float8_e4m3fn).view(np.uint8), np.array([expected]))


@library(r"""
__device__ signed char to_int8(float x) {
  unsigned dst;
  asm volatile("cvt.rni.sat.s8.f32 %0, %1;\n" : "=r"(dst) : "f"(x));
  return reinterpret_cast<const signed char&>(dst);
}
// a scale per token
__global__ void quantize(signed char* out, float* scales, const float* x, int hidden) {
  __shared__ float most[32];
  float m = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) m = fmaxf(m, fabsf(x[blockIdx.x * hidden + i]));
  for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_down_sync(~0u, m, o));
  if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = m;
  __syncthreads();
  m = most[0];
  for (int w = 1; w < blockDim.x / 32; w++) m = fmaxf(m, most[w]);
  if (threadIdx.x == 0) scales[blockIdx.x] = m / 127.0f;
  float inverse = m == 0.f ? 0.f : 127.f / m;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) out[blockIdx.x * hidden + i] = to_int8(x[blockIdx.x * hidden + i] * inverse);
}""")
def int8_quantization_of_tokens(module, chip):
    x = normal(7, 4, 300)
    x[2] = 0
    out, scales = np.zeros((4, 300), np.int8), np.zeros(4, F32)
    module.quantize[4, 96](out, scales, x, 300)
    most = abs(x).max(1)
    inverse = np.divide(F32(127), most, out=np.zeros(4, F32), where=most != 0)
    return (out, scales), (np.rint(x * inverse[:, None]).astype(np.int8), most / F32(127))


@library(r"""
// a block per head and sequence, a warp per token of the cache; pages by a table
template <int HEAD, int PAGE, int THREADS>
__global__ void paged_attention(float* __restrict__ out, const float* __restrict__ q, const float* __restrict__ k_cache,
                                const float* __restrict__ v_cache, const int* __restrict__ tables, const int* __restrict__ lengths,
                                float scale, int pages) {
  extern __shared__ float logits[];
  __shared__ float red[THREADS / 32];
  int head = blockIdx.x, heads = gridDim.x, seq = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32, length = lengths[seq];
  const float* query = q + (seq * heads + head) * HEAD;
  float most = -3.402823466e+38f;
  for (int t = warp; t < length; t += THREADS / 32) {
    const float* k = k_cache + ((long long)tables[seq * pages + t / PAGE] * PAGE + t % PAGE) * heads * HEAD + head * HEAD;
    float dot = 0;
    for (int i = lane; i < HEAD; i += 32) dot += query[i] * k[i];
    for (int o = 16; o; o /= 2) dot += __shfl_xor_sync(~0u, dot, o);
    dot *= scale;
    if (lane == 0) logits[t] = dot;
    most = fmaxf(most, dot);
  }
  if (lane == 0) red[warp] = most;
  __syncthreads();
  for (int w = 0; w < THREADS / 32; w++) most = fmaxf(most, red[w]);
  __syncthreads();
  float sum = 0;
  for (int t = threadIdx.x; t < length; t += THREADS) sum += logits[t] = __expf(logits[t] - most);
  for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (lane == 0) red[warp] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < THREADS / 32; w++) sum += red[w];
  float inverse = __fdividef(1.f, sum + 1e-6f);
  for (int i = threadIdx.x; i < HEAD; i += THREADS) {
    float acc = 0;
    for (int t = 0; t < length; t++)
      acc += logits[t] * inverse * v_cache[((long long)tables[seq * pages + t / PAGE] * PAGE + t % PAGE) * heads * HEAD + head * HEAD + i];
    out[(seq * heads + head) * HEAD + i] = acc;
  }
}""", names=("paged_attention<64, 8, 128>",), within=1e-6)
def paged_attention_within_a_bound(module, chip):
    heads, head, page = 2, 64, 8
    lengths, tables = np.array([19, 5, 24], np.int32), RNG.permutation(12).reshape(3, 4).astype(np.int32)[:, :3].copy()
    q, k, v = normal(8, 3, heads, head), normal(9, 12, page, heads, head), normal(10, 12, page, heads, head)
    out = np.zeros_like(q)
    module["paged_attention<64, 8, 128>"][(heads, 3), 128, 96](out, q, k, v, tables, lengths, 0.125, 3)
    expected = np.zeros(q.shape)
    for s, length in enumerate(lengths):
        keys, values = (x[tables[s]].reshape(-1, heads, head)[:length].astype(np.float64) for x in (k, v))
        score = np.einsum("hd,thd->ht", q[s], keys) / 8
        p = np.exp(score - score.max(1, keepdims=True))
        expected[s] = np.einsum("ht,thd->hd", p / p.sum(1, keepdims=True), values)
    return out, expected


@library(r"""
// the experts of a token: softmax of a row in one warp, then k times the largest, the first of equals
template <int EXPERTS> __global__ void topk_softmax(float* weights, int* indices, const float* gates, int k) {
  constexpr int EACH = EXPERTS / 32;
  int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
  float v[EACH], most = -__int_as_float(0x7f800000), sum = 0;
#pragma unroll
  for (int i = 0; i < EACH; i++) { v[i] = gates[row * EXPERTS + i * 32 + lane]; most = fmaxf(most, v[i]); }
  for (int o = 16; o; o /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
#pragma unroll
  for (int i = 0; i < EACH; i++) { v[i] = expf(v[i] - most); sum += v[i]; }
  for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  float inverse = 1.f / sum;
#pragma unroll
  for (int i = 0; i < EACH; i++) v[i] *= inverse;
  for (int j = 0; j < k; j++) {
    float best = v[0];
    int at = lane;
#pragma unroll
    for (int i = 1; i < EACH; i++) if (v[i] > best) { best = v[i]; at = i * 32 + lane; }
    for (int o = 16; o; o /= 2) {
      float other = __shfl_xor_sync(~0u, best, o);
      int where = __shfl_xor_sync(~0u, at, o);
      if (other > best || (other == best && where < at)) { best = other; at = where; }
    }
    if (lane == 0) { weights[row * k + j] = best; indices[row * k + j] = at; }
#pragma unroll
    for (int i = 0; i < EACH; i++) if (at == i * 32 + lane) v[i] = -10000.f;
  }
}""", names=("topk_softmax<64>",), asked=True)
def topk_softmax(module, chip):
    gates = normal(11, 8, 64).round(1)  # with equal ones
    weights, indices = np.zeros((8, 4), F32), np.zeros((8, 4), np.int32)
    module["topk_softmax<64>"][2, (32, 4)](weights, indices, gates, 4)
    e = expf(gates - gates.max(1, keepdims=True))
    p = e * (F32(1) / warp_sum(F32(0) + e[:, :32] + e[:, 32:]))[:, None]
    order = np.argsort(-p, 1, kind="stable")[:, :4]
    return (weights, indices), (np.take_along_axis(p, order, 1), order.astype(np.int32))
