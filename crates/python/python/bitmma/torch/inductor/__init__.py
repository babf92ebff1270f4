"""``torch.compile`` for a GPU that is not there: Inductor compiles a model for a chip, and its kernels run here, on tensors of the CPU."""

from __future__ import annotations

import os
from typing import Any, Callable

import torch

from ...errors import OptionError
from .backend import SETTINGS, Backend, Kernel
from .certificate import Certificate, CertificateError
from .compiled import Compiled

__all__ = ["SETTINGS", "Backend", "Certificate", "CertificateError", "Compiled", "Kernel", "backend", "compile", "inductor_options", "verify"]


def compile(
    model: Callable[..., Any],
    chip: str,
    *,
    outside: str = "refuse",
    attention: str | None = None,
    multiprocessors: int | None = None,
    allow_doubtful: bool = False,
    settings: dict[str, Any] | None = None,
    dynamic: bool | None = None,
    fullgraph: bool = True,
) -> Compiled:
    """A model, or a function, compiled by Inductor for a chip, whose kernels run here with the chip's bits.

    Parameters and inputs stay on the CPU. Forward and backward passes are compiled, once per shape, or for all with ``dynamic``;
    what was compiled for a chip is kept on disk.

    ``outside`` says what becomes of calls that are no kernel of Triton: ``"refuse"`` is an error that names them, unless they only move, choose or
    compare; with ``"gemm"`` products are the chip's instruction, K in order, and the rest the host's (:class:`~bitmma.torch.emulate`);
    ``"host"`` leaves them to PyTorch. ``attention="math"`` computes ``scaled_dot_product_attention`` by its two products; it must be said, as a GPU would
    choose among libraries. ``multiprocessors`` says how many the chip has where it is not known; ``allow_doubtful`` runs kernels of which it is
    not known for sure what ptxas fuses. ``settings`` are further ones of Inductor; ``dynamic`` is that of ``torch.compile``, and so is ``fullgraph``: without it what Dynamo cannot record
    runs as PyTorch's own, on the CPU.

    Where a GPU would measure, a rule decides: of a kernel's configurations the first that fits, of products the first template of Triton
    (:func:`inductor_options`).
    """
    made = Backend(chip, outside=outside, attention=attention, multiprocessors=multiprocessors, allow_doubtful=allow_doubtful, settings=settings)
    return Compiled(model, torch.compile(model, backend=made, dynamic=dynamic, fullgraph=fullgraph), made)


_made: dict[Any, Backend] = {}


def backend(graph: torch.fx.GraphModule, inputs: list[Any], *, options: dict[str, Any] | None = None, **more: Any) -> Callable[..., Any]:
    """``torch.compile(model, backend="bitmma", options={"chip": "h100"})``; the other options are those of :func:`compile`."""
    given = dict(options or {})
    if "chip" not in given:
        raise OptionError("torch.compile(backend='bitmma') needs options={'chip': ...}, as in {'chip': 'h100'}")
    key = repr(sorted(given.items()))
    if key not in _made:
        _made[key] = Backend(given.pop("chip"), **given)
    return _made[key](graph, inputs)


def inductor_options(chip: str) -> dict[str, Any]:
    """Settings of Inductor under which a real GPU chooses as :func:`compile` does: ``torch.compile(model, options=inductor_options("h100"))``.

    Products without a template of Triton (FP64) are left to a library there.
    """
    Backend(chip)  # says if there is no such chip
    return {**SETTINGS, "max_autotune_gemm_backends": "TRITON", "max_autotune_conv_backends": "TRITON"}


def verify(certificate: Certificate | str | os.PathLike[str], model: Any, *inputs: Any, step: Callable[..., Any] | None = None) -> list[str]:
    """Compiles and runs a model as a certificate says, and compares: what differs, in words; nothing if the certificate holds.

    ``certificate`` may be a file; one that was changed is an error. ``step`` is that of :meth:`Compiled.certify`.
    """
    held = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    names = ("outside", "attention", "multiprocessors", "settings")
    torch._dynamo.reset()  # so that every graph is compiled anew
    again = compile(model, held.about["chip"], **{name: held.about[name] for name in names}).certify(*inputs, step=step)
    return held.differences(again)
