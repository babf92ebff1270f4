"""What the Python face costs: the import, and a 1024×1024×1024 FP16 GEMM beside the command's.

    python crates/python/benches/speed.py [path of the command bitmma]

Prints medians; the ratio is Python's time over Rust's, both of one process each on one thread.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bitmma

SIZE, ROUNDS = 1024, 15
TARGET = ("h100", "wgmma.m64n256k16.f32.f16.f16")


def import_time(module: str) -> float:
    """Milliseconds that importing takes in a fresh interpreter."""
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(11)]
    return 1000 * statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    print(f"import bitmma: {import_time('bitmma'):.0f} ms (NumPy, imported when first used: {import_time('numpy'):.0f} ms)")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, SIZE, SIZE)).astype(np.float16)
    command = sys.argv[1] if len(sys.argv) > 1 else shutil.which("bitmma")
    python, rust = [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("a.npy", "b.npy", "d.npy")]
        np.save(paths[0], a)
        np.save(paths[1], b)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            d = bitmma.gemm(TARGET, a, b, threads=1)
            python.append(time.perf_counter() - start)
            if command:
                arguments = [command, "gemm", *TARGET, "--a", paths[0], "--b", paths[1], "--out", paths[2], "--threads", "1", "--json"]
                done = subprocess.run(arguments, capture_output=True, text=True, check=True)
                rust.append(json.loads(done.stdout)["seconds"])
        if command:
            assert np.load(paths[2]).tobytes() == d.tobytes()
    print(f"gemm from Python: {1000 * statistics.median(python):.1f} ms, {SIZE**3 / statistics.median(python) / 1e9:.1f} G products/s")
    if command:
        print(f"gemm from Rust: {1000 * statistics.median(rust):.1f} ms; ratio {statistics.median(python) / statistics.median(rust):.3f}")


if __name__ == "__main__":
    main()
