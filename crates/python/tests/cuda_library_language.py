"""What CUDA C++ has besides arithmetic: structures, pointers in them, variables, functions, ``printf``."""

from __future__ import annotations

import ctypes

import numpy as np
from cuda_library import F32, fma, library, normal

RNG = np.random.default_rng(11)


@library(r"""
struct Tensor { float* data; int sizes[2]; long long strides[2]; };
struct Arguments { Tensor out; const float* bias; char flag; double factor; Tensor in; short last; };
template <class A> __global__ void affine(A a) {
  int i = threadIdx.x, j = blockIdx.x;
  if (i >= a.in.sizes[1]) return;
  float v = a.in.data[j * a.in.strides[0] + i * a.in.strides[1]];
  a.out.data[j * a.out.strides[0] + i * a.out.strides[1]] = (a.bias ? v + a.bias[i] : v) * (float)a.factor + a.flag + a.last;
}""", names=("affine<Arguments>",))
def structures_with_pointers(module, chip):
    x, bias = normal(1, 3, 5), normal(2, 5)
    got, expected = [], []
    for b in (bias, None):
        out = np.zeros((5, 3), F32)

        def tensor(array, rows, columns):
            return array, np.array([3, 5], np.int32)[0], 5, np.int64(rows), np.int64(columns)

        module["affine<Arguments>"][3, 32]((tensor(out, 1, 3), b, np.int8(-3), np.float64(1.5), tensor(x, 5, 1), np.int16(300)))
        got.append(out)
        expected.append((fma(x if b is None else x + b, F32(1.5), F32(-3)) + F32(300)).T.copy())
    return tuple(got), tuple(expected)


@library(r"""
template <int N> struct List { float* tensors[N]; const float* others[N]; int sizes[N]; unsigned char block_to_tensor[8]; int block_to_chunk[8]; };
template <int N> __global__ void add(List<N> list, float alpha, int chunk) {
  int n = list.block_to_tensor[blockIdx.x], from = list.block_to_chunk[blockIdx.x] * chunk;
  for (int i = from + threadIdx.x; i < min(from + chunk, list.sizes[n]); i += blockDim.x) list.tensors[n][i] += alpha * list.others[n][i];
}""", names=("add<3>",))
def arrays_of_pointers_in_a_structure(module, chip):
    sizes = (70, 10, 33)
    x, y = [normal(3 + i, n) for i, n in enumerate(sizes)], [normal(6 + i, n) for i, n in enumerate(sizes)]
    blocks = [(n, c) for n, size in enumerate(sizes) for c in range(-(-size // 32))]
    of_tensors, of_chunks = np.zeros(8, np.uint8), np.zeros(8, np.int32)
    of_tensors[: len(blocks)], of_chunks[: len(blocks)] = zip(*blocks, strict=True)
    got = [each.copy() for each in x]
    module["add<3>"][len(blocks), 16]((*got, *y, *map(int, sizes), *of_tensors, *of_chunks), 0.3, 32)
    return tuple(got), tuple(fma(F32(0.3), other, each) for each, other in zip(x, y, strict=True))


@library(r"""
struct Sphere { float3 center; float radius; uint3 cell; };
__global__ void shade(float* y, float4 light, uint3 size, float2 pair, double2 wide, uchar4 color, Sphere s, long2 offset) {
  unsigned i = threadIdx.x;
  if (i >= size.x * size.y * size.z) return;
  y[i + offset.y] = light.x + light.w * pair.y + (float)wide.y + color.z + s.center.z * s.radius + s.cell.y;
}""")
def vectors_by_value(module, chip):
    class Sphere(ctypes.Structure):
        _fields_ = (("center", ctypes.c_float * 3), ("radius", ctypes.c_float), ("cell", ctypes.c_uint32 * 3))

    sphere = Sphere((1, 2, 3.5), 0.25, (7, 8, 9))
    y = np.zeros(32, F32)
    light, pair = np.array([0.5, 2, 3, 4], F32), (1.0, 0.125)
    module.shade[1, 32](y, light, (2, 3, 4), pair, (1.0, -2.0), (1, 2, 200, 3), sphere, (5, 6))
    expected = np.zeros(32, F32)
    expected[6:30] = 0.5 + 4 * 0.125 - 2 + 200 + 3.5 * 0.25 + 8
    return y, expected


@library(r"""
__device__ unsigned long long calls;
__device__ int largest = -5;
__device__ float table[4] = {1.f, 2.f, 4.f, 8.f};
__constant__ int2 limits;
__global__ void count(const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&calls, 1ull);
  if (i < n && x[i] >= limits.x && x[i] < limits.y) atomicMax(&largest, x[i]);
  if (i < 4) table[i] *= 2;
}""")
def variables_that_count(module, chip):
    x = RNG.integers(0, 1000, 100, np.int32)
    module.variables["limits"] = np.array([0, 900], np.int32)
    for _ in range(3):
        module.count[4, 32](x, 100)
    names = (("calls", np.uint64), ("largest", np.int32), ("table", F32))
    got = tuple(module.variables[name].view(dtype) for name, dtype in names)
    return got, (np.array([384], np.uint64), np.array([x[x < 900].max()], np.int32), np.array([8, 16, 32, 64], F32))


@library(r"""
__noinline__ __device__ float poly(float x, const float* c, int n) { float y = 0; for (int i = n - 1; i >= 0; i--) y = y * x + c[i]; return y; }
__noinline__ __device__ void swap(float& a, float& b) { float t = a; a = b; b = t; }
__noinline__ __device__ float4 both(float a, float b) { return make_float4(a + b, a - b, a * b, poly(a, &b, 1)); }
__global__ void functions(float4* y, const float* x) {
  float c[3] = {x[0], x[1], x[2]}, a = poly(x[threadIdx.x], c, 3), b = x[threadIdx.x];
  if (threadIdx.x % 3 == 0) swap(a, b);
  y[threadIdx.x] = both(a, b);
}""")
def functions_that_are_called(module, chip):
    x = normal(9, 32)
    y = np.zeros((32, 4), F32)
    module.functions[1, 32](y, x)
    a, b = fma(fma(fma(F32(0), x, x[2]), x, x[1]), x, x[0]), x
    turned = np.arange(32) % 3 == 0
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    return y, np.stack([a + b, a - b, a * b, b], 1)


@library(r"""
__global__ void greet(const float* x) {
  if (threadIdx.x == 0) printf("block %d of %u: %.3f %s %%\n", blockIdx.x, gridDim.x, x[blockIdx.x], "done");
}""")
def printed_lines(module, chip):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as text:
        module.greet[3, 32](np.array([1, 2.5, -3.14159], F32))
    lines = "block 0 of 3: 1.000 done %\nblock 1 of 3: 2.500 done %\nblock 2 of 3: -3.142 done %\n"
    return np.frombuffer(text.getvalue().encode(), np.uint8), np.frombuffer(lines.encode(), np.uint8)


@library(r"""
// pointers to pointers: the kernel reads them from memory
__global__ void gather(float** rows, const int* sizes, float* sums) {
  float sum = 0;
  for (int i = 0; i < sizes[threadIdx.x]; i++) sum += rows[threadIdx.x][i];
  sums[threadIdx.x] = sum;
}""")
def tables_of_pointers(module, chip):
    rows = [RNG.integers(-9, 9, n).astype(F32) for n in (3, 8, 1, 20)]
    table, sums = np.array([row.ctypes.data for row in rows], np.uint64), np.zeros(4, F32)
    sizes = np.array([len(row) for row in rows], np.int32)
    module.gather.launch(1, 4, table, sizes, sums, reachable=rows)
    return sums, np.array([row.sum() for row in rows], F32)


@library(r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void scalars(float* y, __half h, __nv_bfloat16 b, bool on, char c, unsigned char u, short s, long long l, double d, __half2 pair) {
  float v[10] = {__half2float(h), __bfloat162float(b), on ? 1.f : 0.f, (float)c, (float)u, (float)s, (float)(l >> 32), (float)d,
                 __low2float(pair), __high2float(pair)};
  y[threadIdx.x] = v[threadIdx.x];
}""")
def scalars_of_every_type(module, chip):
    y = np.zeros(10, F32)
    pair = (np.float16(3), np.float16(-4))
    module.scalars[1, 10](y, 1.5, -0.75, True, -7, 250, -30000, 5 << 32, 0.125, pair)
    return y, np.array([1.5, -0.75, 1, -7, 250, -30000, 5, 0.125, 3, -4], F32)


@library(r"""
#include <cuda_fp16.h>
__global__ void polynomial(__half2* y, const __half2* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 v = x[i], three = __float2half2_rn(3.f), r = __hfma2(v, v, three);
  r = __hadd2(r, __hmul2(three, v));
  y[i] = __hmax2(r, __hneg2(v));
}
__global__ void scan_bits(unsigned* y, const unsigned* x) {
  unsigned v = x[threadIdx.x];
  y[threadIdx.x] = __brev(v) ^ __funnelshift_l(v, ~v, 7) ^ __byte_perm(v, v * 3u, 0x5140) ^ (__popc(v) << 8) ^ __clz(v) ^ __vadd4(v, 0x01020304u)
    ^ (unsigned)(((unsigned long long)v * v) >> 32) ^ __usad(v, 77u, 3u);
}""", asked=True)
def halves_and_bits(module, chip):
    x = normal(10, 64, dtype=np.float16)
    y = np.zeros_like(x)
    module.polynomial[1, 32](y, x, 32)
    wide = x.astype(np.float64)
    # exact in FP64; ptxas fuses the product by three with the sum
    r = ((wide * wide + 3).astype(np.float16).astype(np.float64) + 3 * wide).astype(np.float16)
    bits = RNG.integers(0, 2**32, 32, np.uint32)
    out = np.zeros_like(bits)
    module.scan_bits[1, 32](out, bits)
    expected = np.zeros_like(bits)
    for i, v in enumerate(map(int, bits)):
        word = int(f"{v:032b}"[::-1], 2)
        word ^= ((~v & 0xFFFFFFFF) << 32 | v) << 7 >> 32 & 0xFFFFFFFF
        source = (v | (v * 3 & 0xFFFFFFFF) << 32).to_bytes(8, "little")
        word ^= int.from_bytes(bytes(source[n] for n in (0, 4, 1, 5)), "little")
        word ^= bin(v).count("1") << 8 ^ 32 - v.bit_length()
        word ^= sum(((v >> 8 * b) + (0x01020304 >> 8 * b) & 0xFF) << 8 * b for b in range(4))
        expected[i] = word ^ v * v >> 32 ^ abs(v - 77) + 3
    return (y, out), (np.maximum(r, -x), expected)


OVERLOADS = ("(void (*)(int*, outer::inner::Range, int))outer::mark", "(void (*)(int*, int))outer::mark")


@library(r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace outer {
namespace inner { struct Range { int first, last; __device__ bool has(int i) const { return i >= first && i < last; } }; }
template <class F> __device__ void each(int n, F f) { for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().num_threads()) f(i); }
__global__ void mark(int* y, inner::Range range, int n) {
  each(n, [=](int i) { y[i] = range.has(i) ? i * i : -1; });
}
__global__ void mark(int* y, int n) { each(n, [&](int i) { y[i] += 1000; }); }
}""", names=OVERLOADS)
def lambdas_and_overloads_in_namespaces(module, chip):
    y = np.zeros(100, np.int32)
    module[OVERLOADS[0]][2, 32](y, (10, 60), 100)
    module[OVERLOADS[1]][3, 16](y, 100)
    i = np.arange(100, dtype=np.int32)
    return y, np.where((i >= 10) & (i < 60), i * i, np.int32(-1)) + np.int32(1000)


@library(r"""
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
__global__ void sort_and_scan(unsigned* keys, int* sums) {
  using Sort = cub::BlockRadixSort<unsigned, 64, 4>;
  using Scan = cub::BlockScan<int, 64>;
  __shared__ union { Sort::TempStorage sort; Scan::TempStorage scan; } memory;
  unsigned k[4];
  int v[4];
  for (int i = 0; i < 4; i++) k[i] = keys[threadIdx.x * 4 + i];
  Sort(memory.sort).Sort(k);
  __syncthreads();
  for (int i = 0; i < 4; i++) { keys[threadIdx.x * 4 + i] = k[i]; v[i] = k[i] & 7; }
  Scan(memory.scan).ExclusiveSum(v, v);
  for (int i = 0; i < 4; i++) sums[threadIdx.x * 4 + i] = v[i];
}""")
def sort_and_scan_of_cub(module, chip):
    keys, sums = RNG.integers(0, 2**32, 256, np.uint32), np.zeros(256, np.int32)
    ordered = np.sort(keys)
    module.sort_and_scan[1, 64](keys, sums)
    low = (ordered & 7).astype(np.int32)
    return (keys, sums), (ordered, np.cumsum(low, dtype=np.int32) - low)


@library(r"""
// "volatile" keeps the compiler from fusing: each step is in memory
__global__ void steps(float* y, const float* x) {
  volatile float product = x[threadIdx.x] * x[threadIdx.x];
  y[threadIdx.x] = product + 1.f;
}""")
def volatile_variables_of_a_thread(module, chip):
    x = normal(11, 32)
    y = np.zeros_like(x)
    module.steps[1, 32](y, x)
    return y, x * x + F32(1)
