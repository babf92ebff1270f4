"""Steps of optimizers that PyTorch has as one operation, by their formulas."""

from __future__ import annotations

from typing import Any

import torch

from .elementwise import operation
from .native import apply, known, rounded


def _number(value: Any) -> float:
    return float(value.item() if isinstance(value, torch.Tensor) else value)


def _adam(decoupled: bool) -> Any:
    def step(
        parameters: Any, gradients: Any, averages: Any, squares: Any, largest: Any, steps: Any, *, lr: Any, beta1: float, beta2: float,
        weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any = None, found_inf: Any = None,
    ) -> Any:  # fmt: skip
        if not all(map(known, [*parameters, *gradients, *averages, *squares])):
            return NotImplemented
        if found_inf is not None and _number(found_inf) != 0:
            return None
        rate = _number(lr)
        for place, parameter in enumerate(parameters):
            g, x = gradients[place].double(), parameter.double()
            g = g if grad_scale is None else g / _number(grad_scale)
            if grad_scale is not None:
                gradients[place].copy_(rounded(g, gradients[place].dtype))
            g = -g if maximize else g
            if weight_decay != 0:
                x, g = (x * (1 - rate * weight_decay), g) if decoupled else (x, g + x * weight_decay)
            average = averages[place].double() * beta1 + g * (1 - beta1)
            square = squares[place].double() * beta2 + g * g * (1 - beta2)
            averages[place].copy_(rounded(average, averages[place].dtype))
            squares[place].copy_(rounded(square, squares[place].dtype))
            if amsgrad:
                square = apply("maximum", square, largest[place].double())
                largest[place].copy_(rounded(square, largest[place].dtype))
            count = _number(steps[place])
            power = [apply("power", torch.tensor(beta, dtype=torch.float64), parameters=(count,)).item() for beta in (beta1, beta2)]
            denominator = square.sqrt() / torch.tensor(1 - power[1], dtype=torch.float64).sqrt() + eps
            parameter.copy_(rounded(x - average / denominator * (rate / (1 - power[0])), parameter.dtype))
        return None

    return step


operation("_fused_adam")(_adam(False))
operation("_fused_adamw")(_adam(True))


@operation("_fused_sgd")
def _sgd(
    parameters: Any, gradients: Any, buffers: Any, *, weight_decay: float, momentum: float, lr: Any, dampening: float, nesterov: bool,
    maximize: bool, is_first_step: bool, grad_scale: Any = None, found_inf: Any = None,
) -> Any:  # fmt: skip
    if not all(map(known, [*parameters, *gradients])):
        return NotImplemented
    if found_inf is not None and _number(found_inf) != 0:
        return None
    for place, parameter in enumerate(parameters):
        x, g = parameter.double(), gradients[place].double()
        if grad_scale is not None:
            g = g / _number(grad_scale)
            gradients[place].copy_(rounded(g, gradients[place].dtype))
        g = -g if maximize else g
        g = g + x * weight_decay if weight_decay != 0 else g
        if momentum != 0:
            buffer = g if is_first_step else buffers[place].double() * momentum + g * (1 - dampening)
            buffers[place].copy_(rounded(buffer, buffers[place].dtype))
            g = g + buffer * momentum if nesterov else buffer
        parameter.copy_(rounded(x - g * _number(lr), parameter.dtype))
    return None
