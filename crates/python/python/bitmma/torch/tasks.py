"""Emulations of tasks that take turns in one thread (asyncio): PyTorch has one stack of modes a thread, and the last one acts."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..errors import Error

if TYPE_CHECKING:
    from .emulation import emulate

#: What the task has entered, and others that it was started in.
ENTERED: ContextVar[tuple[emulate, ...]] = ContextVar("ENTERED", default=())

ADVICE = "enter the emulation of each in a thread of its own, or leave no other task a turn inside (await)"


def entered(emulation: emulate) -> None:
    """The task has entered it."""
    ENTERED.set((*ENTERED.get(), emulation))


def left(emulation: emulate, acts: bool) -> None:
    """The task has left it; ``acts``: it was the last one entered in its thread, as it must be."""
    ENTERED.set(without(ENTERED.get(), emulation))
    if not acts:
        raise Error(f"the emulation of {emulation.arithmetic.label} overlaps another in its thread, by tasks that take turns: {ADVICE}")


def without(entered: tuple[emulate, ...], emulation: emulate) -> tuple[emulate, ...]:
    """Emulations that were entered, less the last entry of this one."""
    if emulation not in entered:
        return entered
    place = len(entered) - 1 - entered[::-1].index(emulation)
    return entered[:place] + entered[place + 1 :]


def check(emulation: emulate) -> None:
    """Refuses a product of a task that is inside of other emulations."""
    own = ENTERED.get()
    if emulation not in own and any(one.is_on for one in own):
        labels = ", ".join(one.arithmetic.label for one in own)
        raise Error(f"a product inside of the emulation of {labels} would be {emulation.arithmetic.label}'s, which another task has entered: {ADVICE}")
