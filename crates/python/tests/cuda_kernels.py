"""Kernels in CUDA C++ whose threads meet in memory, for ``test_cuda_races.py``.

``STEP(n)`` before a statement: fault n leaves it out; ``FAULT(n)``: fault n adds it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

HEAD = r"""
typedef unsigned long long u64;
#define T threadIdx.x
#define B blockIdx.x
#define STEP(n) if constexpr (F != n)
#define FAULT(n) if constexpr (F == n)
// a loop of compare-and-swap whose first guess is a plain load
#define CAS_LOOP(type, p, new_value) type old = *(p), assumed; \
  do { assumed = old; old = atomicCAS(p, assumed, new_value); } while (assumed != old)

__device__ float warp_sum(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float block_sum(float v) {
  __shared__ float part[32];
  if ((v = warp_sum(v), T % 32 == 0)) part[T / 32] = v;
  __syncthreads();
  v = warp_sum(T % 32 < blockDim.x / 32 ? part[T % 32] : 0.f);
  __syncthreads();
  return v;
}
__device__ void bar_sync(int n) { asm volatile("bar.sync %0, 64;" :: "r"(n) : "memory"); }
__device__ void bar_arrive(int n) { asm volatile("bar.arrive %0, 64;" :: "r"(n) : "memory"); }
"""


class Kernel(NamedTuple):
    """A kernel of ``x``, the input, ``y``, the output, and ``u``, counters and flags; all but ``x`` start as zeros."""

    name: str
    blocks: int
    threads: int
    faults: int
    source: str
    at: int
    """The first element of ``y`` that is compared."""
    expected: Any
    """None: it depends on the order of threads."""
    dtype: Any = np.float32


X = (np.arange(1024) % 13 + 1).astype(np.float32)
_QUARTERS = X[:256].reshape(4, 64)
_SCAN = np.repeat(np.concatenate([[0], np.cumsum(_QUARTERS.sum(1))[:3]]), 64) + X[:256]
_HALVES = np.bincount(np.arange(256) % 64 % 6)

KERNELS = (
    # compare-and-swap from a guess
    Kernel("add_double", 4, 64, 1, r"""
      u64* p = (u64*)y;
      CAS_LOOP(u64, p, __double_as_longlong(x[B * 64 + T] + __longlong_as_double(assumed)));
      FAULT(1) y[64 + B * 64 + T] = y[0];""", 0, [_QUARTERS.sum()], np.float64),
    Kernel("add_double_and_use_it", 4, 64, 1, r"""
      u64* p = (u64*)y + 1, first = *p;
      CAS_LOOP(u64, p, __double_as_longlong(1.0 + __longlong_as_double(assumed)));
      y[64 + (int)__longlong_as_double(old)] = 1;
      FAULT(1) u[B * 64 + T] = (unsigned)(first >> 32);""", 64, np.ones(256)),
    Kernel("maximum_float", 4, 64, 1, r"""
      int* p = (int*)y;
      CAS_LOOP(int, p, __float_as_int(fmaxf(x[B * 64 + T], __int_as_float(assumed))));
      FAULT(1) *p = old;""", 0, [13]),
    Kernel("add_to_each", 4, 64, 1, r"""
      for (int i = 0; i < 8; i++) { int* p = (int*)y + 1 + i; CAS_LOOP(int, p, __float_as_int(x[i] + __int_as_float(assumed))); }
      FAULT(1) y[1 + T % 8] = 3;""", 1, X[:8] * 256),
    Kernel("add_16_bits_of_a_word", 4, 64, 1, r"""
      unsigned short* a = (unsigned short*)y + T % 6;
      unsigned* p = (unsigned*)((size_t)a & ~(size_t)2);
      bool high = (size_t)a & 2;
      CAS_LOOP(unsigned, p, high ? assumed + 0x10000 : (assumed & 0xffff0000) | ((assumed + 1) & 0xffff));
      FAULT(1) *a = 1;""", 0, _HALVES, np.uint16),
    Kernel("add_16_bits", 4, 64, 1, r"""
      unsigned short* p = (unsigned short*)y + T % 6;
      CAS_LOOP(unsigned short, p, (unsigned short)(assumed + 1));
      FAULT(1) *p = 1;""", 0, _HALVES, np.uint16),
    Kernel("add_shared", 2, 128, 2, r"""
      __shared__ double s;
      if (T == 0) s = 0;
      STEP(1) __syncthreads();
      u64* p = (u64*)&s;
      CAS_LOOP(u64, p, __double_as_longlong(x[T] + __longlong_as_double(assumed)));
      STEP(2) __syncthreads();
      if (T == 40) y[B] = s;""", 0, np.full(2, X[:128].sum())),
    Kernel("add_generic", 4, 64, 1, r"""
      __shared__ unsigned s;
      if (T == 0) s = 0;
      __syncthreads();
      unsigned* p = T & 32 ? &s : u;
      CAS_LOOP(unsigned, p, assumed + 1);
      __syncthreads();
      if (T == 0) y[B] = s;
      FAULT(1) *p = 7;""", 0, np.full(4, 32)),
    Kernel("guess_in_each_turn", 4, 64, 3, r"""
      unsigned old;
      do old = *u; while (atomicCAS(u, old, old + 1) != old);
      y[B * 64 + T] = old < 256;
      FAULT(1) if (unsigned v = *u; atomicCAS(u, v, v + 1) != v) y[300 + B * 64 + T] = 1;
      FAULT(2) if (unsigned v = *u; atomicCAS(u, v, v + 1) == v) y[300 + B * 64 + T] = 1;
      FAULT(3) { unsigned v = *u; atomicCAS(u, v, v + 1); y[300 + B * 64 + T] = v; }""", 0, np.ones(256)),
    Kernel("guess_with_branches", 4, 64, 2, r"""
      unsigned old = *u, assumed, pause = 8, last = 0;
      do {
        assumed = old;
        unsigned n = assumed;
        if (n % 3 == 1) { for (unsigned j = 0; j < (n & 3); j++) n += j; n += 1; last = 1; } else n += 2;
        old = atomicCAS(u, assumed, n);
        if (assumed != old) { __nanosleep(pause); if (pause < 256) pause *= 2; }
      } while (assumed != old);
      FAULT(1) y[300 + B * 64 + T] = last;
      FAULT(2) u[0] = 0;""", 0, None),
    Kernel("guess_in_two_halves", 4, 64, 1, r"""
      float2* p = (float2*)y;
      float2 old = *p, assumed, n;
      do {
        assumed = old;
        n = make_float2(assumed.x + 1, assumed.y + 2);
        u64 found = atomicCAS((u64*)p, *(u64*)&assumed, *(u64*)&n);
        old = *(float2*)&found;
      } while (*(u64*)&old != *(u64*)&assumed);
      FAULT(1) y[2 + T] = p->x;""", 0, [256, 512]),
    Kernel("guess_before_a_loop_of_its_own", 4, 64, 2, r"""
      int* p = (int*)y;
      int old = *p, assumed;
      unsigned pause = 8, last = 0;
      while (true) {
        assumed = old;
        old = atomicCAS(p, assumed, __float_as_int(__int_as_float(assumed) + 1));
        if (assumed == old) break;
        __nanosleep(pause);
        pause = min(pause * 2, 1024u);
        last = 1;
      }
      FAULT(1) y[300 + B * 64 + T] = last;
      FAULT(2) y[300 + B * 64 + T] = pause;""", 0, [256]),
    Kernel("two_floats_of_a_word", 4, 64, 1, r"""
      u64* p = (u64*)y;
      CAS_LOOP(u64, p, (u64)__float_as_uint(__uint_as_float(assumed >> 32) + x[B * 64 + T]) << 32
                       | __float_as_uint(__uint_as_float((unsigned)assumed) + 1));
      FAULT(1) y[2 + T] = __uint_as_float((unsigned)*p);""", 0, [256, X[:256].sum()]),
    # the last block
    Kernel("thread_fence_reduction", 4, 128, 2, r"""
      __shared__ bool last;
      float v = block_sum(x[B * 128 + T]);
      if (T == 0) { y[1 + B] = v; STEP(1) __threadfence(); last = atomicInc(u, gridDim.x) == gridDim.x - 1; }
      STEP(2) __syncthreads();
      if (last) { v = block_sum(T < gridDim.x ? y[1 + T] : 0.f); if (T == 0) { y[0] = v; u[0] = 0; } }""",
           0, [X[:512].sum()]),
    Kernel("reduction_of_pytorch", 4, 128, 3, r"""
      __shared__ bool last;
      float* parts = y + 128;
      parts[B * 128 + T] = x[B * 128 + T];
      STEP(1) __threadfence();
      STEP(2) __syncthreads();
      if (T == 0) last = atomicAdd(u, 1) == gridDim.x - 1;
      STEP(3) __syncthreads();
      if (last) { __threadfence(); float v = 0; for (int i = T; i < 512; i += 128) v += parts[i]; y[T] = v; }""",
           0, X[:512].reshape(4, 128).sum(0)),
    Kernel("layer_norm_backward", 4, 128, 5, r"""
      // as in llm.c: warps add in shared memory, blocks leave sums, and the last block adds those
      __shared__ float dw[64], db[64];
      __shared__ unsigned flag;
      for (int i = T; i < 64; i += 128) dw[i] = db[i] = 0;
      STEP(1) __syncthreads();
      for (int row = T / 32; row < 8; row += 4)
        for (int i = T % 32; i < 64; i += 32) { float g = x[(B * 8 + row) % 15 * 64 + i]; atomicAdd(dw + i, g * 2); atomicAdd(db + i, g); }
      STEP(2) __syncthreads();
      float* sums = y + 128;
      for (int i = T; i < 64; i += 128) { sums[B * 128 + i] = dw[i]; sums[B * 128 + 64 + i] = db[i]; }
      STEP(3) __threadfence();
      STEP(4) __syncthreads();
      if (T == 0) flag = atomicInc(u, gridDim.x);
      STEP(5) __syncthreads();
      if (flag == gridDim.x - 1) { float v = 0; for (int b = 0; b < gridDim.x; b++) v += sums[b * 128 + T]; y[T] = v; }""",
           64, sum(X[row % 15 * 64 :][:64] for row in range(32))),
    Kernel("columns_by_atomics_and_the_last", 4, 128, 2, r"""
      __shared__ bool last;
      atomicAdd(y + T, x[B * 128 + T]);
      STEP(1) __threadfence();
      STEP(2) __syncthreads();
      if (T == 0) last = atomicInc(u, 3) == 3;
      __syncthreads();
      if (last) y[128 + T] = y[127 - T];""", 128, X[:512].reshape(4, 128).sum(0)[::-1]),
    Kernel("counter_set_back_by_the_last", 4, 64, 1, r"""
      if (T == 0) { y[B] = 1; if (atomicAdd(u, 1) == gridDim.x - 1) u[0] = 0; }
      FAULT(1) if (T == 32) y[100 + B] = *(volatile unsigned*)u;""", 0, np.ones(4)),
    # flags
    Kernel("look_back", 4, 64, 3, r"""
      __shared__ float before;
      float v = block_sum(x[B * 64 + T]), *sums = y + 512;
      volatile unsigned* flags = u;
      if (T == 0) {
        before = 0;
        if (B) { while (flags[B - 1] == 0); STEP(1) __threadfence(); before = sums[B - 1]; }
        sums[B] = before + v;
        STEP(2) __threadfence();
        flags[B] = 1;
      }
      STEP(3) __syncthreads();
      y[B * 64 + T] = before + x[B * 64 + T];""", 0, _SCAN),
    Kernel("look_back_at_all_others", 4, 64, 2, r"""
      // the first block waits for the last
      __shared__ float before;
      int me = gridDim.x - 1 - B;
      float v = block_sum(x[me * 64 + T]), *sums = y + 512;
      volatile unsigned* flags = u;
      if (T == 0) {
        sums[me] = v;
        STEP(1) __threadfence();
        flags[me] = 1;
        before = 0;
        for (int b = me - 1; b >= 0; b--) { while (flags[b] == 0); STEP(2) __threadfence(); before += sums[b]; }
      }
      __syncthreads();
      y[me * 64 + T] = before + x[me * 64 + T];""", 0, _SCAN),
    Kernel("look_back_in_words", 4, 64, 1, r"""
      // sum and state in one word, as in CUB
      __shared__ float before;
      float v = block_sum(x[B * 64 + T]);
      volatile u64* states = (u64*)(u + 2);
      if (T == 0) {
        before = 0;
        states[B] = (u64)__float_as_uint(v) << 32 | (B ? 1 : 2);
        for (int b = B - 1; b >= 0; b--) {
          u64 s;
          do s = states[b]; while ((unsigned)s == 0);
          before += __uint_as_float(s >> 32);
          if ((unsigned)s == 2) break;
        }
        u64 s = (u64)__float_as_uint(v + before) << 32 | 2;
        FAULT(1) *(u64*)&states[B] = s;
        STEP(1) states[B] = s;
      }
      __syncthreads();
      y[B * 64 + T] = before + x[B * 64 + T];""", 0, _SCAN),
    Kernel("stream_k", 4, 64, 4, r"""
      // all blocks but the first leave their part of a tile
      float* parts = y + 128;
      volatile unsigned* flags = u;
      if (B) {
        parts[B * 64 + T] = x[B * 64 + T];
        STEP(1) __threadfence();
        STEP(2) __syncthreads();
        if (T == 0) flags[B] = 1;
      } else {
        float v = x[T];
        for (int b = 1; b < gridDim.x; b++) {
          if (T == 0) { while (flags[b] == 0); STEP(3) __threadfence(); }
          STEP(4) __syncthreads();
          v += parts[b * 64 + T];
        }
        y[T] = v;
      }""", 0, _QUARTERS.sum(0)),
    Kernel("stream_k_with_flags_set_back", 4, 64, 3, r"""
      float* parts = y + 128;
      volatile unsigned* flags = u;
      if (B) {
        parts[B * 64 + T] = x[B * 64 + T];
        __syncthreads();
        if (T == 0) { STEP(1) __threadfence(); flags[B] = 1; }
        FAULT(3) if (T == 40) u[B] = 0;
      } else {
        float v = x[T];
        for (int b = 1; b < gridDim.x; b++) {
          if (T == 0) while (flags[b] == 0);
          STEP(2) __syncthreads();
          __threadfence();
          if (T == 40) u[b] = 0;
          v += parts[b * 64 + T];
        }
        y[T] = v;
      }""", 0, _QUARTERS.sum(0)),
    Kernel("arrive_and_wait", 4, 64, 3, r"""
      // as in CUTLASS
      float* parts = y + 128;
      parts[B * 64 + T] = x[B * 64 + T];
      STEP(1) __syncthreads();
      if (T == 0) {
        STEP(2) asm volatile("fence.acq_rel.gpu;" ::: "memory");
        asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" :: "l"(u) : "memory");
        int s;
        do asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(s) : "l"(u) : "memory"); while (s < 4);
      }
      STEP(3) __syncthreads();
      y[B * 64 + T + 512] = parts[(B + 1) % 4 * 64 + T];""", 512, np.roll(X[:256], -64)),
    Kernel("barrier_of_the_grid", 4, 64, 4, r"""
      for (int i = 0; i < 3; i++) {
        float *from = y + i % 2 * 256, *to = y + (1 - i % 2) * 256;
        to[B * 64 + T] = i ? from[(B * 64 + T + 65) % 256] + 1 : x[B * 64 + T];
        STEP(1) __syncthreads();
        if (T == 0) {
          STEP(2) __threadfence();
          atomicAdd(u, 1);
          while (*(volatile unsigned*)u < gridDim.x * (i + 1));
          STEP(3) __threadfence();
        }
        STEP(4) __syncthreads();
      }""", 256, np.roll(X[:256], -130) + 2),
    Kernel("queue_between_blocks", 2, 32, 3, r"""
      // block 0 sends rows to block 1, which gives their slots back
      volatile unsigned *full = u, *free = u + 1;
      float *slots = y + 64, v = 0;
      for (int i = 0; i < 6; i++) {
        if (T == 0) { if (B) while (*full <= i); else while ((int)(i - *free) >= 2); STEP(1) __threadfence(); }
        __syncwarp();
        if (B) v += slots[i % 2 * 32 + T]; else slots[i % 2 * 32 + T] = x[i * 32 + T];
        __syncwarp();
        if (T == 0) {
          if (B) { STEP(2) __threadfence(); *free = i + 1; } else { STEP(3) __threadfence(); *full = i + 1; }
        }
      }
      if (B) y[T] = v;""", 0, X[:192].reshape(6, 32).sum(0)),
    Kernel("data_with_its_flag", 2, 32, 1, r"""
      // one store of 8 bytes, as in NCCL
      uint2* box = (uint2*)(y + 64);
      if (B == 0) {
        FAULT(1) box[T] = make_uint2(__float_as_uint(x[T]), 7);
        STEP(1) asm volatile("st.volatile.global.v2.u32 [%0], {%1, 7};" :: "l"(box + T), "r"(__float_as_uint(x[T])) : "memory");
      } else {
        unsigned d, flag;
        do asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(d), "=r"(flag) : "l"(box + T) : "memory"); while (flag != 7);
        y[T] = __uint_as_float(d);
      }""", 0, X[:32]),
    Kernel("a_flag_that_others_only_look_at", 4, 64, 1, r"""
      if (B < 3) y[B * 64 + T] = *(volatile unsigned*)u;
      else if (T == 0) { FAULT(1) u[0] = 5; STEP(1) atomicExch(u, 5); }""", 0, np.zeros(192)),
    Kernel("warps_in_a_chain", 2, 128, 2, r"""
      __shared__ volatile int flag[4];
      __shared__ float sums[4];
      if (T < 4) flag[T] = 0;
      __syncthreads();
      int w = T / 32;
      float v = warp_sum(x[B * 128 + T]), before = 0;
      if (T % 32 == 0) {
        if (w) { while (flag[w - 1] == 0); STEP(1) __threadfence_block(); before = sums[w - 1]; }
        sums[w] = before + v;
        STEP(2) __threadfence_block();
        flag[w] = 1;
        y[B * 4 + w] = before + v;
      }""", 0, np.cumsum(X[:128].reshape(4, 32).sum(1))),
    # locks
    Kernel("lock_of_a_block", 8, 64, 3, r"""
      if (T == 0) { while (atomicExch(u, 1) != 0); __threadfence(); }
      STEP(1) __syncthreads();
      y[T] += x[B * 64 + T];
      STEP(2) __syncthreads();
      if (T == 0) { STEP(3) __threadfence(); atomicExch(u, 0); }""", 0, X[:512].reshape(8, 64).sum(0)),
    Kernel("lock_that_a_store_gives_back", 8, 64, 2, r"""
      if (T == 0) {
        while (atomicCAS(u, 0, 1) != 0);
        __threadfence();
        y[0] += x[B];
        STEP(1) __threadfence();
        FAULT(2) u[0] = 0;
        STEP(2) *(volatile unsigned*)u = 0;
      }""", 0, [X[:8].sum()]),
    Kernel("lock_of_lanes", 4, 64, 1, r"""
      for (bool done = false; !done;)
        if (atomicCAS(u, 0, 1) == 0) { y[0] += 1; STEP(1) __threadfence(); atomicExch(u, 0); done = true; }""", 0, [256]),
    Kernel("tickets", 4, 64, 2, r"""
      if (T == 0) {
        unsigned mine = atomicAdd(u, 1);
        volatile unsigned* serving = u + 1;
        while (*serving != mine);
        STEP(1) __threadfence();
        y[0] += x[B];
        STEP(2) __threadfence();
        *serving = mine + 1;
      }""", 0, [X[:4].sum()]),
    # within a block
    Kernel("softmax_backward", 4, 128, 2, r"""
      __shared__ float part[4];
      for (int t = 0; t < 4; t++) {
        const float* att = x + t * 128;
        float* d = y + (B * 4 + t) * 128;
        d[T] = att[T] * 3;
        float s = warp_sum(att[T] * d[T]);
        if (T % 32 == 0) part[T / 32] = s;
        STEP(1) __syncthreads();
        d[T] = att[T] * (d[T] - (part[0] + part[1] + part[2] + part[3]));
        STEP(2) __syncthreads();
      }""", 0, X[:128] * (3 * X[:128] - (3 * X[:128] ** 2).sum())),
    Kernel("ring_with_named_barriers", 2, 64, 2, r"""
      __shared__ float ring[2][32];
      float v = 0;
      for (int i = 0; i < 6; i++)
        if (T < 32) {
          if (i > 1) bar_sync(3 + i % 2);
          STEP(1) ring[i % 2][T] = x[i * 32 + T];
          bar_arrive(1 + i % 2);
          FAULT(1) ring[i % 2][T] = x[i * 32 + T];
        } else {
          bar_sync(1 + i % 2);
          FAULT(2) if (i < 4) bar_arrive(3 + i % 2);
          v += ring[i % 2][T - 32];
          STEP(2) if (i < 4) bar_arrive(3 + i % 2);
        }
      if (T >= 32) y[B * 32 + T - 32] = v;""", 0, np.tile(X[:192].reshape(6, 32).sum(0), 2)),
    Kernel("warps_append", 4, 64, 1, r"""
      bool keep = x[B * 64 + T] > 8;
      unsigned mask = __ballot_sync(~0u, keep), at = 0;
      if (T % 32 == 0) { FAULT(1) { at = u[0]; u[0] = at + __popc(mask); } STEP(1) at = atomicAdd(u, __popc(mask)); }
      at = __shfl_sync(~0u, at, 0) + __popc(mask & ((1u << T % 32) - 1));
      if (keep) y[at] = 1;""", 0, np.ones(int((X[:256] > 8).sum()))),
    Kernel("blocks_take_tiles", 3, 64, 2, r"""
      __shared__ unsigned next;
      while (true) {
        if (T == 0) next = atomicAdd(u, 1);
        STEP(1) __syncthreads();
        unsigned tile = next;
        STEP(2) __syncthreads();
        if (tile >= 8) break;
        y[tile * 64 + T] = x[tile * 64 + T] * 2;
      }""", 0, X[:512] * 2),
    Kernel("two_tiles_in_turns", 2, 128, 2, r"""
      __shared__ float tile[2][128];
      float v = 0;
      for (int i = 0; i < 4; i++) {
        float* t = tile[F == 1 ? 0 : i % 2];
        t[T] = x[i * 128 + T];
        STEP(2) __syncthreads();
        v += t[127 - T];
      }
      y[B * 128 + T] = v;""", 0, np.tile(X[:512].reshape(4, 128)[:, ::-1].sum(0), 2)),
    Kernel("global_memory_of_a_block", 4, 128, 2, r"""
      float* mine = y + 128 * B;
      mine[T] = x[T];
      STEP(1) __syncthreads();
      float v = mine[127 - T];
      STEP(2) __syncthreads();
      mine[T] = v + 1;""", 0, X[:128][::-1] + 1),
    Kernel("union_find", 1, 64, 2, r"""
      volatile int* parent = (int*)u;
      u[T] = T;
      STEP(1) __syncthreads();
      for (int a = T, b = (T + 1) % 64;;) {
        while (parent[a] != a) a = parent[a];
        while (parent[b] != b) b = parent[b];
        if (a < b) { int t = a; a = b; b = t; }
        if (a == b || atomicCAS((int*)u + a, a, b) == a) break;
      }
      STEP(2) __syncthreads();
      int r = T;
      while (u[r] != r) r = u[r];
      y[T] = r;""", 0, np.zeros(64)),
)  # fmt: skip


def source() -> str:
    """All kernels in one text; ``NAME_n`` has fault n, ``NAME_0`` none."""
    text = HEAD
    arguments = "const float* x, float* y, unsigned* u"
    for kernel in KERNELS:
        text += f"template<int F> __device__ void {kernel.name}({arguments}) {{{kernel.source}}}\n"
        for fault in range(kernel.faults + 1):
            entry = f"{kernel.name}_{fault}({arguments})"
            text += f'extern "C" __global__ void {entry} {{ {kernel.name}<{fault}>(x, y, u); }}\n'
    return text
