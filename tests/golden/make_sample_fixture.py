"""Makes tests/golden/fixtures/sample: tiny Hugging Face folders with random weights, and the greedy
continuations of transformers' generate() for them.

    python tests/golden/make_sample_fixture.py            writes the folders
    python tests/golden/make_sample_fixture.py --check    compares generate() with the committed tokens

Made with torch 2.15 and transformers 5.23; --check was also run with transformers 4.57. Each folder
has, beside the model:

    prompts.txt   a prompt of token numbers on each line, of different lengths
    greedy.txt    64 greedy tokens for each, fp32, without a token that ends a text
    ended.txt     the same with the first token of end.txt as eos_token_id
"""

import argparse
import pathlib

import torch
import transformers

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "sample"
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
    yield "qwen2_window", transformers.Qwen2Config(**LLAMA, use_sliding_window=True, sliding_window=5, max_window_layers=1)


def new_model(config):
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config)
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
    return out.sequences[0, len(prompt):].tolist(), least


def lines(rows):
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def texts_of(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
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
    for name, config in configs():
        folder = FOLDER / name
        if not check and not folder.exists():
            new_model(config).save_pretrained(folder)
        for file, text in texts_of(folder).items():
            if check:
                assert (folder / file).read_text() == text, f"{folder / file} differs"
            else:
                (folder / file).write_text(text)
        print(name, "ok")


if __name__ == "__main__":
    main()
