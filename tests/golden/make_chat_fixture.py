"""Makes tests/golden/fixtures/chat: conversations as transformers' apply_chat_template writes them, their tokens and trained tokens.

    python tests/golden/make_chat_fixture.py write TEXTS               writes the fixture
    python tests/golden/make_chat_fixture.py hashes BIN TEXTS          prints the rows of engine/chat/known_texts.cpp
    python tests/golden/make_chat_fixture.py compare BIN TEXTS COUNT [TOKENIZER.json]   compares our program BIN (tests/chat_of) on COUNT
                                                                       random conversations for each text, which also proves the table of
                                                                       hashes; with the fixture's tokenizers or another one

Made with transformers 5.23, tokenizers 0.23 and the training templates of TRL 1.16. TEXTS is a folder that is not in this repository,
because the texts belong to others. It has NAME.jinja for each template of docs/chat.md: "chat_template" of a model's
tokenizer_config.json. NAME.ANYTHING.jinja are further texts that must write the same. NAME.training.jinja are those of TRL (the folder
trl/chat_templates of its wheel), which mark the trained part; where there is none, this program puts the marks into the text.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from chat_reference import ALPACA, ARGUMENTS, BYTES, PIECES, TEMPLATES, A, S, U, expected, marked, texts_in

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "chat"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

CONVERSATIONS = [
    [(U, "Hello!")],
    [(S, "You are a pirate."), (U, "What is 2 + 2?")],
    [(U, "What is the capital of France?"), (A, "It is Paris.")],
    [(S, "Be brief."), (U, "Hello, who are you?"), (A, "I am a model."), (U, "Thank you!"), (A, "You are welcome.")],
    [(U, "Übung \U0001f600 日本語 cafe\u0301"), (A, "\u0301a \u0338b naïve \U0001f469\u200d\U0001f680"), (U, "ok"), (A, "日本 \U0001f600")],
    [(S, " \n system \t"), (U, "  two blanks \n\n"), (A, "\n\n answer \u00a0\u2003"), (U, "\x1c\x85x\x1f"), (A, "\t\n")],
    [(S, "<|im_end|>"), (U, "a <|im_start|> b <s> [INST] <|eot_id|>c {eos} {bos}"), (A, "<|im_end|></s>{date} <|eot_id|><unk> x")],
    [(U, "1"), (A, "<think>\none\n</think>\n\nfirst"), (U, "2"), (A, "<think>\n\ntwo\n\n</think>\n\n\nsecond\n")],
    [(U, "1"), (A, "<think>one</think>first"), (U, "2"), (A, "second")],
    [(S, "s"), (U, "1"), (A, "a</think>b</think>c"), (A, "<think>x</think>y"), (A, "<think>\n</think>\nz"), (A, "end")],
    [(U, ""), (A, "")],
    [(S, ""), (U, "x"), (A, "\n\n\nHello\n")],
    [(U, "1"), (S, "late"), (U, "2"), (A, "3")],
    [(A, "I begin."), (U, "Why?")],
    [(S, "alone")],
    [(U, "q"), (A, "call"), (U, "<tool_response>r</tool_response>"), (A, "<think>t</think>w"), (U, "u"), (A, "\nlast")],
    [(U, "Write a story about the launcher and the nodes."), (A, "The launcher started the nodes. The nodes answered the launcher."),
     (U, "  And then?"), (A, " The launcher stopped the nodes, and the story ended.")],
]


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, show_progress=False, special_tokens=SPECIALS,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return tokenizer, trainer


def sentence_piece():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    return tokenizer, trainers.BpeTrainer(vocab_size=520, show_progress=False, special_tokens=special, max_token_length=12, limit_alphabet=90)


def trained(kind):
    """Returns a small tokenizer whose post-processor adds a begin token, which a conversation must not get twice."""
    tokenizer, trainer = byte_level() if kind == BYTES else sentence_piece()
    corpus = [content for messages in CONVERSATIONS for _, content in messages] * 5
    corpus += ["### Instruction:\nassistant\n\nassistant\nuser\n\nsystem\n ### Response:\n [INST] [/INST] <<SYS>> <</SYS>>\n\n <|user|>\n"] * 20
    corpus += ["[/INST] The [/INST]I am ]The\nThe\n\nThe"] * 20
    tokenizer.train_from_iterator(corpus, trainer)
    if kind == BYTES:
        tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    begin = "<|begin_of_text|>" if kind == BYTES else "<s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A", special_tokens=[(begin, tokenizer.token_to_id(begin))])
    if kind != BYTES:  # bytes of the fallback are not special
        data = json.loads(tokenizer.to_str())
        data["added_tokens"] = [token for token in data["added_tokens"] if not token["content"].startswith("<0x")]
        return Tokenizer.from_str(json.dumps(data))
    return tokenizer


def tokens_of(tokenizer, pieces):
    """Returns the tokens of the whole text, and those that hold a trained character."""
    out = tokenizer.encode("".join(text for text, _ in pieces), add_special_tokens=False)
    is_trained = [flag for text, flag in pieces for _ in text]
    return out.ids, [any(is_trained[first:end]) for first, end in out.offsets]


def check_mask(name, fast, texts, messages, tokens, flags):
    """Compares with what transformers itself says."""
    chat = [{"role": role, "content": content} for role, content in messages]
    out = fast.apply_chat_template(chat, chat_template=marked(name, texts), tokenize=True, return_dict=True,
                                   return_assistant_tokens_mask=True, **ARGUMENTS.get(name, {}))
    assert out["input_ids"] == tokens, (name, messages)
    assert [bool(flag) for flag in out["assistant_masks"]] == flags, (name, messages, fast.convert_ids_to_tokens(tokens), flags)


def fast_of(name, tokenizers):
    kind, bos, eos = TEMPLATES[name]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizers[kind], bos_token=bos, eos_token=eos)


def runs(flags):
    """Returns the lengths of runs, the first of which is not trained."""
    lengths, last = [0], False
    for flag in flags:
        if flag != last:
            lengths.append(0)
            last = flag
        lengths[-1] += 1
    return lengths


def write(folder):
    texts = texts_in(folder)
    FOLDER.mkdir(parents=True, exist_ok=True)
    tokenizers = {kind: trained(kind) for kind in (BYTES, PIECES)}
    for kind, tokenizer in tokenizers.items():
        (FOLDER / f"{kind}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False) + "\n")
    (FOLDER / "alpaca.jinja").write_text(ALPACA)
    lines = []
    for name in TEMPLATES:
        fast = fast_of(name, tokenizers)
        for i, messages in enumerate(CONVERSATIONS):
            pieces = expected(name, texts, messages, False)
            row = {"template": name, "tokenizer": TEMPLATES[name][0], "conversation": i, "pieces": pieces}
            if pieces is not None:
                tokens, flags = tokens_of(tokenizers[TEMPLATES[name][0]], pieces)
                if not (name == "mistral-v3" and messages[0][0] == S and messages[-1][0] == A):
                    check_mask(name, fast, texts, messages, tokens, flags)
                whole = "".join(text for text, _ in pieces)
                asked = "".join(text for text, _ in expected(name, texts, messages, True))
                assert asked.startswith(whole) or name == "mistral-v3", (name, messages)
                row |= {"tokens": tokens, "runs": runs(flags), "prompt": asked[len(whole):]}
            lines.append(json.dumps(row, ensure_ascii=False))
    conversations = json.dumps(CONVERSATIONS, ensure_ascii=False)
    (FOLDER / "chat.json").write_text('{"conversations": ' + conversations + ',\n"rows": [\n' + ",\n".join(lines) + "\n]}\n")
    print(len(lines), "rows")


def hashes(program, folder):
    for name, variants in sorted(texts_in(folder).items()):
        if name == "qwen3-nothink":
            continue
        found = {}
        for variant, text in variants.items():
            done = subprocess.run([program, "hash"], input=text.encode(), capture_output=True, check=True)
            found.setdefault(done.stdout.decode().strip(), variant)
        for digits in found:
            print(f'    {{"{digits}", "{name}"}},')


def random_conversation(draw):
    parts = ["\n", " ", "\t", "a", "The nodes", "<think>", "</think>", "<|im_end|>", "</s>", "[INST]", "\u0301", "\U0001f600", "日", "{eos}", "1",
             "\r\n", "\u00a0", "\x1c", "<0x41>", "▁", "<unk>", "]", "'s"]
    text = lambda: "".join(draw.choices(parts, k=draw.randrange(8)))
    messages = [(S, text())] if draw.random() < 0.4 else []
    for i in range(draw.randrange(1, 6)):
        role = (U, A)[i % 2] if draw.random() < 0.95 else draw.choice([S, U, A])
        messages.append((role, text()))
    return messages


def lines_of(program, name, text, tokenizer, cases):
    """Returns what our program writes for each case, after a check that it recognizes the text."""
    _, bos, eos = TEMPLATES[name]
    config = {"chat_template": text, "bos_token": bos, "eos_token": {"content": eos}}
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "tokenizer_config.json").write_text(json.dumps(config))
        tokenizer.save(place + "/tokenizer.json")
        given = "".join(json.dumps(case) + "\n" for case in cases)
        done = subprocess.run([program, place], input=given.encode(), capture_output=True)
    lines = done.stdout.decode().split("\n")
    assert done.returncode == 0 and lines[0] == name, (name, lines[0], done.stderr.decode())
    return [json.loads(line) for line in lines[1:-1]]


def compare(program, folder, count, file=None):
    """Compares text, tokens and trained tokens of random conversations; prints the first difference of each text."""
    texts, bad = texts_in(folder), 0
    tokenizers = {kind: Tokenizer.from_file(file) if file else trained(kind) for kind in (BYTES, PIECES)}
    for name, variant in [(name, variant) for name in texts if name != "qwen3-nothink" for variant in texts[name]]:
        text, tokenizer = texts[name][variant], tokenizers[TEMPLATES[name][0]]
        draw = random.Random(len(variant) + 1)
        cases = [(random_conversation(draw), draw.random() < 0.3) for _ in range(int(count))]
        different, refused = 0, 0
        for case, ours in zip(cases, lines_of(program, name, text, tokenizer, cases), strict=True):
            pieces = expected(name, {**texts, name: {**texts[name], "": text}}, *case)
            refused += pieces is None
            theirs = None if pieces is None else ["".join(part for part, _ in pieces), *tokens_of(tokenizer, pieces)]
            if theirs == (None if isinstance(ours, str) else ours):
                continue
            different += 1
            if different == 1:
                print(case, "\n  ours", ours, "\n  theirs", theirs)
        print(f"{name} {variant}: {different} of {len(cases)} conversations differ; {refused} are refused by both")
        bad += different
    sys.exit(bad > 0)


if __name__ == "__main__":
    {"write": write, "hashes": hashes, "compare": compare}[sys.argv[1]](*sys.argv[2:])
