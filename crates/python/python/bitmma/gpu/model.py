"""A model as kernels are made from it: :class:`bitmma._bitmma.Model`, or why there is no kernel."""

from __future__ import annotations

from .._bitmma import Format, Model, format_named
from ..simulate import Unit

__all__ = ["Declined", "Format", "Model", "format_of", "model_of"]

#: The format of that name.
format_of = format_named


class Declined(Exception):
    """Why no kernel computes a product; the CPU does."""


def model_of(unit: Unit) -> Model:
    """The model of a unit. Raises :class:`Declined` where kernels have no words for it."""
    model = unit.model
    if model.a.integer:
        raise Declined("kernels do not multiply integers")
    if " " in model.rho:
        raise Declined(f"results are converted by {model.rho}, which kernels do not do")
    return model
