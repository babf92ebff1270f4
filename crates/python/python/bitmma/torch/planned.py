"""Products as a library's calls compute them, where a plan is known (:mod:`bitmma.calls`)."""

from __future__ import annotations

from typing import Any

import torch

from .. import calls
from ..errors import CallDeclined, DeviceError, OptionError

aten = torch.ops.aten


def check(platform: str) -> None:
    """Raises if nothing is known of the platform, or if its name may mean two."""
    if platform.partition("/")[0].lower() == "h100":
        raise OptionError(
            f"calls is {platform!r}, which may be h100-pcie (114 multiprocessors) or h100-sxm (132); libraries decide differently there, so give one of them"
        )
    try:
        calls.plan_call(platform, (16, 16, 32), "e4m3")
    except CallDeclined as error:
        if "nothing is published" in str(error):
            raise


def call(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: dict[str, Any]) -> Any:
    """The result of ``_scaled_mm``, and of ``mm`` in FP16 and BF16; everything else is declined."""
    elsewhere = next((one.device for one in args if isinstance(one, torch.Tensor) and one.device.type != "cpu"), None)
    if elsewhere is not None:
        raise DeviceError(f"calls of a library are computed on the CPU, and a tensor is on {elsewhere}; move model and inputs to the CPU: model.cpu()")
    scaled_mm: Any = calls.scaled_mm
    if operation is aten._scaled_mm:
        return scaled_mm(*args, **kwargs, **options)
    if operation is aten.mm and not kwargs and len(args) == 2:
        a, b = args
        if a.dtype == b.dtype and a.dtype in (torch.float16, torch.bfloat16):
            return calls.matmul(a, b, **options)
    raise CallDeclined("declined: products with C or a bias, of batches, and of other types were never recorded (rule 26)")
