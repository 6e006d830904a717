"""Compares the speed of `dslaunch data pack` with Hugging Face's tokenizers, one thread each, in turn. Asserts nothing but equal tokens.

    tests/bench/packing_bench.py BIN [TEXT] [ROUNDS]      BIN: build/release/bin; TEXT: a file of lines, by default this project's files

Trains a byte-level BPE of 16,000 tokens on the text, writes its paragraphs as lines of JSON, and packs them: ours from the file to the
token file, theirs the encoding of the texts alone, without reading JSON and without writing.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402

source = pathlib.Path(__file__).resolve().parents[2]
program = sys.argv[1] + "/dslaunch"
files = [sys.argv[2]] if len(sys.argv) > 2 else sorted(str(p) for k in ("h", "cpp", "md") for p in source.glob(f"*/**/*.{k}") if "build" not in p.parts)
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
texts = [part for name in files for part in open(name, encoding="utf-8", errors="replace").read().split("\n\n") if part]
made = tokenizers.Tokenizer(tokenizers.models.BPE())
made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
made.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(
    vocab_size=16000, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
ratios, ours, theirs = [], [], []
with tempfile.TemporaryDirectory() as work:
    made.save(f"{work}/tokenizer.json")
    with open(f"{work}/a.jsonl", "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    with open(f"{work}/train.toml", "w") as out:
        out.write(f"[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a.jsonl\"\nformat = \"jsonl\"\ntokenizer = \"tokenizer.json\"\nseq_len = 64\n[batch]\nmicro = 1\n[train]\nsteps = 1\n")
    size = sum(len(text.encode()) for text in texts) / 1e6
    for number in range(rounds):
        begun = time.perf_counter()
        said = subprocess.run([program, "data", "pack", f"{work}/train.toml", "--threads", "1", "--out", f"{work}/out", f"data.cache={work}/cache{number}"],
                              capture_output=True, text=True, check=True).stdout
        ours.append(size / (time.perf_counter() - begun))
        fresh = tokenizers.Tokenizer.from_file(f"{work}/tokenizer.json")  # its cache is empty, too
        begun = time.perf_counter()
        count = sum(len(each.ids) for each in fresh.encode_batch_fast(texts))
        theirs.append(size / (time.perf_counter() - begun))
        assert f" {count} tokens" in said, f"{count} tokens, not: {said}"
        ratios.append(ours[-1] / theirs[-1])
print(f"{size:.1f} MB in {len(texts)} documents")
for name, all_ in (("ours, MB/s", ours), ("tokenizers, MB/s", theirs), ("ratio", ratios)):
    print(f"{name}: {statistics.median(all_):.2f} ({min(all_):.2f} to {max(all_):.2f})")
