"""Kernels with tensor cores, asynchronous copies and clusters in CUDA C++."""

from __future__ import annotations

import numpy as np
from cuda_library import F32, TABLE, fma, library, normal

import bitmma
from bitmma import functions

RNG = np.random.default_rng(10)
HALVES = "mma.m16n8k16.f32.f16.f16.f32"

MMA = r"""
#include <cuda_fp16.h>
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ unsigned pair(const __half* p) { return *reinterpret_cast<const unsigned*>(p); }
"""


@library(MMA + r"""
// D = A B + C, B by columns; a warp per tile of 16x8
__global__ void gemm(float* d, const __half* a, const __half* b, const float* c, int N, int K) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4 * 2, row = blockIdx.y * 16 + g, column = blockIdx.x * 8;
  float sum[4];
  for (int i = 0; i < 4; i++) sum[i] = c[(row + i / 2 * 8) * N + column + t + i % 2];
  for (int k = 0; k < K; k += 16) {
    const __half *x = a + row * K + k + t, *y = b + (column + g) * K + k + t;
    unsigned rows[4] = {pair(x), pair(x + 8 * K), pair(x + 8), pair(x + 8 * K + 8)};
    mma(sum, rows, pair(y), pair(y + 8));
  }
  for (int i = 0; i < 4; i++) d[(row + i / 2 * 8) * N + column + t + i % 2] = sum[i];
}""")
def gemm_by_mma_sync(module, chip):
    a, b, c = normal(1, 32, 64, dtype=np.float16), normal(2, 64, 24, dtype=np.float16), normal(3, 32, 24)
    d = np.zeros_like(c)
    module.gemm[(3, 2), 32](d, a, b.T.copy(), c, 24, 64)
    return d, bitmma.gemm((chip, HALVES), a, b, c)


@library(r"""
#include <mma.h>
using namespace nvcuda;
__global__ void gemm(float* d, const __half* a, const __half* b, int N, int K) {
  __shared__ __align__(32) __half tile[16 * 24];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int k = 0; k < K; k += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * 24 + i % 16] = a[(row + i / 16) * K + k + i % 16];
    __syncwarp();
    wmma::load_matrix_sync(x, tile, 24);
    wmma::load_matrix_sync(y, b + k * N + column, N);
    wmma::mma_sync(sum, x, y, sum);
    __syncwarp();
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 0.5f;
  wmma::store_matrix_sync(d + row * N + column, sum, N, wmma::mem_row_major);
}
__global__ void gemm_int8(int* d, const signed char* a, const signed char* b) {
  wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 8, 32, 16, int> sum;
  wmma::fill_fragment(sum, 7);
  wmma::load_matrix_sync(x, a, 16);
  wmma::load_matrix_sync(y, b, 16);
  wmma::mma_sync(sum, x, y, sum);
  wmma::store_matrix_sync(d, sum, 32, wmma::mem_row_major);
}""")
def gemm_by_wmma(module, chip):
    a, b = normal(4, 32, 80, dtype=np.float16), normal(5, 80, 48, dtype=np.float16)
    d = np.zeros((32, 48), F32)
    module.gemm[(3, 2), 32](d, a, b, 48, 80)
    x, y, e = RNG.integers(-128, 128, (8, 16), np.int8), RNG.integers(-128, 128, (16, 32), np.int8), np.zeros((8, 32), np.int32)
    module.gemm_int8[1, 32](e, x, y.T.copy())
    expected = bitmma.gemm((chip, "wmma.m16n16k16.f32.f16.f16.f32"), a, b) * F32(0.5)
    return (d, e), (expected, x.astype(np.int32) @ y.astype(np.int32) + np.int32(7))


@library(r"""
__global__ void gemm(int* d, const int* a, const int* b, int N, int words) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 16 + g, column = blockIdx.x * 8, s[4] = {};
  for (int k = 0; k < words; k += 8) {
    const int *x = a + row * words + k + t, *y = b + (column + g) * words + k + t;
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "r"(x[0]), "r"(x[8 * words]), "r"(x[4]), "r"(x[8 * words + 4]), "r"(y[0]), "r"(y[4]));
  }
  for (int i = 0; i < 4; i++) d[(row + i / 2 * 8) * N + column + t * 2 + i % 2] = s[i];
}""")
def gemm_of_int8_by_mma_sync(module, chip):
    a, b = RNG.integers(-128, 128, (32, 96), np.int8), RNG.integers(-128, 128, (96, 16), np.int8)
    d = np.zeros((32, 16), np.int32)
    module.gemm[(2, 2), 32](d, a.view(np.int32), b.T.copy().view(np.int32), 16, 24)
    return d, a.astype(np.int32) @ b.astype(np.int32)


@library(MMA + r"""
#define HEAD 32
#define TILE 32
#define PITCH 40
__device__ void copy(__half* to, const __half* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}
__device__ void load4(unsigned (&r)[4], const __half* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__device__ void load4_transposed(unsigned (&r)[4], const __half* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__device__ unsigned halves(float x, float y) { __half2 h = __floats2half2_rn(x, y); return *reinterpret_cast<unsigned*>(&h); }
__device__ float over_quad(float v, bool sum) {
  for (int o = 1; o < 4; o *= 2) { float w = __shfl_xor_sync(~0u, v, o); v = sum ? v + w : fmaxf(v, w); }
  return v;
}
struct Parameters { const __half *q, *k, *v; __half* o; float* lse; int length; float scale; };
// 64 queries a block, 16 a warp; keys and values in two stages
__global__ void __launch_bounds__(128) flash(const __grid_constant__ Parameters p) {
  __shared__ __align__(16) __half q[64][PITCH], k[2][TILE][PITCH], v[2][TILE][PITCH];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4 * 2;
  long long base = (long long)blockIdx.y * p.length * HEAD;
  auto load = [&](int stage, int tile) {
    int row = threadIdx.x / 4, at = threadIdx.x % 4 * 8;
    copy(&k[stage][row][at], p.k + base + (tile * TILE + row) * HEAD + at);
    copy(&v[stage][row][at], p.v + base + (tile * TILE + row) * HEAD + at);
    asm volatile("cp.async.commit_group;");
  };
  for (int i = threadIdx.x; i < 64 * 4; i += 128) copy(&q[i / 4][i % 4 * 8], p.q + base + (blockIdx.x * 64 + i / 4) * HEAD + i % 4 * 8);
  load(0, 0);
  unsigned fq[2][4];
  float o[4][4] = {}, most[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)}, sum[2] = {0, 0};
  int tiles = p.length / TILE;
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) { load(tile + 1 & 1, tile + 1); asm volatile("cp.async.wait_group 1;"); }
    else asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    auto& ks = k[tile & 1];
    auto& vs = v[tile & 1];
    if (tile == 0) for (int c = 0; c < 2; c++) load4(fq[c], &q[warp * 16 + lane % 16][c * 16 + lane / 16 * 8]);
    float s[4][4] = {};
    for (int n = 0; n < 4; n++) {
      unsigned fk[4];
      load4(fk, &ks[n * 8 + lane % 8][lane / 8 * 8]);
      mma(s[n], fq[0], fk[0], fk[1]);
      mma(s[n], fq[1], fk[2], fk[3]);
    }
    for (int r = 0; r < 2; r++) {
      float m = most[r], total = 0;
      for (int n = 0; n < 4; n++) m = fmaxf(m, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
      m = over_quad(m, false);
      float scaled = m * p.scale, alpha = exp2f((most[r] - m) * p.scale);
      most[r] = m;
      for (int n = 0; n < 4; n++)
        for (int i = 2 * r; i < 2 * r + 2; i++) { s[n][i] = exp2f(s[n][i] * p.scale - scaled); total += s[n][i]; o[n][i] *= alpha; }
      sum[r] = sum[r] * alpha + total;
    }
    for (int c = 0; c < 2; c++) {
      float *s0 = s[2 * c], *s1 = s[2 * c + 1];
      unsigned fp[4] = {halves(s0[0], s0[1]), halves(s0[2], s0[3]), halves(s1[0], s1[1]), halves(s1[2], s1[3])};
      for (int n = 0; n < 4; n += 2) {
        unsigned fv[4];
        load4_transposed(fv, &vs[c * 16 + lane % 16][n * 8 + lane / 16 * 8]);
        mma(o[n], fp, fv[0], fv[1]);
        mma(o[n + 1], fp, fv[2], fv[3]);
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 2; r++) {
    float total = over_quad(sum[r], true), inverse = 1.f / total;
    int row = blockIdx.x * 64 + warp * 16 + r * 8 + g;
    if (t == 0) p.lse[blockIdx.y * p.length + row] = total;
    for (int n = 0; n < 4; n++)
      *reinterpret_cast<__half2*>(p.o + base + row * HEAD + n * 8 + t) = __floats2half2_rn(o[n][2 * r] * inverse, o[n][2 * r + 1] * inverse);
  }
}""", asked=True)
def flash_attention(module, chip):
    heads, length, scale = 2, 128, F32(0.25)
    q, k, v = normal(6, 3, heads, length, 32, dtype=np.float16)
    o, sums = np.zeros_like(q), np.zeros((heads, length), F32)
    module.flash[(2, heads), 128]((q, k, v, o, sums, length, float(scale)))
    expected, totals = np.zeros_like(q), np.zeros_like(sums)

    def power(x):
        return functions.ex2(x, chip=TABLE)

    for head in range(heads):
        out, most, total = np.zeros((length, 32), F32), np.full(length, -np.inf, F32), np.zeros((length, 4), F32)
        for tile in range(0, length, 32):
            s = bitmma.gemm((chip, HALVES), q[head], k[head, tile : tile + 32].T)
            m = np.maximum(most, s.max(1))
            alpha = power((most - m) * scale)
            p = power(fma(s, scale, -(m * scale)[:, None]))
            # each of the four threads of a row has two elements of every eight
            each = p.reshape(length, 4, 4, 2).transpose(0, 2, 1, 3).reshape(length, 4, 8)
            lanes = np.zeros((length, 4), F32)
            for i in range(8):
                lanes = lanes + each[..., i]
            total, most = fma(total, alpha[:, None], lanes), m
            out = bitmma.gemm((chip, HALVES), p.astype(np.float16), v[head, tile : tile + 32], out * alpha[:, None])
        totals[head] = (total[:, 0] + total[:, 1]) + (total[:, 2] + total[:, 3])
        expected[head] = out * (F32(1) / totals[head])[:, None]
    return (o, sums), (expected, totals)


@library(r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// the bins of a histogram are spread over the blocks of a cluster
extern "C" __global__ void __cluster_dims__(4, 1, 1) histogram(int* bins, const int* x, int n, int each) {
  extern __shared__ int mine[];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank();
  for (int i = threadIdx.x; i < each; i += blockDim.x) mine[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int* other = cluster.map_shared_rank(mine, x[i] / each);
    atomicAdd(other + x[i] % each, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < each; i += blockDim.x) atomicAdd(bins + rank * each + i, mine[i]);
}
extern "C" __global__ void ring(float* y, const float* x) {
  __shared__ float value;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) value = x[blockIdx.x];
  cluster.sync();
  if (threadIdx.x == 0) y[blockIdx.x] = *cluster.map_shared_rank(&value, (cluster.block_rank() + 1) % cluster.num_blocks()) + value;
  cluster.sync();
}""", chips=("h100",))
def clusters_with_distributed_shared_memory(module, chip):
    x, bins = RNG.integers(0, 64, 1000, np.int32), np.zeros(64, np.int32)
    module.histogram[8, 64, 64](bins, x, 1000, 16)
    f, y = normal(7, 6), np.zeros(6, F32)
    module.ring.launch(6, 32, y, f, cluster=3)
    return (bins, y), (np.bincount(x, minlength=64).astype(np.int32), f + np.roll(f.reshape(2, 3), -1, 1).reshape(6))


@library(r"""
#include <cuda_pipeline.h>
__global__ void sums(float* y, const float4* x, int tiles) {
  __shared__ float4 stage[3][64];
  for (int i = 0; i < 2; i++) { __pipeline_memcpy_async(&stage[i][threadIdx.x], x + i * 64 + threadIdx.x, sizeof(float4)); __pipeline_commit(); }
  float sum = 0;
  for (int i = 0; i < tiles; i++) {
    if (i + 2 < tiles) __pipeline_memcpy_async(&stage[(i + 2) % 3][threadIdx.x], x + (i + 2) * 64 + threadIdx.x, sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    float4 v = stage[i % 3][63 - threadIdx.x];
    sum += (v.x + v.y) + (v.z + v.w);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}""")
def pipeline_of_asynchronous_copies(module, chip):
    x, y, expected = normal(8, 6, 64, 4), np.zeros(64, F32), np.zeros(64, F32)
    module.sums[1, 64](y, x, 6)
    for tile in x:
        expected = expected + ((tile[:, 0] + tile[:, 1]) + (tile[:, 2] + tile[:, 3]))[::-1]
    return y, expected


@library(r"""
#include <cuda/barrier>
#include <cuda/atomic>
// a warp loads, three compute
__global__ void relay(float* y, const float* x, int turns) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ float buffer[2][96];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier full[2], empty[2];
  if (threadIdx.x == 0) for (int i = 0; i < 2; i++) { init(&full[i], 128); init(&empty[i], 128); }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < turns; i++) {
      if (i > 1) empty[i % 2].arrive_and_wait();
      for (int j = threadIdx.x; j < 96; j += 32) buffer[i % 2][j] = x[i * 96 + j];
      (void)full[i % 2].arrive();
    }
  } else {
    float sum = 0;
    for (int i = 0; i < turns; i++) {
      full[i % 2].arrive_and_wait();
      sum += buffer[i % 2][127 - threadIdx.x];
      if (i + 2 < turns) (void)empty[i % 2].arrive();
    }
    y[threadIdx.x - 32] = sum;
  }
}""")
def producer_and_consumers_with_barriers(module, chip):
    x, y, expected = normal(9, 5, 96), np.zeros(96, F32), np.zeros(96, F32)
    module.relay[1, 128](y, x, 5)
    for turn in x:
        expected = expected + turn[::-1]
    return y, expected
