"""Kernels that teach CUDA, in the manner of NVIDIA's samples: sorting, filters, physics, finance, atomics."""

from __future__ import annotations

import math

import numpy as np
from cuda_library import F32, fma, in_turn, library, normal, rsqrt, tree, warp_sum

RNG = np.random.default_rng(8)


@library(r"""
template <class T> __device__ inline void order(unsigned& a, T& x, unsigned& b, T& y, bool up) {
  if ((a > b) == up) { unsigned t = a; a = b; b = t; T u = x; x = y; y = u; }
}
__global__ void bitonic(unsigned* keys, unsigned* values, unsigned length) {
  __shared__ unsigned k[512], v[512];
  unsigned at = blockIdx.x * 512 + threadIdx.x, t = threadIdx.x;
  k[t] = keys[at]; v[t] = values[at]; k[t + 256] = keys[at + 256]; v[t + 256] = values[at + 256];
  for (unsigned size = 2; size < length; size <<= 1) {
    bool up = (t & size / 2) != 0;
    for (unsigned s = size / 2; s > 0; s >>= 1) {
      __syncthreads();
      unsigned p = 2 * t - (t & s - 1);
      order(k[p], v[p], k[p + s], v[p + s], up);
    }
  }
  for (unsigned s = length / 2; s > 0; s >>= 1) { __syncthreads(); unsigned p = 2 * t - (t & s - 1); order(k[p], v[p], k[p + s], v[p + s], true); }
  __syncthreads();
  keys[at] = k[t]; values[at] = v[t]; keys[at + 256] = k[t + 256]; values[at + 256] = v[t + 256];
}""")
def bitonic_sort(module, chip):
    keys = np.stack([RNG.permutation(512), RNG.permutation(512)]).astype(np.uint32) * np.uint32(8000000)
    values = np.tile(np.arange(512, dtype=np.uint32), (2, 1))
    got, order = keys.copy(), values.copy()
    module.bitonic[2, 256](got, order, 512)
    return (got, order), (np.sort(keys, 1), np.argsort(keys, 1).astype(np.uint32))


@library(r"""
#define R 8
__constant__ float kernel[2 * R + 1];
__global__ void rows(float* out, const float* in, int width) {
  __shared__ float s[4][16 * 3];
  int y = blockIdx.y * 4 + threadIdx.y, x0 = blockIdx.x * 16 - 16;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    int x = x0 + i * 16 + threadIdx.x;
    s[threadIdx.y][i * 16 + threadIdx.x] = x >= 0 && x < width ? in[y * width + x] : 0;
  }
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int j = -R; j <= R; j++) sum += kernel[R - j] * s[threadIdx.y][16 + threadIdx.x + j];
  out[y * width + blockIdx.x * 16 + threadIdx.x] = sum;
}
__global__ void columns(float* out, const float* in, int width, int height) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  float sum = 0;
  for (int j = -R; j <= R; j++) if (y + j >= 0 && y + j < height) sum += kernel[R - j] * in[(y + j) * width + x];
  out[y * width + x] = sum;
}""", asked=True)
def convolution_separable(module, chip):
    x, weights = normal(10, 12, 48), normal(11, 17)
    module.variables["kernel"] = weights
    middle, out = np.zeros_like(x), np.zeros_like(x)
    module.rows[(3, 3), (16, 4)](middle, x, 48)
    module.columns[(3, 3), (16, 4)](out, middle, 48, 12)

    def along(image):
        padded = np.pad(image, ((0, 0), (8, 8)))
        windows = np.stack([padded[:, j : j + image.shape[1]] for j in range(17)], -1)
        return in_turn(windows, weights[::-1])

    return (middle, out), (along(x), along(along(x).T.copy()).T.copy())


@library(r"""
#define C_a 1.3870398453221474618216191915664f
#define C_b 1.3065629648763765278566431734272f
#define C_c 1.1758756024193587169744671046113f
#define C_d 0.78569495838710218127789736765722f
#define C_e 0.54119610014619698439972320536639f
#define C_f 0.27589937928294301233595756366937f
#define C_norm 0.35355339059327376220042218105242f
__device__ void dct8(float* first, int step) {
  float* v = first;
  float x0 = v[0], x1 = v[step], x2 = v[2 * step], x3 = v[3 * step], x4 = v[4 * step], x5 = v[5 * step], x6 = v[6 * step], x7 = v[7 * step];
  float p07 = x0 + x7, p16 = x1 + x6, p25 = x2 + x5, p34 = x3 + x4, m07 = x0 - x7, m61 = x6 - x1, m25 = x2 - x5, m43 = x4 - x3;
  float even = p07 + p34, odd = p07 - p34, even2 = p16 + p25, odd2 = p16 - p25;
  v[0] = C_norm * (even + even2);
  v[2 * step] = C_norm * (C_b * odd + C_e * odd2);
  v[4 * step] = C_norm * (even - even2);
  v[6 * step] = C_norm * (C_e * odd - C_b * odd2);
  v[step] = C_norm * (C_a * m07 - C_c * m61 + C_d * m25 - C_f * m43);
  v[3 * step] = C_norm * (C_c * m07 + C_f * m61 - C_a * m25 + C_d * m43);
  v[5 * step] = C_norm * (C_d * m07 + C_a * m61 + C_f * m25 - C_c * m43);
  v[7 * step] = C_norm * (C_f * m07 + C_d * m61 + C_c * m25 + C_a * m43);
}
__global__ void dct(float* out, const float* in, int stride) {
  __shared__ float block[16][33];
  int x = blockIdx.x * 32 + threadIdx.y * 8 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.z * 8;
  float* mine = &block[threadIdx.z * 8][threadIdx.y * 8];
  for (int i = 0; i < 8; i++) mine[i * 33 + threadIdx.x] = in[(y + i) * stride + x];
  __syncwarp();
  dct8(mine + threadIdx.x * 33, 1);
  __syncwarp();
  dct8(mine + threadIdx.x, 33);
  for (int i = 0; i < 8; i++) out[(y + i) * stride + x] = mine[i * 33 + threadIdx.x];
}""", within=1e-6)
def dct8x8_within_a_bound(module, chip):
    x = normal(12, 16, 64)
    out = np.zeros_like(x)
    module.dct[(2, 1), (8, 4, 2)](out, x, 64)
    k = np.arange(8)
    matrix = np.cos((2 * k[None] + 1) * k[:, None] * np.pi / 16) * np.where(k[:, None] == 0, np.sqrt(1 / 8), 0.5)
    blocks = x.reshape(2, 8, 8, 8).transpose(0, 2, 1, 3).astype(np.float64)
    return out, (matrix @ blocks @ matrix.T).transpose(0, 2, 1, 3).reshape(16, 64)


@library(r"""
__constant__ float softening = 0.125f;
__device__ float3 pull(float3 a, float4 me, float4 other) {
  float3 r = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
  float d = r.x * r.x + r.y * r.y + r.z * r.z;
  d += softening;
  float inverse = rsqrtf(d), s = other.w * (inverse * inverse * inverse);
  a.x += r.x * s; a.y += r.y * s; a.z += r.z * s;
  return a;
}
__global__ void bodies(float4* acceleration, const float4* positions, int tiles) {
  extern __shared__ float4 shared[];
  float3 a = {0, 0, 0};
  float4 me = positions[blockIdx.x * blockDim.x + threadIdx.x];
  for (int tile = 0; tile < tiles; tile++) {
    shared[threadIdx.x] = positions[tile * blockDim.x + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < blockDim.x; i++) a = pull(a, me, shared[i]);
    __syncthreads();
  }
  acceleration[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(a.x, a.y, a.z, 0);
}""")
def nbody(module, chip):
    p = normal(13, 64, 4)
    got, a = np.zeros_like(p), np.zeros_like(p)
    module.bodies[2, 32, 512](got, p, 2)
    for other in p:
        r = other[:3] - p[:, :3]
        d = fma(r[:, 2], r[:, 2], fma(r[:, 0], r[:, 0], r[:, 1] * r[:, 1])) + F32(0.125)
        inverse = rsqrt(d)
        s = other[3] * (inverse * inverse * inverse)
        a[:, :3] = fma(r, s[:, None], a[:, :3])
    return got, a


@library(r"""
__device__ float distribution(float d) {
  const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
  float K = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
  float c = 0.39894228040143267793994605993438f * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
  return d > 0 ? 1.0f - c : c;
}
__launch_bounds__(128) __global__ void options(float2* __restrict call, float2* __restrict put, const float2* __restrict S,
                                               const float2* __restrict X, const float2* __restrict T, float R, float V, int pairs) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= pairs) return;
  float c[2], p[2], s[2] = {S[i].x, S[i].y}, x[2] = {X[i].x, X[i].y}, t[2] = {T[i].x, T[i].y};
  for (int j = 0; j < 2; j++) {
    float root = __fdividef(1.0f, rsqrtf(t[j]));
    float d1 = __fdividef(__logf(s[j] / x[j]) + (R + 0.5f * V * V) * t[j], V * root), d2 = d1 - V * root;
    float n1 = distribution(d1), n2 = distribution(d2), e = __expf(-R * t[j]);
    c[j] = s[j] * n1 - x[j] * e * n2;
    p[j] = x[j] * e * (1.0f - n2) - s[j] * (1.0f - n1);
  }
  call[i] = make_float2(c[0], c[1]);
  put[i] = make_float2(p[0], p[1]);
}""", within=2e-6)
def black_scholes_within_a_bound(module, chip):
    n, rate, volatility = 1000, 0.02, 0.3
    s, x, t = (RNG.uniform(low, high, n).astype(F32) for low, high in ((5, 30), (1, 100), (0.25, 10)))
    call, put = np.zeros(n, F32), np.zeros(n, F32)
    module.options[4, 128](call, put, s, x, t, rate, volatility, n // 2)
    s, x, t = (y.astype(np.float64) for y in (s, x, t))
    d1 = (np.log(s / x) + (rate + volatility**2 / 2) * t) / (volatility * np.sqrt(t))
    n1, n2 = (np.vectorize(lambda d: 0.5 * (1 + math.erf(d / math.sqrt(2))))(d) for d in (d1, d1 - volatility * np.sqrt(t)))
    discounted = x * np.exp(-rate * t)
    return (call, put), (s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1))


@library(r"""
template <class T> __device__ int escape(T x0, T y0, int limit) {
  T x = x0, y = y0, xx = x * x, yy = y * y;
  int i = limit;
  while (--i && xx + yy < T(4)) { y = x * y * T(2) + y0; x = xx - yy + x0; yy = y * y; xx = x * x; }
  return i;
}
template <class T> __global__ void mandelbrot(uchar4* image, int width, int height, T left, T top, T scale, int limit) {
  int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = escape<T>(T(x) * scale + left, T(y) * scale + top, limit);
  image[y * width + x] = make_uchar4(i * 3, i * 5, i * 7, 255);
}""", names=("mandelbrot<float>", "mandelbrot<double>"), asked=True)
def mandelbrot_in_fp32_and_fp64(module, chip):
    width, height, limit = 40, 30, 60
    got, expected = [], []
    for name, dtype in (("float", F32), ("double", np.float64)):
        image = np.zeros((height, width, 4), np.uint8)
        left, top, scale = -2.0, -1.2, 0.0625
        module[f"mandelbrot<{name}>"][(3, 8), (16, 4)](image, width, height, left, top, scale, limit)
        # the products with the scale are exact
        x0 = np.tile(np.arange(width, dtype=dtype) * dtype(scale) + dtype(left), (height, 1))
        y0 = np.tile(np.arange(height, dtype=dtype) * dtype(scale) + dtype(top), (width, 1)).T
        got.append(image), expected.append(escape(x0, y0, limit, dtype))
    return tuple(got), tuple(expected)


def escape(x, y, limit, dtype):
    """The image; doubling is exact, so that the multiply-add of 2 x y and y0 rounds as a sum does."""
    x0, y0, xx, yy = x, y, x * x, y * y
    left, live = np.full(x.shape, limit), np.ones(x.shape, bool)
    while live.any():
        left[live] -= 1
        live &= (left != 0) & (xx + yy < 4)
        x, y = np.where(live, xx - yy + x0, x), np.where(live, x * y * dtype(2) + y0, y)
        xx, yy = x * x, y * y
    return np.stack([left * 3, left * 5, left * 7, np.full_like(left, 255)], -1).astype(np.uint8)


@library(r"""
__device__ unsigned finished = 0;
__device__ float block_sum(float v, float* s) {
  s[threadIdx.x] = v;
  __syncthreads();
  for (int n = blockDim.x / 2; n; n >>= 1) { if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n]; __syncthreads(); }
  return s[0];
}
// one pass: the last block adds what all have left
__global__ void reduce(const float* in, volatile float* out, unsigned n) {
  extern __shared__ float s[];
  __shared__ bool last;
  float v = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  v = block_sum(v, s);
  if (threadIdx.x == 0) {
    out[blockIdx.x] = v;
    __threadfence();
    last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    v = block_sum(threadIdx.x < gridDim.x ? out[threadIdx.x] : 0, s);
    if (threadIdx.x == 0) { out[0] = v; finished = 0; }
  }
}""")
def thread_fence_reduction(module, chip):
    x, out = normal(14, 2048), np.zeros(8, F32)
    for _ in range(2):  # the counter is back at zero
        module.reduce[8, 64, 256](x, out, 2048)
    threads = np.zeros((8, 64), F32)
    for turn in x.reshape(4, 8, 64):
        threads = threads + turn
    each = tree(threads)
    padded = np.concatenate([each, np.zeros(56, F32)])
    return (out, module.variables["finished"].view(np.uint32)), (np.concatenate([[tree(padded)], each[1:]]), np.zeros(1, np.uint32))


@library(r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int append(int* counter) {
  auto g = cg::coalesced_threads();
  int at;
  if (g.thread_rank() == 0) at = atomicAdd(counter, g.size());
  return g.shfl(at, 0) + g.thread_rank();
}
__global__ void filter(int* out, int* count, const int* in, int n, int* by_bucket) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) out[append(count)] = in[i];
  // one addition per bucket and warp
  unsigned peers = __match_any_sync(0xffffffffu, in[i] & 3);
  if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(by_bucket + (in[i] & 3), __popc(peers));
}""")
def warp_aggregated_atomics(module, chip):
    x = RNG.integers(-50, 50, 512, np.int32)
    out, count, buckets = np.zeros(512, np.int32), np.zeros(1, np.int32), np.zeros(4, np.int32)
    module.filter[4, 128](out, count, x, 512, buckets)
    kept = x[x > 0]
    expected = np.zeros(512, np.int32)
    expected[: len(kept)] = np.sort(kept)
    out[: len(kept)] = np.sort(out[: len(kept)])
    return (out, count, buckets), (expected, np.array([len(kept)], np.int32), np.bincount(x & 3, minlength=4).astype(np.int32))


@library(r"""
template <class T> struct Shared { __device__ operator T*() { extern __shared__ int words[]; return (T*)words; } };
template <class T> __global__ void times_threads(T* in, T* out) {
  Shared<T> shared;
  T* s = shared;
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  s[threadIdx.x] = (T)blockDim.x * s[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}""", names=("times_threads<float>", "times_threads<int>"))
def instances_of_a_template(module, chip):
    x, y = np.arange(32, dtype=F32), np.arange(32, dtype=np.int32)
    got = np.zeros_like(x), np.zeros_like(y)
    module["times_threads<float>"][1, 32, 128](x, got[0])
    module["times_threads<int>"][1, 32, 128](y, got[1])
    return got, (x * F32(32), y * np.int32(32))


@library(r"""
__global__ void energy(double* out, const float* x, int n) {
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += (double)x[i] * x[i];
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}""")
def double_precision_sum(module, chip):
    x, out = normal(15, 320), np.zeros(1)
    module.energy[1, 32](out, x, 320)
    lanes = np.zeros(32)
    for turn in x.astype(np.float64).reshape(10, 32):
        lanes = lanes + turn * turn  # exact products
    return out, warp_sum(lanes[None])
