#!/usr/bin/env python3
"""A unit in Python: D = A·B + C in FP32, products and sums in the order of k, each rounded.

    bitmma record "exec:python3 examples/protocol/unit.py"

Needs nothing but Python; with NumPy the loop over i and j would be one line.
"""
import json
import struct
import sys

M, N, K = 4, 4, 8
HELLO = {"bitmma": 1, "name": "python-fp32", "m": M, "n": N, "k": K, "blocks": 1,
         "a": "f32", "b": "f32", "c": "f32", "d": "f32", "device": f"Python {sys.version.split()[0]}"}


def f32(x):
    """The FP32 number nearest to x, infinity beyond the largest."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def multiply(a, b, c):
    d = list(c)
    for i in range(M):
        for j in range(N):
            for k in range(K):  # a product of two FP32 is exact in a double
                d[i * N + j] = f32(d[i * N + j] + f32(a[i * K + k] * b[k * N + j]))
    return d


out, source = sys.stdout.buffer, sys.stdin.buffer
out.write(json.dumps(HELLO).encode() + b"\n")
out.flush()
while header := source.read(16):
    magic, sequence, count, length = struct.unpack("<4sIII", header)
    assert magic == b"MMAQ", magic
    codes = struct.unpack(f"<{length // 4}f", source.read(length))
    a, b, c = codes[:count * M * K], codes[count * M * K:-count * M * N], codes[-count * M * N:]
    d = []
    for i in range(count):
        d += multiply(a[i * M * K:(i + 1) * M * K], b[i * K * N:(i + 1) * K * N], c[i * M * N:(i + 1) * M * N])
    out.write(struct.pack("<4sIII", b"MMAD", sequence, count, 4 * len(d)) + struct.pack(f"<{len(d)}f", *d))
    out.flush()
