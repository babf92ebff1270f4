"""The forward pass of a small GPT-2 by kernels in CUDA C++: close to FP64, and the same bits in every run."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from common import ROOT, nvrtc_or_skip

pytestmark = nvrtc_or_skip


@pytest.fixture(scope="module")
def gpt2():
    """``examples/gpt2_cuda.py``."""
    specification = importlib.util.spec_from_file_location("gpt2_cuda", ROOT / "examples" / "gpt2_cuda.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_forward_pass(gpt2) -> None:
    model, tokens = gpt2.weights(), np.random.default_rng(2).integers(0, gpt2.VOCABULARY, gpt2.TOKENS, np.int32)
    logits = gpt2.forward("h100", model, tokens)
    expected = gpt2.reference(model, tokens)
    assert abs(logits - expected).max() < 4e-6 * abs(expected).max()
    # no kernel uses a tensor core, and the order of additions is fixed
    for chip, options in (("h100", {}), ("h100", {"threads": 1}), ("a100", {"threads": 3})):
        assert gpt2.forward(chip, model, tokens, **options).tobytes() == logits.tobytes()
    # attention is causal: the first tokens do not depend on later ones, bit for bit
    assert gpt2.forward("h100", model, tokens[:9]).tobytes() == logits[:9].tobytes()
