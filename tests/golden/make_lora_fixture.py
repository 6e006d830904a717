#!/usr/bin/env python3
"""Creates the fixtures of adapters (LoRA) for the golden tests: PEFT's own models in double precision.

Run by hand (pip install torch transformers peft; made with transformers 5.23 and peft 0.21.2):
tests/golden/make_lora_fixture.py [CASE ...]
The base model's weights and the adapters, neither of which are zeros, come from the formula of
make_gpt2_fixture.py. Only the adapters train.
"""
import sys

import peft
import torch
import transformers
from torch.func import functional_call

import make_gpt2_fixture as base
import make_llama_fixture as llama

GPT2_SHAPES = base.parameter_shapes

CASES = {
    # Every linear layer; three and two adapters beside one product.
    "lora_llama": dict(llama.CASES["llama_tiny"], layers=1, seed=11,
                       lora=dict(rank=4, alpha=8, rslora=False, targets=["all-linear"])),
    # Some layers, biases beside adapters, an odd rank; a tied head, which has no adapter.
    "lora_qwen2": dict(llama.CASES["qwen2_tiny"], seed=12,
                       lora=dict(rank=3, alpha=5, rslora=True, targets=["q_proj", "v_proj", "down_proj"])),
    # Products with a GELU behind the adapter; weights are (inputs, outputs) in the files too.
    "lora_gpt2": dict(base.CASES["gpt2_odd"], seed=13,
                      lora=dict(rank=2, alpha=2, rslora=False, targets=["c_attn", "c_fc", "mlp.c_proj"])),
}


def is_gpt2(c):
    return "arch" not in c


def their_parts(c, ours):
    """Returns the transformers' names for one of our weights, and how many of our columns each has."""
    return [("transformer." + ours, None)] if is_gpt2(c) else llama.hugging_face_names(c, ours)


def linear_layers(c):
    """Returns (Hugging Face's name, our name without the prefix, inputs, outputs) of every linear layer."""
    shapes = GPT2_SHAPES(c) if is_gpt2(c) else llama.parameter_shapes(c)
    for name, shape, _, _ in shapes:
        if len(shape) != 2 or not any(word in name for word in ("_proj", "c_attn", "c_fc")):
            continue
        for theirs, columns in their_parts(c, name):
            module = theirs.removesuffix(".weight")
            yield module, module.split(".", 1)[1], shape[0], columns or shape[1]


def has_adapter(c, module):
    targets = c["lora"]["targets"]
    return targets == ["all-linear"] or any(module.endswith("." + target) for target in targets)


def parameter_shapes(c):
    shapes = GPT2_SHAPES(c) if is_gpt2(c) else llama.parameter_shapes(c)
    for module, ours, inputs, outputs in linear_layers(c):
        if has_adapter(c, module):
            shapes.append((ours + ".lora_A.weight", (inputs, c["lora"]["rank"]), 0, 2**-2))
            shapes.append((ours + ".lora_B.weight", (c["lora"]["rank"], outputs), 0, 2**-3))
    return shapes


def model_of(c):
    """Returns PEFT's model."""
    if is_gpt2(c):
        config = transformers.GPT2Config(
            vocab_size=c["vocab"], n_positions=c["seq_len"], n_embd=c["hidden"], n_layer=c["layers"],
            n_head=c["heads"], resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager")
        model = transformers.GPT2LMHeadModel(config)
    else:
        family = llama.CLASSES[c["arch"]]
        config = getattr(transformers, family + "Config")(
            vocab_size=c["vocab"], hidden_size=c["hidden"], intermediate_size=c["ffn"],
            num_hidden_layers=c["layers"], num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"],
            rope_theta=c["rope_theta"], head_dim=llama.head_size(c), rms_norm_eps=c["norm_eps"],
            tie_word_embeddings=c["tied"], max_position_embeddings=c["seq_len"], attn_implementation="eager")
        model = getattr(transformers, family + "ForCausalLM")(config)
    lora = c["lora"]
    targets = "all-linear" if lora["targets"] == ["all-linear"] else lora["targets"]
    return peft.get_peft_model(model, peft.LoraConfig(
        r=lora["rank"], lora_alpha=lora["alpha"], use_rslora=lora["rslora"], target_modules=targets,
        fan_in_fan_out=is_gpt2(c), task_type="CAUSAL_LM"))


MODELS = {}


def their_weights(p, c):
    """Returns PEFT's parameters, made of ours."""
    weights = {}
    adapted = {module for module, _, _, _ in linear_layers(c) if has_adapter(c, module)}
    for ours, values in p.items():
        if ".lora_" in ours:
            module, which = ours.removesuffix(".weight").rsplit(".", 1)
            prefix = "transformer." if is_gpt2(c) else "model."
            weights[f"base_model.model.{prefix}{module}.{which}.default.weight"] = values.T
            continue
        parts = their_parts(c, ours)
        cut = [values] if parts[0][1] is None else values.split([n for _, n in parts], -1)
        for (theirs, _), part in zip(parts, cut):
            module, end = theirs.rsplit(".", 1)
            linear = not is_gpt2(c) and part.dim() == 2 and "_proj" in theirs
            layer = ".base_layer" if module in adapted else ""
            weights[f"base_model.model.{module}{layer}.{end}"] = part.T if linear else part
    return weights


def forward(p, tokens, c):
    key = c["seed"]
    if key not in MODELS:
        MODELS[key] = model_of(c).double().eval()
    names = {name for name, _ in MODELS[key].named_parameters()}
    weights = their_weights(p, c)
    assert names == set(weights), names ^ set(weights)
    dtype = next(iter(p.values())).dtype
    model = MODELS[key].to(dtype)
    return functional_call(model, weights, (tokens,)).logits[..., : c["valid_vocab"]]


def make_parameters(c, dtype):
    parameters = MAKE_PARAMETERS(c, dtype)
    for name, values in parameters.items():
        values.requires_grad_(".lora_" in name)
    return parameters


if __name__ == "__main__":
    MAKE_PARAMETERS = base.make_parameters
    base.CASES = {name: CASES[name] for name in sys.argv[1:] or CASES}
    base.parameter_shapes, base.forward, base.make_parameters = parameter_shapes, forward, make_parameters
    base.main()
