"""Makes tests/golden/fixtures/eval: data for `dslaunch eval`, and the losses of transformers' models on them.

    python tests/golden/make_eval_fixture.py            writes the files
    python tests/golden/make_eval_fixture.py --check    computes the losses again and compares them with the committed ones

Made with torch and transformers 5.23. The models are those of make_sample_fixture.py. The files:

    rows.safetensors      samples of 24 tokens: documents beside each other, and padding
    masked.safetensors    samples of 12 tokens, of which some are hidden and predicted
    tokenizer.json        a token for each of 60 characters
    text.txt              a text, which is cut into rows of 16 tokens; every token but the first one is predicted once
    expected.txt          model, data, mean loss in nats over all targets in fp32, number of targets
"""

import argparse
import json
import pathlib
import random

import torch
import transformers
from safetensors.torch import save_file

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
FOLDER = FIXTURES / "eval"
MASK, WINDOW = 60, 16
TEXT = "ALL THE LOSSES OF THIS TEXT ARE SUMMED, AND NO TOKEN IS COUNTED TWICE: 3.14159 * 2 = 6.28318; (A+B)/C ?"
CHARACTERS = [chr(33 + i) for i in range(59)] + ["\u0120"]


def load(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    masked = config.model_type in ("bert", "roberta")
    auto = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    return auto.from_pretrained(folder, dtype=torch.float32).eval()


def rows():
    """Returns tokens and documents: two documents and padding, one, three."""
    draw = random.Random(3)
    tokens, documents = [], []
    for lengths in ([11, 9], [24], [3, 1, 19], [23]):
        row = [number for number, length in enumerate(lengths) for _ in range(length)]
        tokens.append([draw.randrange(61) for _ in row] + [0] * (24 - len(row)))
        documents.append(row + [-1] * (24 - len(row)))
    return torch.tensor(tokens), torch.tensor(documents)


def masked_rows():
    draw = random.Random(5)
    tokens = torch.tensor([[draw.randrange(2, 60) for _ in range(12)] for _ in range(3)])
    targets = torch.full_like(tokens, -100)
    for row, columns in enumerate(([1, 5], [0, 7, 11], [4])):
        for column in columns:
            targets[row, column] = tokens[row, column]
            tokens[row, column] = MASK
    return tokens, targets


def summed(logits, targets):
    return torch.nn.functional.cross_entropy(logits.double(), targets, reduction="sum").item()


def loss_of_next(model, texts):
    """Returns the mean over all tokens but the first one of each text."""
    total = count = 0
    for text in texts:
        if len(text) < 2:
            continue
        with torch.no_grad():
            logits = model(text[None]).logits[0]
        total += summed(logits[:-1], text[1:])
        count += len(text) - 1
    return total / count, count


def documents_of(tokens, documents):
    for row, numbers in zip(tokens, documents):
        for number in range(int(numbers.max()) + 1):
            yield row[numbers == number]


def windows_of(tokens):
    """The last token of a window is the first one of the next, so that each is predicted once."""
    return [tokens[at:at + WINDOW + 1] for at in range(0, len(tokens) - 1, WINDOW)]


def loss_of_masked(model, tokens, targets):
    with torch.no_grad():
        logits = model(tokens, attention_mask=torch.ones_like(tokens)).logits
    chosen = targets >= 0
    return summed(logits[chosen], targets[chosen]) / int(chosen.sum()), int(chosen.sum())


def expected():
    text = torch.tensor([CHARACTERS.index("\u0120" if c == " " else c) for c in TEXT])
    for name in ("gpt2", "llama", "qwen3"):
        model = load(FIXTURES / "sample" / name)
        yield name, "rows", *loss_of_next(model, documents_of(*rows()))
        yield name, "text", *loss_of_next(model, windows_of(text))
    for name in ("bert", "roberta"):
        yield name, "masked", *loss_of_masked(load(FIXTURES / "masks" / name), *masked_rows())


def write_data():
    FOLDER.mkdir(exist_ok=True)
    tokens, documents = rows()
    save_file({"tokens": tokens.to(torch.uint8), "documents": documents.int()}, FOLDER / "rows.safetensors")
    tokens, targets = masked_rows()
    save_file({"tokens": tokens.to(torch.uint8), "targets": targets.int()}, FOLDER / "masked.safetensors")
    (FOLDER / "text.txt").write_text(TEXT)
    (FOLDER / "tokenizer.json").write_text(json.dumps({
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(CHARACTERS)}, "merges": []}}) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if not check:
        write_data()
    lines = [f"{name} {data} {loss:.6f} {count}" for name, data, loss, count in expected()]
    path = FOLDER / "expected.txt"
    if not check:
        path.write_text("\n".join(lines) + "\n")
    for line, committed in zip(lines, path.read_text().splitlines(), strict=True):
        *words, loss, count = line.split()
        *theirs, their_loss, their_count = committed.split()
        assert (words, count) == (theirs, their_count) and abs(float(loss) - float(their_loss)) < 1e-5, f"{line}, not {committed}"
    print("\n".join(lines))


if __name__ == "__main__":
    main()
