"""A device that runs kernels: a GPU of PyTorch's, or the interpreter of Triton, which needs none."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError

if TYPE_CHECKING:
    import torch

    from .plan import Plan

#: Rows and columns of D that a program computes, powers of two, and its warps, for each kernel: the fastest of ten on an H100 and an H200.
SHAPES = {"fused": ((32, 32), 4), "add_mul": ((32, 64), 4), "multiply_add": ((64, 32), 2), "exact": ((32, 32), 4)}
#: The same for AMD's GPUs, of whose shapes none was timed: fewest instructions.
SHAPE_AMD = ((64, 32), 2)
#: For the interpreter, which is fastest with few programs.
TILE_INTERPRETED = (64, 64)
#: What has to be there, and how it is got.
MISSING = "bitmma.gpu needs PyTorch and its Triton, which are not installed: pip install 'bitmma[gpu]'"


@dataclass(frozen=True)
class Device:
    """Where kernels run."""

    name: str
    """The GPU's name; ``interpreter``."""
    kind: str
    """``cuda``, ``hip`` or ``interpreter``."""
    versions: tuple[str, ...]
    """Of driver, PyTorch and Triton: with another the self-test runs again."""
    target: str = "none"
    """Whose single instructions kernels use: ``ptx``, ``amd`` or ``none`` (see ``instructions``)."""
    route: str | None = None
    """The only way in which products are summed; else the cheapest that holds for a model."""

    def tile(self, plan: Plan) -> tuple[int, int]:
        """Rows and columns of D that a program of a kernel computes; powers of two."""
        return TILE_INTERPRETED if self.kind == "interpreter" else shape(plan, self.target)[0]

    def launch(self, plan: Plan, grid: tuple[int, int, int], arguments: tuple[Any, ...], constants: dict[str, Any]) -> None:
        """Starts a kernel on the current stream."""
        import torch

        from . import kernels

        options: dict[str, Any] = {} if self.kind == "interpreter" else compiler_options(plan, self.target)
        function = getattr(kernels, plan.kernel)
        with torch.device("cpu") if self.kind == "interpreter" else torch.cuda.device(arguments[0].device):
            function[grid](*arguments, **constants, **options)


def shape(plan: Plan, target: str) -> tuple[tuple[int, int], int]:
    """The tile of a program of a kernel, and its warps."""
    return SHAPE_AMD if target == "amd" else SHAPES[plan.kernel]


def compiler_options(plan: Plan, target: str) -> dict[str, Any]:
    """Options of Triton's compiler for a kernel."""
    mode = {"allow_flush_denorm": True} if target == "amd" and plan.flushes else {}
    return {"num_warps": shape(plan, target)[1], "enable_fp_fusion": False, **mode}


def why_none() -> str | None:
    """Why no kernel can run here at all, in one line; None where one can."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None:
        return MISSING
    import torch

    if is_interpreted() or torch.cuda.is_available():
        return None
    return "PyTorch finds no CUDA or ROCm device here, and TRITON_INTERPRET=1 is not set"


def is_interpreted() -> bool:
    """Whether Triton interprets kernels on the CPU."""
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")


def named(device: str | torch.device) -> torch.device:
    """The device of that name. Raises where it is none, or is not here."""
    import torch

    if is_interpreted():
        return torch.device("cpu")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise DeviceError(f"device is {device!r}: {error}") from None
    if found.type == "cuda" and (found.index or 0) >= (torch.cuda.device_count() if torch.cuda.is_available() else 0):
        seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
        raise DeviceError(f"device is {str(device)!r}, and PyTorch finds {seen} CUDA or ROCm devices here; leave device out to compute on the CPU")
    return found


def device_of(where: torch.device) -> Device:
    """The device that computes where tensors are; ``why_none`` is None."""
    import torch
    import triton

    if is_interpreted():
        return Device("interpreter", "interpreter", (torch.__version__, triton.__version__))
    properties = torch.cuda.get_device_properties(where)
    kind = "hip" if torch.version.hip else "cuda"
    target = "amd" if kind == "hip" else "ptx" if properties.major >= 8 else "none"  # PTX has max.f16x2 from sm_80 on
    return Device(properties.name, kind, (_driver(), torch.__version__, triton.__version__), target=target)


def _driver() -> str:
    """The version that the kernel's driver states; that of the toolkit where it states none."""
    import torch

    for file in ("/sys/module/nvidia/version", "/sys/module/amdgpu/version", "/proc/driver/nvidia/version"):
        try:
            text = Path(file).read_text(encoding="utf-8").split("\n")[0].strip()
        except OSError:
            continue
        if text:
            return text
    return f"{torch.version.hip or torch.version.cuda} with {os.uname().release if hasattr(os, 'uname') else 'another system'}"
