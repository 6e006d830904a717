#!/usr/bin/env python3
"""Writes parameter_counts.txt: the parameters of every preset as transformers counts them, on the meta device.

Run by hand (pip install transformers torch): tests/golden/count_parameters.py
Sizes are those of the config.json that each model was published with, written down here a second time, so that a
wrong size in engine/config/presets.cpp shows. A line: preset, rows of the embedding, parameters.
"""
import os

import torch
import transformers


def gpt2(layers, hidden, heads, vocab=50257):
    return transformers.GPT2Config(n_layer=layers, n_embd=hidden, n_head=heads, vocab_size=vocab)


def family(name, layers, hidden, heads, kv_heads, ffn, vocab, tied=False, **more):
    return getattr(transformers, name + "Config")(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=ffn, vocab_size=vocab, tie_word_embeddings=tied, **more)


def llama(*sizes, **more):
    return family("Llama", *sizes, **more)


def qwen2(*sizes, **more):
    return family("Qwen2", *sizes, **more)


def qwen3(*sizes, **more):
    return family("Qwen3", *sizes, head_dim=128, **more)


def bert(layers, hidden, heads, ffn, vocab):
    return transformers.BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                                   intermediate_size=ffn, vocab_size=vocab)


def roberta(layers, hidden, heads, ffn):
    return transformers.RobertaConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                                      intermediate_size=ffn, vocab_size=50265, max_position_embeddings=514, type_vocab_size=1)


def t5(layers, hidden, heads, head_size, ffn, first=False):
    return transformers.T5Config(
        num_layers=layers, d_model=hidden, num_heads=heads, d_kv=head_size, d_ff=ffn, vocab_size=32128, tie_word_embeddings=first,
        feed_forward_proj="relu" if first else "gated-gelu")


LLAMA3_8B, LLAMA3_70B = (32, 4096, 32, 8, 14336, 128256), (80, 8192, 64, 8, 28672, 128256)
PRESETS = {
    "gpt2-124m": gpt2(12, 768, 12),
    "gpt2-355m": gpt2(24, 1024, 16),
    "gpt2-774m": gpt2(36, 1280, 20),
    "gpt2-1558m": gpt2(48, 1600, 25),
    "gpt-10m": gpt2(6, 384, 6, 256),
    "gpt-tiny": gpt2(2, 64, 2, 256),
    "llama-7b": llama(32, 4096, 32, 32, 11008, 32000),
    "llama-13b": llama(40, 5120, 40, 40, 13824, 32000),
    "llama-30b": llama(60, 6656, 52, 52, 17920, 32000),
    "llama-65b": llama(80, 8192, 64, 64, 22016, 32000),
    "llama2-7b": llama(32, 4096, 32, 32, 11008, 32000),
    "llama2-13b": llama(40, 5120, 40, 40, 13824, 32000),
    "llama2-70b": llama(80, 8192, 64, 8, 28672, 32000),
    "llama3-8b": llama(*LLAMA3_8B),
    "llama3-70b": llama(*LLAMA3_70B),
    "llama3.1-8b": llama(*LLAMA3_8B),
    "llama3.1-70b": llama(*LLAMA3_70B),
    "llama3.1-405b": llama(126, 16384, 128, 8, 53248, 128256),
    "llama3.2-1b": llama(16, 2048, 32, 8, 8192, 128256, tied=True),
    "llama3.2-3b": llama(28, 3072, 24, 8, 8192, 128256, tied=True),
    "llama3.3-70b": llama(*LLAMA3_70B),
    "llama-10m": llama(6, 384, 6, 2, 1152, 256),
    "llama-tiny": llama(2, 64, 4, 2, 192, 256),
    "mistral-7b-v0.1": family("Mistral", 32, 4096, 32, 8, 14336, 32000),
    "mistral-7b": family("Mistral", 32, 4096, 32, 8, 14336, 32768),
    "qwen2.5-0.5b": qwen2(24, 896, 14, 2, 4864, 151936, tied=True),
    "qwen2.5-1.5b": qwen2(28, 1536, 12, 2, 8960, 151936, tied=True),
    "qwen2.5-3b": qwen2(36, 2048, 16, 2, 11008, 151936, tied=True),
    "qwen2.5-7b": qwen2(28, 3584, 28, 4, 18944, 152064),
    "qwen2.5-14b": qwen2(48, 5120, 40, 8, 13824, 152064),
    "qwen2.5-32b": qwen2(64, 5120, 40, 8, 27648, 152064),
    "qwen2.5-72b": qwen2(80, 8192, 64, 8, 29568, 152064),
    "qwen3-0.6b": qwen3(28, 1024, 16, 8, 3072, 151936, tied=True),
    "qwen3-1.7b": qwen3(28, 2048, 16, 8, 6144, 151936, tied=True),
    "qwen3-4b": qwen3(36, 2560, 32, 8, 9728, 151936, tied=True),
    "qwen3-8b": qwen3(36, 4096, 32, 8, 12288, 151936),
    "qwen3-14b": qwen3(40, 5120, 40, 8, 17408, 151936),
    "qwen3-32b": qwen3(64, 5120, 64, 8, 25600, 151936),
    "bert-base-uncased": bert(12, 768, 12, 3072, 30522),
    "bert-base-cased": bert(12, 768, 12, 3072, 28996),
    "bert-large-uncased": bert(24, 1024, 16, 4096, 30522),
    "bert-large-cased": bert(24, 1024, 16, 4096, 28996),
    "roberta-base": roberta(12, 768, 12, 3072),
    "roberta-large": roberta(24, 1024, 16, 4096),
    "hello-deepspeed": roberta(6, 256, 8, 512),
    "t5-small": t5(6, 512, 8, 64, 2048, True),
    "t5-base": t5(12, 768, 12, 64, 3072, True),
    "t5-large": t5(24, 1024, 16, 64, 4096, True),
    "t5-3b": t5(24, 1024, 32, 128, 16384, True),
    "t5-11b": t5(24, 1024, 128, 128, 65536, True),
    **{name + "-" + size: t5(*sizes) for name in ("t5-v1.1", "flan-t5") for size, sizes in {
        "small": (8, 512, 6, 64, 1024), "base": (12, 768, 12, 64, 2048), "large": (24, 1024, 16, 64, 2816),
        "xl": (24, 2048, 32, 64, 5120), "xxl": (24, 4096, 64, 64, 10240)}.items()},
}

if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parameter_counts.txt")
    with open(path, "w") as file:
        file.write("# Preset, rows of the embedding, parameters as transformers counts them (count_parameters.py)\n")
        for preset, config in PRESETS.items():
            with torch.device("meta"):
                is_masked = config.model_type in ("bert", "roberta")
                auto = (transformers.AutoModelForSeq2SeqLM if config.model_type == "t5" else
                        transformers.AutoModelForMaskedLM if is_masked else transformers.AutoModelForCausalLM)
                model = auto.from_config(config)
            model.tie_weights()
            count = sum(p.numel() for p in model.parameters())  # a shared tensor counts once
            if config.model_type == "t5" and config.feed_forward_proj == "gated-gelu":
                count += config.vocab_size * config.d_model  # the files of 1.1 and Flan hold a head that transformers 5 loads beside
            file.write(f"{preset} {config.vocab_size} {count}\n")
            print(preset, config.vocab_size, count, flush=True)
