"""A plugin for pytest that runs Triton's own tests without a GPU: ``scripts/triton-tests`` says how.

Tensors on "cuda" are made on the CPU, every launch runs here as the chip that ``--chip`` names, and ``torch.cuda`` describes it.
"""

from __future__ import annotations

import collections
import contextlib
import random
import re
import signal
from collections.abc import Iterator
from typing import Any
from unittest import mock

import ml_dtypes
import pytest
import torch
from torch.overrides import TorchFunctionMode

import bitmma

ACTIVE = contextlib.ExitStack()


class Generator(torch.Generator):
    """One of the CPU, whatever it is asked for on; a class, as code names it in annotations."""

    def __new__(cls, device: object = None) -> Any:
        return torch.Generator.__new__(cls)


class OnTheCpu(TorchFunctionMode):
    """What is asked for on a GPU is made on the CPU."""

    @staticmethod
    def _here(value: Any) -> Any:
        is_gpu = (isinstance(value, torch.device) and value.type == "cuda") or (isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value))
        return torch.device("cpu") if is_gpu else value

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.cuda:
            return args[0]
        here = {name: self._here(value) for name, value in (kwargs or {}).items()}
        if type(here.get("device")) is int:
            here["device"] = torch.device("cpu")
        return function(*map(self._here, args), **here)


class Cublas:
    """What tests compare products with: on a chip cuBLAS loses bits of products of FP8, too."""

    chip = "h100"

    def matmul(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        """c = a · bᵀ"""
        if a.dtype != torch.float8_e4m3fn:
            c.copy_(a.float() @ b.float().T)
            return
        codes = (one.view(torch.uint8).numpy().view(ml_dtypes.float8_e4m3fn) for one in (a, b.T))
        c.copy_(torch.from_numpy(bitmma.matmul(*codes, like=self.chip)))


class Late(Exception):
    """A test ran past its time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("Triton's tests")
    group.addoption("--chip", default="h100", help="the chip that kernels run as")
    group.addoption("--draw", type=int, help="run as many cases of all, drawn at random")
    group.addoption("--seed", type=int, default=0, help="what the draw starts from")
    group.addoption("--seconds", type=int, default=60, help="the time that a case has")


def pytest_configure(config: pytest.Config) -> None:
    ACTIVE.enter_context(bitmma.kernels.emulate(config.getoption("chip"), cuda=True))
    ACTIVE.enter_context(OnTheCpu())
    nothing = {
        "synchronize": lambda *_: None,
        "empty_cache": lambda: None,
        "set_device": lambda _: None,
        "current_stream": lambda *_: mock.Mock(cuda_stream=0),
        "init": lambda: None,
    }
    for name, answer in nothing.items():
        ACTIVE.enter_context(mock.patch.object(torch.cuda, name, answer))
    Cublas.chip = config.getoption("chip")
    ACTIVE.enter_context(mock.patch("triton.testing.cublas", Cublas))
    ACTIVE.enter_context(mock.patch.object(torch, "Generator", Generator))


def pytest_unconfigure() -> None:
    ACTIVE.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    draw = config.getoption("draw")
    if draw is not None and draw < len(items):
        drawn = set(random.Random(config.getoption("seed")).sample(range(len(items)), draw))
        config.hook.pytest_deselected(items=[item for index, item in enumerate(items) if index not in drawn])
        items[:] = [item for index, item in enumerate(items) if index in drawn]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    seconds = item.config.getoption("seconds")

    def late(*_: Any) -> None:
        raise Late(f"the test runs for more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Failures by their cause: the first line of the error, without its numbers."""
    causes: collections.Counter[str] = collections.Counter()
    for report in terminalreporter.stats.get("failed", []) + terminalreporter.stats.get("error", []):
        crash = getattr(report.longrepr, "reprcrash", None)
        message = (crash.message if crash else str(report.longrepr)).strip().split("\n")[0]
        causes[re.sub(r"\(\S+, line \d+\)|\b0x[0-9a-f]+\b|\d{2,}", "…", re.sub(r"^\S*\.", "", message, count=1))[:180]] += 1
    for cause, count in causes.most_common():
        terminalreporter.write_line(f"{count:5} {cause}")
