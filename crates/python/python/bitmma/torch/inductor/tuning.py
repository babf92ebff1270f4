"""Whether bits depend on what a GPU would choose by measuring: every configuration of a kernel runs, and is compared with the one that was chosen."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable
from unittest import mock

import torch

from . import running

if TYPE_CHECKING:
    from .backend import Backend

#: One thread records at a time.
_RECORDING = threading.Lock()
#: What is the same in all templates of a product.
_SAME = re.compile(r"(ACC_TYPE|ALLOW_TF32|EVEN_K|USE_FAST_ACCUM|INDEX_DTYPE)=[^,]*, ")


@dataclass(frozen=True)
class Tuned:
    """A kernel, or the templates of a product, of which a GPU would measure several configurations."""

    name: str
    chosen: str
    """The configuration that runs here."""
    same: list[str] = field(default_factory=list)
    """Others whose results have the same bits."""
    differ: dict[str, int] = field(default_factory=dict)
    """Those whose results differ, and in how many elements."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Those that do not run, and why: a GPU may not have room for them."""

    def __str__(self) -> str:
        lines = [f"{self.name}: {1 + len(self.same) + len(self.differ) + len(self.unknown)} configurations; here {self.chosen}"]
        lines += [f"  {name}: {count} elements differ" for name, count in self.differ.items()]
        lines += [f"  {name} does not run: {why}" for name, why in self.unknown.items()]
        return "\n".join(lines)


@contextlib.contextmanager
def _recorded(backend: Backend, calls: dict[int, tuple[Any, list[Any], dict[str, Any]]]) -> Iterator[None]:
    """In this block ``calls`` gets the first call of each kernel by a graph of this thread: the kernel, and its arguments as they were."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    thread = threading.get_ident()
    plain: Callable[..., Any] = CachingAutotuner.run

    def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        if running.runs_for(backend) and threading.get_ident() == thread and id(kernel) not in calls:
            calls[id(kernel)] = (kernel, _copies(args), kwargs)
        return plain(kernel, *args, **kwargs)

    with _RECORDING, mock.patch.object(CachingAutotuner, "run", run):
        yield


def _copies(args: Any) -> list[Any]:
    """Arguments whose tensors have memory of their own: as much, and shared, as those given."""
    memory: dict[int, Any] = {}

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        own = tensor.untyped_storage()
        if own.data_ptr() not in memory:
            memory[own.data_ptr()] = own.clone()
        return torch.empty(0, dtype=tensor.dtype).set_(memory[own.data_ptr()], tensor.storage_offset(), tensor.size(), tensor.stride())

    return [copy(one) if isinstance(one, torch.Tensor) else one for one in args]


def _differences(one: list[Any], other: list[Any]) -> int:
    """Elements of tensors whose bits differ."""
    count = 0
    for a, b in zip(one, other):
        if isinstance(a, torch.Tensor):
            a, b = (each.contiguous().view(-1).view(torch.uint8).view(-1, each.element_size()) for each in (a, b))
            count += int((a != b).any(1).sum())
    return count


def _compared(name: str, ways: list[tuple[str, Callable[[], list[Any]]]]) -> Tuned:
    """The results of several ways, of which the first is the one that runs here."""
    (chosen, first), *others = ways
    found, expected = Tuned(name, chosen), first()
    for label, way in others:
        try:
            count = _differences(expected, way())
        except Exception as error:  # whatever Triton or the chip says of it
            found.unknown[label] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        if count:
            found.differ[label] = count
        else:
            found.same.append(label)
    return found


def _label(configuration: Any) -> str:
    about = {**configuration.kwargs, "num_warps": configuration.num_warps, "num_stages": configuration.num_stages}
    return ", ".join(f"{name} {value}" for name, value in about.items())


def _of_kernel(backend: Backend, kernel: Any, given: list[Any], kwargs: dict[str, Any]) -> Tuned:
    def way(configuration: Any) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            with backend.compiling():
                launcher = kernel._precompile_config(configuration).make_launcher()
            args = _copies(given)
            with running.running(backend):
                launcher(*args, **kwargs)
            return args

        return run

    chosen = kernel.launchers[0].config
    others = [one for one in kernel.bitmma_configurations if _label(one) != _label(chosen)]
    return _compared(kernel.inductor_meta.get("kernel_name", kernel.fn.__name__), [(_label(one), way(one)) for one in (chosen, *others)])


def _of_template(backend: Backend, templates: list[tuple[str, Any]]) -> Tuned:
    (_, first), *_ = templates
    metas = first.input_tensor_meta if isinstance(first.input_tensor_meta, (list, tuple)) else [first.input_tensor_meta]
    ways = [_SAME.sub("", about).replace("=", " ") for about, _ in templates]
    name = f"{first.kernel_name} of {', '.join('×'.join(map(str, meta.sizes)) for meta in metas)}"
    if not all(meta.dtype.is_floating_point for meta in metas):
        return Tuned(name, ways[0], unknown={one: "some inputs are integers, for which random numbers do not stand" for one in ways[1:]})
    given = [_example(meta) for meta in metas]

    def way(request: Any) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            out = _example(request.output_tensor_meta)
            with backend.compiling(), running.running(backend):
                request.make_run_fn(*_copies(given), out=out)()
            return [out]

        return run

    return _compared(name, [(one, way(request)) for one, (_, request) in zip(ways, templates)])


def _example(meta: Any) -> torch.Tensor:
    """A tensor of this kind, of numbers from a normal distribution."""
    generator = torch.Generator().manual_seed(0)
    room = 1 + sum((size - 1) * stride for size, stride in zip(meta.sizes, meta.strides)) if all(meta.sizes) else 0
    values = torch.randn(meta.offset + room, generator=generator)
    return values.to(meta.dtype).as_strided(meta.sizes, meta.strides, meta.offset)


def tuning(backend: Backend, run: Callable[[], Any]) -> list[Tuned]:
    """What a GPU would measure in a run."""
    calls: dict[int, tuple[Any, list[Any], dict[str, Any]]] = {}
    with _recorded(backend, calls):
        run()
    apart = type(backend)(backend.options)  # what is tried is not in the account
    kernels = [_of_kernel(apart, *call) for call in calls.values() if len(getattr(call[0], "bitmma_configurations", ())) > 1]
    return kernels + [_of_template(apart, templates) for templates in backend.templates if len(templates) > 1]
