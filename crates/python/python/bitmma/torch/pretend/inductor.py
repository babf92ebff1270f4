"""What Inductor asks of a GPU: it compiles for the chip that there seems to be, and measures nothing."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any, Callable
from unittest import mock

import torch

#: Modules whose functions remember what they asked of a GPU.
_REMEMBER = ("torch.utils._triton", "torch._inductor.utils", "torch._inductor.kernel.mm", "torch._inductor.aws_utils", "torch._inductor.runtime.hints")
#: What Dynamo's description of CUDA calls functions of ``torch.cuda``.
_NAMES = {"exchange_device": "_exchange_device", "maybe_exchange_device": "_maybe_exchange_device"}


def _forget() -> None:
    """Forgets what was asked of another chip, or of a machine without one."""
    for module in [sys.modules[name] for name in _REMEMBER if name in sys.modules]:
        for one in vars(module).values():
            if getattr(one, "__module__", None) != module.__name__:
                continue
            for function in (one, *(vars(one).values() if isinstance(one, type) else ())):
                clear = getattr(getattr(function, "__func__", function), "cache_clear", None)
                if callable(clear):
                    clear()


def _no_code(backend: Any, source: str, *args: Any, **kwargs: Any) -> bytes:
    """Triton's last stage, which makes machine code: the PTX runs here."""
    return b""


def _loaded(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What makes a launcher, of a kernel for which there is nothing to load."""

    def make_launcher(result: Any) -> Any:
        from triton.runtime.errors import OutOfResources

        most = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
        if result.kernel.metadata.shared > most:
            raise OutOfResources(result.kernel.metadata.shared, most, "shared memory")
        result.kernel.module = result.kernel.function = 0
        return plain(result)

    return make_launcher


def _first(plain: Callable[..., None], choices: Any) -> Callable[..., None]:
    """What compiles the configurations of a kernel: the one that was chosen, else the first that fits the chip, where a GPU would measure."""

    def precompile(kernel: Any, *args: Any, **kwargs: Any) -> None:
        from triton.runtime.errors import OutOfResources

        configurations = kernel.bitmma_configurations = getattr(kernel, "bitmma_configurations", None) or list(kernel.configs or ())
        chosen = choices.of(kernel, configurations)
        *others, last = kernel.configs or [None]
        if chosen is not None and last is not None:
            others, last = [], chosen
        for configuration in others:
            kernel.configs, kernel.compile_results = [configuration], []
            try:
                plain(kernel, *args, **kwargs)
            except (RuntimeError, OutOfResources):
                continue
            return choices.note(kernel, configurations)
        if last is not None:
            kernel.configs, kernel.compile_results = [last], []
        plain(kernel, *args, **kwargs)
        choices.note(kernel, configurations)

    return precompile


def _template(templates: list[Any]) -> Callable[..., Any]:
    """Of the ways to compute a product the first template of Triton, or a library's where there is none; ``templates`` gets what is said of
    all of Triton's, and what runs them."""

    def choose(selector: Any, choices: list[Any]) -> Any:
        from torch._inductor.select_algorithm import ExternKernelCaller, TritonTemplateCaller

        of_triton = [one for one in choices if isinstance(one, TritonTemplateCaller)]
        templates.append([(one.description, one.bmreq) for one in of_triton])
        return next((one for one in (*of_triton, *choices) if not isinstance(one, ExternKernelCaller)), choices[0])

    return choose


def _best_first(plain: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The configurations of a reduction, before all others the one that Inductor takes where nothing is measured."""

    def order(about: Any, configurations: list[Any]) -> list[Any]:
        best = plain(about, configurations)
        return best + [one for one in configurations if one not in best]

    return order


def _changes(empty_strided: Callable[..., torch.Tensor], launch: Callable[..., None], templates: list[Any], choices: Any) -> Iterator[tuple[Any, str, Any]]:
    """Where something of PyTorch or Triton becomes something else: the owner, the name, and what it becomes."""
    from torch._dynamo import device_interface
    from torch._inductor import select_algorithm
    from torch._inductor.runtime import triton_helpers, triton_heuristics
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.compiler import CompiledKernel

    interface: Any = device_interface.CudaInterface
    for name, kept in vars(interface).items():
        function = getattr(torch.cuda, _NAMES.get(name, name), None)
        if isinstance(kept, staticmethod) and function is not None:
            yield interface, name, staticmethod(function)
    yield interface, "get_raw_stream", staticmethod(lambda *_: 0)
    yield torch._C._dynamo.guards, "_empty_strided_cuda", empty_strided
    yield triton_helpers, "set_driver_to_gpu", lambda: None
    tuner, result = triton_heuristics.CachingAutotuner, triton_heuristics.TritonCompileResult
    yield tuner, "precompile", _first(tuner.precompile, choices)
    yield result, "make_launcher", _loaded(result.make_launcher)
    yield select_algorithm.AlgorithmSelectorCache, "pick_deterministic_choice", _template(templates)
    yield triton_heuristics, "filter_reduction_configs_for_determinism", _best_first(triton_heuristics.filter_reduction_configs_for_determinism)
    yield CUDABackend, "make_cubin", _no_code
    yield CompiledKernel, "run", property(lambda kernel: functools.partial(launch, kernel))


@contextlib.contextmanager
def described(empty_strided: Callable[..., torch.Tensor], launch: Callable[..., None], templates: list[Any], choices: Any) -> Iterator[None]:
    """In this block, in which ``torch.cuda`` describes a chip, Dynamo and Inductor see that chip; ``empty_strided`` gives memory to the code that
    Inductor writes, ``launch`` runs one of its kernels, as Triton's launcher is called, and ``templates`` gets the templates that a product could have,
    and ``choices`` is asked which configuration of a kernel is compiled, and told."""
    with contextlib.ExitStack() as stack:
        try:
            from torch._dynamo import device_interface

            for owner, name, value in list(_changes(empty_strided, launch, templates, choices)):
                stack.enter_context(mock.patch.object(owner, name, value))
        except (ImportError, AttributeError) as error:
            raise NotImplementedError(f"torch.compile for a GPU that is not there does not know this PyTorch, {torch.__version__}, or this Triton: {error}") from error
        _forget()
        stack.callback(_forget)
        for kept in (device_interface.caching_worker_device_properties, device_interface.caching_worker_current_devices):
            stack.enter_context(mock.patch.dict(kept, clear=True))
        yield
