"""A plugin for pytest: a suite written for ``device="cuda"`` runs without a GPU, as the chips that are asked for.

``python -m bitmma pytest tests/ --chip h100``, or ``pytest -p bitmma.pytest``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ._pytest_summary import Summary

if TYPE_CHECKING:
    from .torch.pretend.emulation import OnChip

#: The chip of a suite that names none.
DEFAULT = "h100"
#: The parameter by which tests of several chips are told apart.
_PARAMETER = "_bitmma_chip"
_CHIP = pytest.StashKey[str]()


class Session:
    """The GPU that there seems to be, and the emulation of each chip."""

    def __init__(self, chips: list[str], doubtful: bool, named: bool) -> None:
        from .torch import pretend

        self.chips, self.named = chips, named
        self._doubtful, self._pretend = doubtful, pretend
        self._stack = contextlib.ExitStack()
        self._emulations: dict[str, OnChip] = {}
        self.summary = Summary()
        self.emulation(chips[0])
        self._stack.enter_context(pretend.pretend(chips[0]))

    def emulation(self, chip: str) -> OnChip:
        """The emulation of a chip, which all of its tests share."""
        from .torch.pretend.emulation import OnChip

        if chip not in self._emulations:
            self._emulations[chip] = OnChip(chip, self._doubtful)
        return self._emulations[chip]

    @contextlib.contextmanager
    def on(self, chip: str) -> Iterator[None]:
        """In this block the GPU is this chip."""
        from .errors import Error

        emulation = self.emulation(chip)
        with self._pretend.chip(chip), contextlib.ExitStack() as stack:
            stack.enter_context(emulation)
            try:
                yield
            finally:
                try:
                    stack.close()
                except Error as error:  # the test has left modes of PyTorch on
                    self.summary.raised(error)
        emulation.products.clear()  # the account has them

    def data(self) -> dict[str, Any]:
        """What was computed by whom, as plain data."""
        from .torch.pretend import compiling, generators, operations

        return {
            "chips": {chip: one.to_dict() for chip, one in self._emulations.items()},
            "outside": dict(operations.OUTSIDE),
            "refused": dict(operations.REFUSED),
            "eager": dict(compiling.EAGER),
            "random": generators.Drawn.count,
            "errors": dict(self.summary.errors),
        }

    def close(self) -> None:
        """The machine has no GPU again."""
        self._stack.close()


_SESSION = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bitmma", "a suite for CUDA without a GPU (bitmma)")
    group.addoption("--chip", action="append", metavar="NAME", help=f"run as this chip (a100, h100, b200, …); several make a matrix; by default {DEFAULT}")
    group.addoption("--no-doubtful", action="store_true", help="kernels whose results on a GPU are not known for sure are errors; by default they run and are listed")
    parser.addini("bitmma_chips", "chips that tests run as", type="args", default=[])


def _names(values: Any) -> list[str]:
    """Chips as they were given, each once: several options, or one with commas."""
    names = [name.strip().lower() for value in values or () for name in str(value).split(",")]
    return list(dict.fromkeys(name for name in names if name))


def _checked(chips: list[str]) -> list[str]:
    from .errors import Error
    from .kernels._chips import capability

    for chip in chips:
        try:
            capability(chip)
        except Error as error:
            raise pytest.UsageError(f"--chip {chip}: {error}") from None
    return chips


def _check_environment() -> None:
    if os.environ.get("TRITON_INTERPRET", "0") not in ("", "0"):
        raise pytest.UsageError("TRITON_INTERPRET is set, and interpreted kernels have no chip's bits: unset it")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Before conftest files and tests are imported, which may look for a GPU."""
    options = early_config.known_args_namespace
    if getattr(options, "help", False) or getattr(options, "version", 0):
        return (yield)
    _check_environment()
    given = _names(options.chip)
    chips = _checked(given or _names(early_config.getini("bitmma_chips")) or [DEFAULT])
    for name, package in (("torch", "PyTorch"), ("triton", "Triton")):
        try:
            __import__(name)
        except ImportError as error:
            raise pytest.UsageError(f"bitmma.pytest needs {package}: {error}; pip install {name}") from None
    try:
        session = Session(chips, not options.no_doubtful, bool(given))
    except RuntimeError as error:
        raise pytest.UsageError(str(error)) from None
    early_config.stash[_SESSION] = session
    early_config.add_cleanup(session.close)
    with session.on(chips[0]):
        found = yield
    _check_environment()  # a conftest file may have set it
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "chips(*names): run this test as each of these chips (bitmma)")


def _chips_of(definition: Any, session: Session) -> tuple[list[str], bool]:
    """The chips that a test runs as, and whether it says so itself."""
    marker = definition.get_closest_marker("chips")
    if marker is None:
        return session.chips, False
    wanted = _checked(_names(marker.args))
    if not wanted:
        raise pytest.UsageError(f"{definition.nodeid}: the marker chips names no chip")
    return [chip for chip in wanted if chip in session.chips or not session.named], True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    session = metafunc.config.stash.get(_SESSION, None)
    if session is None or _PARAMETER not in metafunc.fixturenames:
        return
    chips, marked = _chips_of(metafunc.definition, session)
    if marked or len(chips) > 1:
        metafunc.parametrize(_PARAMETER, chips, ids=chips, indirect=True)


@pytest.fixture(autouse=True)
def _bitmma_chip(request: pytest.FixtureRequest) -> str:
    """The chip of this test."""
    return _chip_of(request.node, request.config.stash[_SESSION])


@pytest.fixture
def chip(_bitmma_chip: str) -> str:
    """The name of the chip that this test runs as."""
    return _bitmma_chip


def _chip_of(item: Any, session: Session) -> str:
    if _CHIP not in item.stash:
        params = getattr(getattr(item, "callspec", None), "params", {})
        # a method of unittest.TestCase has no parameters: it runs as the first chip
        found = params.get(_PARAMETER)
        if not isinstance(found, str):  # as of a test that is skipped, as none of its chips was asked for
            found = (_chips_of(item, session)[0] or session.chips)[0]
        item.stash[_CHIP] = found
    return item.stash[_CHIP]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    ours = session.config.stash.get(_SESSION, None)
    with ours.on(ours.chips[0]) if ours else contextlib.nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    ours = item.config.stash.get(_SESSION, None)
    with ours.on(_chip_of(item, ours)) if ours else contextlib.nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    ours = item.config.stash.get(_SESSION, None)
    if ours is not None and call.excinfo is not None:
        ours.summary.raised(call.excinfo.value)
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    ours = session.config.stash.get(_SESSION, None)
    output = getattr(session.config, "workeroutput", None)  # of pytest-xdist
    if ours is not None and output is not None:
        output["bitmma"] = ours.data()


class _OfWorkers:
    """What workers of pytest-xdist send."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        ours, sent = node.config.stash.get(_SESSION, None), getattr(node, "workeroutput", {}).get("bitmma")
        if ours is not None and sent is not None:
            ours.summary.add(sent)


def pytest_plugin_registered(plugin: Any, manager: Any) -> None:
    if getattr(plugin, "__name__", "") == __name__ and not manager.has_plugin("bitmma-workers"):
        manager.register(_OfWorkers(), "bitmma-workers")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    ours = config.stash.get(_SESSION, None)
    if ours is None:
        return
    ours.summary.add(ours.data())
    skipped = [str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    terminalreporter.section("bitmma: what was the chip's")
    for line in ours.summary.lines(skipped):
        terminalreporter.write_line(line)
