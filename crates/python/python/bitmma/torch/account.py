"""What a run was made of: products by a chip's instruction, and everything else, which the host computes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch

from .._lock import LOCK
from .product import Product
from .report import columns

#: The kinds of operations of the host, and how free their results are.
KINDS = {
    "functions": "elementwise functions (exp, rsqrt, silu): libraries differ in the last bits",
    "reductions": "sums along a dimension (sum, mean, softmax, norms): their order differs from machine to machine",
    "random": "random numbers: other generators give other numbers",
    "other": "operations that are not sorted into a kind",
    "arithmetic": "elementwise +, -, ×, ÷ and √, each rounded once: alike on every machine that does not fuse them",
    "exact": "moving, choosing, comparing, converting: alike on every machine",
}
#: How the instruction of a product is called that had the plan of a library's call.
PLAN = "the plan of a call on"
#: The kinds whose results may differ from one machine to another.
FREE = ("functions", "reductions", "random", "other")

_REDUCTIONS = re.compile(
    r"(nan)?sum|(nan)?mean|prod|cumsum|cumprod|var|std|var_mean|std_mean|norm|linalg_vector_norm|logsumexp|logcumsumexp|trace|dist|renorm"
    r"|_?(log_)?softmax|_(log_)?softmax_backward_data|_safe_softmax|native_(layer|group|batch)_norm(_backward)?|_?fused_rms_norm(_backward)?"
    r"|_native_batch_norm_legit\w*|cudnn_batch_norm|batch_norm_\w+|embedding_(dense_)?backward|_embedding_bag\w*|index_(add|put|reduce)|_index_put_impl|_unsafe_index_put"
    r"|scatter_(add|reduce)|(adaptive_)?_?(adaptive_)?avg_pool\w*|nll_loss\w*|\w*_loss(_\w+)?|upsample\w*|grid_sampler\w*|put|histc|cov|mse_loss\w*"
)
_ARITHMETIC = re.compile(r"(r?sub|add|mul|div|reciprocal|sqrt|square|addcmul|addcdiv|lerp|true_divide|_foreach_(add|sub|mul|div|sqrt|addcmul|addcdiv|lerp))")
_EXACT = re.compile(
    r"neg|abs|sign|sgn|signbit|copysign|where|relu6?|leaky_relu|threshold(_backward)?|hardtanh(_backward)?|clamp(_\w+)?|clip|maximum|minimum|fmax|fmin"
    r"|eq|ne|lt|le|gt|ge|equal|isclose|is\w+|logical_\w+|bitwise_\w+|floor|ceil|round|trunc|frac|fill|masked_fill|nan_to_num|positive|real|imag|conj\w*"
    r"|view\w*|_unsafe_view|_reshape\w*|reshape|expand\w*|permute|transpose|t|squeeze|unsqueeze|select\w*|slice\w*|(unsafe_)?split\w*|unbind|chunk|narrow|as_strided\w*|diagonal\w*|unfold\w*|alias|detach|lift\w*"
    r"|clone|copy|_to_copy|to|_copy_from\w*|_conj\w*|cat|stack|repeat\w*|tile|flip|roll|pad|constant_pad_nd|reflection_pad\w*|replication_pad\w*|tril\w*|triu\w*|tri\w+_indices"
    r"|index|index_select|index_copy|_unsafe_index|index_fill|masked_select|masked_scatter|gather|scatter|take|embedding|nonzero\w*|one_hot|pixel_\w+|channel_shuffle"
    r"|max|min|amax|amin|aminmax|argmax|argmin|sort|argsort|topk|kthvalue|median|mode|unique\w*|_unique\w*|searchsorted|bucketize|any|all|bincount|max_pool\w*|cummax|cummin|_cummax\w*|_cummin\w*"
    r"|empty\w*|zeros\w*|ones\w*|full\w*|new_\w+|arange|linspace|eye|scalar_tensor|_local_scalar_dense|item|zero|set|resize\w*|_efficientzerotensor|is_\w+|sym_\w+|size|stride|numel|dim|sparse_\w*|_assert\w*|_has_\w+|_nested_\w+"
)
_RANDOM = re.compile(r"(native_)?dropout|bernoulli|rand\w*|normal|uniform|multinomial|exponential|geometric|cauchy|log_normal|poisson|binomial|rrelu\w*|_fused_dropout|random")
_Tag: Any = torch.Tag


@lru_cache(maxsize=8192)
def kind_of(func: Any) -> str:
    """The kind of an operation on floating-point numbers: a key of :data:`KINDS`."""
    name = base_name(func)
    tags = getattr(func, "tags", ())
    if _RANDOM.fullmatch(name) or _Tag.nondeterministic_seeded in tags:
        return "random"
    if _REDUCTIONS.fullmatch(name):
        return "reductions"
    if _ARITHMETIC.fullmatch(name):
        return "arithmetic"
    if _EXACT.fullmatch(name) or getattr(func, "is_view", False):
        return "exact"
    if _Tag.pointwise in tags or name.endswith("_backward"):
        return "functions"
    return "other"


def kind_of_call(func: Any, args: tuple[Any, ...]) -> str:
    """The kind of a call: what has no floating-point numbers is exact, and a square is a product."""
    kind = kind_of(func)
    if kind not in ("exact", "random") and not _floating(args):
        return "exact"
    if kind == "functions" and base_name(func) == "pow" and len(args) == 2 and isinstance(args[1], (int, float)) and args[1] == 2:
        return "arithmetic"
    return kind


def base_name(func: Any) -> str:
    """The name of an operation, without overload and the mark of operations in place; with its namespace where it is not PyTorch's."""
    packet = getattr(func, "overloadpacket", None)
    name = str(getattr(packet, "__name__", None) or getattr(func, "__name__", func))
    space = getattr(func, "namespace", "aten")
    return ("" if space in ("aten", "prim", "prims", "higher_order") else f"{space}::") + (name.rstrip("_") or name)


def _floating(values: Any) -> bool:
    for one in values:
        if isinstance(one, torch.Tensor):
            if one.is_floating_point() or one.is_complex():
                return True
        elif isinstance(one, (tuple, list)) and _floating(one):
            return True
    return False


def _most(counts: Counter[str]) -> str:
    """The most frequent ones."""
    most = ", ".join(f"{name} {count}" for name, count in counts.most_common(4))
    return most + (", …" if len(counts) > 4 else "")


@dataclass
class Account:
    """Who computed what, by operation and count."""

    chip: str = ""
    """The label of the emulation's target."""
    products: Counter[str] = field(default_factory=Counter)
    """Products by the instruction, model or plan that computed them."""
    multiplications: Counter[str] = field(default_factory=Counter)
    """The multiplications of these products: M × N × K."""
    functions: Counter[str] = field(default_factory=Counter)
    """Elementwise functions by the chip's own instruction (``functions=``)."""
    attention: Counter[str] = field(default_factory=Counter)
    """Calls of attention, by how they were computed; their products are among the products."""
    kernels: Counter[str] = field(default_factory=Counter)
    """Launches of Triton kernels with the chip's bits (``kernels=True``)."""
    left: Counter[str] = field(default_factory=Counter)
    """Products that were left to the host: operation, dtype and reason."""
    host: dict[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})
    """Operations that the host computed, by kind (:data:`KINDS`)."""
    machine: Counter[str] = field(default_factory=Counter)
    """Of these, operations whose bits may depend on the machine, as PyTorch's own code computed them."""

    notes: list[str] = field(default_factory=list)
    """What stayed the host's although it was asked for, and why."""

    def product(self, product: Product, count: int = 1) -> None:
        """A product of the chip, or several of one size; its caller holds the lock."""
        batch, m, n, k = product.shape
        self.products[product.instruction] += count
        self.multiplications[product.instruction] += count * batch * m * n * k

    def plan(self, platform: str | None, a: torch.Tensor, b: torch.Tensor) -> None:
        """A product by the plan of a library's call; its caller holds the lock."""
        name = f"{PLAN} {platform}"
        self.products[name] += 1
        self.multiplications[name] += a.shape[0] * a.shape[1] * b.shape[1]

    @property
    def planned_shares(self) -> tuple[float, float]:
        """The shares of the chip's products, and of their multiplications, that had the plan of a library's call."""
        planned = [name for name in self.products if name.startswith(PLAN)]
        counts = [(sum(one[name] for name in planned), sum(one.values())) for one in (self.products, self.multiplications)]
        return counts[0][0] / max(counts[0][1], 1), counts[1][0] / max(counts[1][1], 1)

    def operation(self, func: Any, args: tuple[Any, ...]) -> str:
        """An operation of the host; its kind."""
        kind = kind_of_call(func, args)
        with LOCK:
            self.host[kind][base_name(func)] += 1
        return kind

    @property
    def free(self) -> int:
        """Operations of the host whose results may differ from one machine to another."""
        return sum(sum(self.host[kind].values()) for kind in FREE)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = ("products", "multiplications", "functions", "attention", "kernels", "left", "machine")
        return {
            "chip": self.chip,
            **{name: dict(getattr(self, name)) for name in plain},
            "host": {kind: dict(counts) for kind, counts in self.host.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """One line."""
        chip = [f"{sum(self.products.values())} products"]
        chip += [f"{sum(self.functions.values())} functions"] if self.functions else []
        chip += [f"{sum(self.kernels.values())} Triton kernels"] if self.kernels else []
        left = sum(self.left.values())
        host = [f"{left} product{'s' if left > 1 else ''}"] if left else []
        for kind in FREE:
            counts = self.host[kind]
            if counts:
                host.append(f"{sum(counts.values())} {kind if kind in ('functions', 'reductions') else f'of kind {kind}'} ({_most(counts)})")
        machine = f"; {_most(self.machine)} may have other bits on another machine" if self.machine else ""
        attention = "".join(f"; attention: {count} × {how}" for how, count in self.attention.items())
        return f"{self.chip}: {', '.join(chip)}; the host: {', '.join(host) or 'only exact and singly rounded operations'}{machine}{attention}"

    def table(self) -> str:
        """A line for each operation: who computed it, its kind, its name, how often."""
        rows = [["by", "kind", "operation", "count"]]
        rows += [[self.chip, "products", name, str(count)] for name, count in self.products.most_common()]
        rows += [[self.chip, "functions", name, str(count)] for name, count in self.functions.most_common()]
        rows += [[self.chip, "Triton kernels", name, str(count)] for name, count in self.kernels.most_common()]
        rows += [["both", "attention", name, str(count)] for name, count in self.attention.most_common()]
        rows += [["host", "products", name, str(count)] for name, count in self.left.most_common()]
        for kind, counts in self.host.items():
            rows += [["host", kind, name, str(count)] for name, count in counts.most_common()]
        return "\n".join([*columns(rows), *self.notes])
