"""Models that are trained for one step in an emulation, and digests of all that comes out: ``python host_models.py THREADS``."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

import bitmma

from host_calls import digest

IDS = torch.arange(24).view(2, 12) * 5 % 64
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64, "max_position_embeddings": 64}
OFF = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
WORDS = {"input_ids": IDS, "labels": IDS}


def _images(size: int) -> dict[str, torch.Tensor]:
    pixels = torch.randint(-2000, 2000, (2, 3, size, size), generator=torch.Generator().manual_seed(2))
    return {"pixel_values": pixels / 1000, "labels": torch.tensor([1, 2])}


def _of(kind: str, config: str, given: dict[str, torch.Tensor], **options: Any) -> Any:
    import transformers

    return getattr(transformers, kind)(getattr(transformers, config)(**options)), given


MODELS = {
    "llama": lambda: _of("LlamaForCausalLM", "LlamaConfig", WORDS, **SIZES, num_key_value_heads=1),
    "mixtral": lambda: _of("MixtralForCausalLM", "MixtralConfig", WORDS, **SIZES, num_key_value_heads=1, num_local_experts=4, num_experts_per_tok=2),
    "gpt2": lambda: _of(
        "GPT2LMHeadModel", "GPT2Config", WORDS, n_embd=32, n_layer=2, n_head=2, vocab_size=64, n_positions=64, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    ),
    "bert": lambda: _of("BertForMaskedLM", "BertConfig", WORDS | {"attention_mask": (torch.arange(24).view(2, 12) < 20).long()}, **SIZES, **OFF),
    "t5": lambda: _of(
        "T5ForConditionalGeneration", "T5Config", WORDS, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, vocab_size=64,
        decoder_start_token_id=0, dropout_rate=0,
    ),
    "deberta": lambda: _of(
        "DebertaV2ForMaskedLM", "DebertaV2Config", WORDS, **SIZES, **OFF, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8,
        type_vocab_size=0,
    ),
    "vit": lambda: _of("ViTForImageClassification", "ViTConfig", _images(16), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=16, patch_size=4, num_labels=5),
    "resnet": lambda: _of("ResNetForImageClassification", "ResNetConfig", _images(32), embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5),
}  # fmt: skip


def _weights(model: torch.nn.Module) -> None:
    """Numbers from integers, as random ones differ between machines."""
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, one in model.named_parameters():
            one.copy_(torch.randint(-1000, 1000, one.shape, generator=random) / 4000 + ("norm" in name.lower() and name.endswith("weight")))


def _results(name: str) -> dict[str, Any]:
    """Logits and loss, gradients, a clipped step of AdamW, running moments, and logits after it."""
    model, given = MODELS[name]()
    _weights(model)
    model = model.bfloat16().train()
    given = {key: one.bfloat16() if one.is_floating_point() else one for key, one in given.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    with bitmma.torch.emulate("h100", fp32="tf32") as emulation:
        found = model(**given)
        found.loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        after = model.eval()(**given)
    tensors = [found.loss, found.logits, norm, after.logits, *model.buffers(), *model.parameters()]
    tensors += [one.grad for one in model.parameters() if one.grad is not None]
    assert all(torch.isfinite(one).all() for one in tensors if one.is_floating_point())
    return {"digests": [digest(one) for one in tensors], "machine": dict(emulation.account.machine), "left": dict(emulation.left)}


def _smollm2() -> dict[str, Any]:
    import smollm2

    model = smollm2.load(smollm2.weights(), 4)
    with torch.no_grad(), bitmma.torch.emulate("h100") as emulation:
        logits = model(torch.arange(40)[None] * 131 % 4000, use_cache=False).logits
    return {"digests": [digest(logits)], "machine": dict(emulation.account.machine), "left": dict(emulation.left)}


def digests(threads: int) -> dict[str, Any]:
    """Of all models."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return {name: _results(name) for name in MODELS}
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    if "smollm2" in sys.argv:
        torch.set_num_threads(int(sys.argv[1]))
        print(json.dumps({"smollm2": _smollm2()}))
    else:
        print(json.dumps(digests(int(sys.argv[1]))))
