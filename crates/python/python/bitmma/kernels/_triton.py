"""Triton kernels: compiled as Triton compiles them, without a GPU, and run here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from .._bitmma import architecture as _architecture
from ..errors import OptionError, PtxError
from ._launch import Launched, launch_ptx

#: The compute capability that stands for an architecture.
CAPABILITIES = {"ampere": 80, "hopper": 90, "ada": 89}

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

#: What is said of the compilation, not to the kernel.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")


def capability(chip: str) -> int:
    """The compute capability of a chip or target: 90 for ``h100`` and ``sm_90a``."""
    exact = re.fullmatch(r"sm_(\d+)[af]?", chip.lower())
    if exact:
        return int(exact[1])
    architecture = _architecture(chip)
    if architecture not in CAPABILITIES:
        raise OptionError(f"Triton kernels run for {', '.join(CAPABILITIES)}, not for {architecture}")
    return CAPABILITIES[architecture]


def _type_of(value: Any) -> str:
    """Triton's type of an argument."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "shape", ()) != ():
        name = str(dtype).rpartition(".")[2]
        if name not in TYPES:
            raise PtxError(f"Triton has no type for arrays of {name}")
        return "*" + TYPES[name]
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    value = int(value)
    if -(1 << 31) <= value < 1 << 31:
        return "i32"
    return "i64" if value < 1 << 63 else "u64"


def _address(value: Any) -> int:
    """Where an array is."""
    return int(value.data_ptr() if hasattr(value, "data_ptr") else value.__array_interface__["data"][0])


class OnChip:
    """A Triton kernel on a chip: ``on(kernel, "h100")[grid](x, y, n, BLOCK=1024)``."""

    def __init__(self, kernel: Any, chip: str, **options: Any) -> None:
        self.kernel, self.chip, self.options = kernel, chip, options
        self.capability = capability(chip)
        self._compiled: dict[Any, Any] = {}

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> Launched:
        """Compiles the kernel for these arguments and runs it; arrays are written in place."""
        kernel, values = self.kernel, dict(kwargs)
        # what decorates the kernel: autotuning takes its first configuration, heuristics are asked
        while hasattr(kernel, "fn") and not hasattr(kernel, "params"):
            given = {**dict(zip(kernel.arg_names, args, strict=False)), **values}
            if hasattr(kernel, "configs"):
                config = kernel.configs[0]
                values.update(config.kwargs)
                for option in ("num_warps", "num_stages"):
                    values.setdefault(option, getattr(config, option))
            else:
                for name, heuristic in getattr(kernel, "values", {}).items():
                    values[name] = heuristic(given)
            kernel = kernel.fn
        options = {name: values.pop(name) for name in OPTIONS if name in values}
        bound = self._bind(kernel, args, values)
        compiled, ordered = self._compile(kernel, bound, options)
        sizes = grid(bound) if callable(grid) else grid
        scratch = int(getattr(compiled.metadata, "global_scratch_size", 0) or 0)
        if scratch:
            raise PtxError("the kernel needs scratch memory for tensor descriptors, which are not supported")
        return launch_ptx(
            compiled.asm["ptx"], sizes, [*ordered, None, None], shared=int(compiled.metadata.shared), **self.options
        )

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
        return {name: bound[name] for name in names}

    def _compile(self, kernel: Any, bound: dict[str, Any], options: dict[str, Any]) -> tuple[Any, list[Any]]:
        """The compiled kernel, and the arguments that it takes, in order."""
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        signature, constants, attributes, ordered = {}, {}, {}, []
        for index, parameter in enumerate(kernel.params):
            name, value = parameter.name, bound[parameter.name]
            # Triton takes None and the integer 1 as constants, and notes multiples of 16
            one = isinstance(value, int) and not isinstance(value, bool) and value == 1
            if parameter.is_constexpr or value is None or (one and not parameter.do_not_specialize):
                signature[name] = "constexpr"
                constants[name] = getattr(value, "value", value) if parameter.is_constexpr else value
                continue
            kind = _type_of(value)
            signature[name] = parameter.annotation_type or kind
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
        return self._compiled[key], ordered


def on(kernel: Any, chip: str, *, mode: str = "gpu", allow_doubtful: bool = False, **options: Any) -> OnChip:
    """A Triton kernel on a chip, called as Triton's own: ``on(kernel, "h100")[grid](x, y, n, BLOCK=1024)``.

    Arguments are NumPy arrays and CPU tensors, written in place, and numbers. ``num_warps`` and ``num_stages`` are passed on;
    of an autotuned kernel the first configuration is taken. Further options are those of ``launch_ptx``.
    """
    return OnChip(kernel, chip, mode=mode, allow_doubtful=allow_doubtful, **options)


@contextlib.contextmanager
def emulate(chip: str, **options: Any) -> Iterator[None]:
    """In this block every launch of a Triton kernel runs here, on CPU tensors, with the chip's bits."""
    from triton.runtime import autotuner, jit

    capability(chip)
    kernels: dict[int, OnChip] = {}

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            raise PtxError("a warm-up launch has no meaning here")
        if id(self) not in kernels:
            kernels[id(self)] = on(self, chip, **options)
        return kernels[id(self)].run(grid, *args, **kwargs)

    def tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        config = self.configs[0]
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    before = jit.JITFunction.run, autotuner.Autotuner.run
    jit.JITFunction.run, autotuner.Autotuner.run = run, tuned
    try:
        yield
    finally:
        jit.JITFunction.run, autotuner.Autotuner.run = before
