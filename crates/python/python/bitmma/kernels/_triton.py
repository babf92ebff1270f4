"""Triton kernels: compiled as Triton compiles them, without a GPU, and run here."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

from .._bitmma import architecture as _architecture
from .._lazy import numpy as np
from ..errors import OptionError, PtxError
from . import _sass
from ._descriptor import TensorMap
from ._device import Device, present
from ._launch import Launched, launch_ptx
from ._memory import Memory

#: The compute capability that stands for an architecture.
CAPABILITIES = {"ampere": 80, "ada": 89, "hopper": 90, "blackwell": 100}

#: Triton's names of NumPy's and PyTorch's dtypes.
TYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}

#: Are told of every launch: the kernel and the chip.
LISTENERS: list[Callable[[Any, str], None]] = []


def capability(chip: str) -> int:
    """The compute capability of a chip or target: 90 for ``h100`` and ``sm_90a``."""
    architecture = _architecture(chip)
    if architecture not in CAPABILITIES:
        raise OptionError(f"Triton kernels run for {', '.join(CAPABILITIES)}, not for {architecture}")
    exact = re.fullmatch(r"sm_(\d+)[af]?", chip.lower())
    return int(exact[1]) if exact else CAPABILITIES[architecture]


def _type_of(name: str, value: Any) -> str:
    """Triton's type of the argument for a parameter."""
    if _is_array(value):
        dtype = str(value.dtype).rpartition(".")[2]
        if dtype not in TYPES:
            raise PtxError(f"parameter '{name}' is an array of {dtype}, for which Triton has no type")
        return "*" + TYPES[dtype]
    if _is_descriptor(value):
        element = _type_of(name, value.base)[1:]
        return f"tensordesc<{element}[{', '.join(map(str, value.block_shape))}]>"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    if not isinstance(value, int):
        raise PtxError(f"parameter '{name}' is a {type(value).__name__}; an array, a tensor on the CPU, a number or None was expected")
    if -(1 << 31) <= value < 1 << 31:
        return "i32"
    return "i64" if value < 1 << 63 else "u64"


def _is_descriptor(value: Any) -> bool:
    """Whether it is a tensor descriptor made on the host."""
    return type(value).__name__ == "TensorDescriptor" and hasattr(value, "block_shape")


def _described(ordered: list[Any], names: list[str], meta: Any) -> tuple[list[Any], list[str]]:
    """Arguments of the entry: a descriptor becomes a map, its sizes and its strides."""
    given, called, known = [], [], iter(meta or ())
    for name, value in zip(names, ordered, strict=True):
        if not _is_descriptor(value):
            given.append(value)
            called.append(name)
            continue
        about = next(known, None)
        if about is None or about.get("is_im2col") or about.get("fp4_padded"):
            raise PtxError(f"parameter '{name}' is a tensor descriptor of a kind that is not supported")
        if value.round_f32_to_tf32:
            raise PtxError(f"parameter '{name}' is a tensor descriptor that rounds to TF32, which is not supported")
        swizzle = (0, 32, 64, 128)[about["swizzle"]]
        box = about["block_size"]
        given.append(TensorMap(value.base, box, swizzle, value.padding, shape=value.shape, strides=value.strides))
        given += [int(size) for size in (*value.shape, *value.strides)]
        called += [name] * (1 + len(value.shape) + len(value.strides))
    return given, called


def _is_array(value: Any) -> bool:
    """Whether a kernel gets a pointer: of a tensor even where it is one number."""
    return hasattr(value, "data_ptr") or (hasattr(value, "dtype") and getattr(value, "shape", ()) != ())


def _bytes(value: Any) -> Any:
    """The bytes of an array or tensor, to read and to write."""
    return Memory().argument(0, value).bytes


def _configurations(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Those of what autotunes a kernel, without those that it leaves out for these arguments; none where nothing does."""
    while kernel is not None:
        if hasattr(kernel, "configs"):
            if len(kernel.configs) < 2:
                return list(kernel.configs)
            kernel.nargs = dict(zip(kernel.arg_names, args, strict=False))
            return list(kernel.prune_configs(kwargs))
        kernel = None if hasattr(kernel, "params") else getattr(kernel, "fn", None)
    return []


def _address(value: Any) -> int:
    """Where an array is."""
    return int(value.data_ptr() if hasattr(value, "data_ptr") else value.__array_interface__["data"][0])


def _ptxas_options(metadata: Any) -> list[str]:
    """The options with which Triton calls ptxas, as far as they may change code."""
    from triton import knobs

    options = (getattr(metadata, "ptx_options", None) or "").split()
    if knobs.nvidia.disable_ptxas_opt:  # the variable DISABLE_PTXAS_OPT
        options = ["-g", "--opt-level", "0", *options]
    return [*options, "--regAllocOptLevel=2"]


class Compiled(NamedTuple):
    """What a launch ran."""

    text: str
    grid: Any
    #: The arguments of the entry, in order.
    arguments: list[Any]
    shared: int
    names: list[str]
    kernel: Any
    #: As ``launch_ptx`` has them.
    fusion: str | None
    ptxas_options: list[str]
    ptxas: str | None


class OnChip:
    """A Triton kernel on a chip: ``on(kernel, "h100")[grid](x, y, n, BLOCK=1024)``."""

    #: What the chip says of itself during a run; None where a block of ``emulate`` says it.
    device: Device | None

    def __init__(self, kernel: Any, chip: str, autotune: str = "first", **options: Any) -> None:
        if autotune not in ("first", "all"):
            raise OptionError(f"unknown autotune {autotune!r}; one of first, all")
        inner = kernel
        while not hasattr(inner, "params"):
            if type(inner).__name__ == "InterpretedFunction":
                raise PtxError("Triton interprets this kernel, which the variable TRITON_INTERPRET asks for: unset it")
            if not hasattr(inner, "fn"):
                raise PtxError(f"a kernel of @triton.jit was expected, not a {type(inner).__name__}")
            inner = inner.fn
        self.kernel, self.chip, self.autotune, self.options = kernel, chip, autotune, options
        self.capability = capability(chip)
        self.device = Device(chip, self.capability, None)
        self._compiled: dict[Any, Any] = {}
        self.last: Compiled | None = None

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> Launched:
        """Compiles the kernel for these arguments and runs it; arrays are written in place."""
        for listener in LISTENERS:
            listener(self.kernel, self.chip)
        with present(self.device, cuda=False) if self.device else contextlib.nullcontext():
            configurations = _configurations(self.kernel, args, kwargs)
            if self.autotune == "all" and len(configurations) > 1:
                return self._all(configurations, grid, args, kwargs)
            return self._run(configurations[0] if configurations else None, grid, args, kwargs)

    def _all(self, configurations: list[Any], grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launched:
        """Runs every configuration on the same inputs. The arrays hold the results of the first."""
        given = [value for value in (*args, *kwargs.values()) if _is_array(value)]
        before = [_bytes(value).copy() for value in given]
        compared: list[tuple[Any, bool]] = []
        for configuration in configurations:
            for value, content in zip(given, before, strict=True):
                _bytes(value)[...] = content
            launched = self._run(configuration, grid, args, kwargs)
            after = [_bytes(value).copy() for value in given]
            if not compared:
                first, results = launched, after
            same = all((one == other).all() for one, other in zip(results, after, strict=True))
            compared.append((configuration, bool(same)))
        for value, content in zip(given, results, strict=True):
            _bytes(value)[...] = content
        return dataclasses.replace(first, configurations=compared)

    def _run(self, configuration: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launched:
        """Compiles and runs one configuration."""
        kernel, values = self.kernel, dict(kwargs)
        # what decorates the kernel: autotuning takes a configuration, heuristics are asked
        while hasattr(kernel, "fn") and not hasattr(kernel, "params"):
            given = {**dict(zip(kernel.arg_names, args, strict=False)), **values}
            if hasattr(kernel, "configs"):
                assert configuration is not None
                kernel.best_config = configuration
                values.update(configuration.kwargs)
                for option in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
                    if getattr(configuration, option, None) is not None:
                        values.setdefault(option, getattr(configuration, option))
                if configuration.pre_hook is not None:
                    configuration.pre_hook({**given, **values})
            else:
                for name, heuristic in getattr(kernel, "values", {}).items():
                    values[name] = heuristic({**given, **values})
            kernel = kernel.fn
        from triton.backends.nvidia.compiler import CUDAOptions

        # what is said of the compilation; a kernel may ask for some of it by a parameter
        options = {one.name: values[one.name] for one in dataclasses.fields(CUDAOptions) if one.name in values}
        parameters = [parameter.name for parameter in kernel.params]
        bound = self._bind(kernel, args, {name: value for name, value in values.items() if name in parameters or name not in options})
        compiled, names, ordered = self._compile(kernel, bound, options)
        sizes = grid(bound) if callable(grid) else grid
        if isinstance(sizes, (tuple, list)) and 0 in sizes:
            return Launched(0, [], [], [])  # no block: Triton launches nothing
        how = {
            "fusion": None,
            "ptxas_options": _ptxas_options(compiled.metadata),
            "ptxas": _sass.of_triton(self.capability),
            **self.options,
        }
        if not getattr(compiled.metadata, "enable_fp_fusion", True):
            how["fusion"] = "off"
        shared = int(compiled.metadata.shared)
        arguments, called = _described(ordered, names, getattr(compiled.metadata, "tensordesc_meta", None))
        self.last = Compiled(
            compiled.asm["ptx"], sizes, arguments, shared, list(bound), kernel, how["fusion"], how["ptxas_options"], how["ptxas"]
        )
        scratch = int(getattr(compiled.metadata, "global_scratch_size", 0) or 0)
        # what each block has for the tensor maps that it makes
        blocks = math.prod(sizes) if isinstance(sizes, (tuple, list)) else sizes
        memory = np.zeros(scratch * blocks, np.uint8) if scratch else None
        called += ["the scratch memory of the launch"]
        return launch_ptx(compiled.asm["ptx"], sizes, [*arguments, memory, None], shared=shared, names=called, **how)

    @staticmethod
    def _bind(kernel: Any, args: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
        """The value of every parameter."""
        names = [parameter.name for parameter in kernel.params]
        if len(args) > len(names):
            raise PtxError(f"the kernel takes {len(names)} arguments, not {len(args)}")
        bound = dict(zip(names, args, strict=False))
        for name, value in values.items():
            if name not in names:
                raise PtxError(f"the kernel has no parameter '{name}'; its parameters are {', '.join(names)}")
            if name in bound:
                raise PtxError(f"parameter '{name}' is given twice")
            bound[name] = value
        for parameter in kernel.params:
            if parameter.name not in bound:
                if not parameter.has_default:
                    raise PtxError(f"parameter '{parameter.name}' is missing")
                bound[parameter.name] = parameter.default
        # numbers of NumPy are numbers
        return {name: bound[name].item() if isinstance(bound[name], np.generic) else bound[name] for name in names}

    def _compile(self, kernel: Any, bound: dict[str, Any], options: dict[str, Any]) -> tuple[Any, list[str], list[Any]]:
        """The compiled kernel, and the arguments that it takes, in order, with their names."""
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        signature, constants, attributes, names, ordered = {}, {}, {}, [], []
        for index, parameter in enumerate(kernel.params):
            name, value = parameter.name, bound[parameter.name]
            # Triton takes None and the integer 1 as constants, and notes multiples of 16
            one = isinstance(value, int) and not isinstance(value, bool) and value == 1
            if parameter.is_constexpr or value is None or (one and not parameter.do_not_specialize):
                signature[name] = "constexpr"
                constants[name] = getattr(value, "value", value) if parameter.is_constexpr else value
                continue
            kind = _type_of(name, value)
            signature[name] = parameter.annotation_type or kind
            names.append(name)
            ordered.append(value)
            where = _address(value) if kind.startswith("*") else value
            aligned = kind.startswith("*") or (isinstance(value, int) and not isinstance(value, bool))
            if aligned and where % 16 == 0 and not parameter.do_not_specialize_on_alignment:
                if kind.startswith("*") or not parameter.do_not_specialize:
                    attributes[(index,)] = [["tt.divisibility", 16]]
        key = (kernel, tuple(signature.items()), repr(constants), tuple(attributes), tuple(sorted(options.items())))
        if key not in self._compiled:
            source = ASTSource(kernel, signature, constants, attributes)
            target = GPUTarget("cuda", self.capability, 32)
            self._compiled[key] = triton.compile(source, target=target, options=options)
        return self._compiled[key], names, ordered


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
    from triton.runtime import autotuner, jit

    device = Device(chip, capability(chip), multiprocessors)
    kernels: dict[int, OnChip] = {}

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            raise PtxError("warmup compiles a kernel for a GPU, and there is none: here a kernel is compiled when it is launched")
        if id(self) not in kernels:
            kernels[id(self)] = on(self, chip, **options)
            kernels[id(self)].device = None
        return kernels[id(self)].run(grid, *args, **kwargs)

    # a tuned kernel, too, is one for OnChip, which takes its configuration; some packages have tuners of their own
    kinds = [jit.JITFunction, autotuner.Autotuner]
    kinds += [kind for kind in autotuner.Autotuner.__subclasses__() if "run" in vars(kind)]
    with contextlib.ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(mock.patch.object(kind, "run", run))
        stack.enter_context(present(device, cuda))
        yield
