"""Operations that are made of others: on lists of tensors, ranges, and those that PyTorch has a decomposition of."""

from __future__ import annotations

from typing import Any

import torch

from .elementwise import operation
from .native import CODE, rounded

aten = torch.ops.aten

#: Operations by PyTorch's own decomposition, in FP64 and rounded once.
DECOMPOSED = frozenset(
    (
        "upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d unfold_backward col2im reflection_pad1d_backward"
        " reflection_pad2d_backward reflection_pad3d_backward smooth_l1_loss smooth_l1_loss_backward huber_loss huber_loss_backward"
        " soft_margin_loss soft_margin_loss_backward glu_backward binary_cross_entropy binary_cross_entropy_backward"
        " binary_cross_entropy_with_logits logit_backward renorm sinc special_entr"
    ).split()
)


def decomposed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of PyTorch's decomposition; its caller is in a mode that computes the parts."""
    from torch._decomp import decomposition_table  # takes a while to import

    parts = decomposition_table.get(func)
    if parts is None:
        return NotImplemented
    dtypes = [one.dtype for one in args if isinstance(one, torch.Tensor) and one.dtype in CODE]
    if not dtypes:
        return NotImplemented
    if func.overloadpacket.__name__ == "binary_cross_entropy" and not ((args[0] >= 0) & (args[0] <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    found = parts(*map(_wide, args), **{name: _wide(one) for name, one in kwargs.items()})
    if isinstance(found, tuple):
        return tuple(rounded(one, dtypes[0]) if isinstance(one, torch.Tensor) and one.dtype in CODE else one for one in found)
    return rounded(found, dtypes[0])


def _wide(x: Any) -> Any:
    return x.double() if isinstance(x, torch.Tensor) and x.dtype in CODE else x


def each(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation on lists of tensors (``_foreach_…``), one tensor after the other; its caller is in such a mode."""
    base = name.removeprefix("_foreach_")
    own = base.rstrip("_")
    results = []
    count = next(len(one) for one in args if isinstance(one, (list, tuple)))
    if len(args) > 3 and isinstance(args[3], torch.Tensor) and args[3].numel() != count:
        raise RuntimeError(f"Expected length of scalars to match input of length {count} but got {args[3].numel()} instead.")
    for place in range(count):
        given = [one[place] if isinstance(one, (list, tuple)) else one for one in args]
        if own in ("addcmul", "addcdiv") and len(given) > 3:
            value = given[3].reshape(-1)[place].item() if isinstance(given[3], torch.Tensor) else given[3]
            found = getattr(aten, base)(*given[:3], value=value)
        elif own == "norm":
            found = aten.linalg_vector_norm(given[0], *given[1:2], dtype=given[2] if len(given) > 2 else kwargs.get("dtype"))
        elif own in ("minimum", "maximum", "clamp_min", "clamp_max") and not isinstance(given[1], torch.Tensor):
            found = getattr(aten, {"min": "clamp_max", "max": "clamp_min"}.get(own[:3], own) + base[len(own) :])(*given)
        elif not hasattr(aten, base):  # maximum_, minimum_
            found = given[0].copy_(getattr(aten, own)(*given[:2]))
        else:
            found = getattr(aten, base)(*given, **kwargs)
        results.append(found)
    return None if base.endswith("_") else results


def _put(found: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    return found if out is None else out.resize_(found.shape).copy_(found)


@operation("arange")
def _arange(*bounds: Any, out: torch.Tensor | None = None, **options: Any) -> Any:
    dtype = options.get("dtype") if out is None else out.dtype
    if dtype is None:
        dtype = torch.get_default_dtype() if any(isinstance(one, float) for one in bounds) else torch.int64
    if dtype not in CODE:
        return NotImplemented
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    options = {name: one for name, one in options.items() if name != "dtype"}
    # PyTorch says how many there are
    count = aten.arange.start_step(start, end, step, dtype=dtype, **options).numel()
    return _put(rounded(torch.arange(count).double() * step + start, dtype), out)


@operation("linspace")
def _linspace(start: Any, end: Any, steps: int, *, out: torch.Tensor | None = None, **options: Any) -> Any:
    dtype = (options.get("dtype") or torch.get_default_dtype()) if out is None else out.dtype
    if dtype not in CODE:
        return NotImplemented
    if steps < 0 or any(isinstance(one, complex) for one in (start, end)):
        return NotImplemented
    start, end = float(start), float(end)
    if steps == 1:
        return _put(torch.full((1,), start, dtype=dtype), out)
    step = (end - start) / max(steps - 1, 1)
    places = torch.arange(steps).double()
    return _put(rounded(torch.where(places < steps // 2, places * step + start, (places - (steps - 1)) * step + end), dtype), out)


@operation("histc")
def _histc(x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    if not isinstance(x, torch.Tensor) or x.dtype not in CODE or bins <= 0 or float(min) > float(max):
        return NotImplemented
    if float(min) == float(max) and not x.isfinite().all():
        return NotImplemented  # PyTorch refuses it
    wide, low, high = x.reshape(-1).double(), float(min), float(max)
    if low == high and wide.numel():
        low, high = float(wide.amin()), float(wide.amax())
    if low == high:
        low, high = low - 1, high + 1
    wide = wide[(wide >= low) & (wide <= high)]
    place = ((wide - low) * bins / (high - low)).to(torch.int64).clamp(max=bins - 1)
    return torch.bincount(place, minlength=bins).to(x.dtype)
