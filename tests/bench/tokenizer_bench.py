"""Compares the speed of encoding with Hugging Face's tokenizers, one thread each, in turn. Asserts nothing but equal counts of tokens.

    tests/bench/tokenizer_bench.py BENCH TEXT [ROUNDS]      BENCH: build/release/tests/tokenizer_bench; TEXT: a file of lines

Trains a byte-level BPE of 16,000 tokens on the text, and encodes its lines: ours one by one, theirs as one call of encode_batch.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402

bench, text, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5
with open(text, encoding="utf-8", errors="replace") as file:
    lines = [line + "\n" for line in file.read().split("\n")[:-1]]
made = tokenizers.Tokenizer(tokenizers.models.BPE())
made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
made.train_from_iterator(lines, tokenizers.trainers.BpeTrainer(
    vocab_size=16000, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
ratios, ours, theirs = [], [], []
with tempfile.TemporaryDirectory() as work:
    made.save(f"{work}/tokenizer.json")
    for _ in range(rounds):
        words = subprocess.run([bench, f"{work}/tokenizer.json", text, "1"], capture_output=True, text=True, check=True).stdout.split()
        fresh = tokenizers.Tokenizer.from_file(f"{work}/tokenizer.json")  # its cache is empty, too
        begun = time.perf_counter()
        count = sum(len(each.ids) for each in fresh.encode_batch_fast(lines))
        taken = time.perf_counter() - begun
        assert count == int(words[0]), f"{words[0]} tokens, not {count}"
        size = int(words[1]) / 1e6
        ours.append(size / float(words[2]))
        theirs.append(size / taken)
        ratios.append(ours[-1] / theirs[-1])
for name, all_ in (("ours, MB/s", ours), ("tokenizers, MB/s", theirs), ("ratio", ratios)):
    print(f"{name}: {statistics.median(all_):.2f} ({min(all_):.2f} to {max(all_):.2f})")
