"""Models that people bring, with random weights: Llama, Mixtral and one in torchao's FP8, in threads, processes and a DataLoader."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import bitmma

torch = pytest.importorskip("torch")

emulate = bitmma.torch.emulate
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "use_cache": False,
}
#: CDNA2 reads subnormals as zero; in FP8, which it does not have, H100 keeps fewer bits than B200.
CHIPS = ("h100", "mi250x")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def llama():
    """A decoder of one layer in FP16."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).half().eval(), torch.arange(8)[None]


def mixtral():
    """The same with two experts."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    config = transformers.MixtralConfig(**SIZES, num_local_experts=2, num_experts_per_tok=1)
    return transformers.MixtralForCausalLM(config).half().eval(), torch.arange(8)[None]


def fp8():
    """A perceptron whose products torchao scales and casts to FP8."""
    float8 = pytest.importorskip("torchao.float8", reason="no torchao: pip install 'bitmma[models]'")
    layers = torch.nn.Linear(512, 64, bias=False), torch.nn.ReLU(), torch.nn.Linear(64, 32, bias=False)
    return float8.convert_to_float8_training(torch.nn.Sequential(*layers).bfloat16()), torch.randn(16, 512).bfloat16()


def gpt2():
    """Layer norms, GELU, products with a bias."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    config = transformers.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=64, n_positions=64, use_cache=False)
    return transformers.GPT2LMHeadModel(config).bfloat16().eval(), {"input_ids": torch.arange(8)[None]}


def bert():
    """An encoder whose second sentence is filled up, so that its attention has a mask."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    config = transformers.BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=64, max_position_embeddings=64)
    mask = torch.ones(2, 8, dtype=torch.long)
    mask[1, 5:] = 0
    return transformers.BertForMaskedLM(config).bfloat16().eval(), {"input_ids": torch.arange(16).view(2, 8), "attention_mask": mask}


def t5():
    """An encoder and a decoder whose attention adds a learned bias."""
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    config = transformers.T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, vocab_size=64, decoder_start_token_id=0, use_cache=False)
    ids = torch.arange(8)[None]
    return transformers.T5ForConditionalGeneration(config).bfloat16().eval(), {"input_ids": ids, "decoder_input_ids": ids}


OPTIONS = {
    "math": {},
    "flash": {"attention": "flash"},
    "tiles": {"attention": bitmma.torch.Flash(16, 16)},
    "functions": {"functions": "h100"},
    "calls": {"calls": "h100-sxm"},
    "everything": {"attention": "flash", "functions": "h100", "calls": "h200", "compare_with": ["a100", "mi300x"]},
}


@pytest.mark.parametrize("make", [llama, gpt2, bert, t5, mixtral], ids=lambda make: make.__name__)
def test_every_option(make):
    """Forward and backward without an exception; every product and every operation is accounted for."""
    torch.manual_seed(0)
    model, given = make()
    given = {"input_ids": given} if isinstance(given, torch.Tensor) else given
    results = {}
    for name, options in OPTIONS.items():
        with emulate("h100", **options) as emulation:
            result = model(**given).logits
            result.float().sum().backward()
        results[name] = result.detach()
        account = emulation.account
        assert torch.isfinite(result).all() and not emulation.left, (name, emulation.left)
        assert not account.host["other"], (name, account.host["other"])
        counts = sum(account.products.values()), sum(account.attention.values()), sum(emulation.planned.values())
        if name == "math":
            first = counts
        # a call of attention in tiles has two products forward and five backward, one decomposed two and four
        flash = sum(count for how, count in account.attention.items() if how.startswith("flash,"))
        backward = sum(count for how, count in account.attention.items() if how.endswith(", backward"))
        assert counts[0] == first[0] + backward and counts[1] == first[1] + backward, name
        assert bool(flash) == ("attention" in options), name
        declined = [how for how in account.attention if how.startswith("flash declined")]
        assert bool(declined) == (make is t5 and "attention" in options) and all("needs a gradient" in how for how in declined)
        assert bool(account.functions) == ("functions" in options and make in (llama, t5, mixtral)), "RMS norms"
    assert torch.equal(results["math"], results["calls"]), "no shape was recorded"
    assert not torch.equal(results["math"], results["flash"])
    # sums and functions that are one FP32 ulp off may vanish where so small a model rounds to 16 bits: all of that shows in FP32
    with torch.no_grad():
        found = bitmma.torch.compare(model, kwargs=given, chips=["h100", "mi250x"], reference=False)
        wide = bitmma.torch.compare(model.float(), kwargs=given, chips=["h100", "a100"], fp32="tf32", reference=False)
    assert {one.name for one in found.variations if not one.idle} >= {"attention"} and found.verdict
    assert [one.name for one in wide.variations if one.idle] == ["attention"] and len(wide.floor) >= 3 and wide.verdict


class Model:
    """A model, its input, and what it is on each chip, in the thread that entered the emulation."""

    def __init__(self, make):
        torch.manual_seed(0)
        self.model, self.input = make()
        # small numbers, of which MI250X takes some for zero
        for parameter in self.model.parameters():
            parameter.data *= 2.0**-4
        self.chips = ("h100", "b200") if make is fp8 else CHIPS
        self.expected, self.products = {}, {}
        for chip in self.chips:
            with emulate(chip) as emulation:
                self.expected[chip] = self()
            self.products[chip] = [(one.layer, one.operation, one.instruction) for one in emulation.products]
            assert self.products[chip] and not emulation.left

    def __call__(self):
        with torch.no_grad():
            found = self.model(self.input)
        return getattr(found, "logits", found)


@pytest.fixture(scope="module", params=[llama, mixtral, fp8], ids=lambda make: make.__name__)
def model(request):
    return Model(request.param)


def test_forward_and_backward(model):
    """What a chip emulates is every product, and not what PyTorch computes."""
    one, two = (model.expected[chip] for chip in model.chips)
    assert not torch.equal(one, two) and torch.isfinite(one).all() and torch.isfinite(two).all()
    with emulate("h100") as emulation:
        found = model.model(model.input)
        getattr(found, "logits", found).float().sum().backward()
    forward = [(one.layer, one.operation, one.instruction) for one in emulation.products if not one.backward]
    assert forward == model.products["h100"] and not emulation.left
    assert len(emulation.products) == 3 * len(forward), "two gradients for each product"


def test_in_two_threads(model):
    """Both inside of one emulation; then each in one of its own, at the same time."""
    with ThreadPoolExecutor(2) as pool:
        for chip in model.chips:
            with emulate(chip) as emulation:
                found = [one.result() for one in [pool.submit(model), pool.submit(model)]]
            assert all(torch.equal(one, model.expected[chip]) for one in found)
            products = [(one.layer, one.operation, one.instruction) for one in emulation.products]
            assert sorted(products) == sorted(2 * model.products[chip]) and not emulation.left

        def alone(chip):
            with emulate(chip) as emulation:
                return model(), len(emulation.products)

        for chip, (found, count) in zip(model.chips, pool.map(alone, model.chips)):
            assert torch.equal(found, model.expected[chip]) and count == len(model.products[chip])


class Results(torch.utils.data.Dataset):
    """Each item is a result of the model."""

    def __init__(self, model):
        self.model = model

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.model()


def begin_child():
    """What a DataLoader's worker does, too: PyTorch's own threads (OpenMP) do not outlive a fork. A child that hangs ends."""
    torch.set_num_threads(1)
    faulthandler.dump_traceback_later(60, exit=True)


def in_child(model, pipe):
    begin_child()
    with emulate("h100") as emulation:
        found = model()
    pipe.send((found.float().numpy(), len(emulation.products)))


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_in_a_forked_child(model):
    """Inside of the emulation, and in one that the child enters, after products that ran on several threads."""
    large = torch.randn(512, 512).half()
    expected = model.expected["h100"]
    with emulate("h100") as emulation:
        large @ large
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                begin_child()
                os.write(write, bytes([torch.equal(model(), expected) and len(emulation.products) == 1 + len(model.products["h100"])]))
            finally:
                os._exit(0)
        os.close(write)
        assert os.read(read, 1) == b"\x01"
        os.close(read)
        os.waitpid(child, 0)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=in_child, args=(model, theirs))
    process.start()
    assert ours.poll(60)
    found, count = ours.recv()
    process.join(60)
    assert torch.equal(torch.from_numpy(found), expected.float()) and count == len(model.products["h100"])


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_in_a_data_loader(model, workers):
    loader = torch.utils.data.DataLoader(Results(model), num_workers=workers, timeout=60 if workers else 0, multiprocessing_context="fork" if workers else None)
    for chip in model.chips:
        with emulate(chip) as emulation:
            found = list(loader)
        assert len(found) == 4 and all(torch.equal(one[0], model.expected[chip]) for one in found)
        assert len(emulation.products) == (0 if workers else 4 * len(model.products[chip])), "a worker's are in its own copy"
