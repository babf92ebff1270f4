"""The forward pass of a small GPT-2 by CUDA C++ kernels, with an H100's bits and without a GPU.

NVRTC, which comes with PyTorch, compiles the kernels; `bitmma.kernels.cuda` runs them on the processor. The model has random weights.
The logits are compared with those of the same model in NumPy and FP64.

    python examples/gpt2_cuda.py
"""

from __future__ import annotations

import time

import numpy as np

from bitmma.kernels import cuda

LAYERS, WIDTH, HEADS, VOCABULARY, TOKENS = 2, 128, 4, 256, 32

SOURCE = r"""
__device__ float warp_sum(float v) { for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float warp_max(float v) { for (int o = 16; o; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); return v; }

__global__ void encoder(float* out, const int* tokens, const float* wte, const float* wpe, int width) {
  int t = blockIdx.x, c = threadIdx.x;
  out[t * width + c] = wte[tokens[t] * width + c] + wpe[t * width + c];
}

// a warp per token
__global__ void layernorm(float* out, const float* in, const float* weight, const float* bias, int width) {
  const float* x = in + blockIdx.x * width;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < width; c += 32) sum += x[c];
  float mean = warp_sum(sum) / width;
  for (int c = threadIdx.x; c < width; c += 32) squares += (x[c] - mean) * (x[c] - mean);
  float scale = rsqrtf(warp_sum(squares) / width + 1e-5f);
  for (int c = threadIdx.x; c < width; c += 32) out[blockIdx.x * width + c] = scale * (x[c] - mean) * weight[c] + bias[c];
}

// out = x Wᵀ + bias; four outputs of a token per thread
__global__ void matmul(float* out, const float* x, const float* weight, const float* bias, int inputs, int outputs) {
  int o = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  const float4* row = (const float4*)(x + blockIdx.y * inputs);
  float sum[4];
  for (int j = 0; j < 4; j++) sum[j] = bias ? bias[o + j] : 0.f;
  for (int i = 0; i < inputs / 4; i++) {
    float4 v = row[i];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float4 w = ((const float4*)(weight + (o + j) * inputs))[i];
      sum[j] += v.x * w.x; sum[j] += v.y * w.y; sum[j] += v.z * w.z; sum[j] += v.w * w.w;
    }
  }
  ((float4*)(out + blockIdx.y * outputs))[o / 4] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

// a warp per token and head, whose size is 32
__global__ void attention(float* out, const float* qkv, int width) {
  extern __shared__ float p[];
  int t = blockIdx.x, lane = threadIdx.x, at = blockIdx.y * 32;
  float most = -1e30f, sum = 0, value = 0;
  for (int s = lane; s <= t; s += 32) {
    float dot = 0;
    for (int i = 0; i < 32; i++) dot += qkv[t * 3 * width + at + i] * qkv[(s * 3 + 1) * width + at + i];
    p[s] = dot * 0.17677669529663687f;
    most = fmaxf(most, p[s]);
  }
  most = warp_max(most);
  for (int s = lane; s <= t; s += 32) sum += p[s] = expf(p[s] - most);
  sum = warp_sum(sum);
  __syncwarp();
  for (int s = 0; s <= t; s++) value += p[s] * qkv[(s * 3 + 2) * width + at + lane];
  out[t * width + at + lane] = value / sum;
}

__global__ void gelu(float* x) {
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  x[blockIdx.x * blockDim.x + threadIdx.x] = 0.5f * v * (1.f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

__global__ void residual(float* x, const float* y) { x[blockIdx.x * blockDim.x + threadIdx.x] += y[blockIdx.x * blockDim.x + threadIdx.x]; }
"""


def weights(seed: int = 1) -> dict[str, np.ndarray]:
    """Random ones, in GPT-2's shapes and sizes."""
    random, c = np.random.default_rng(seed), WIDTH
    shapes = {"wte": (VOCABULARY, c), "wpe": (TOKENS, c), "ln.w": (c,), "ln.b": (c,)}
    for layer in range(LAYERS):
        for name, outputs, inputs in (("qkv", 3 * c, c), ("proj", c, c), ("up", 4 * c, c), ("down", c, 4 * c)):
            shapes |= {f"{layer}.{name}.w": (outputs, inputs), f"{layer}.{name}.b": (outputs,)}
        shapes |= {f"{layer}.{norm}.{part}": (c,) for norm in ("ln1", "ln2") for part in "wb"}
    return {name: (random.standard_normal(shape) * 0.05 + (".w" in name and len(shape) == 1)).astype(np.float32) for name, shape in shapes.items()}


def forward(chip: str, w: dict[str, np.ndarray], tokens: np.ndarray, **options: int) -> np.ndarray:
    """The logits, by the kernels; ``options`` are those of a launch."""
    k, t, c = cuda(SOURCE, chip), len(tokens), WIDTH

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        out = np.empty_like(x)
        k.layernorm.launch(t, 32, out, x, w[f"{name}.w"], w[f"{name}.b"], c, **options)
        return out

    def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        out = np.empty((t, len(weight)), np.float32)
        k.matmul.launch((len(weight) // 128, t), 32, out, x, weight, bias, x.shape[1], len(weight), **options)
        return out

    x, heads = np.empty((t, c), np.float32), np.empty((t, c), np.float32)
    k.encoder.launch(t, c, x, tokens, w["wte"], w["wpe"], c, **options)
    for n in range(LAYERS):
        qkv = linear(norm(x, f"{n}.ln1"), w[f"{n}.qkv.w"], w[f"{n}.qkv.b"])
        k.attention.launch((t, HEADS), 32, heads, qkv, c, shared=4 * t, **options)
        k.residual.launch(t, c, x, linear(heads, w[f"{n}.proj.w"], w[f"{n}.proj.b"]), **options)
        hidden = linear(norm(x, f"{n}.ln2"), w[f"{n}.up.w"], w[f"{n}.up.b"])
        k.gelu.launch(4 * t, c, hidden, **options)
        k.residual.launch(t, c, x, linear(hidden, w[f"{n}.down.w"], w[f"{n}.down.b"]), **options)
    return linear(norm(x, "ln"), w["wte"], None)


def reference(w: dict[str, np.ndarray], tokens: np.ndarray) -> np.ndarray:
    """The logits, by NumPy in FP64."""
    w = {name: each.astype(np.float64) for name, each in w.items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w[f"{name}.w"] + w[f"{name}.b"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.w"].T + w[f"{name}.b"]

    x = w["wte"][tokens] + w["wpe"][: len(tokens)]
    for n in range(LAYERS):
        q, k, v = linear(norm(x, f"{n}.ln1"), f"{n}.qkv").reshape(len(x), 3, HEADS, -1).transpose(1, 2, 0, 3)
        p = np.exp(np.where(np.tri(len(x)), q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS), -np.inf))
        x = x + linear((p / p.sum(2, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), -1), f"{n}.proj")
        h = linear(norm(x, f"{n}.ln2"), f"{n}.up")
        x = x + linear(0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))), f"{n}.down")
    return norm(x, "ln") @ w["wte"].T


if __name__ == "__main__":
    model, tokens = weights(), np.random.default_rng(2).integers(0, VOCABULARY, TOKENS, np.int32)
    logits = forward("h100", model, tokens)
    print(f"largest difference from FP64: {abs(logits - reference(model, tokens)).max():.1e}, largest logit {abs(logits).max():.2f}")
    start = time.perf_counter()
    forward("h100", model, tokens)
    seconds = time.perf_counter() - start
    print(f"{TOKENS / seconds:.0f} tokens a second, {1000 * seconds / TOKENS:.1f} ms a token")
