"""Makes tests/golden/fixtures/sample: tiny Hugging Face folders with random weights, and the greedy
continuations of transformers' generate() for them.

    python tests/golden/make_sample_fixture.py            writes the folders
    python tests/golden/make_sample_fixture.py --check    compares generate() with the committed tokens

Made with torch 2.15 and transformers 5.23; --check was also run with transformers 4.57. Each folder
has, beside the model:

    prompts.txt   a prompt of token numbers on each line, of different lengths
    greedy.txt    64 greedy tokens for each, fp32, without a token that ends a text
    ended.txt     the same with the first token of end.txt as eos_token_id

T5's prompts go to the encoder. Folders of BERT and RoBERTa (fixtures/masks) have prompts with masks, and

    filled.txt    each prompt with the likeliest tokens in place of its masks, fp32
    likeliest.json    the three likeliest tokens of each mask, with their probabilities
"""

import argparse
import json
import pathlib

import torch
import transformers

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "sample"
MASKS = pathlib.Path(__file__).parent / "fixtures" / "masks"
TOKENS = 64
POSITIONS = 80
PROMPTS = [[7], [3, 1, 4, 1, 5], [60, 2, 59, 3, 58, 4, 57, 5, 56, 6, 55, 7, 54]]
COMMON = dict(vocab_size=61, bos_token_id=None, eos_token_id=None, pad_token_id=None)
LLAMA = dict(COMMON, hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=28, max_position_embeddings=POSITIONS)


def configs():
    yield "gpt2", transformers.GPT2Config(
        **COMMON, n_embd=20, n_layer=2, n_head=4, n_inner=36, n_positions=POSITIONS)
    yield "llama", transformers.LlamaConfig(**LLAMA, head_dim=8)
    yield "mistral", transformers.MistralConfig(**LLAMA, sliding_window=None)
    yield "qwen2", transformers.Qwen2Config(**LLAMA, tie_word_embeddings=True)
    # Norms of heads; and windows that a prompt exceeds, in all layers or in the second.
    yield "qwen3", transformers.Qwen3Config(**LLAMA, head_dim=8)
    yield "mistral_window", transformers.MistralConfig(**LLAMA, sliding_window=6)
    # Relative positions beyond the last bucket; the head tied and scaled, and its own.
    t5 = dict(vocab_size=61, d_model=20, d_kv=6, d_ff=36, num_layers=3, num_decoder_layers=2, num_heads=4,
              relative_attention_num_buckets=8, relative_attention_max_distance=20, eos_token_id=None,
              decoder_start_token_id=0, pad_token_id=0)
    yield "t5", transformers.T5Config(**t5)
    yield "t5_gated", transformers.T5Config(**t5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    yield "qwen2_window", transformers.Qwen2Config(**LLAMA, use_sliding_window=True, sliding_window=5, max_window_layers=1)


def masked_configs():
    common = dict(vocab_size=61, hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=36)
    yield "bert", transformers.BertConfig(**common, max_position_embeddings=14, pad_token_id=0), 60
    yield "roberta", transformers.RobertaConfig(**common, max_position_embeddings=16, pad_token_id=1), 4


def auto_class(config):
    if config.model_type == "t5":
        return transformers.AutoModelForSeq2SeqLM
    is_masked = config.model_type in ("bert", "roberta")
    return transformers.AutoModelForMaskedLM if is_masked else transformers.AutoModelForCausalLM


def load(folder):
    auto = auto_class(transformers.AutoConfig.from_pretrained(folder))
    return auto.from_pretrained(folder, dtype=torch.float32).eval()


def new_model(config):
    torch.manual_seed(1)
    model = auto_class(config).from_config(config)
    for name, weights in model.named_parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.5)  # wide, so that texts do not repeat
        elif name.endswith("bias"):
            torch.nn.init.normal_(weights, std=0.2)
    return model.to(torch.bfloat16)


def greedy(model, prompt, end=None):
    """Returns the new tokens, and the least distance of the chosen logit from the second one."""
    out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)).long(),
                         max_new_tokens=TOKENS, do_sample=False, eos_token_id=end, pad_token_id=0,
                         output_logits=True, return_dict_in_generate=True)
    least = min((step[0].topk(2).values @ torch.tensor([1.0, -1.0])).item() for step in out.logits)
    begin = 1 if model.config.is_encoder_decoder else len(prompt)
    return out.sequences[0, begin:].tolist(), least


def lines(rows):
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def masks_of(folder, mask):
    model = load(folder)
    prompts = [[7, mask, 9], [mask], [3, mask, mask, 2, 5, mask], [2, 59, 3, mask] + list(range(20, 30))]
    filled, likeliest = [], []
    for given in prompts:
        with torch.no_grad():
            logits = model(torch.tensor([given]), attention_mask=torch.ones(1, len(given)).long()).logits[0]
        best = logits.softmax(-1).topk(4)
        places = [i for i, token in enumerate(given) if token == mask]
        assert all((best.values[i][:-1] - best.values[i][1:]).min() > 1e-5 for i in places), "too close: use another seed"
        filled.append([int(best.indices[i][0]) if i in places else token for i, token in enumerate(given)])
        likeliest.append([[[int(best.indices[i][k]), round(float(best.values[i][k]), 4)] for k in range(3)] for i in places])
    return {"prompts.txt": lines(prompts), "filled.txt": lines(filled), "likeliest.json": json.dumps(likeliest) + "\n",
            "mask.txt": f"{mask}\n"}


def texts_of(folder):
    model = load(folder)
    found = [greedy(model, prompt) for prompt in PROMPTS]
    # Sums in another order must not choose another token.
    assert min(least for _, least in found) > 1e-3, "two logits are too close: use another seed"
    end = max(found[0][0], key=found[0][0].index)  # the one that first occurs last
    return {"prompts.txt": lines(PROMPTS), "greedy.txt": lines(tokens for tokens, _ in found),
            "end.txt": f"{end}\n",
            "ended.txt": lines(greedy(model, prompt, end)[0] for prompt in PROMPTS)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    folders = [(FOLDER / name, config, texts_of) for name, config in configs()]
    folders += [(MASKS / name, config, lambda folder, mask=mask: masks_of(folder, mask))
                for name, config, mask in masked_configs()]
    for folder, config, texts in folders:
        name = folder.name
        if not check and not folder.exists():
            new_model(config).save_pretrained(folder)
        for file, text in texts(folder).items():
            if check:
                assert (folder / file).read_text() == text, f"{folder / file} differs"
            else:
                (folder / file).write_text(text)
        print(name, "ok")


if __name__ == "__main__":
    main()
