"""Kernels that teach CUDA, in the manner of NVIDIA's samples: sums, scans, tiles, counts."""

from __future__ import annotations

import numpy as np
from cuda_library import F32, in_turn, library, normal, tree

RNG = np.random.default_rng(8)


@library(r"""
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i] + 0.0f;
}""")
def vector_add(module, chip):
    a, b = normal(1, 50000), normal(2, 50000)
    c = np.zeros_like(a)
    module.add[-(-50000 // 256), 256](a, b, c, 50000)
    return c, a + b


@library(r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <class T, unsigned SIZE> __global__ void reduce(const T* in, T* out, unsigned n) {
  cg::thread_block block = cg::this_thread_block();
  extern __shared__ unsigned char memory[];
  T* s = reinterpret_cast<T*>(memory);
  unsigned i = blockIdx.x * SIZE * 2 + block.thread_rank(), step = SIZE * 2 * gridDim.x;
  T sum = 0;
  for (; i < n; i += step) { sum += in[i]; if (i + SIZE < n) sum += in[i + SIZE]; }
  s[block.thread_rank()] = sum;
  cg::sync(block);
  if (SIZE >= 128) { if (block.thread_rank() < 64) s[block.thread_rank()] = sum = sum + s[block.thread_rank() + 64]; cg::sync(block); }
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  if (block.thread_rank() < 32) {
    sum += s[block.thread_rank() + 32];
    for (int o = tile.size() / 2; o > 0; o /= 2) sum += tile.shfl_down(sum, o);
  }
  if (block.thread_rank() == 0) out[blockIdx.x] = sum;
}""", names=("reduce<float, 128>", "reduce<int, 128>"))
def reduction_with_shuffles(module, chip):
    x = normal(3, 128 * 2 * 4 * 3)
    out = np.zeros(4, F32)
    module["reduce<float, 128>"][4, 128, 512](x, out, x.size)
    whole = RNG.integers(0, 1000, x.size, np.int32)
    counts = np.zeros(4, np.int32)
    module["reduce<int, 128>"][4, 128, 512](whole, counts, x.size)
    turns = x.reshape(3, 4, 2, 128)
    threads = np.zeros((4, 128), F32)
    for turn in range(3):
        threads = threads + turns[turn, :, 0] + turns[turn, :, 1]
    return (out, counts), (tree(threads), whole.reshape(3, 4, 256).sum((0, 2), dtype=np.int32))


@library(r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sums(const int* x, int* most, unsigned* bits, float* total, const float* f) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto eight = cg::tiled_partition<8>(warp);
  int i = blockIdx.x * blockDim.x + threadIdx.x, largest = cg::reduce(warp, x[i], cg::greater<int>());
  unsigned all = cg::reduce(eight, (unsigned)x[i], cg::bit_xor<unsigned>());
  float sum = cg::reduce(warp, f[i], cg::plus<float>());
  if (warp.thread_rank() == 0) { most[i / 32] = largest; total[i / 32] = sum; }
  if (eight.thread_rank() == 0) bits[i / 8] = all;
}""")
def cooperative_group_reductions(module, chip):
    x, f = RNG.integers(-(2**30), 2**30, 256, np.int32), RNG.integers(-99, 99, 256).astype(F32)
    most, bits, total = np.zeros(8, np.int32), np.zeros(32, np.uint32), np.zeros(8, F32)
    module.sums[2, 128](x, most, bits, total, f)
    return (most, bits, total), (x.reshape(8, 32).max(1), np.bitwise_xor.reduce(x.view(np.uint32).reshape(32, 8), 1), f.reshape(8, 32).sum(1))


@library(r"""
// each thread four elements, then an exclusive scan of the block in shared memory
__device__ unsigned scan_exclusive(unsigned v, volatile unsigned* s, unsigned size) {
  unsigned pos = 2 * threadIdx.x - (threadIdx.x & (size - 1));
  s[pos] = 0;
  pos += size;
  s[pos] = v;
  for (unsigned o = 1; o < size; o <<= 1) { __syncthreads(); unsigned t = s[pos] + s[pos - o]; __syncthreads(); s[pos] = t; }
  return s[pos] - v;
}
__global__ void scan(uint4* out, const uint4* in, unsigned n) {
  __shared__ unsigned s[512];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 d = in[i];
  d.y += d.x; d.z += d.y; d.w += d.z;
  unsigned before = scan_exclusive(d.w, s, n / 4);
  out[i] = make_uint4(before, before + d.x, before + d.y, before + d.z);
}""")
def scan_of_blocks(module, chip):
    x = RNG.integers(0, 2**31, (3, 1024), np.uint32)
    out = np.zeros_like(x)
    module.scan[3, 256](out, x, 1024)
    return out, np.cumsum(x, 1, dtype=np.uint32) - x


@library(r"""
__global__ void scan(float* x, int width) {
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned lane = threadIdx.x % width;
#pragma unroll
  for (int i = 1; i <= width; i *= 2) { float n = __shfl_up_sync(0xffffffff, v, i, width); if (lane >= i) v += n; }
  x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}""")
def scan_with_shuffles(module, chip):
    x = normal(4, 4, 32)
    got, expected = x.copy(), x.copy()
    module.scan[2, 64](got, 32)
    for step in (1, 2, 4, 8, 16):
        expected[:, step:] = expected[:, step:] + expected[:, :-step].copy()
    return got, expected


@library(r"""
#define TILE 32
#define ROWS 8
__global__ void transpose(float* out, const float* in, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}""")
def transpose_with_padding(module, chip):
    x = normal(5, 70, 100)
    out = np.zeros((100, 70), F32)
    module.transpose[(4, 3), (32, 8)](out, x, 100, 70)
    return out, x.T.copy()


@library(r"""
template <int BLOCK> __global__ void multiply(float* C, const float* A, const float* B, int wA, int wB) {
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  for (int a = wA * BLOCK * by, b = BLOCK * bx; a <= wA * BLOCK * by + wA - 1; a += BLOCK, b += BLOCK * wB) {
    __shared__ float As[BLOCK][BLOCK], Bs[BLOCK][BLOCK];
    As[ty][tx] = A[a + wA * ty + tx];
    Bs[ty][tx] = B[b + wB * ty + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BLOCK; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[wB * BLOCK * by + BLOCK * bx + wB * ty + tx] = sum;
}""")
def matrix_multiply_tiled(module, chip):
    a, b = normal(6, 32, 64), normal(7, 64, 96)
    c = np.zeros((32, 96), F32)
    module["multiply<32>"][(3, 1), (32, 32)](c, a, b, 64, 96)
    return c, in_turn(a[:, None], b.T[None])


@library(r"""
typedef unsigned char uchar;
// a byte counter per thread and bin, summed at the end
__global__ void histogram64(unsigned* partial, const uint4* data, unsigned count) {
  __shared__ uchar s[64 * 64];
  for (int i = 0; i < 16; i++) ((unsigned*)s)[threadIdx.x + i * blockDim.x] = 0;
  __syncthreads();
  uchar* mine = s + threadIdx.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    uint4 d = data[i];
    unsigned words[4] = {d.x, d.y, d.z, d.w};
    for (int w = 0; w < 4; w++)
      for (int b = 2; b < 32; b += 8) mine[(words[w] >> b & 0x3F) * 64]++;
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0, at = threadIdx.x & 63; i < 64; i++, at = at + 1 & 63) sum += s[threadIdx.x * 64 + at];
  partial[blockIdx.x * 64 + threadIdx.x] = sum;
}
__global__ void histogram256(unsigned* out, const unsigned* data, unsigned count) {
  __shared__ unsigned s[6][256];
  for (int i = threadIdx.x; i < 6 * 256; i += blockDim.x) s[0][i] = 0;
  __syncthreads();
  unsigned* mine = s[threadIdx.x / 32];
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
    for (int b = 0; b < 32; b += 8) atomicAdd(mine + (data[i] >> b & 0xFF), 1);
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    unsigned sum = 0;
    for (int w = 0; w < 6; w++) sum += s[w][bin];
    atomicAdd(out + bin, sum);
  }
}""")
def histograms(module, chip):
    data = RNG.integers(0, 256, 8192, np.uint8)
    partial, out = np.zeros((4, 64), np.uint32), np.zeros(256, np.uint32)
    words = data.view(np.uint32)
    module.histogram64[4, 64](partial, words, data.size // 16)
    module.histogram256[2, 192](out, words, data.size // 4)
    expected = tuple(np.bincount(x, minlength=bins).astype(np.uint32) for x, bins in ((data >> 2, 64), (data, 256)))
    return (partial.sum(0, dtype=np.uint32), out), expected


@library(r"""
#define N 256
__global__ void scalar_product(float* out, const float* A, const float* B, int vectors, int length) {
  __shared__ float sums[N];
  for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
      float sum = 0;
      for (int at = v * length + i; at < v * length + length; at += N) sum += A[at] * B[at];
      sums[i] = sum;
    }
    for (int stride = N / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      for (int i = threadIdx.x; i < stride; i += blockDim.x) sums[i] += sums[stride + i];
    }
    if (threadIdx.x == 0) out[v] = sums[0];
    __syncthreads();
  }
}""")
def scalar_products(module, chip):
    a, b = normal(8, 5, 1024), normal(9, 5, 1024)
    out = np.zeros(5, F32)
    module.scalar_product[2, 64](out, a, b, 5, 1024)
    parts = (x.reshape(5, 4, 256).transpose(0, 2, 1) for x in (a, b))
    return out, tree(in_turn(*parts))
