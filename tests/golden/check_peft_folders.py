#!/usr/bin/env python3
"""Checks folders of adapters with PEFT itself. Run by hand (pip install torch transformers peft):

    check_peft_folders.py make BASE ADAPTER [gpt2|llama|qwen2]   # a tiny random model, and an adapter that is not zero
    check_peft_folders.py same BASE ADAPTER OTHER                # two adapter folders hold the same values
    check_peft_folders.py merged BASE ADAPTER MERGED             # MERGED is PEFT's merge_and_unload() of the two

Between them, dslaunch trains with model.from=BASE lora.from=ADAPTER and exports, with and without --adapter.
"""
import sys

import peft
import torch
import transformers
from safetensors.torch import load_file


def make(base, adapter, arch="llama"):
    torch.manual_seed(5)
    if arch == "gpt2":
        config = transformers.GPT2Config(vocab_size=256, n_positions=64, n_embd=48, n_layer=2, n_head=4)
        model, targets = transformers.GPT2LMHeadModel(config), ["c_attn", "c_fc", "c_proj"]
    else:
        kind = dict(llama="Llama", qwen2="Qwen2")[arch]
        config = getattr(transformers, kind + "Config")(
            vocab_size=256, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=arch == "qwen2")
        model, targets = getattr(transformers, kind + "ForCausalLM")(config), ["q_proj", "v_proj", "gate_proj", "down_proj"]
    model.save_pretrained(base)
    adapted = peft.get_peft_model(model, peft.LoraConfig(
        r=4, lora_alpha=10, target_modules=targets, fan_in_fan_out=arch == "gpt2", task_type="CAUSAL_LM"))
    for name, weights in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.02)
    adapted.save_pretrained(adapter)


def adapted_model(base, adapter):
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    return peft.PeftModel.from_pretrained(model, adapter)


def same(base, adapter, other):
    adapted_model(base, other)  # PEFT loads it
    one, two = (load_file(folder + "/adapter_model.safetensors") for folder in (adapter, other))
    assert one.keys() == two.keys(), one.keys() ^ two.keys()
    for name, values in one.items():
        assert torch.equal(values, two[name]), name
    print(f"{len(one)} tensors are equal")


def merged(base, adapter, folder):
    ours = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with_adapter = adapted_model(base, adapter).eval()
    tokens = torch.arange(64).reshape(2, 32) * 7 % 256
    with torch.no_grad():
        beside = with_adapter(tokens).logits
        theirs = with_adapter.merge_and_unload().eval()
        together, exported = theirs(tokens).logits, ours(tokens).logits
    vocab = exported.shape[-1]
    worst = 0
    for name, values in ours.state_dict().items():
        want = theirs.state_dict()[name][: values.shape[0]]
        worst = max(worst, ((values - want).norm() / want.norm()).item())
    off = lambda a, b: ((a[..., :vocab] - b[..., :vocab]).norm() / b[..., :vocab].norm()).item()
    print(f"worst tensor {worst:.1e}; logits: PEFT merged {off(exported, together):.1e}, unmerged {off(exported, beside):.1e}")
    assert worst < 1e-6 and off(exported, together) < 1e-6


if __name__ == "__main__":
    dict(make=make, same=same, merged=merged)[sys.argv[1]](*sys.argv[2:])
