"""Functions of each element, with PyTorch's signatures."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .native import CODE, apply, known

Handler = Callable[..., Any]

#: By the name of PyTorch's operation: how it is computed from the same arguments, without ``out``.
TABLE: dict[str, Handler] = {}

#: Functions of one element without parameters.
PLAIN = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma rsqrt"
    " sigmoid"
).split()
#: The same, which PyTorch has not of integers.
FLOATING_ONLY = "silu mish hardswish hardsigmoid".split()
#: Functions of two elements without parameters that are exact for integers.
PAIRS = "fmod remainder maximum minimum fmax fmin".split()
#: The same, which PyTorch has of floating-point numbers alone, or which give them of integers.
FLOATING_PAIRS = "hypot logaddexp logaddexp2".split()
PROMOTING_PAIRS = "atan2 xlogy".split()
#: Of a gradient and what the forward function took or gave.
BACKWARD = "sigmoid_backward tanh_backward silu_backward mish_backward hardswish_backward hardsigmoid_backward".split()


def operation(name: str) -> Callable[[Handler], Handler]:
    """Puts a function into the table."""

    def put(function: Handler) -> Handler:
        TABLE[name] = function
        return function

    return put


def common(*values: Any, promotes: bool = False) -> Any:
    """Tensors and numbers as tensors of the dtype in which PyTorch computes them; NotImplemented for dtypes other than ours. With
    ``promotes`` integers are computed in the default dtype."""
    tensors = [one for one in values if isinstance(one, torch.Tensor)]
    dtype = tensors[0].dtype
    if len(tensors) != len(values) or any(one.dtype != dtype for one in tensors):
        dtype = torch.result_type(values[0], values[1])
        if len(values) == 3:
            dtype = torch.promote_types(dtype, torch.result_type(values[0], values[2]))
    if promotes and not dtype.is_floating_point and not dtype.is_complex:
        dtype = torch.get_default_dtype()
    if dtype not in CODE or any(one.device.type != "cpu" or one.layout != torch.strided for one in tensors):
        return NotImplemented
    return [_of(one, dtype) for one in values]


def wide_number(x: Any, y: Any) -> Any:
    """A pair whose second one is a number, in FP64: PyTorch rounds the number to FP32 there, and not to a narrower dtype of the
    tensor. Otherwise NotImplemented."""
    if isinstance(y, torch.Tensor) or not known(x) or x.dtype not in (torch.float16, torch.bfloat16) or isinstance(y, complex):
        return NotImplemented
    return x.double(), torch.tensor(y, dtype=torch.float32).double()


def _of(value: Any, dtype: torch.dtype) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        return torch.tensor(value, dtype=dtype)
    return value if value.dtype == dtype else value.to(dtype)


def floating(x: Any) -> Any:
    """A tensor of integers in the default dtype."""
    return x.to(torch.get_default_dtype()) if isinstance(x, torch.Tensor) and not x.is_floating_point() and not x.is_complex() else x


def _plain(name: str, whole: bool = True) -> Handler:
    def compute(x: Any) -> Any:
        x = floating(x) if whole else x
        return apply(name, x) if known(x) else NotImplemented

    return compute


def pair(name: str, *parameters: float, promotes: bool = False) -> Handler:
    """A function of two tensors, or of a tensor and a number."""

    def compute(x: Any, y: Any) -> Any:
        xs = common(x, y, promotes=promotes)
        return xs if xs is NotImplemented else apply(name, *xs, parameters=parameters)

    return compute


TABLE.update({name: _plain(name) for name in PLAIN})
TABLE.update({name: _plain(name, whole=False) for name in FLOATING_ONLY})
TABLE.update({name: pair(name) for name in [*PAIRS, *FLOATING_PAIRS, *BACKWARD]})
TABLE.update({name: pair(name, promotes=True) for name in PROMOTING_PAIRS})


@operation("gelu")
def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return apply("gelu_tanh" if approximate == "tanh" else "gelu", x) if known(x) else NotImplemented


@operation("gelu_backward")
def _gelu_backward(gradient: Any, x: Any, *, approximate: str = "none") -> Any:
    return pair("gelu_tanh_backward" if approximate == "tanh" else "gelu_backward")(gradient, x)


@operation("log_sigmoid_forward")
def _log_sigmoid(x: Any) -> Any:
    return (apply("log_sigmoid", x), x.new_empty(0)) if known(x) else NotImplemented


@operation("log_sigmoid_backward")
def _log_sigmoid_backward(gradient: Any, x: Any, buffer: Any) -> Any:
    return pair("log_sigmoid_backward")(gradient, x)


@operation("logit")
def _logit(x: Any, eps: float | None = None) -> Any:
    x = floating(x)
    return apply("logit", x, parameters=(-1.0 if eps is None else eps,)) if known(x) else NotImplemented


@operation("softplus")
def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return apply("softplus", x, parameters=(beta, threshold)) if known(x) else NotImplemented


@operation("softplus_backward")
def _softplus_backward(gradient: Any, x: Any, beta: float, threshold: float) -> Any:
    return pair("softplus_backward", beta, threshold)(gradient, x)


@operation("elu")
def _elu(x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    return apply("elu", x, parameters=(alpha, scale, input_scale)) if known(x) else NotImplemented


@operation("celu")
def _celu(x: Any, alpha: float = 1) -> Any:
    return _elu(x, alpha, 1, 1 / alpha)


@operation("elu_backward")
def _elu_backward(gradient: Any, alpha: float, scale: float, input_scale: float, is_result: bool, x: Any) -> Any:
    return pair("elu_backward_of_result" if is_result else "elu_backward", alpha, scale, input_scale)(gradient, x)


@operation("glu")
def _glu(x: Any, dim: int = -1) -> Any:
    if not known(x) or not x.dim() or x.shape[dim] % 2:
        return NotImplemented
    a, b = x.double().chunk(2, dim)
    return apply("round_to", a * apply("sigmoid", b), to=x.dtype)


@operation("pow")
def _pow(x: Any, exponent: Any) -> Any:
    if isinstance(x, torch.Tensor) and not isinstance(exponent, torch.Tensor):
        dtype = torch.result_type(x, exponent)
        if dtype not in CODE:
            return NotImplemented
        x = x.to(dtype)
        return apply("power", x, parameters=(float(exponent),)) if known(x) else NotImplemented
    if not isinstance(x, torch.Tensor):
        dtype = torch.result_type(x, exponent)
        if dtype not in CODE or not isinstance(exponent, torch.Tensor):
            return NotImplemented
        exponent = exponent.to(dtype)
        # PyTorch converts the base to the dtype
        return apply("power_of", exponent, parameters=(torch.tensor(x, dtype=dtype).item(),)) if known(exponent) else NotImplemented
    return pair("pow")(x, exponent)


@operation("add")
def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    wide = wide_number(x, y)
    if wide is not NotImplemented:
        return apply("add", *wide, to=x.dtype, parameters=(float(alpha),))
    xs = common(x, y)
    return xs if xs is NotImplemented else apply("add", *xs, parameters=(float(alpha),))


@operation("sub")
def _sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _add(x, y, -alpha)


@operation("rsub")
def _rsub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _add(_of(y, x.dtype) if not isinstance(y, torch.Tensor) else y, x, -alpha)


@operation("floor_divide")
def _floor_divide(x: Any, y: Any) -> Any:
    wide = wide_number(x, y)
    return pair("floor_divide")(x, y) if wide is NotImplemented else apply("floor_divide", *wide, to=x.dtype)


@operation("div")
def _div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    return _floor_divide(x, y) if rounding_mode == "floor" else NotImplemented


@operation("lerp")
def _lerp(x: Any, end: Any, weight: Any) -> Any:
    if x.dtype != end.dtype:
        return NotImplemented  # PyTorch refuses it
    if isinstance(weight, torch.Tensor) and weight.dim():
        xs = common(x, end, weight)
        return xs if xs is NotImplemented else apply("lerp_by", *xs)
    return pair("lerp", float(weight))(x, end)


def _third(name: str) -> Handler:
    def compute(x: Any, y: Any, z: Any, value: Any = 1) -> Any:
        if isinstance(value, torch.Tensor):
            value = value.item()
        xs = common(x, y, z)
        return xs if xs is NotImplemented else apply(name, *xs, parameters=(float(value),))

    return compute


TABLE.update({name: _third(name) for name in ("addcmul", "addcdiv")})
