"""Makes tests/golden/fixtures/tokenizers: small tokenizers of every kind, hostile texts, and the tokens of Hugging Face's library.

    python tests/golden/make_tokenizer_fixture.py                     writes the fixtures
    python tests/golden/make_tokenizer_fixture.py compare BIN BYTES [FILE...]   compares our program BIN (tests/tokens_of) on BYTES
                                                                      of random text, with the fixtures' tokenizers and FILEs

Made with tokenizers 0.23. texts.json has the bytes of the texts in hexadecimal digits. NAME.json is a tokenizer.json, and
NAME.tokens.json a list with, for each text, its tokens with the special ones around it, and their text with and without those.
"""

import json
import pathlib
import random
import subprocess
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "tokenizers"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = "|".join([
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?", rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
            r"\s*[\r\n]+|\s+(?!\S)|\s+")

WORDS = ("the and of launcher rank Node gradient isn't WE'LL don't I'm 12345 3.14 0x1F café naïve Ünïcödé straße İstanbul ΣΊΣΥΦΟΣ "
         "привет мир שלום العربية हिन्दी ไทย 日本語 中文字符 한국어 ﬁne ① Ⅷ ½ x² e\u0301 a\u0308o\u0323 👍🏽 👩‍👩‍👧 🇩🇪 \u200d \ufeff "
         "<s> </s> [MASK] <|end|> <pad> [CLS] foo.bar@baz.org http://a.b/c?d=e&f #include <vector> {}[]() ... !!! \u00a0 \u2028 \u3000 "
         "ſ K’s ’ll don’t　全角 ＡＢＣ １２３ ㍿ \u0085 \u00ad \ufffd _under_score__ a_b snake_case CamelCase HTTPServer").split(" ")


def random_text(draw, size):
    """Returns `size` bytes or so: words, white space, any code points, long words, broken UTF-8."""
    parts, length = [], 0
    while length < size:
        kind = draw.random()
        if kind < 0.7:
            part = draw.choice(WORDS) + draw.choice([" ", " ", " ", "  ", "\n", "\t", "\r\n", "", " \n\n", "."])
        elif kind < 0.85:
            top = draw.choice([0x7F, 0xFF, 0x7FF, 0xFFFF, 0x2FFFF])
            codes = [draw.randrange(top + 1) for _ in range(draw.randrange(1, 12))]
            part = "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000 and is_old(c))
        elif kind < 0.99:
            part = draw.choice("ab_9 é中\n") * draw.randrange(1, 40)
        else:
            part = "".join(draw.choice("abcdefghij") for _ in range(draw.randrange(100, 300)))
        data = part.encode()
        if kind > 0.84 and kind < 0.85:
            data = bytes(draw.randrange(256) for _ in range(8))
        parts.append(data)
        length += len(data)
    return b"".join(parts)


def is_old(code):
    """Whether a code point is in Unicode 3.2: libraries of any age know its class."""
    import unicodedata
    return unicodedata.ucd_3_2_0.category(chr(code)) != "Cn" or unicodedata.category(chr(code)) == "Cn" and code > 0x2FFFD


def is_settled(text):
    """Whether all characters are in WORDS, or have had one class since Unicode 3.2."""
    import unicodedata
    known = set("".join(WORDS))
    return all(c in known or is_old(ord(c)) and (ord(c) > 0x2FFFD or unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)) for c in text)


def byte_level(pre):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                          special_tokens=["<|end|>", AddedToken("<pad>", special=True, lstrip=True)])


def split(*patterns):
    steps = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def word_piece(lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=500, show_progress=False, limit_alphabet=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer, trainer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    return tokenizer, trainers.UnigramTrainer(vocab_size=400, show_progress=False, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>")


def llama2():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    return tokenizer, trainers.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=special, max_token_length=12, limit_alphabet=120)


def metaspace_first():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace("▁", prepend_scheme="first"), pre_tokenizers.Digits(True)])
    tokenizer.decoder = decoders.Metaspace("▁", prepend_scheme="first")
    return tokenizer, trainers.BpeTrainer(vocab_size=300, show_progress=False, special_tokens=["<unk>", AddedToken("[MASK]", lstrip=True, rstrip=True)],
                                          limit_alphabet=60)


def whitespace():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_previous")])
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return tokenizer, trainers.BpeTrainer(vocab_size=350, show_progress=False, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=80)


KINDS = {
    "gpt2": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "roberta": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "llama3": lambda: byte_level(split(LLAMA3)),
    "qwen2": lambda: byte_level(split(QWEN2)),
    "o200k": lambda: byte_level(split(O200K)),
    "deepseek": lambda: byte_level(split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK)),
    "falcon": lambda: byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(False),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])),
    "bert_uncased": lambda: word_piece(True),
    "bert_cased": lambda: word_piece(False),
    "unigram": unigram,
    "llama2": llama2,
    "metaspace_first": metaspace_first,
    "whitespace": whitespace,
}


def finish(name, tokenizer):
    """Adds what training does not: tokens found in normalized text, tokens around a text."""
    if name in ("gpt2", "bert_uncased", "unigram"):
        tokenizer.add_tokens([AddedToken("launcher", normalized=True, single_word=True), AddedToken("http", normalized=False)])
    if name.startswith("bert"):
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")])
    if name == "llama2":
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    if name == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(("<|end|>", 0), ("<pad>", 1))
    if name == "llama3":
        data = json.loads(tokenizer.to_str())
        data["model"]["ignore_merges"] = True
        return Tokenizer.from_str(json.dumps(data))
    return tokenizer


def tokens_of(tokenizer, data):
    ids = tokenizer.encode(data.decode("utf-8", errors="replace")).ids
    return [ids, tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids)]


def write():
    draw = random.Random(1)
    corpus = [random_text(random.Random(100 + i), 2000).decode("utf-8", errors="replace") for i in range(30)]
    corpus += [" ".join(draw.choices(WORDS[:50], k=200)) for _ in range(50)]
    texts = [b"", b" ", b"a", b"\x00", b"\xef\xbb\xbfBOM", b"\xff\xfe\xed\xa0\x80\xf0\x9f\x91", b"  two  spaces ", b"x" * 3000,
             "é".encode() * 200, b"<|end|>", b"  <pad>  [MASK]  x[MASK]", b"launcher launchers a launcher.", b"\r\n\r\n \n"]
    texts += [random_text(draw, 400) for _ in range(8)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "texts.json").write_text(json.dumps([text.hex() for text in texts], indent=0) + "\n")
    for name, make in KINDS.items():
        tokenizer, trainer = make()
        tokenizer.train_from_iterator(corpus[30:] if name == "unigram" else corpus, trainer)
        tokenizer = finish(name, tokenizer)
        (FOLDER / f"{name}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False) + "\n")
        (FOLDER / f"{name}.tokens.json").write_text(json.dumps([tokens_of(tokenizer, text) for text in texts]) + "\n")
        print(name, tokenizer.get_vocab_size())


def compare(program, size, *files):
    """Compares tokens and decoded text, a text of about 1000 bytes at a time; prints the first difference of each tokenizer."""
    size, bad = int(size), 0
    for file in files or [FOLDER / f"{name}.json" for name in KINDS]:
        tokenizer = Tokenizer.from_file(str(file))
        draw = random.Random(7)
        texts = [random_text(draw, 1000) for _ in range(size // 1000)]
        done = subprocess.run([program, str(file)], input="\n".join(text.hex() for text in texts) + "\n", text=True, capture_output=True,
                              check=True)
        lines = done.stdout.split("\n")[:-1]
        assert len(lines) == len(texts), done.stderr
        different = 0
        for text, line in zip(texts, lines):
            ours, theirs = json.loads(line), tokens_of(tokenizer, text)
            if ours == theirs:
                continue
            different += 1
            if different == 1:
                show(text, ours, theirs, tokenizer)
        print(f"{file}: {different} of {len(texts)} texts differ")
        bad += different
    sys.exit(bad > 0)


def show(text, ours, theirs, tokenizer):
    place = next((i for i, (a, b) in enumerate(zip(ours[0], theirs[0])) if a != b), min(len(ours[0]), len(theirs[0])))
    for who, tokens in (("ours", ours[0]), ("theirs", theirs[0])):
        print(f"  {who} from token {place}:", [tokenizer.id_to_token(t) for t in tokens[max(place - 3, 0):place + 5]])
    if ours[0] == theirs[0]:
        for a, b in zip(ours[1:], theirs[1:]):
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            print("  texts:", repr(a[max(at - 10, 0):at + 10]), repr(b[max(at - 10, 0):at + 10]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        compare(*sys.argv[2:])
    write()
