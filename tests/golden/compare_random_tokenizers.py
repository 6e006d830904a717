"""Compares random tokenizers with Hugging Face's library: normalizers, pre-tokenizers, models, post-processors and decoders in
random combinations, trained on the spot, and hostile texts.

    python tests/golden/compare_random_tokenizers.py BIN COUNT [SEED]      BIN: tests/tokens_of of a build

Prints the seed, the parts and the first difference of each tokenizer that differs. Made for tokenizers 0.23. It leaves out what
docs/tokenizers.md says is refused or differs: characters that the library's tables do not have, a template behind a template, a
Metaspace that asks for the text's beginning behind a part that changes lengths, and added tokens that are empty, or the same
as another one, once they are normalized: which of these is found changes from run to run.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

from make_tokenizer_fixture import DEEPSEEK, LLAMA3, O200K, QWEN2, WORDS, is_settled, random_text, show
from tokenizers import AddedToken, Tokenizer, models, trainers

SPACE = "▁"
ALPHABET = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 324)]]  # of byte level
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>", "[MASK]"]


def normalizer(draw, depth=0):
    kind = draw.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Replace", "Prepend", "BertNormalizer", "Nmt",
                        "ByteLevel", "Sequence", "Sequence", "None"])
    if kind == "None" or (kind == "Sequence" and depth > 1):
        return None
    if kind == "Sequence":
        return {"type": kind, "normalizers": [part for _ in range(draw.randrange(4)) if (part := normalizer(draw, depth + 1))]}
    part = {"type": kind}
    if kind == "Strip":
        part |= {"strip_left": draw.random() < 0.5, "strip_right": draw.random() < 0.5}
    if kind == "Replace":
        part |= {"pattern": draw.choice([{"String": " "}, {"Regex": " {2,}"}, {"Regex": r"\s+"}, {"String": "a"}, {"Regex": r"[\r\n]+"}, {"Regex": "x*"}]),
                 "content": draw.choice([SPACE, " ", "", "ab", "é"])}
    if kind == "Prepend":
        part |= {"prepend": draw.choice([SPACE, " ", "x"])}
    if kind == "BertNormalizer":
        part |= {"clean_text": draw.random() < 0.7, "handle_chinese_chars": draw.random() < 0.7, "strip_accents": draw.choice([None, True, False]),
                 "lowercase": draw.random() < 0.5}
    return part


BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
PATTERNS = [LLAMA3, QWEN2, O200K, DEEPSEEK, r"\p{N}{1,3}", r"\s+", r"\w+|[^\w\s]+", r"[一-龥぀-ゟ゠-ヿ]+", r"\d", r"(?=[A-Z])", r"[^\S\n]+|\n"]


def pre_tokenizer(draw, depth=0):
    kind = draw.choice(["ByteLevel", "ByteLevel", "Split", "Split", "Metaspace", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation",
                        "Digits", "CharDelimiterSplit", "Sequence", "Sequence", "None"])
    if kind == "None" or (kind == "Sequence" and depth > 1):
        return None
    if kind == "Sequence":
        return {"type": kind, "pretokenizers": [part for _ in range(draw.randrange(4)) if (part := pre_tokenizer(draw, depth + 1))]}
    part = {"type": kind}
    if kind == "ByteLevel":
        part |= {"add_prefix_space": draw.random() < 0.5, "trim_offsets": True, "use_regex": draw.random() < 0.5}
    if kind == "Split":
        part |= {"pattern": draw.choice([{"Regex": draw.choice(PATTERNS)}] * 4 + [{"String": draw.choice([" ", "a", SPACE])}]),
                 "behavior": draw.choice(BEHAVIORS), "invert": draw.random() < 0.3}
    if kind == "Metaspace":
        part |= {"replacement": SPACE, "prepend_scheme": draw.choice(["always", "first", "never"]), "split": draw.random() < 0.6}
    if kind == "Punctuation":
        part |= {"behavior": draw.choice(BEHAVIORS)}
    if kind == "Digits":
        part |= {"individual_digits": draw.random() < 0.5}
    if kind == "CharDelimiterSplit":
        part |= {"delimiter": draw.choice([" ", "a", SPACE, "中"])}
    return part


def decoder(draw, depth=0):
    kind = draw.choice(["ByteLevel", "WordPiece", "Metaspace", "ByteFallback", "Fuse", "Strip", "Replace", "BPEDecoder", "Sequence", "Sequence", "None"])
    if kind == "None" or (kind == "Sequence" and depth > 1):
        return None
    if kind == "Sequence":
        return {"type": kind, "decoders": [part for _ in range(draw.randrange(5)) if (part := decoder(draw, depth + 1))]}
    part = {"type": kind}
    if kind == "ByteLevel":
        part |= {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    if kind == "WordPiece":
        part |= {"prefix": draw.choice(["##", "a", ""]), "cleanup": draw.random() < 0.5}
    if kind == "Metaspace":
        part |= {"replacement": SPACE, "prepend_scheme": draw.choice(["always", "first", "never"]), "split": draw.random() < 0.5}
    if kind == "Strip":
        part |= {"content": draw.choice([" ", "a", SPACE]), "start": draw.randrange(3), "stop": draw.randrange(3)}
    if kind == "Replace":
        part |= {"pattern": draw.choice([{"String": SPACE}, {"Regex": r"\s+"}, {"String": "e"}, {"Regex": "x*"}]), "content": draw.choice([" ", "", "zz"])}
    if kind == "BPEDecoder":
        part |= {"suffix": draw.choice(["</w>", "a"])}
    return part


def post_processor(draw, token_id, depth=0):
    kind = draw.choice(["TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel", "Sequence", "None"])
    if kind == "None" or (kind == "Sequence" and depth > 0):
        return None
    if kind == "Sequence":
        parts = [part for _ in range(draw.randrange(4)) if (part := post_processor(draw, token_id, depth + 1))]
        templates = [part for part in parts if part["type"] == "TemplateProcessing"]
        return {"type": kind, "processors": [part for part in parts if part not in templates[1:]]}
    cls, sep = draw.choice(SPECIAL), draw.choice(SPECIAL)
    if kind == "ByteLevel":
        return {"type": kind, "add_prefix_space": True, "trim_offsets": draw.random() < 0.5, "use_regex": True}
    if kind != "TemplateProcessing":
        part = {"type": kind, "sep": [sep, token_id(sep)], "cls": [cls, token_id(cls)]}
        return part | ({"trim_offsets": True, "add_prefix_space": draw.random() < 0.5} if kind == "RobertaProcessing" else {})
    around = [[{"SpecialToken": {"id": draw.choice(SPECIAL), "type_id": 0}} for _ in range(draw.randrange(3))] for _ in range(2)]
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {"type": kind, "single": [*around[0], text, *around[1]], "pair": [text, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {token: {"id": token, "ids": [token_id(token)] * 2, "tokens": [token] * 2} if draw.random() < 0.3 else
                               {"id": token, "ids": [token_id(token)], "tokens": [token]} for token in SPECIAL}}


def model(draw):
    """Returns a model to train, its trainer, and the changes to its JSON once it is trained."""
    kind = draw.choice(["BPE", "BPE", "BPE", "WordPiece", "Unigram"])
    special = [*SPECIAL] + ([f"<0x{byte:02X}>" for byte in range(256)] if draw.random() < 0.3 else [])
    size = draw.choice([100, 300, 600]) + len(special)
    alphabet = ALPHABET if draw.random() < 0.6 else []
    limit = {} if alphabet else {"limit_alphabet": draw.choice([60, 150])}
    if kind == "WordPiece":
        trainer = trainers.WordPieceTrainer(vocab_size=size, show_progress=False, special_tokens=special, initial_alphabet=alphabet, **limit)
        return models.WordPiece(unk_token="<unk>"), trainer, {"max_input_chars_per_word": draw.choice([100, 100, 5, 1])}
    if kind == "Unigram":
        trainer = trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=special, unk_token="<unk>", initial_alphabet=alphabet)
        return models.Unigram(), trainer, {"byte_fallback": draw.random() < 0.5} | ({"unk_id": None} if draw.random() < 0.1 else {})
    prefix, suffix = draw.choice([None, None, None, "##", "é"]), draw.choice([None, None, None, "</w>"])
    marks = {key: mark for key, mark in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", suffix)) if mark}
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=special, initial_alphabet=alphabet, **marks,
                                  max_token_length=draw.choice([None, None, 6]), **limit)
    return models.BPE(unk_token="<unk>", **marks), trainer, {"unk_token": draw.choice([None, "<unk>"]), "fuse_unk": draw.random() < 0.5, "byte_fallback": draw.random() < 0.5,
                           "ignore_merges": draw.random() < 0.3}


def added_tokens(draw):
    texts = draw.sample(["launcher", "http", "  ", "é", "<|end|>", "I'm", "12", "CLS", "\n\n", SPACE + "of", "[MASK]", "</s>", "中", "Node", "don't", "ab"],
                        k=draw.randrange(6))
    return [AddedToken(text, special=draw.random() < 0.4, normalized=draw.random() < 0.5, lstrip=draw.random() < 0.3, rstrip=draw.random() < 0.3,
                       single_word=draw.random() < 0.3) for text in texts]


def made(draw):
    """Returns the JSON of a random tokenizer; None where the library cannot train or read it."""
    trained, trainer, changes = model(draw)
    tokenizer = Tokenizer(trained)
    data = json.loads(tokenizer.to_str()) | {"normalizer": normalizer(draw), "pre_tokenizer": pre_tokenizer(draw)}
    tokenizer = Tokenizer.from_str(json.dumps(data))
    corpus = [" ".join(draw.choices(WORDS, k=200)) for _ in range(15)]
    tokenizer.train_from_iterator(corpus, trainer)
    if any(f'"{kind}"' in json.dumps([data["normalizer"], data["pre_tokenizer"]]) for kind in ("Replace", "ByteLevel", "NFKC", "NFKD", "Prepend", "BertNormalizer")):
        tokenizer = Tokenizer.from_str(tokenizer.to_str().replace('"prepend_scheme":"first"', '"prepend_scheme":"always"'))
    seen = {""}
    for token in added_tokens(draw):
        content = tokenizer.normalizer.normalize_str(token.content) if token.normalized and tokenizer.normalizer else token.content
        if content not in seen:
            tokenizer.add_tokens([token])
        seen.add(content)
    data = json.loads(tokenizer.to_str())
    data["model"] |= changes
    data["decoder"] = decoder(draw)
    data["post_processor"] = post_processor(draw, lambda token: tokenizer.token_to_id(token) or 0)
    return data


def texts_of(draw):
    texts = [b"", b" ", b"a", b"\x00", b"\xef\xbb\xbfBOM", b"\xff\xfe\xed\xa0\x80\xf0\x9f\x91", b"  two  spaces ", b"\r\n\r\n \n", b"x" * 300, "é".encode() * 100,
             b"launcher launchers a launcher. http://x", b"<s><pad>a</s> [MASK]  x[MASK]", "e\u0301\u0323中 12中\u200d👩‍👩‍👧 ".encode(), b"ab" * 50000]
    texts = texts[:-1] + [random_text(draw, 400) for _ in range(25)] + (texts[-1:] if draw.random() < 0.05 else [])
    return [text for text in texts if is_settled(text.decode("utf-8", errors="replace"))]


def theirs_of(tokenizer, text):
    """Returns tokens and texts; None for a text that is refused, "panic" where the library fails (its Strip of a short token)."""
    try:
        ids = tokenizer.encode(text.decode("utf-8", errors="replace")).ids
        return [ids, tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids)]
    except Exception:
        return None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "panic"


def differs(program, seed):
    """Returns 1 if a text has other tokens, None if there is no such tokenizer, else 0."""
    draw = random.Random(seed)
    try:
        data = made(draw)
        tokenizer = Tokenizer.from_str(json.dumps(data))
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        print(f"seed {seed}: not made: {error}")
        return None
    texts = texts_of(draw)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "tokenizer.json"
        file.write_text(json.dumps(data))
        done = subprocess.run([program, str(file)], input="\n".join(text.hex() for text in texts) + "\n", text=True, capture_output=True)
    lines = done.stdout.split("\n")[:-1]
    if len(lines) != len(texts):
        print(f"seed {seed}: {done.stderr.strip()}")
        return 1
    for text, line in zip(texts, lines):
        ours, theirs = json.loads(line), theirs_of(tokenizer, text)
        if ours == theirs or theirs == "panic":
            continue
        parts = {key: data[key] for key in ("normalizer", "pre_tokenizer", "decoder", "post_processor")}
        rest = {key: value for key, value in data["model"].items() if key not in ("vocab", "merges")}
        print(f"seed {seed}: {json.dumps(parts | {'model': rest}, ensure_ascii=False)}\n  {text[:200]!r}")
        if ours and theirs:
            show(text, ours, theirs, tokenizer)
        else:
            print("  ours:", ours and ours[0][:9], "theirs:", theirs and theirs[0][:9])
        return 1
    return 0


def main(program, count, seed=1):
    found = [differs(program, one) for one in range(int(seed), int(seed) + int(count))]
    print(f"{found.count(0)} tokenizers are equal, {found.count(1)} differ, {found.count(None)} were not made")
    sys.exit(found.count(1) > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
