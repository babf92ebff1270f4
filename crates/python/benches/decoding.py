"""What decoding costs: few rows by a weight that was prepared, beside PyTorch's own product, and tokens of a Llama.

    python crates/python/benches/decoding.py [rounds] [products] [calls] [llama]

All runs of a round are made in turn in one process, on one core; medians of processor time are printed. `products`: 4096×4096
weights of the models of four chips, one row and 16, and the bandwidth beside that of a plain read. `calls`: one small call.
`llama`: tokens of a Llama of 4 layers, d = 1024 (needs transformers).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import Any, Callable

os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import bitmma  # noqa: E402

SIZE = 4096
#: A name, the unit, the dtype of the weight, that of PyTorch's own product.
MODELS = [
    ("FP16 Hopper", ("h100", "wgmma.m64n64k16.f32.f16.f16"), torch.float16, torch.bfloat16),
    ("BF16 Hopper", ("h100", "wgmma.m64n64k16.f32.bf16.bf16"), torch.bfloat16, torch.bfloat16),
    ("FP16 CDNA3", ("mi300x", "v_mfma_f32_32x32x8_f16"), torch.float16, torch.bfloat16),
    ("BF16 CDNA3", ("mi300x", "v_mfma_f32_32x32x8_bf16"), torch.bfloat16, torch.bfloat16),
    ("FP8 Hopper", ("h100", "wgmma.m64n64k32.f32.e4m3.e4m3"), torch.float8_e4m3fn, torch.bfloat16),
    ("FP8 Blackwell", ("b200", "tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3"), torch.float8_e4m3fn, torch.bfloat16),
    ("FP16 CDNA2", ("mi250x", "v_mfma_f32_32x32x8f16"), torch.float16, torch.bfloat16),
    ("FP32 CDNA3", ("mi300x", "v_mfma_f32_16x16x4_f32"), torch.float32, torch.float32),
]


def medians(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time of each, run in turn."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for place in range(rounds + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if place:  # the first round warms up
                taken[name].append(1e3 * (time.process_time() - start))
    return {name: statistics.median(times) for name, times in taken.items()}


def products(rounds: int) -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(SIZE, SIZE) / 64, torch.randn(16, SIZE)
    native = {dtype: (x[:1].to(dtype), weight.to(dtype)) for dtype in (torch.bfloat16, torch.float32)}
    print(f"{SIZE}×{SIZE}, ms of one core: PyTorch; one row prepared and its ratio; 16 rows, ratio to one; one row unprepared; preparing; bytes an element; GB/s, of a read")
    for name, target, dtype, own in MODELS:
        unit = bitmma.mma(*target)
        w, a = weight.to(dtype), x.to(dtype)
        ready = bitmma.prepare(w.t(), target=unit, threads=1)
        words = np.ones(ready.nbytes // 8, np.int64)
        runs = {
            "torch": lambda: torch.nn.functional.linear(*native[own]),
            "one": lambda: bitmma.gemm(unit, a[:1], ready, threads=1),
            "sixteen": lambda: bitmma.gemm(unit, a, ready, threads=1),
            "unprepared": lambda: bitmma.gemm(unit, a[:1], w.t(), threads=1),
            "prepare": lambda: bitmma.prepare(w.t(), target=unit, threads=1),
            "read": lambda: words.max(),
        }
        ms = medians(runs, rounds)
        rate = {run: ready.nbytes / ms[run] / 1e6 for run in ("one", "read")}
        print(
            f"{name:14} {ms['torch']:6.2f} | {ms['one']:6.2f} {ms['one'] / ms['torch']:5.2f} | {ms['sixteen']:6.2f} {ms['sixteen'] / ms['one']:5.2f}"
            f" | {ms['unprepared']:6.2f} | {ms['prepare']:6.2f} | {ready.nbytes / SIZE**2:.2f} | {rate['one']:5.1f} {rate['read']:5.1f}",
            flush=True,
        )


def calls(rounds: int) -> None:
    """Microseconds of one small call."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
    unit = bitmma.mma("h100", "mma.m16n8k16.f32.f16.f16.f32")
    few = np.ascontiguousarray(b[:, :8])
    t, u = torch.from_numpy(a), torch.from_numpy(b)
    ready = bitmma.prepare(b, like="h100")

    def many(call: Callable[[], Any]) -> Callable[[], None]:
        return lambda: [call() for _ in range(1000)] and None

    runs = {
        "matmul 16×16×16, NumPy": many(lambda: bitmma.matmul(a, b, like="h100")),
        "matmul 16×16×16, PyTorch": many(lambda: bitmma.matmul(t, u, like="h100")),
        "matmul 16×16×16, prepared": many(lambda: bitmma.matmul(a, ready)),
        "gemm 16×16×16": many(lambda: bitmma.gemm(unit, a, b)),
        "one instruction": many(lambda: unit(a, few)),
    }
    for name, ms in medians(runs, rounds).items():
        print(f"{name}: {ms:.1f} µs")  # a thousand calls


def llama(rounds: int) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=4, num_attention_heads=16, vocab_size=4096, use_cache=True)
    model = LlamaForCausalLM(config).bfloat16().eval()
    ids = torch.randint(4096, (1, 16))

    def generate() -> Any:
        return model.generate(ids, max_new_tokens=16, do_sample=False, pad_token_id=0)

    def emulated(chip: str, prepared: float) -> Any:
        with bitmma.torch.emulate(chip, prepared=prepared, threads=1):
            return generate()

    runs: dict[str, Callable[[], Any]] = {"plain BF16": generate}
    for chip in ("h100", "mi300x"):
        runs[f"{chip}, unprepared"] = lambda chip=chip: emulated(chip, 0)
        runs[f"{chip}, prepared"] = lambda chip=chip: emulated(chip, 1.25)
    with torch.no_grad():
        ms = medians(runs, rounds)
    for name, one in ms.items():
        print(f"16 tokens of a Llama of 4 layers, d = 1024: {name} {one:.0f} ms, {one / ms['plain BF16']:.1f} times plain BF16")


def main() -> None:
    torch.set_num_threads(1)
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    wanted = [word for word in sys.argv[1:] if not word.isdigit()] or ["products", "calls", "llama"]
    for name in wanted:
        {"products": products, "calls": calls, "llama": llama}[name](numbers[0] if numbers else 11)


if __name__ == "__main__":
    main()
