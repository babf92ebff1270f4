"""``_scaled_mm``: FP8 and FP4 with one scale, a scale for each row, or scales of blocks along K."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .product import elements, scale_blocks

Multiply = Callable[..., Any]

#: PyTorch's ScalingType: elements along K that share a scale, and rows that do; 0: all.
RECIPES = {0: (0, 0), 1: (0, 1), 2: (16, 1), 3: (32, 1), 4: (128, 1), 5: (128, 128)}
#: The format of the scales, by the number of elements in a block.
FORMATS = {16: ("ue4m3", torch.float8_e4m3fn), 32: ("ue8m0", getattr(torch, "float8_e8m0fnu", torch.uint8)), 128: ("f32", torch.float32)}


def scaled_mm(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Any:
    """(A·B) · scale_a · scale_b + bias; of which kind the scales are, their dtypes and shapes say."""
    rest: dict[str, Any] = {"bias": bias, "scale_result": scale_result, "to": out_dtype or a.dtype, "fast": use_fast_accum}
    m, n, k = a.shape[0], b.shape[1], elements(a, 1)
    if scale_a.dtype == torch.float32:
        if scale_a.numel() in (1, m) and scale_b.numel() in (1, n) and (scale_a.dim() < 2 or scale_a.shape[1] == 1):
            return _rows(multiply, a, b, scale_a, scale_b, **rest)
        if scale_blocks((m, n, k), scale_a, scale_b) is None:
            return NotImplemented
        return _blocks(multiply, a, b, (scale_a, scale_b), ("f32", 128), **rest)
    block = 16 if scale_a.dtype == torch.float8_e4m3fn else 32
    scales = tuple(_unswizzled(scale, rows, -(-k // block)) for scale, rows in ((scale_a, m), (scale_b, n)))
    return _blocks(multiply, a, b, (scales[0], scales[1].t()), (FORMATS[block][0], block), **rest)


def scaled_mm_v2(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: Sequence[torch.Tensor],
    recipe_a: Sequence[int],
    swizzle_a: Sequence[int],
    scale_b: Sequence[torch.Tensor],
    recipe_b: Sequence[int],
    swizzle_b: Sequence[int],
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Any:
    """``torch.nn.functional.scaled_mm``: the recipes say of which kind the scales are; a second scale is for all."""
    rest: dict[str, Any] = {"bias": bias, "to": out_dtype or a.dtype, "fast": use_fast_accum}
    m, n, k = a.shape[0], b.shape[1], elements(a, 1)
    kinds = RECIPES.get(recipe_a[0]), RECIPES.get(recipe_b[0])
    if contraction_dim or kinds[0] is None or kinds[1] is None or kinds[0][0] != kinds[1][0]:
        return NotImplemented
    block = kinds[0][0]
    if not block:
        return _rows(multiply, a, b, scale_a[0], scale_b[0], **rest)
    if block == 128:
        rows = [-(-size // kind[1]) for size, kind in ((m, kinds[0]), (n, kinds[1]))]
        first = scale_a[0].reshape(rows[0], -1)[:, : -(-k // 128)]
        second = scale_b[0] if scale_b[0].shape[-1] == rows[1] else scale_b[0].t()
        return _blocks(multiply, a, b, (first, second[: -(-k // 128)]), ("f32", 128), **rest)
    parts = []
    for scale, swizzle, rows_of in ((scale_a[0], swizzle_a, m), (scale_b[0], swizzle_b, n)):
        swizzled = bool(swizzle) and swizzle[0] != 0
        if swizzled and swizzle[0] != 1:
            return NotImplemented  # SWIZZLE_32_8, an AMD kernel's
        parts.append(_unswizzled(scale, rows_of, -(-k // block), swizzled))
    whole = (scale_a[1], scale_b[1]) if len(scale_a) > 1 and len(scale_b) > 1 else None
    return _blocks(multiply, a, b, (parts[0], parts[1].t()), (FORMATS[block][0], block), whole=whole, **rest)


def _rows(multiply: Multiply, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, **rest: Any) -> Any:
    return _finished(multiply, a, b, scaled=(scale_a, scale_b), **rest)


def _blocks(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    scales: tuple[torch.Tensor, torch.Tensor],
    scale: tuple[str, int],
    *,
    whole: tuple[torch.Tensor, torch.Tensor] | None = None,
    **rest: Any,
) -> Any:
    return _finished(multiply, a, b, blocks=scales, scale=scale, scaled=whole, **rest)


def _finished(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    bias: torch.Tensor | None,
    to: torch.dtype,
    scale_result: torch.Tensor | None = None,
    **options: Any,
) -> Any:
    def finish(sums: torch.Tensor) -> torch.Tensor:
        sums = sums if bias is None else sums + bias.float()
        return sums if scale_result is None else sums * scale_result

    return multiply(a, b, to=to, finish=finish, **options)


def _unswizzled(scale: torch.Tensor, rows: int, blocks: int, swizzled: bool = True) -> torch.Tensor:
    """Scales as rows × blocks. Swizzled they are tiles of 128 rows × 4 blocks, each as 32 × 4 × 4 (row mod 32, row div 32,
    block), as cuBLASLt takes them."""
    if not swizzled:
        return scale.t() if tuple(scale.shape) == (blocks, rows) and rows != blocks else scale.reshape(rows, blocks)
    tall, wide = -(-rows // 128), -(-blocks // 4)
    word = scale.reshape(-1).view(torch.uint8)
    tiles = word.reshape(tall, wide, 32, 4, 4).permute(0, 3, 2, 1, 4)
    return tiles.reshape(tall * 128, wide * 4)[:rows, :blocks].contiguous().view(scale.dtype)
