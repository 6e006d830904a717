"""Makes tests/golden/fixtures/tokenizer_folders: folders without tokenizer.json, hostile texts, and the tokens of transformers.

    python tests/golden/make_tokenizer_folders.py                       writes the fixtures
    python tests/golden/make_tokenizer_folders.py compare BIN COUNT [SEED]   compares our program BIN (tests/tokens_of) on COUNT
                                                                        folders with random vocabularies and settings
    python tests/golden/make_tokenizer_folders.py sentencepiece BIN COUNT    compares with SentencePiece itself, on words with single
                                                                        spaces: elsewhere transformers differs from it

Made with transformers 5.23, tokenizers 0.23 and sentencepiece 0.2. texts.json has the bytes of the texts in hexadecimal digits;
NAME/tokens.json has, for each text, its tokens with the special ones around it, and their text with and without those.
"""

import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import sentencepiece
import transformers
from make_tokenizer_fixture import WORDS, is_settled, random_text, show
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

transformers.logging.set_verbosity_error()
FOLDER = pathlib.Path(__file__).parent / "fixtures" / "tokenizer_folders"
NAMED = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]


def corpus_of(draw):
    return [" ".join(draw.choices(WORDS, k=200)) for _ in range(12)]


def byte_level_files(draw, special, size=380):
    """Returns vocab.json and merges.txt."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(corpus_of(draw), trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, special_tokens=special))
    model = json.loads(tokenizer.to_str())["model"]
    return {"vocab.json": json.dumps(model["vocab"], ensure_ascii=False).encode(),
            "merges.txt": "".join(["#version: 0.2\n", *(" ".join(merge) + "\n" for merge in model["merges"])]).encode()}


def word_piece_file(draw, special, lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    texts = [text.lower() for text in corpus_of(draw)] if lowercase else corpus_of(draw)
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=400, show_progress=False, limit_alphabet=150, special_tokens=special))
    vocab = sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])
    return {"vocab.txt": "".join(token + "\n" for token, _ in vocab).encode()}


def sentence_piece(draw, **settings):
    model = io.BytesIO()
    lines = [line for text in corpus_of(draw) for line in text.splitlines() if line.strip()]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:  # the usual ones take 240 kB
        rules.write("FF21\t41\nFB01\t66 69\n2460\t31\n3000\t20\nA0\t20\nAD\t\n41 308\tC4\n")
        rules.flush()
        if settings.pop("has_short_rules", False):
            settings["normalization_rule_tsv"] = rules.name
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, minloglevel=2, hard_vocab_limit=False,
                                                 character_coverage=0.98, **settings)
    return model.getvalue()


def t5_model(draw, **settings):
    return sentence_piece(draw, model_type="unigram", vocab_size=300, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, **settings)


def llama_model(draw, **settings):
    return sentence_piece(draw, model_type="bpe", vocab_size=700, byte_fallback=True, split_digits=True, normalization_rule_name="identity",
                          remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, **settings)


def token(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, **flags}


def fixtures():
    """Returns each folder's files, and the class that transformers reads them with."""
    draw = random.Random(1)
    roberta = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return {
        "gpt2": ("GPT2Tokenizer", byte_level_files(draw, ["<|endoftext|>"])),
        "gpt2_settings": ("GPT2Tokenizer", byte_level_files(draw, []) | {
            "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "add_bos_token": True, "add_eos_token": True,
                                      "bos_token": token("<b>", lstrip=True, __type="AddedToken"), "unk_token": None},
            "special_tokens_map.json": {"eos_token": token("<e>", rstrip=True), "additional_special_tokens": ["<x>", "<y>"]},
            "added_tokens.json": {"launcher": 391, "<x>": 390, "<e>": 395}}),
        "roberta": ("RobertaTokenizer", byte_level_files(draw, roberta) | {
            "config.json": {"model_type": "roberta"},
            "special_tokens_map.json": {"mask_token": token("<mask>", lstrip=True), "cls_token": "<s>"}}),
        "qwen2": ("Qwen2Tokenizer", byte_level_files(draw, []) | {
            "tokenizer_config.json": {"tokenizer_class": "Qwen2TokenizerFast", "add_bos_token": False, "add_prefix_space": False, "bos_token": None,
                                      "additional_special_tokens": ["<|im_start|>", "<|im_end|>"], "eos_token": "<|im_end|>", "added_tokens_decoder": {
                                          "400": token("<|endoftext|>", special=True, lstrip=True), "401": token("<|im_start|>", special=True),
                                          "402": token("<|im_end|>", special=True), "403": token("gradient", normalized=True, special=False)}}}),
        "bert": ("BertTokenizer", word_piece_file(draw, bert, True)),
        "bert_settings": ("BertTokenizer", word_piece_file(draw, bert, False) | {
            "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False,
                                      "cls_token": "<c>"}}),
        "t5": ("T5Tokenizer", {"spiece.model": t5_model(draw, has_short_rules=True)}),
        "t5_settings": ("T5Tokenizer", {"spiece.model": t5_model(draw, normalization_rule_name="identity", user_defined_symbols=["launcher"])} | {
            "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 3}}),
        "llama": ("LlamaTokenizer", {"tokenizer.model": llama_model(draw)}),
        "mistral": ("LlamaTokenizer", {"tokenizer.model": llama_model(draw, user_defined_symbols=["[INST]"])} | {
            "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": True,
                                      "bos_token": "<s>", "added_tokens_decoder": {"0": token("<unk>", special=True), "1": token("<s>", special=True)}}}),
    }


def put(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else (json.dumps(content, indent=1) + "\n").encode())


def reference(kind, folder):
    return getattr(transformers, kind).from_pretrained(str(folder)).backend_tokenizer


def tokens_of(tokenizer, data):
    ids = tokenizer.encode(data.decode("utf-8", errors="replace")).ids
    return [ids, tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids)]


HOSTILE = [b"", b" ", b"\x00", b"\xef\xbb\xbfBOM", b"\xff\xfe\xed\xa0\x80\xf0\x9f\x91", b"  two  spaces ", b"\r\n\r\n \n", b"x" * 200, "é".encode() * 50,
           b"<|endoftext|> <s>a</s>  <mask> [MASK]x <unk><extra_id_0> <b> <e>  <x><|im_start|> launcher gradient [INST]",
           "ＡＢＣ ﬁne ① a\u00adb A\u0308 ㍿ 全角\u3000 👍🏽👩‍👩‍👧 e\u0301\u0323 中文 हिन्दी".encode(), b"don't WE'LL 12345 3.14 #include <vector>"]


def write():
    draw = random.Random(2)
    texts = HOSTILE + [random_text(draw, 200) for _ in range(3)]
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "texts.json").write_text(json.dumps([text.hex() for text in texts], indent=0) + "\n")
    for name, (kind, files) in fixtures().items():
        (FOLDER / name).mkdir()
        put(FOLDER / name, files)
        tokenizer = reference(kind, FOLDER / name)
        (FOLDER / name / "tokens.json").write_text(json.dumps([tokens_of(tokenizer, text) for text in texts]) + "\n")
        print(name, tokenizer.get_vocab_size())


def random_token(draw, name):
    """Returns a text, or an object with flags. No text has two sets of flags: transformers then decodes it by the first one."""
    content = draw.choice(["<s>", "</s>", "<unk>", "<pad>", "<mask>", "[CLS]", "[MASK]", "<|endoftext|>", "<new>", "launcher", "<extra_id_1>", "é"])
    flags = {flag: draw.random() < 0.3 for flag in ("lstrip", "rstrip", "single_word", "normalized")}
    return token(f"<my_{name}>", **flags) if draw.random() < 0.4 else content


def random_settings(draw, kind):
    """Returns random tokenizer_config.json, special_tokens_map.json and added_tokens.json, or some of them."""
    def flag(key):
        return {key: draw.choice([True, False])} if draw.random() < 0.4 else {}
    # BERT's model needs its unknown token in vocab.txt; our program refuses other ones.
    named = [name for name in NAMED if kind != "BertTokenizer" or name != "unk_token"]
    config = {"tokenizer_class": kind + draw.choice(["", "Fast"])}
    for key in ("add_prefix_space", "add_bos_token", "add_eos_token", "legacy", "do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        config |= flag(key)
    if draw.random() < 0.2:
        config["extra_ids"] = draw.choice([0, 1, 7])
    for name in draw.sample(named, k=draw.randrange(3)):
        value = random_token(draw, name)
        config[name] = value if isinstance(value, str) else value | {"__type": "AddedToken"}
    if draw.random() < 0.3:
        config[draw.choice(["extra_special_tokens", "additional_special_tokens"])] = [draw.choice(["<x>", "<y>", "<extra_id_0>", "Node"]) for _ in range(2)]
    if draw.random() < 0.1:
        config["image_token"] = "<image>"
    if draw.random() < 0.3:
        listed = [token(content, special=draw.random() < 0.5, normalized=draw.random() < 0.5, lstrip=draw.random() < 0.3)
                  for content in draw.sample(["<s>", "<unk>", "[SEP]", "http", "<x>", "of", "  ", "<pad>"], k=3)]
        config["added_tokens_decoder"] = {str(draw.randrange(1000)): one for one in listed}
    files = {"tokenizer_config.json": config}
    if draw.random() < 0.3:
        files["special_tokens_map.json"] = {name: random_token(draw, name + "2") for name in draw.sample(named, k=draw.randrange(1, 4))}
    if draw.random() < 0.3:
        files["added_tokens.json"] = {content: 1000 + i for i, content in enumerate(draw.sample(["<x>", "rank", "<mask>", "é", "<new>", "\n\n"], k=2))}
    return files if draw.random() < 0.9 else {}


def random_folder(draw):
    kind = draw.choice(["GPT2Tokenizer", "RobertaTokenizer", "Qwen2Tokenizer", "BertTokenizer", "T5Tokenizer", "LlamaTokenizer"])
    special = draw.sample(["<s>", "</s>", "<unk>", "<pad>", "<mask>", "<|endoftext|>", "<x>"], k=draw.randrange(6))
    if kind == "BertTokenizer":
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + special
        files = word_piece_file(draw, special, draw.random() < 0.5)
    elif kind == "T5Tokenizer":
        files = {"spiece.model": t5_model(draw, normalization_rule_name=draw.choice(["nmt_nfkc", "nfkc_cf", "identity"]),
                                          user_defined_symbols=draw.sample(["launcher", "<x>", "é"], k=draw.randrange(2)))}
    elif kind == "LlamaTokenizer":
        files = {"tokenizer.model": llama_model(draw, user_defined_symbols=draw.sample(["launcher", "<x>", "[INST]"], k=draw.randrange(3)))}
    else:
        files = byte_level_files(draw, special, draw.choice([260, 400]))
    settings = random_settings(draw, kind)
    if not settings and kind in ("RobertaTokenizer", "Qwen2Tokenizer"):
        settings = {"config.json": {"model_type": "roberta" if kind == "RobertaTokenizer" else "qwen2"}}
    return kind, files | settings


def differs(program, seed):
    """Returns 1 if a text has other tokens, None if transformers does not read the folder, else 0."""
    draw = random.Random(seed)
    kind, files = random_folder(draw)
    settings = {name: content for name, content in files.items() if not isinstance(content, bytes)}
    with tempfile.TemporaryDirectory() as path:
        put(pathlib.Path(path), files)
        try:
            tokenizer = reference(kind, path)
        except Exception as error:
            print(f"seed {seed}: {kind} {json.dumps(settings)} not read: {str(error)[:200]}")
            return None
        added = [one["content"].encode() for one in json.loads(tokenizer.to_str())["added_tokens"]]
        texts = HOSTILE + [random_text(draw, 400) for _ in range(15)] + [b"ab" * 50000] * (draw.random() < 0.3)
        texts += [b"".join(draw.choice(added) + draw.choice([b"", b" ", b"\n", b"a", "é".encode()]) for _ in range(8)) for _ in range(5 if added else 0)]
        texts = [text for text in texts if is_settled(text.decode("utf-8", errors="replace"))]
        done = subprocess.run([program, path], input="\n".join(text.hex() for text in texts) + "\n", text=True, capture_output=True)
    lines = done.stdout.split("\n")[:-1]
    if len(lines) != len(texts):
        print(f"seed {seed}: {kind} {json.dumps(settings)}\n  {done.stderr.strip()}")
        return 1
    for text, line in zip(texts, lines):
        ours, theirs = json.loads(line), tokens_of(tokenizer, text)
        if ours != theirs:
            print(f"seed {seed}: {kind} {json.dumps(settings)}\n  {text[:200]!r}")
            show(text, ours or [[]], theirs, tokenizer)
            return 1
    return 0


def compare(program, count, seed=1):
    found = [differs(program, one) for one in range(int(seed), int(seed) + int(count))]
    print(f"{found.count(0)} folders are equal, {found.count(1)} differ, {found.count(None)} were not read by transformers")
    sys.exit(found.count(1) > 0)


def compare_sentencepiece(program, count):
    words = [word for word in WORDS if "<" not in word and len(word.split()) == 1]
    different = {"spiece.model": 0, "tokenizer.model": 0}
    for seed in range(int(count)):
        draw = random.Random(seed)
        name = draw.choice(list(different))
        model = t5_model(draw) if name == "spiece.model" else llama_model(draw)
        texts = [" ".join(draw.choices(words, k=40)) for _ in range(50)]
        with tempfile.TemporaryDirectory() as path:
            put(pathlib.Path(path), {name: model})
            done = subprocess.run([program, path], input="\n".join(text.encode().hex() for text in texts) + "\n", text=True, capture_output=True,
                                  check=True)
        ours = [json.loads(line)[0] for line in done.stdout.split("\n")[:-1]]
        theirs = sentencepiece.SentencePieceProcessor(model_proto=model).encode(texts)
        different[name] += sum(a[:-1 if name == "spiece.model" else None] != b for a, b in zip(ours, theirs, strict=True))
    print(f"of {50 * int(count)} texts, {different} have other tokens")
    sys.exit(different["tokenizer.model"] > 0)  # of two splits with one score, SentencePiece's fp32 sums may take the other


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        compare(*sys.argv[2:])
    elif sys.argv[1:2] == ["sentencepiece"]:
        compare_sentencepiece(*sys.argv[2:])
    else:
        write()
