"""``torch.compile`` for a GPU that is not there: Inductor compiles a model for a chip, and its kernels run here, on tensors of the CPU."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Callable

import torch

from ... import _bitmma
from ...errors import OptionError
from . import optimizers
from .backend import SETTINGS, Backend, Kernel, Options
from .certificate import Certificate
from .choices import BestConfigs
from .comparing import CompiledComparison, Parted, compare_compiled
from .compiled import Compiled
from .held import CertificateError
from .tuning import Tuned

__all__ = ["SETTINGS", "Backend", "Certificate", "CertificateError", "Compiled", "CompiledComparison", "Kernel", "Options", "Parted", "Tuned", "backend", "compare_compiled", "compile", "inductor_options", "run_output_code", "verify"]


def compile(model: Callable[..., Any], chip: str, *, dynamic: bool | None = None, fullgraph: bool = True, **options: Any) -> Compiled:
    """A model, or a function, compiled by Inductor for a chip, whose kernels run here with the chip's bits.

    Parameters and inputs stay on the CPU. Forward and backward passes are compiled, once per shape, or for all with ``dynamic``;
    what was compiled for a chip is kept on disk. Without ``fullgraph`` a model may be compiled in parts; ``outside`` says what becomes of the rest.
    The step of an optimizer always is, and updates all parameters at once (``foreach``) where it does on a GPU.

    The other options are those of :class:`Options`: ``outside="refuse"``, ``attention=None``, ``multiprocessors=None``, ``allow_doubtful=False``, ``settings={}``, ``choices={}``.

    Where a GPU would measure, a rule decides: of a kernel's configurations the first that fits, of products the first template of Triton
    (:func:`inductor_options`); ``choices`` names others.
    """
    if not callable(model):
        raise OptionError(f"{model!r} cannot be compiled; a module or a function was expected")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise OptionError(f"dynamic is {dynamic!r}; None, True or False was expected")
    for name, value in {"fullgraph": fullgraph, "allow_doubtful": options.get("allow_doubtful", False)}.items():
        if not isinstance(value, bool):
            raise OptionError(f"{name} is {value!r}; True or False was expected")
    if not isinstance(chip, str):
        raise OptionError(f"chip is {chip!r}; a name was expected, as in 'h100'")
    made = Backend(Options(chip, **options))
    optimizers.check(model)
    fullgraph = fullgraph and not _of_optimizer(model)
    return Compiled(model, torch.compile(model, backend=made, dynamic=dynamic, fullgraph=fullgraph), made, {"dynamic": dynamic, "fullgraph": fullgraph})


def _of_optimizer(model: Any) -> bool:
    """Whether this is the step of an optimizer, before and after which PyTorch ends a graph."""
    return isinstance(getattr(model, "__self__", None), torch.optim.Optimizer) and getattr(model, "__name__", "") == "step"


_made: dict[Any, Backend] = {}


def backend(graph: torch.fx.GraphModule, inputs: list[Any], *, options: dict[str, Any] | None = None, **more: Any) -> Callable[..., Any]:
    """``torch.compile(model, backend="bitmma", options={"chip": "h100"})``; the other options are those of :func:`compile`."""
    given = dict(options or {})
    if "chip" not in given:
        raise OptionError("torch.compile(backend='bitmma') needs options={'chip': ...}, as in {'chip': 'h100'}")
    names = [one.name for one in fields(Options)]
    if unknown := sorted(given.keys() - set(names)):
        raise OptionError(f"torch.compile(backend='bitmma') has no option {unknown[0]!r}; it has {', '.join(names)}")
    key = repr(sorted(given.items()))
    if key not in _made:
        _made[key] = Backend(Options(**given))
    return _made[key](graph, inputs)


def inductor_options(chip: str) -> dict[str, Any]:
    """Settings of Inductor under which a real GPU chooses as :func:`compile` does: ``torch.compile(model, options=inductor_options("h100"))``.

    Products without a template of Triton (FP64) are left to a library there.
    """
    Backend(Options(chip))  # says if there is no such chip
    return {**SETTINGS, "max_autotune_gemm_backends": "TRITON", "max_autotune_conv_backends": "TRITON"}


def run_output_code(
    path: str | os.PathLike[str], args: Sequence[Any], chip: str, *, best_configs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None, **options: Any
) -> Any:
    """Runs what Inductor wrote, as on a real GPU with ``TORCH_LOGS=output_code``, without compiling a model: the outputs of its function ``call``.

    ``args`` are those of ``call``, on the CPU; the options are those of :func:`compile`. The code is a program, and is executed. ``best_configs`` is what
    that run has chosen by measuring: the folder in which it kept its files (``TORCHINDUCTOR_CACHE_DIR``), or its files that end with ``.best_config``.
    They belong to the same build of PyTorch.
    """
    if best_configs is not None and options.get("choices"):
        raise OptionError("best_configs and choices both say how kernels are configured: give one of them")
    best = None if best_configs is None else BestConfigs(best_configs)
    made = Backend(Options(chip, **options))
    found = made.run_code(Path(path).read_text(encoding="utf-8", errors="replace"), args, best)
    if made.choices.unused:
        warnings.warn(f"choices has kernels that the code has not: {', '.join(made.choices.unused)}; it has {', '.join(made.choices.made) or 'none'}", stacklevel=2)
    return found


def verify(certificate: Certificate | str | os.PathLike[str], model: Any, /, *inputs: Any, step: Callable[..., Any] | None = None, **named: Any) -> list[str]:
    """Compiles and runs a model as a certificate says, and compares: what differs, in words; nothing if the certificate holds.

    ``certificate`` may be a file; one that was changed is an error. ``step`` and ``named`` are those of :meth:`Compiled.certify`. Model, inputs and optimizers
    must be as they were before the certified run.
    """
    certified = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    try:
        compiled = compile(model, **certified.options)
    except TypeError as error:
        raise CertificateError(f"the certificate's options are not those of this release, {_bitmma.__version__}: {error}") from None
    again = compiled.certify(*inputs, step=step, **named)
    return certified.differences(again)
