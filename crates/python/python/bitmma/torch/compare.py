"""One model on several chips: where they part, how the difference grows, what it comes to at the end."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Callable, Iterator

import torch
from torch.utils import _pytree as pytree

from .._progress import Progress, listening
from ..errors import LeftAlone, OptionError
from . import noise
from .accuracy import FP64, FP64_PRODUCTS, ORDERS, Accuracy, accuracy, errors
from .account import Account
from .apart import apart
from .arithmetic import Arithmetic, arithmetics
from .attention import Flash
from .attention import parse as parse_attention
from .choice import Policies, dtype_name
from .comparison import FP32, Comparison
from .emulation import emulate
from .orders import reordered
from .outcome import Logits, logits_of, outcome
from .product import Product
from .recorder import Recorder, Reference
from .rows import firsts, local_rows, rows_of
from .state import State

#: The modes of :func:`compare`.
MODES = ("propagated", "local", "both")


def compare(
    model: Callable[..., Any],
    *inputs: Any,
    chips: Any,
    mode: str = "propagated",
    kwargs: Mapping[str, Any] | None = None,
    backward: bool = False,
    loss: Callable[[Any], torch.Tensor] | None = None,
    optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer] | None = None,
    logits: Callable[[Any], torch.Tensor] | None = None,
    top_k: int = 5,
    reference: bool = True,
    threads: int | None = None,
    device: str | None = None,
    noise_floor: bool | str | list[str] = True,
    noise_draws: int = noise.DRAWS,
    attention: Any = "math",
    functions: str | None = None,
    kernels: str | None = None,
    progress: Progress = None,
    **policies: Any,
) -> Comparison:
    """Runs ``model(*inputs, **kwargs)`` on each chip and compares the others with the first.

    ``chips`` are two targets or more, as :class:`~bitmma.torch.emulate` takes them, in a list, or by name in a
    dictionary: ``["a100", "h100"]``, ``{"trainer": "h100", "server": Gemm("h100", split_k=4)}``. ``policies`` are those of
    emulate: ``fp16``, ``bf16``, ``fp32``, ``fp64``.

    ``mode``: ``"propagated"``, each chip continues with its own values, which shows the consequence; ``"local"``, each
    product gets the first chip's operands, which shows the cause; ``"both"``. What is counted is elements after rounding, in
    the tensors that the next layer sees; sums before rounding are named raw.

    ``backward`` runs the backward pass of ``loss(output)`` (else of the output's ``loss``, or of a scalar output), and
    ``optimizer``, a function from parameters to an optimizer, one step. The model's parameters, buffers, gradients and the
    random state are as before at the end; each run starts from the same. A chip on which no product was emulated (an FP32 model
    on NVIDIA without ``fp32="tf32"``) is an error.

    ``progress`` is called before each run with its name, how many are done, and how many there are at most; in its place there is a
    bar where tqdm is installed and standard error is a terminal or a notebook shows it (True: always, False: never).

    ``logits`` finds the tensor whose last dimension is classes (else the output, or its ``logits``). ``reference`` also
    runs a copy of the model in FP32 and in FP64, whose products are chains of FMAs, so that a difference has a scale; of a model that
    cannot be cast, the model as it is with products summed in FP64. ``device``, ``attention``, ``functions`` and ``kernels`` are
    those of emulate.

    :attr:`Comparison.verdict` says which chips are less accurate: by the error of each sample against FP64, paired with that of
    the first chip (:attr:`Comparison.accuracy`). A sample is a position of the logits, so give a batch: below 8 there is no verdict
    on accuracy. Without a reference the verdict rests on the noise floor.

    ``noise_floor`` runs the first chip again with a part computed in another way that is as right: functions one FP32 ulp off
    (``"functions"``), reductions summed in another order (``"sums"``), attention in other tiles (``"attention"``), the terms of
    matrix products in another order (``"products"``); each ``noise_draws`` times. :attr:`Comparison.floor` has what that changes, and
    :attr:`Comparison.variations` what became of each. A variation of which the model has nothing costs no run; each other draw
    costs as much as a chip. ``False`` leaves them out, a list names some. It belongs to ``"propagated"``.
    """
    if "calls" in policies or "call_options" in policies:
        raise OptionError("compare has no calls: give a plan of bitmma.calls.plan_call as a chip, or run emulate(calls=…) by itself")
    if mode not in MODES:
        raise OptionError(f"mode is {mode!r}; one of {', '.join(map(repr, MODES))}")
    if top_k < 1:
        raise OptionError(f"top_k is {top_k}; it must be 1 or more")
    if noise_draws < 1:
        raise OptionError(f"noise_draws is {noise_draws}; it must be 1 or more")
    found = arithmetics(chips, Policies(**policies))
    if len(found) < 2:
        raise OptionError(f"chips has {len(found)}; two or more are compared")
    if optimizer is not None:
        backward = True
    variations = noise.parse(noise_floor) if mode != "local" else []
    options = {"threads": threads, "device": device, "attention": attention, "functions": functions, "kernels": kernels}
    run = _Runs(model, inputs, dict(kwargs or {}), backward, loss, optimizer, logits or logits_of, options, variations, noise_draws)
    # what is done between the runs is PyTorch's own, whatever other threads emulate
    with listening(progress) as run.listener, apart():
        run.count = (1 if mode == "local" else len(found)) + 2 * reference + len(variations) * noise_draws
        return run.compare(found, mode, top_k, reference)


@dataclass
class _Runs:
    """The runs of one model."""

    model: Callable[..., Any]
    inputs: tuple[Any, ...]
    kwargs: dict[str, Any]
    backward: bool
    loss: Callable[[Any], torch.Tensor] | None
    optimizer: Callable[..., torch.optim.Optimizer] | None
    logits: Callable[[Any], torch.Tensor | None]
    options: dict[str, Any]
    """Of emulate."""
    variations: list[str]
    """Of the noise floor."""
    draws: int
    """Of each variation."""
    outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    """The logits of each run."""
    ends: dict[str, torch.Tensor] = field(default_factory=dict)
    """What accuracy is measured by: the logits, else the first floating-point tensor of the output."""
    losses: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    emulated: dict[str, int] = field(default_factory=dict)
    left: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    accounts: dict[str, Account] = field(default_factory=dict)
    listener: Callable[[str, int, int], object] | None = None
    """Hears of each run."""
    count: int = 0
    """Runs that there are at most."""

    def compare(self, chips: list[Arithmetic], mode: str, top_k: int, reference: bool) -> Comparison:
        recorders: list[Recorder] = []
        exact: dict[str, Recorder] = {}
        local = []
        with State(self.model) as state:
            references = self._references(state, exact) if reference else {}
            for place, chip in enumerate(chips):
                if mode == "local" and place:
                    break
                state.restore()
                recorder = Recorder(chip.label, self._root, references, recorders[0] if recorders else None)
                others = chips[1:] if mode != "propagated" and not place else []
                context = emulate(chip, compare_with=others, **self.options)  # type: ignore[arg-type]
                context._listener = recorder.product
                self._run(chip.label, self.model, self.inputs, self.kwargs, recorder, context)
                self.accounts[chip.label] = context.account
                self._count(chip.label, len(context.products), context.left)
                if others:
                    local = local_rows(context.products, self._root)
                for other in others if mode == "local" else []:
                    left = [one for one in context.products if other.label not in one.compared]
                    reasons = Counter(f"{one.operation} {dtype_name(one.dtypes[0])}: {other.why_none(one)}" for one in left)
                    self._count(other.label, len(context.products) - len(left), reasons)
                recorders.append(recorder)
            varied, variations = self._vary(state, chips[0], recorders[0])
            accurate = self._accuracy(state, chips) if reference and mode != "local" else {}
        labels = [chip.label for chip in chips]
        first, others_ = recorders[0], recorders[1:]
        rows = rows_of(first, others_, exact.get(FP32), varied)
        logits = {label: Logits(one.double() if label == FP64 else one, top_k) for label, one in self.outputs.items()}
        ends = {one: outcome(logits[first.label], logits[one]) for one in labels[1:] if one in logits}
        floor = {one.label: outcome(logits[first.label], logits[one.label]) for one in varied if one.label in logits}
        logits = {label: one for label, one in logits.items() if label not in floor}
        against = logits.pop(FP64, None)
        exactness = {label: outcome(against, one) for label, one in logits.items()} if against else {}
        return Comparison(
            chips=labels,
            modules=[row for row in rows if row.kind == "module"],
            products=[row for row in rows if row.kind == "product"] if others_ else [],
            local=local,
            gradients=[row for row in rows if row.kind == "gradient"],
            parameters=[row for row in rows if row.kind == "parameter"],
            first=firsts(others_),
            outcomes={label: end for label, end in ends.items() if end},
            exactness={label: end for label, end in exactness.items() if end},
            floor={label: end for label, end in floor.items() if end},
            variations=variations,
            accuracy=accurate,
            accounts=self.accounts,
            losses=self.losses,
            emulated=self.emulated,
            left={label: left for label, left in self.left.items() if left},
            notes=self.notes,
            seconds=self.seconds,
        )

    def _vary(self, state: State, chip: Arithmetic, first: Recorder) -> tuple[list[Recorder], list[noise.Variation]]:
        """The first chip's runs of the noise floor: those that changed something, and what became of each variation."""
        recorders, variations = [], []
        for name in self.variations:
            idle = self._why_idle(name, chip.label)
            drawn = []
            for draw in range(0 if idle else self.draws):
                recorder, declined = self._draw(state, chip, first, (name, draw))
                if declined:
                    idle = declined
                    break
                if recorder.changed:
                    drawn.append(recorder)
                else:
                    self.outputs.pop(recorder.label, None)
            if not idle and not drawn:
                idle = f"nothing that the model hands on changed in {self.draws} draws"
            recorders += drawn
            variations.append(noise.Variation(name, tuple(one.label for one in drawn), "" if drawn else idle))
        return recorders, variations

    def _why_idle(self, name: str, label: str) -> str:
        """Why a variation has nothing to vary in the first chip's run; empty where it has."""
        account = self.accounts[label]
        has = {
            "functions": account.host["functions"] or any(account.host["reductions"][one] for one in noise.FUNCTIONS),
            "sums": account.host["reductions"],
            "attention": account.attention,
            "products": account.products,
        }
        what = {"functions": "elementwise function", "sums": "reduction", "attention": "attention", "products": "product of the chip"}
        return "" if has[name] else f"the model has no {what[name]}"

    def _draw(self, state: State, chip: Arithmetic, first: Recorder, which: tuple[str, int]) -> tuple[Recorder, str]:
        """One draw of a variation, and why it could not be made."""
        name, draw = which
        options, words = dict(self.options), noise.described(name, draw)
        if name == "attention":
            in_tiles = parse_attention(options["attention"]) is not None
            options["attention"] = ("math" if in_tiles else "flash") if not draw else Flash(*noise.tile(draw))
            words = "attention decomposed" if in_tiles and not draw else words
        label = f"{chip.label}, {words}"
        state.restore()
        recorder = Recorder(label, self._root, {}, first)
        context = emulate(reordered(chip, draw + 1) if name == "products" else chip, **options)  # type: ignore[arg-type]
        varied = noise.Varied(name, draw, inside=context._portable.inside) if name in ("functions", "sums") else None
        if varied is not None:
            context._host.append(varied)
        context._listener = recorder.product
        self._run(label, self.model, self.inputs, self.kwargs, recorder, context)
        for left, count in varied.left.items() if varied is not None and not draw else ():
            self.notes.append(f"noise floor: {count} × {left} stayed as they were in the runs of {name}")
        declined = ""
        if name == "attention" and not any(how.startswith("flash,") for how in {**context.account.attention, **self.accounts[chip.label].attention}):
            declined = next(iter(context.account.attention), "no attention in tiles")
            self.outputs.pop(label, None)
        return recorder, declined

    def _end_of(self, state: State, chip: Any) -> torch.Tensor | None:
        """What accuracy is measured by, of one more forward pass of which nothing else is kept."""
        state.restore()
        inputs, kwargs = _copies((self.inputs, self.kwargs))
        with warnings.catch_warnings(), torch.no_grad(), emulate(chip, **self.options):
            warnings.simplefilter("ignore", LeftAlone)
            return self._end(self.model(*inputs, **kwargs))

    def _reference(self, state: State) -> str | None:
        """The reference that accuracy is measured by. Of a model that cannot be cast it is the model as it is, with the products of
        its operands in FP64."""
        if FP64 in self.ends:
            return FP64
        try:
            end = self._end_of(state, torch.float64)
        except Exception as error:  # operands of formats that FP64 cannot be made of
            self.notes.append(f"no reference with products in FP64: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            return None
        if end is None:
            return None
        self.ends[FP64_PRODUCTS] = end
        return FP64_PRODUCTS

    def _accuracy(self, state: State, chips: list[Arithmetic]) -> dict[str, Accuracy]:
        """The errors of all chips but the first, paired with the first one's: of those that may differ, in several orders."""
        reference = self._reference(state)
        if reference is None:
            return {}
        of_chip = {chip.label: errors(self.ends[reference], self.ends[chip.label]) for chip in chips if chip.label in self.ends}
        base = of_chip.get(chips[0].label)
        if base is None:
            return {}

        @cache
        def in_orders(place: int) -> list[torch.Tensor | None]:
            chip, found = chips[place], [of_chip[chips[place].label]]
            for draw in range(ORDERS):
                label = f"{chip.label}, {noise.described('products', draw)}"
                end = self.ends[label] if label in self.ends else self._end_of(state, reordered(chip, draw + 1))
                found.append(None if end is None else errors(self.ends[reference], end))
            return found

        found = {}
        for place, chip in enumerate(chips[1:], 1):
            own = of_chip.get(chip.label)
            if own is None:
                continue
            found[chip.label] = accuracy([base], [own], reference)
            if found[chip.label].is_suspected:
                pairs = [(x, y) for x, y in zip(in_orders(0), in_orders(place)) if x is not None and y is not None]
                found[chip.label] = accuracy([x for x, _ in pairs], [y for _, y in pairs], reference)
        return found

    def _count(self, label: str, emulated: int, left: Counter[str]) -> None:
        """What was emulated on a chip; of one on which nothing was there is nothing to say."""
        self.emulated[label], self.left[label] = emulated, dict(left)
        if not emulated and not left:
            raise OptionError(f"the model ran without a matrix product on {label}: there is nothing to compare")
        if not emulated:
            reasons = "".join(f"\n  {count} × {what}" for what, count in left.items())
            raise OptionError(f"no product was emulated on {label}, so there is nothing to compare; left as they were:{reasons}")

    @property
    def _root(self) -> str:
        return type(self.model).__name__ if isinstance(self.model, torch.nn.Module) else ""

    def _references(self, state: State, exact: dict[str, Recorder]) -> dict[Any, Reference]:
        """The tensors of the run in FP64; the run in FP32 is compared with them."""
        if not isinstance(self.model, torch.nn.Module):
            self.notes.append("no reference in FP32 and FP64: the model is a function, whose tensors cannot be cast")
            return {}
        references: dict[Any, Reference] = {}
        for label, dtype in ((FP64, torch.float64), (FP32, torch.float32)):
            recorder = _Keeper(label, self._root) if label == FP64 else Recorder(label, self._root, references)
            state.restore()
            try:
                with warnings.catch_warnings(), _default_dtype(dtype):
                    model = _cast_copy(self.model, dtype)
                    inputs, kwargs = pytree.tree_map(lambda one: _cast(one, dtype), (self.inputs, self.kwargs))
                    self._run(label, model, inputs, kwargs, recorder, emulate(_as_it_is, threads=self.options["threads"]))
            except Exception as error:  # a model may insist on its dtype in many ways
                self.notes.append(f"no reference in {label.upper()}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
                self.outputs.pop(label, None)
                self.ends.pop(label, None)
                return {}
            if label in self.outputs and self.outputs[label].dtype != dtype:
                self.notes.append(f"the reference in {label.upper()} returns {self.outputs[label].dtype}: the model casts")
            if isinstance(recorder, _Keeper):
                references = recorder.references
            else:
                exact[label] = recorder
        return references

    def _run(
        self, label: str, model: Any, inputs: Any, kwargs: Any, recorder: Recorder, context: emulate
    ) -> None:
        """One run; what it hands from layer to layer goes to the recorder."""
        if self.listener is not None:
            self.listener(f"run on {label}", len(self.seconds), self.count)
        start = time.perf_counter()
        inputs, kwargs = _copies((inputs, kwargs))
        grad = nullcontext() if self.backward else torch.no_grad()
        with warnings.catch_warnings(), grad, _hooks(model, recorder), context:
            warnings.simplefilter("ignore", LeftAlone)  # what was left is in the result
            output = model(*inputs, **kwargs)
            loss = self._loss(output)
            if self.backward:
                if loss is None:
                    raise OptionError("backward needs loss=, a function from the output to a scalar")
                loss.backward()
                named = list(model.named_parameters()) if isinstance(model, torch.nn.Module) else []
                for name, parameter in named:
                    if parameter.grad is not None:
                        recorder.tensors("gradient", name, parameter.grad)
                if self.optimizer is not None:
                    self.optimizer([parameter for _, parameter in named]).step()
                    for name, parameter in named:
                        recorder.tensors("parameter", name, parameter)
        if loss is not None:
            self.losses[label] = loss.item()
        logits = self.logits(output)
        if logits is not None:
            self.outputs[label] = logits.detach()
        end = self._end(output)
        if end is not None:
            self.ends[label] = end
        self.seconds[label] = time.perf_counter() - start

    def _end(self, output: Any) -> torch.Tensor | None:
        """What accuracy is measured by."""
        logits = self.logits(output)
        if logits is not None:
            return logits.detach()
        found = (one for one in pytree.tree_leaves(output) if isinstance(one, torch.Tensor) and one.is_floating_point() and one.dim() > 1)
        first = next(found, None)
        return None if first is None else first.detach()

    def _loss(self, output: Any) -> torch.Tensor | None:
        if self.loss is not None:
            return self.loss(output)
        found = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if found is None and isinstance(output, torch.Tensor) and output.dim() == 0:
            found = output
        return found if isinstance(found, torch.Tensor) else None


def _as_it_is(product: Product) -> None:
    """The target of the references: each product in its own dtype."""


class _Keeper(Recorder):
    """Keeps every tensor as a reference."""

    def tensor(self, key: Any, tensor: torch.Tensor, leaf: bool = True) -> None:
        if tensor.layout == torch.strided and tensor.is_floating_point():
            self.references[key] = Reference(tensor)


def _copies(values: Any) -> Any:
    """The tensors among some values copied."""
    return pytree.tree_map(lambda one: one.clone() if isinstance(one, torch.Tensor) else one, values)


def _cast_copy(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """A copy in another dtype; its tensors are copied once, by the cast."""
    import copy

    known: dict[int, Any] = {}
    for one in [*model.parameters(), *model.buffers()]:
        if one.is_floating_point() and one.dtype != dtype and type(one) in (torch.Tensor, torch.nn.Parameter):
            cast = one.detach().to(dtype)
            known[id(one)] = torch.nn.Parameter(cast, one.requires_grad) if isinstance(one, torch.nn.Parameter) else cast
    return copy.deepcopy(model, known).to(dtype)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Tensors that the model makes on its way have this dtype unless it says another."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _hooks(model: Any, recorder: Recorder) -> Iterator[None]:
    """The results of all modules go to the recorder."""
    handles = []
    if isinstance(model, torch.nn.Module):
        for name, module in model.named_modules():
            leaf = next(module.children(), None) is None

            def seen(module: Any, args: Any, result: Any, name: str = name, leaf: bool = leaf) -> None:
                recorder.tensors("module", name, result, leaf)

            handles.append(module.register_forward_hook(seen))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
