"""Compares tokenizers that `dsrunner data train-tokenizer` makes with those that Hugging Face's BpeTrainer makes of the same text.

    python tests/golden/compare_trained_tokenizers.py DSRUNNER COUNT [SEED] [TEXT...]   random corpora and settings, and files of text
    python tests/golden/compare_trained_tokenizers.py make                              writes fixtures/trained_tokenizers.json

The whole tokenizer.json must be equal, except spaces: numbers of all tokens, order of all merges, special tokens, templates. Of each TEXT,
such as data/english.txt of scripts/fetch_text.sh, several vocabularies are made, and both times are printed. Made for tokenizers 0.23.
"""

import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from make_tokenizer_fixture import LLAMA3, O200K, QWEN2, WORDS, random_text
from tokenizers import AddedToken, Regex, Tokenizer, models, decoders, pre_tokenizers, processors, trainers

FIXTURE = pathlib.Path(__file__).parent / "fixtures" / "trained_tokenizers.json"
PATTERNS = {"gpt2": None, "llama3": LLAMA3, "qwen2": QWEN2, "o200k": O200K}
SPECIAL = {
    "gpt2": ["<|endoftext|>"],
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "t5": ["<pad>", "</s>", "<unk>"] + [f"<extra_id_{i}>" for i in range(100)],
}
AROUND = {"bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"), "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"), "t5": ("$A </s>", "$A </s> $B </s>")}


def expected(documents, settings):
    """Returns the library's tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    pattern = PATTERNS[settings["pattern"]]
    bytes_only = lambda words: pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words)
    tokenizer.pre_tokenizer = bytes_only(True) if pattern is None else pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), bytes_only(False)])
    tokenizer.decoder = decoders.ByteLevel()
    kind = settings["kind"]
    special = [AddedToken(t, special=True, normalized=False, lstrip=t == "<mask>") for t in SPECIAL[kind] + settings["special"]]
    trainer = trainers.BpeTrainer(vocab_size=settings["vocab"], min_frequency=settings["min_frequency"], special_tokens=special,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(documents, trainer)
    if kind in AROUND:
        single, pair = AROUND[kind]
        names = sorted({word.split(":")[0] for word in single.split() if not word.startswith("$")})
        tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(n, tokenizer.token_to_id(n)) for n in names])
    return json.loads(tokenizer.to_str())


def ours(program, files, out, settings, fields, threads):
    words = [program, "data", "train-tokenizer", *files, "--out", out, "--threads", str(threads)]
    for name in ("vocab", "kind", "pattern", "min_frequency"):
        words += ["--" + name.replace("_", "-"), str(settings[name])]
    if settings["special"]:
        words += ["--special", ",".join(settings["special"])]
    if fields:
        words += ["--fields", ",".join(fields)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    Tokenizer.from_file(out + "/tokenizer.json")  # the library reads it
    return json.load(open(out + "/tokenizer.json"))


def difference(mine, theirs):
    """Returns the first part that differs, or nothing."""
    for key in ("vocab", "merges"):
        a, b = mine["model"][key], theirs["model"][key]
        if a != b:
            a, b = [list(x.items() if key == "vocab" else x) for x in (a, b)]
            a.sort(key=str) if key == "vocab" else None
            b.sort(key=str) if key == "vocab" else None
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            return f"{key} {at} of {len(a)} and {len(b)}: {a[at:at + 3]} instead of {b[at:at + 3]}"
    for key in theirs:
        if mine.get(key) != theirs[key]:
            return f"{key}: {json.dumps(mine.get(key))[:600]} instead of {json.dumps(theirs[key])[:600]}"
    return None


def random_documents(draw):
    kind = draw.random()
    if kind < 0.4:  # few letters: many ties, and tokens that several pairs make
        letters = draw.choice(["ab", "abc", "aab", "é日a", "aA1 "])
        return [" ".join("".join(draw.choices(letters, k=draw.randrange(1, 12))) for _ in range(draw.randrange(1, 400))) for _ in range(draw.randrange(1, 4))]
    if kind < 0.7:
        return [" ".join(draw.choices(WORDS, k=draw.randrange(1, 300))) + draw.choice(["", "\n", " \n\n"]) for _ in range(draw.randrange(1, 9))]
    return [random_text(draw, draw.randrange(1, 20000)).decode(errors="replace") for _ in range(draw.randrange(1, 4))]


def random_settings(draw):
    kind = draw.choice(list(SPECIAL))
    special = draw.sample(["<|im_start|>", "<|im_end|>", "a", "ab", "the", "aba", "日", " x", "<extra>"], draw.choice([0, 0, 1, 3]))
    least = 256 + len(SPECIAL[kind]) + len(special)
    return {"kind": kind, "special": special, "pattern": draw.choice(list(PATTERNS)), "vocab": least + draw.choice([0, 1, 10, 50, 200, 2000]),
            "min_frequency": draw.choice([1, 1, 2, 2, 5, 40])}


def write_documents(draw, folder, documents):
    """Writes documents as text files, or as lines of JSON with one or two fields; returns files and fields."""
    kind, files = draw.random(), []
    if kind < 0.4:
        for i, document in enumerate(documents):
            files.append(f"{folder}/{i}.txt")
            open(files[-1], "w", newline="").write(document)
        return files, []
    fields = draw.choice([[], ["text"], ["a", "b"]])
    lines = []
    for i in range(0, len(documents), max(len(fields), 1)):
        texts = documents[i:i + max(len(fields), 1)] + [""]
        lines.append(json.dumps(dict(zip(fields or ["text"], texts)), ensure_ascii=draw.random() < 0.5))
    name = f"{folder}/all.jsonl" + draw.choice(["", ".gz"])
    opened = gzip.open(name, "wt", newline="") if name.endswith("gz") else open(name, "w", newline="")
    with opened as file:
        file.write("\n".join(lines) + "\n")
    return [name], fields


def compare(program, count, seed, texts):
    failures = 0
    for number in range(seed, seed + count):
        draw = random.Random(number)
        documents, settings = random_documents(draw), random_settings(draw)
        if not any(documents):
            continue
        with tempfile.TemporaryDirectory() as folder:
            files, fields = write_documents(draw, folder, [d for d in documents if d])
            mine = ours(program, files, folder + "/out", settings, fields, draw.choice([1, 2, 5]))
        found = difference(mine, expected([d for d in documents if d], settings))
        if found:
            failures += 1
            print(f"seed {number}, {settings}: {found}", flush=True)
    print(f"{count} random tokenizers from seed {seed}: {failures} differ", flush=True)
    for text in texts:
        for vocab, frequency, pattern in [(1000, 2, "gpt2"), (8192, 2, "llama3"), (8192, 40, "o200k"), (16384, 1, "qwen2"), (32000, 2, "gpt2")]:
            settings = {"kind": "gpt2", "special": [], "pattern": pattern, "vocab": vocab, "min_frequency": frequency}
            with tempfile.TemporaryDirectory() as folder:
                begin = time.monotonic()
                mine = ours(program, [text], folder + "/out", settings, [], os.cpu_count())
                middle = time.monotonic()
            theirs = expected([open(text, newline="", errors="replace").read()], settings)
            found = difference(mine, theirs)
            failures += found is not None
            print(f"{text}, vocabulary {vocab}, {pattern}: {len(mine['model']['vocab'])} tokens, {middle - begin:.2f} s and "
                  f"{time.monotonic() - middle:.2f} s: {found or 'equal'}", flush=True)
    return failures


def make():
    cases = []
    for number in range(6):
        draw = random.Random(100 + number)
        documents = [d[:1000] for d in random_documents(draw)[:2]]
        settings = random_settings(draw) | {"kind": "gpt2", "pattern": list(PATTERNS)[number % 4]}
        settings["vocab"] = min(settings["vocab"], 400)
        model = expected(documents, settings)["model"]
        cases.append({"documents": documents, **settings, "tokens": sorted(model["vocab"], key=model["vocab"].get)[257:], "merges": model["merges"]})
    FIXTURE.write_text(json.dumps(cases, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["make"]:
        make()
    else:
        seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
        sys.exit(compare(sys.argv[1], int(sys.argv[2]), seed, sys.argv[4:]) != 0)
