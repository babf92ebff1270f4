"""What is wrong with an option is said where the option is given, and how to put it right."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import bitmma  # noqa: E402
from bitmma import formats  # noqa: E402


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_a_device_that_is_not_here(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    triton = pytest.importorskip("triton", reason="bitmma.gpu needs Triton")
    assert triton
    from bitmma import gpu

    a = torch.ones(16, 16).half()
    message = "device is 'cuda', and PyTorch finds 0 CUDA or ROCm devices here; leave device out to compute on the CPU"
    for call in (
        lambda: bitmma.torch.emulate("h100", device="cuda"),
        lambda: gpu.gemm(("h100", "mma.m16n8k16.f32.f16.f16.f32"), a, a, device="cuda"),
    ):
        with pytest.raises(bitmma.DeviceError) as raised:
            call()
        assert str(raised.value) == message
    with pytest.raises(bitmma.DeviceError, match="device is 'cpx'"):
        bitmma.torch.emulate("h100", device="cpx")


def test_a_model_file_that_is_not_there(tmp_path):
    with pytest.raises(bitmma.ModelError, match=r"absent\.toml is not a model file: .*Unit\.toml writes one"):
        bitmma.torch.emulate(str(tmp_path / "absent.toml"))
    with pytest.raises(bitmma.ModelError, match="is not a model file"):
        bitmma.torch.emulate(tmp_path)


@pytest.mark.parametrize("threads", [0, -1, 4097, 1.5, "'two'"])
def test_threads_out_of_range(threads):
    with pytest.raises(bitmma.OptionError, match=rf"threads is {threads}; 1 to 4096"):
        bitmma.torch.emulate("h100", threads=threads if threads != "'two'" else "two")


def test_calls_of_a_chip_that_two_platforms_have():
    with pytest.raises(bitmma.OptionError, match="calls is 'h100', which may be h100-pcie .* or h100-sxm"):
        bitmma.torch.emulate("h100", calls="h100")


def test_calls_of_an_unknown_platform():
    with pytest.raises(bitmma.OptionError, match="calls is 3; the name of a platform"):
        bitmma.torch.emulate("h100", calls=3)
    with pytest.raises(bitmma.Error, match="known are rtx4060, h100-pcie, h100-sxm"):
        bitmma.torch.emulate("h100", calls="h100-nvl")


def test_torch_dtypes_and_integers():
    a = torch.randn(16, 16).half()
    target = ("h100", "mma.m16n8k16.f32.f16.f16.f32")
    d = bitmma.gemm(target, a, a, output=torch.bfloat16)
    assert d.dtype == torch.bfloat16 and torch.equal(d, bitmma.gemm(target, a, a, output="bf16"))
    assert formats.encode(torch.tensor([2**60 + 2**36 + 1]), "f32")[0] == 0x5D800001
    assert formats.encode(torch.tensor([1.5]).bfloat16(), "f16").tolist() == [0x3E00]
    assert np.array_equal(formats.encode(torch.arange(5), "f16"), formats.encode(np.arange(5), "f16"))
