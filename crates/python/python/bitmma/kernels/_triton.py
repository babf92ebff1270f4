"""Triton kernels: compiled as Triton compiles them, without a GPU, and run here."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from unittest import mock

from .._lazy import numpy as np
from ..errors import OptionError, PtxError
from . import _sass
from ._chips import capability
from ._descriptor import KINDS, TensorMap
from ._device import Device, Present, interpreted, present
from ._launch import Launched, _dimensions, launch_ptx
from ._memory import _HOST, Memory, on_host

#: Dtypes for which Triton has a type.
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip

#: What is done with the configurations of a tuned kernel.
AUTOTUNE = ("first", "all")

#: Are told of every launch: the kernel and the chip.
LISTENERS: list[Callable[[Any, str], None]] = []


class _Array:
    """A NumPy array as Triton takes it: what has an address and a dtype."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, array.dtype

    def data_ptr(self) -> int:
        """Where it is."""
        return int(self.array.__array_interface__["data"][0])


def _is_array(value: Any) -> bool:
    """Whether a kernel gets a pointer: of a tensor even where it is one number."""
    return hasattr(value, "data_ptr") or (hasattr(value, "dtype") and getattr(value, "shape", ()) != ())


def arrays(values: Iterable[Any]) -> list[Any]:
    """The arrays and tensors that a launch with these arguments may write: in tuples, of descriptors, and those to which pointers lead."""
    found: dict[int, Any] = {}

    def look(value: Any) -> None:
        if isinstance(value, (tuple, list)):
            for one in value:
                look(one)
        elif _is_array(value):
            plain = _plain(value)
            found.setdefault(id(plain), plain)
        elif hasattr(value, "block_shape") and hasattr(value, "base"):
            look(value.base)

    look(list(values))
    for value in _pointed_to(list(found.values())):
        found.setdefault(id(value), value)
    return list(found.values())


def _argument(name: str, value: Any) -> Any:
    """What Triton is given for a parameter."""
    if isinstance(value, np.generic):  # numbers of NumPy are numbers
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.name not in DTYPES:
            raise PtxError(f"parameter '{name}' is an array of {value.dtype.name}, for which Triton has no type")
        return _Array(value) if value.shape else value.item()
    return value


def _scalar(kind: str, value: Any) -> Any:
    """A number as Triton's launcher converts it to the type of its parameter."""
    if kind == "fp16":
        return int(np.float16(value).view(np.uint16))
    if kind == "bf16":  # cut, not rounded
        return int(np.float32(value).view(np.uint32)) >> 16
    if kind.startswith(("fp", "f")):
        return float(value)
    return int(value) & ((1 << max(8, int(kind[1:]))) - 1)


def _mapped(name: str, value: Any, about: Any) -> list[Any]:
    """A tensor descriptor made on the host as arguments of the entry: a map, its sizes and its strides."""
    base, sizes = _plain(value.base), [*map(int, (*value.shape, *value.strides))]
    if about is None:  # before Hopper the kernel has no map, and reads as from any tensor
        return [base, *sizes, int(value.padding == "nan"), int(value.round_f32_to_tf32), *sizes]
    if value.round_f32_to_tf32:
        raise PtxError(f"parameter '{name}' is a tensor descriptor that rounds to TF32, which is not supported")
    swizzle = (0, 32, 64, 128)[about["swizzle"]]
    more: dict[str, Any] = {"padded": bool(about.get("fp4_padded"))}
    if not more["padded"]:
        more["dtype"] = next((dtype for dtype, kind in KINDS.items() if kind == about["elem_type"]), f"type {about['elem_type']}")
    if about.get("is_im2col"):
        more |= {"mode": "im2col", "lower": value.pixel_box_lower_corner, "upper": value.pixel_box_upper_corner, "steps": value.element_strides}
    tensor_map = TensorMap(base, about["block_size"], swizzle, value.padding, shape=value.shape, strides=value.strides, **more)
    return [tensor_map, *sizes]


def _plain(value: Any) -> Any:
    """The array or tensor that something with an address stands for: Triton has a wrapper of its own for other dtypes."""
    while not hasattr(value, "untyped_storage") and hasattr(value, "data_ptr"):
        value = value.array if isinstance(value, _Array) else value.base
    return value


def _entry(signature: Any, values: Any, meta: Iterator[Any], names: Any) -> Iterator[tuple[str, Any]]:
    """The arguments of the entry with the names of their parameters: constants are compiled into it, tuples laid out."""
    for kind, value, name in zip(signature, values, names, strict=True):
        if kind == "constexpr":
            continue
        if isinstance(kind, tuple):
            yield from _entry(kind, value, meta, [f"{name}[{index}]" for index in range(len(kind))])
        elif kind.startswith("tensordesc"):
            yield from ((name, one) for one in _mapped(name, value, next(meta, None)))
        elif value is None or kind.startswith("*"):
            yield name, _plain(value)
        else:
            yield name, _scalar(kind, value)


def _makes_pointers(compiled: Any) -> bool:
    """Whether a kernel may make a pointer of an integer."""
    return any(how in compiled.asm.get("ttgir", how) for how in ("int_to_ptr", "inline_asm"))


def _pointed_to(arguments: list[Any]) -> list[Any]:
    """Tensors to which pointers lead that a kernel finds in its arguments: arrays of integers of 64 bits may hold some."""
    torch = sys.modules.get("torch")
    arguments = [on_host(value) if hasattr(value, "untyped_storage") else value for value in arguments]
    tables = [value.detach() if hasattr(value, "detach") else value for value in arguments if str(getattr(value, "dtype", "")).endswith("int64")]
    values = [np.asarray(table).ravel().astype(np.int64, copy=False) for table in tables]
    pointers = np.unique(np.concatenate([np.empty(0, np.int64), *(one[(one >= 1 << 20) & (one < 1 << 47)] for one in values)]))
    if torch is None or not pointers.size:
        return []
    found = []
    for one in [one for one in gc.get_objects() if type(one) in (torch.Tensor, torch.nn.Parameter)]:
        if (one.device.type == "cpu" or _HOST) and one.layout == torch.strided and one.numel():
            with contextlib.suppress(RuntimeError, NotImplementedError):  # tensors that stand for others have no storage
                start, size = one.untyped_storage().data_ptr(), one.untyped_storage().nbytes()
                if ((pointers >= start) & (pointers < start + size)).any():
                    found.append(one)
    return found


def _bytes(value: Any) -> Any:
    """The bytes from the first element of an array or tensor to the last, to read and to write."""
    span = Memory().argument(0, value)
    return span.bytes[span.own]


def _configurations(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Those of what autotunes a kernel, without those that it leaves out for these arguments; none where nothing does."""
    while kernel is not None:
        if hasattr(kernel, "configs"):
            if len(kernel.configs) < 2:
                return list(kernel.configs)
            kernel.nargs = dict(zip(kernel.arg_names, args, strict=False))
            found = list(kernel.prune_configs(kwargs))
            kernel.nargs = None
            return found
        kernel = None if hasattr(kernel, "params") else getattr(kernel, "fn", None)
    return []


def _ptxas_options(metadata: Any) -> list[str]:
    """The options with which Triton calls ptxas, as far as they may change code."""
    from triton import knobs

    options = (getattr(metadata, "ptx_options", None) or "").split()
    if knobs.nvidia.disable_ptxas_opt:  # the variable DISABLE_PTXAS_OPT
        options = ["-g", "--opt-level", "0", *options]
    return [*options, "--regAllocOptLevel=2"]


class Ran(NamedTuple):
    """What a launch ran."""

    text: str
    grid: Any
    #: The arguments of the entry, in order, and the names of their parameters.
    arguments: list[Any]
    names: list[str]
    #: Tensors to which pointers lead.
    reachable: list[Any]
    shared: int
    #: As ``launch_ptx`` has them.
    fusion: str | None
    ptxas_options: list[str]
    ptxas: str | None
    #: What Triton compiled, and what the launch did.
    compiled: Any
    launched: Launched


class Launcher:
    """Runs what Triton compiled for a chip where Triton would launch it."""

    def __init__(self, chip: str, autotune: str = "first", multiprocessors: int | None = None, **options: Any) -> None:
        if autotune not in AUTOTUNE:
            raise OptionError(f"unknown autotune {autotune!r}; one of {', '.join(AUTOTUNE)}")
        self.capability, self.autotune = capability(chip), autotune
        self.device, self.options = Device(chip, self.capability, multiprocessors), options
        self._of_thread = threading.local()

    @property
    def last(self) -> Ran | None:
        """The last launch of this thread."""
        return getattr(self._of_thread, "last", None)

    #: What runs the entry.
    run = staticmethod(launch_ptx)

    def launch(self, compiled: Any, x: int, y: int, z: int, *about: Any) -> None:
        """As Triton's launcher is called: with a stream, a function, metadata, two hooks and the arguments."""
        _, _, _, metadata, enter, leave, *values = about
        known, source = compiled.metadata, compiled.src
        if known.target.arch != self.capability:
            raise PtxError(f"the kernel was compiled for sm_{known.target.arch}, and {self.device.chip} is sm_{self.capability}: compile it inside of the block")
        function = getattr(source, "fn", None)
        for listener in LISTENERS:
            listener(function or compiled, self.device.chip)
        signature = list(source.signature.values())
        named = getattr(function, "arg_names", range(len(signature)))
        given = list(_entry(signature, values, iter(getattr(known, "tensordesc_meta", None) or ()), named))
        names, arguments = [str(name) for name, _ in given], [value for _, value in given]
        how = {"fusion": None, "ptxas_options": _ptxas_options(known), "ptxas": _sass.of_triton(self.capability), **self.options}
        if not getattr(known, "enable_fp_fusion", True):
            how["fusion"] = "off"
        text, shared, sizes = compiled.asm["ptx"], int(known.shared), (x * getattr(known, "num_ctas", 1), y, z)
        if enter is not None:
            enter(metadata)
        reachable = _pointed_to(arguments) if _makes_pointers(compiled) else []
        if 0 in sizes:
            launched = Launched(0, [], [], [])  # no block: Triton launches nothing
        else:
            # what each block has for the tensor maps that it makes, and for what is measured
            for what, name in (("global", "the scratch memory of the launch"), ("profile", "the memory of the profiler")):
                size = int(getattr(known, f"{what}_scratch_size", 0) or 0) * math.prod(sizes)
                arguments.append(np.zeros(size, np.uint8) if size else None)
                names.append(name)
            launched = self.run(text, sizes, arguments, shared=shared, names=names, reachable=reachable, **how)
        if leave is not None:
            leave(metadata)
        last = Ran(text, sizes, arguments, names, reachable, shared, how["fusion"], how["ptxas_options"], how["ptxas"], compiled, launched)
        self._of_thread.last = last

    def active(self, cuda: bool = False, shared: Callable[[], bool] = lambda: False) -> contextlib.AbstractContextManager[None]:
        """In this block Triton describes the chip and launches here; ``shared`` says whether the thread that asks takes part."""

        def tune(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
            if warmup:
                return _warmed(kernel, grid, args, kwargs)
            tuned(self, kernel, grid, args, kwargs)
            return self.last and self.last.compiled

        return present(Present(self.device, self.launch, tune, cuda, shared))


def _sizes(grid: Any) -> Any:
    """A grid as Triton takes it: it may have no block, and be a function of the arguments."""
    if callable(grid):
        return lambda given: _sizes(grid(given))
    return tuple(grid) if isinstance(grid, (tuple, list)) and 0 in grid else _dimensions("grid", grid)


class OnChip:
    """A Triton kernel on a chip: ``on(kernel, "h100")[grid](x, y, n, BLOCK=1024)``."""

    def __init__(self, kernel: Any, chip: str, autotune: str = "first", **options: Any) -> None:
        inner = kernel
        while not hasattr(inner, "params"):
            if type(inner).__name__ == "InterpretedFunction":
                interpreted()
            if not hasattr(inner, "fn"):
                raise PtxError(f"a kernel of @triton.jit was expected, not a {type(inner).__name__}")
            inner = inner.fn
        self.kernel, self.launcher = kernel, Launcher(chip, autotune, **options)

    @property
    def last(self) -> Ran | None:
        """The last launch."""
        return self.launcher.last

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> Launched:
        """Compiles the kernel for these arguments and runs it; arrays are written in place."""
        with self.launcher.active():
            return tuned(self.launcher, self.kernel, grid, args, kwargs)


def tuned(launcher: Launcher, kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launched:
    """Runs the first configuration of a kernel, or all of them on the same inputs; then the arrays hold the results of the first."""
    configurations = _configurations(kernel, args, kwargs)
    if launcher.autotune == "first" or len(configurations) < 2:
        return _run(launcher, kernel, configurations[0] if configurations else None, grid, args, kwargs)
    given = arrays((*args, *kwargs.values()))
    before = [_bytes(value).copy() for value in given]
    compared: list[tuple[Any, bool]] = []
    for configuration in configurations:
        for value, content in zip(given, before, strict=True):
            _bytes(value)[...] = content
        launched = _run(launcher, kernel, configuration, grid, args, kwargs)
        after = [_bytes(value).copy() for value in given]
        if not compared:
            first, results = launched, after
        same = all((one == other).all() for one, other in zip(results, after, strict=True))
        compared.append((configuration, bool(same)))
    for value, content in zip(given, results, strict=True):
        _bytes(value)[...] = content
    return dataclasses.replace(first, configurations=compared)


def _run(
    launcher: Launcher, kernel: Any, configuration: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Launched:
    """Compiles and runs one configuration, as Triton does."""
    kernel, values = _configured(kernel, configuration, args, kwargs)
    _check(kernel, args, values)
    named = {name: _argument(name, value) for name, value in values.items()}
    kernel.run(*map(_argument, kernel.arg_names, args), grid=_sizes(grid), warmup=False, **named)
    assert launcher.last is not None
    return launcher.last.launched


def _warmed(kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first configuration, compiled and not run."""
    configurations = _configurations(kernel, args, kwargs)
    kernel, values = _configured(kernel, configurations[0] if configurations else None, args, kwargs)
    return kernel.run(*args, grid=grid, warmup=True, **values)


def _configured(kernel: Any, configuration: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The function inside of what decorates it, and its named arguments with those of a configuration and of heuristics."""
    values = dict(kwargs)
    # what decorates the kernel: autotuning takes a configuration, heuristics are asked
    while hasattr(kernel, "fn") and not hasattr(kernel, "params"):
        given = {**dict(zip(kernel.arg_names, args, strict=False)), **values}
        if hasattr(kernel, "configs"):
            assert configuration is not None
            kernel.best_config = configuration
            for name in configuration.kwargs:
                if name in given:
                    raise PtxError(f"parameter '{name}' is given, and the kernel is tuned over it: leave it out")
            values |= {**configuration.all_kwargs(), **values, **configuration.kwargs}
            if configuration.pre_hook is not None:
                configuration.pre_hook({**given, **values})
        else:
            for name, heuristic in getattr(kernel, "values", {}).items():
                values[name] = heuristic({**given, **values})
        kernel = kernel.fn
    return kernel, values


def _check(kernel: Any, args: tuple[Any, ...], values: dict[str, Any]) -> None:
    """Every parameter has a value, and no other does."""
    from triton.backends.nvidia.compiler import CUDAOptions

    # what is said of the compilation; a kernel may ask for some of it by a parameter
    options = [one.name for one in dataclasses.fields(CUDAOptions)]
    names = [parameter.name for parameter in kernel.params]
    if len(args) > len(names):
        raise PtxError(f"the kernel takes {len(names)} arguments, not {len(args)}")
    for name in values:
        if name not in names and name not in options:
            raise PtxError(f"the kernel has no parameter '{name}'; its parameters are {', '.join(names)}")
        if name in names[: len(args)]:
            raise PtxError(f"parameter '{name}' is given twice")
    given = {**dict(zip(names, args, strict=False)), **values}
    for parameter in kernel.params:
        if parameter.name not in given and not parameter.has_default:
            raise PtxError(f"parameter '{parameter.name}' is missing")
        value = given.get(parameter.name)
        if isinstance(value, str) and not parameter.is_constexpr:
            raise PtxError(f"parameter '{parameter.name}' is a str; an array, a tensor on the CPU, a number or None was expected")


def on(
    kernel: Any, chip: str, *, mode: str = "gpu", allow_doubtful: bool = False, autotune: str = "first", **options: Any
) -> OnChip:
    """A Triton kernel on a chip, called as Triton's own: ``on(kernel, "h100")[grid](x, y, n, BLOCK=1024)``.

    Arguments are NumPy arrays and CPU tensors, written in place, and numbers. ``num_warps`` and ``num_stages`` are passed on;
    of an autotuned kernel the first configuration is taken; with ``autotune="all"`` every one runs on the same inputs, and
    ``configurations`` of what is returned says whose results are the bits of the first. Heuristics are asked. Further
    options are those of ``launch_ptx``.
    """
    return OnChip(kernel, chip, autotune, mode=mode, allow_doubtful=allow_doubtful, **options)


@contextlib.contextmanager
def emulate(chip: str, *, cuda: bool = False, multiprocessors: int | None = None, **options: Any) -> Iterator[None]:
    """In this block every launch of a Triton kernel runs here, on CPU tensors, with the chip's bits.

    Triton's driver and ``torch.cuda`` describe the chip: its capability, and its multiprocessors, by which many wrappers divide
    their work; ``multiprocessors`` says how many where they are not those of the data sheet. With ``cuda``, ``tensor.is_cuda``
    and ``torch.cuda.is_available()`` are true, for wrappers that refuse other tensors. Further options are those of ``on``.
    """
    with Launcher(chip, multiprocessors=multiprocessors, **options).active(cuda, shared=lambda: True):
        yield
