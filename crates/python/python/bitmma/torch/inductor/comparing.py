"""A model that is compiled for several chips: which kernel is the first whose output differs, and what its difference comes to beside others."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Callable

import numpy as np
import torch

from ...errors import Error, LeftAlone, OptionError
from .. import noise
from ..arithmetic import arithmetics
from ..choice import Policies
from ..comparison import percent
from ..emulation import emulate
from ..orders import reordered
from ..report import columns
from ..tally import Tally, incomparable, tally
from . import running
from .backend import Backend, Options
from .compiled import Compiled
from .held import Wrapper
from .kept import Kept, copies
from .seeds import SEEDS
from .unfused import Unfused

#: Parameters of kernels that are only read, as Inductor and its templates name them.
_READ = ("in_ptr", "arg_")
#: How often a function may be compiled anew.
_LIMITS = {"recompile_limit": 256, "accumulated_recompile_limit": 4096}


@dataclass(frozen=True)
class Parted:
    """The first launch of a kernel whose output differs between two chips."""

    launch: int
    """Which launch of the run, from 0; launches of both chips before it are alike."""
    kernel: str
    graph: int
    """Which graph it belongs to, from 0, as :attr:`Compiled.code` has them."""
    lines: tuple[str, ...]
    """The lines of the model that it computes."""
    output: str
    """Its parameter that differs."""
    difference: Tally
    why: str = ""
    """Where no output of a kernel is the first that differs: what does."""

    def __str__(self) -> str:
        lines = "".join(f"\n    {line}" for line in self.lines)
        if self.why:
            return f"at launch {self.launch}, {self.kernel} of graph {self.graph}: {self.why}{lines}"
        found = self.difference
        return f"in launch {self.launch}, {self.kernel} of graph {self.graph}, {self.output}: {found.differing} of {found.elements} elements, largest difference {found.largest:.3g}{lines}"


@dataclass(frozen=True)
class CompiledComparison:
    """What :func:`compare_compiled` found."""

    chips: tuple[str, ...]
    first: dict[str, Parted | None]
    """For each chip but the first the first launch that differs from the first chip's; None where all are alike."""
    outputs: dict[str, dict[str, Tally]]
    """For each pair of runs, in words, how their results differ: of outputs, gradients, parameters and buffers, by name."""
    floor: tuple[str, ...]
    """The pairs that are the noise floor: one chip, computed in another way that is as right."""
    notes: tuple[str, ...] = ()

    @property
    def totals(self) -> dict[str, Tally]:
        """For each pair of runs all results together."""
        return {pair: _total(found) for pair, found in self.outputs.items()}

    def __str__(self) -> str:
        lines = [f"{chip} first differs from {self.chips[0]} {one}" if one else f"{chip}: every launch has the outputs that it has on {self.chips[0]}" for chip, one in self.first.items()]
        rows = [["results", "differ", "of", "size"]]
        for pair, one in self.totals.items():
            name = f"noise floor: {pair}" if pair in self.floor else pair
            rows.append([name, percent(one.share), str(one.elements), one.problem or (f"{one.relative:.1e}" if one.differing else "0")])
        return "\n".join([*lines, "", *columns(rows), *self.notes])


@dataclass
class _Event:
    """A launch, or a product outside of kernels."""

    kernel: str
    graph: int
    read: dict[str, str] = field(default_factory=dict)
    """Digests of what it only reads."""
    written: dict[str, torch.Tensor] = field(default_factory=dict)


@dataclass
class _Run:
    label: str
    results: dict[str, Any]
    held: dict[str, Any]
    """Inputs, parameters and buffers before it."""
    events: list[_Event] = field(default_factory=list)
    backend: Backend | None = None
    draws: bool = False


def _digest(one: torch.Tensor) -> str:
    return hashlib.sha256(one.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def _number(one: Any) -> Any:
    """A number or an array as a tensor."""
    if isinstance(one, (torch.Tensor, str, bytes)):
        return one
    if isinstance(one, (np.ndarray, np.generic)) and one.dtype != object:
        return torch.from_numpy(np.array(one))
    if type(one) not in _NUMBERS:
        raise OptionError(f"the run returns a value of type {type(one).__name__}, which cannot be compared: return tensors, arrays, numbers and strings, or lists, tuples and dictionaries of them")
    return torch.tensor(one, dtype=_NUMBERS[type(one)])


def _total(found: dict[str, Tally]) -> Tally:
    total = Tally(0, 0)
    for one in found.values():
        total = one if one.problem else total if total.problem else total.plus(one)
    return total


def _compared(one: _Run, other: _Run) -> dict[str, Tally]:
    found = {}
    for name in {**one.results, **other.results}:
        a, b = one.results.get(name), other.results.get(name)
        if all(name in run.held and name in run.results and not tally(run.held[name], run.results[name]).differing for run in (one, other)):
            continue  # nothing writes to it
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            found[name] = tally(a, b)
        elif a is not b and (a is None or b is None or a != b):
            found[name] = incomparable(f"{name} is {_kind(a)} and {_kind(b)}")
    return found


def _kind(one: Any) -> str:
    return "missing" if one is None else "a tensor" if isinstance(one, torch.Tensor) else repr(one)


def _parted(one: _Run, other: _Run) -> Parted | None:
    """The first launch that differs."""
    assert one.backend is not None
    for place, (a, b) in enumerate(zip(one.events, other.events)):
        lines = tuple(one.backend.lines.get((a.graph, a.kernel), ()))
        if (a.kernel, a.graph) != (b.kernel, b.graph):
            return Parted(place, a.kernel, a.graph, lines, "", Tally(0, 0), f"{other.label} runs {b.kernel} of graph {b.graph} there: the code is another one")
        if wrong := [name for name, digest in a.read.items() if b.read.get(name, digest) != digest]:
            return Parted(place, a.kernel, a.graph, lines, wrong[0], Tally(0, 0), f"{wrong[0]}, which it reads, differs already: what was computed before it outside of kernels")
        for name, value in a.written.items():
            found = tally(value, b.written[name]) if name in b.written else incomparable("missing")
            if found.differing or found.problem:
                return Parted(place, a.kernel, a.graph, lines, name, found, found.problem)
    if len(one.events) != len(other.events):
        return Parted(min(len(one.events), len(other.events)), "the end", 0, (), "", Tally(0, 0), f"{one.label} has {len(one.events)} launches and {other.label} {len(other.events)}")
    return None


class _Runs:
    """The runs of one model, each from the same start."""

    def __init__(self, model: Callable[..., Any], inputs: tuple[Any, ...], step: Callable[..., Any] | None) -> None:
        self._model, self._inputs, self._step = model, inputs, step
        self._kept = Kept(model, step)
        self._seed = torch.initial_seed()

    def run(self, label: str, call: Callable[..., Any]) -> _Run:
        self._kept.restore()
        torch.manual_seed(self._seed)
        inputs = copies(self._inputs)
        before = copies(self._held(inputs))
        found = call(*inputs) if self._step is None else self._step(call, *inputs)
        leaves = torch.utils._pytree.tree_leaves(found)
        results = {f"output {place}": _number(one) for place, one in enumerate(leaves) if one is not None}
        after = self._held(inputs)
        gradients = {f"gradient of {name}": one.grad for name, one in after.items() if one.is_leaf and one.grad is not None}
        return _Run(label, copies({**results, **after, **gradients}), before)

    def _held(self, inputs: Any) -> dict[str, torch.Tensor]:
        """Tensors that a run may change."""
        held = {f"input {place}": one for place, one in enumerate(torch.utils._pytree.tree_leaves(inputs)) if isinstance(one, torch.Tensor)}
        named = {id(one): name for name, one in [*self._model.named_parameters(), *self._model.named_buffers()]} if isinstance(self._model, torch.nn.Module) else {}
        return held | {named.get(id(one), f"tensor {place}"): one for place, one in enumerate(self._kept.tensors)}

    def compiled(self, label: str, backend: Backend, fullgraph: bool) -> Iterator[_Run]:
        """Those of one that is compiled, every launch of which is recorded."""
        call = Compiled(self._model, torch.compile(self._model, backend=backend, fullgraph=fullgraph), backend, {"dynamic": None, "fullgraph": fullgraph})
        while True:
            yield self._recorded(label, backend, call)

    def _recorded(self, label: str, backend: Backend, call: Compiled) -> _Run:
        events: list[_Event] = []

        def launched(name: str, ran: Any) -> None:
            event = _Event(name, running.graph())
            for parameter, value in zip(ran.names, ran.arguments):
                if isinstance(value, torch.Tensor) and value.numel():
                    if parameter.startswith(_READ):
                        event.read[parameter] = _digest(value)
                    else:
                        event.written[parameter] = value.detach().clone()
            events.append(event)

        def product(about: Any, way: Any, operands: Any, sums: Any, result: torch.Tensor) -> None:
            events.append(_Event(about.operation, running.graph(), {}, {"result": result.detach().clone()}))

        graphs: list[Any] = []
        backend.emulation._listener = product
        with backend.watched(graphs.append, launched), running.cleared():
            found = self.run(label, call)
        if not graphs:
            raise Error(f"no graph that was compiled for {label} ran: step must call what it is given first, and compute with it")
        found.events, found.backend = events, backend
        found.draws = any("inductor_seeds" in code or "randint.low_out" in code for code in backend.code)
        return found

    def eager(self, label: str, arithmetic: Any, attention: str, varied: tuple[str, int] | None = None) -> _Run:
        """One that is not compiled, whose products are the chip's."""
        target: Any = reordered(arithmetic, 1) if varied and varied[0] == "products" else arithmetic
        context = emulate(target, attention=attention)
        if varied and varied[0] != "products":
            context._host.append(noise.Varied(*varied, inside=context._portable.inside))
        with warnings.catch_warnings(), context:
            warnings.simplefilter("ignore", LeftAlone)
            found = self.run(label, self._model)
        found.draws = bool(context.account.host["random"])
        return found

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """In this block models are compiled as often as it needs; after it everything is as before."""
        with SEEDS.kept(), torch._dynamo.config.patch({name: max(limit, getattr(torch._dynamo.config, name)) for name, limit in _LIMITS.items()}):
            try:
                yield
            finally:
                self._kept.restore(gradients=True)


def compare_compiled(
    model: Callable[..., Any],
    *inputs: Any,
    chips: Sequence[str],
    step: Callable[..., Any] | None = None,
    unfused: bool = True,
    eager: bool = True,
    noise_floor: bool = True,
    fullgraph: bool = True,
    **options: Any,
) -> CompiledComparison:
    """Compiles a model for each chip, runs it, and compares the others with the first: launch by launch, and by its results.

    A run is ``step(model, *inputs)``, by default the model on the inputs; its results are what it returns, and the inputs, parameters, buffers and gradients
    after it. Each starts from the same state and seed, and the state is as before at the end. Beside these, unless they are left out: the same with nothing fused
    (``unfused``), not compiled (``eager``, :class:`~bitmma.torch.emulate`), and the first chip not compiled with functions one FP32 ulp off, sums and
    products in another order (``noise_floor``). The other options are those of :class:`Options`.
    """
    if isinstance(chips, str) or len(chips) < 2 or len({str(one).lower() for one in chips}) < len(chips):
        raise OptionError(f"chips is {chips!r}; two chips or more are compared, each once")
    names = [one.name for one in fields(Options) if one.name not in ("chip", "choices")]
    if unknown := sorted(options.keys() - {*names, "choices"}):
        raise OptionError(f"compare_compiled has no option {unknown[0]!r}; it has {', '.join(names)}, and inputs are given by place")
    if isinstance(model, Wrapper):  # it is compiled anew for each chip
        model = model._model
    if options.get("choices"):
        raise OptionError("choices are of one chip, and several are compared: leave choices out")
    found = {chip: Options(chip, **options) for chip in chips}
    for one in found.values():
        Backend(one)  # says what is wrong before anything runs
    runs = _Runs(model, inputs, step)
    with runs.kept():
        return _compare(runs, found, unfused, eager, noise_floor, fullgraph)


def _compare(runs: _Runs, options: dict[str, Options], unfused: bool, eager: bool, noise_floor: bool, fullgraph: bool) -> CompiledComparison:
    base, *others = options
    of_base = runs.compiled(base, Backend(options[base]), fullgraph)
    fused = {base: next(of_base)}
    again = next(of_base)
    if _parted(fused[base], again) is not None or _total(_compared(fused[base], again)).differing:
        raise Error(f"two runs on {base} differ: the model, or step, depends on something else than its tensors, optimizers and PyTorch's seed; pass it as an input, or set it in step")
    fused.update({chip: next(runs.compiled(chip, Backend(options[chip]), fullgraph)) for chip in others})
    pairs: dict[str, tuple[_Run, _Run]] = {f"{chip} and {base}, compiled": (fused[base], fused[chip]) for chip in others}
    floor: list[str] = []
    notes: list[str] = []
    if unfused:
        apart = {chip: next(runs.compiled(chip, Unfused(one), fullgraph)) for chip, one in options.items()}
        pairs.update({f"{chip} and {base}, nothing fused": (apart[base], apart[chip]) for chip in others})
        pairs[f"{base}, nothing fused and compiled"] = fused[base], apart[base]
    if eager or noise_floor:
        arithmetic = {one.label: one for one in arithmetics(list(options), Policies())}
        attention = options[base].attention or "math"
        plain = {chip: runs.eager(chip, arithmetic[chip], attention) for chip in (options if eager else [base])}
        if eager:
            pairs.update({f"{chip} and {base}, not compiled": (plain[base], plain[chip]) for chip in others})
            if plain[base].draws or fused[base].draws:
                notes.append("the model draws random numbers, which are others where it is not compiled: these runs are compared with each other alone")
            else:
                pairs[f"{base}, not compiled and compiled"] = fused[base], plain[base]
        for varied in [("functions", 0), ("sums", 0), ("products", 0)] if noise_floor else []:
            label = f"{base}, not compiled, {noise.described(*varied)}"
            pairs[label] = plain[base], runs.eager(label, arithmetic[base], attention, varied)
            floor.append(label)
    first = {chip: _parted(fused[base], fused[chip]) for chip in others}
    return CompiledComparison(tuple(options), first, {label: _compared(*pair) for label, pair in pairs.items()}, tuple(floor), tuple(notes))
