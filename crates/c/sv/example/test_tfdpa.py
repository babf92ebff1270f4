"""The same in Python, by cocotb: tfdpa.sv under Verilator against bitmma's package.

    pip install cocotb bitmma && python test_tfdpa.py      (BITMMA_BUG=1: with the planted bug)
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import Timer

import bitmma

HERE = Path(__file__).resolve().parent
CASES = int(os.environ.get("BITMMA_CASES", "2000"))


@cocotb.test()
async def every_case_agrees(dut) -> None:
    unit = bitmma.Unit.from_toml((HERE / "tfdpa.toml").read_text(), step=4)
    rng = random.Random(1)
    for number in range(CASES):
        near_one = number % 2
        bits = [rng.getrandbits(16) for _ in range(8)]
        if near_one:
            bits = [(code & 0x83FF) | (rng.randrange(9, 22) << 10) for code in bits]
        c_bits = rng.getrandbits(32) if not near_one else (rng.getrandbits(32) & 0x807FFFFF) | (rng.randrange(100, 140) << 23)
        a, b = np.array(bits[:4], np.uint16).reshape(1, 4), np.array(bits[4:], np.uint16).reshape(4, 1)
        c = np.array([[c_bits]], np.uint32)
        dut.a.value = sum(code << (16 * k) for k, code in enumerate(bits[:4]))
        dut.b.value = sum(code << (16 * k) for k, code in enumerate(bits[4:]))
        dut.c.value = c_bits
        await Timer(1, "ns")
        expected = int(unit(a, b, c).view(np.uint32)[0, 0])
        actual = int(dut.d.value)
        assert actual == expected, (
            f"case {number}: tfdpa answers {actual:#010x}, bitmma {expected:#010x}\n{bitmma.explain(unit, a, b, c)}"
        )


if __name__ == "__main__":
    from cocotb_tools.runner import get_results, get_runner

    runner = get_runner("verilator")
    build = Path(os.environ.get("BITMMA_BUILD", "sim_build")).absolute()
    bug = int(os.environ.get("BITMMA_BUG", "0"))
    runner.build(sources=[HERE / "tfdpa.sv"], hdl_toplevel="tfdpa", parameters={"BUG": bug}, build_dir=build)
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    results = runner.test(
        hdl_toplevel="tfdpa", test_module="test_tfdpa", test_dir=build, build_dir=build, extra_env={"PYTHONPATH": path}
    )
    tests, failures = get_results(results)
    raise SystemExit(0 if tests and not failures else 1)
