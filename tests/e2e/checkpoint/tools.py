#!/usr/bin/env python3
"""Tests dslaunch inspect, export, average and model.init on checkpoints with known values, with Python's standard library.

The safetensors are read by the format's description, element by element; where PyTorch and transformers
are installed, transformers also loads the exported folders. By hand: tests/e2e/checkpoint/tools.py
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from made_model import (BIN, HEADS, LAYERS, SEQ, SOURCE, WIDTH, Model, Run, check_export, gpt2_layout, llama_layout, make,
                        numbers, read_safetensors)


def test_inspect(work):
    whole = make(f"{work}/one", 40, "gpt2", 3, 1, "piece=1000")
    run = Run("inspect", whole).expect(0, "h.0 to h.1  2 equal blocks", "attn.c_attn.weight", "48 x 144",
                                       "in 3 chunks", "every piece is intact", "gpt2, layers 2")
    assert "\r" not in run.err, "no progress line where there is no terminal"
    facts = json.loads(Run("inspect", f"{work}/one", "--json").expect(0).out)
    assert facts["state"]["step"] == 40 and facts["verification"]["whole"] and len(facts["chunks"]) == 3
    assert facts["config"]["model.hidden"] == "48"
    Run("inspect", "--no-verify", whole).expect(0, "not checked")

    # A flipped byte breaks only the piece that contains it; a lost chunk breaks all of its pieces.
    broken = shutil.copytree(whole, f"{work}/flipped")
    with open(f"{broken}/rank-00001.chunk", "r+b") as file:
        file.seek(5000)
        byte = file.read(1)[0]
        file.seek(5000)
        file.write(bytes([byte ^ 4]))
    found = json.loads(Run("inspect", broken, "--json").expect(1).out)["verification"]["broken"]
    assert len(found) == 1 and found[0]["chunk"] == "rank-00001.chunk", found
    assert found[0]["bytes"][0] <= 5000 < found[0]["bytes"][1], found
    named = Run("inspect", broken).expect(1, f"broken      {found[0]['tensor']} {found[0]['state']}, elements",
                                          "still loads", "of 28 tensors")
    assert named.out.count("\nbroken ") == 1
    Run("export", broken, f"{work}/from_broken").expect(65 if found[0]["state"] == "master" else 0)
    os.remove(f"{broken}/rank-00002.chunk")
    Run("inspect", broken, "--all").expect(1, "rank-00002.chunk", "No such file")
    Run("inspect", "--no-verify", broken).expect(0)

    # Paths that are not checkpoints, and a save that was never finished.
    Run("inspect", work + "/nowhere").expect(65, "does not exist")
    Run("inspect", SOURCE).expect(65, "without a manifest.json or checkpoints")
    os.makedirs(f"{work}/half/step-00000009.tmp-1")
    Run("inspect", f"{work}/half").expect(65, "step-00000009.tmp-1")
    spoiled = shutil.copytree(whole, f"{work}/spoiled")
    with open(f"{spoiled}/manifest.json", "r+b") as file:
        file.seek(200)
        file.write(b"#")
    Run("inspect", spoiled).expect(65, "manifest.json")
    Run("inspect").expect(64)
    Run("inspect", whole, whole, whole).expect(64)
    Run("inspect", whole, "--jsno").expect(64, "--json")


def test_compare(work):
    a = make(f"{work}/a", 40, "gpt2", 1)
    same = make(f"{work}/same", 40, "gpt2", 4, 1, "piece=777", "zero.stage=3", "determinism.order=boundary")
    Run("inspect", a, same).expect(0, "equal: 84 of 84", "zero.stage")
    other = make(f"{work}/other", 60, "gpt2", 2, 2, "states=2")
    run = Run("inspect", a, other).expect(1, "different", "step ", "40  |  60", "wte.weight moment2", "only in a")
    found = json.loads(Run("inspect", a, other, "--json").expect(1).out)
    one, two, by_name = Model(1), Model(2), {(s["tensor"], s["state"]): s for s in found["states"]}
    for tensor, elements in (("ln_f.weight", WIDTH), ("h.1.attn.c_proj.weight", WIDTH * WIDTH)):
        for number, state in enumerate(("master", "moment1")):
            pairs = [(one.at(tensor, i, number), two.at(tensor, i, number)) for i in range(elements)]
            wanted = (sum(x != y for x, y in pairs), max(abs(x - y) for x, y in pairs))
            assert (by_name[tensor, state]["differing"], by_name[tensor, state]["largest"]) == wanted
    wider = make(f"{work}/wider", 40, "gpt2", 1, 1, "model.hidden=96")
    Run("inspect", a, wider).expect(1, "model.hidden", "shapes", "48 x 144  |  96 x 288")
    Run("inspect", a, make(f"{work}/llama", 40, "llama")).expect(1, "only in b")


def test_export(work):
    ranks = make(f"{work}/gpt2", 40, "gpt2", 3, 5, "piece=1000", "model.vocab=300")
    for dtype, kind in (("fp32", "F32"), ("bf16", "BF16"), ("fp16", "F16")):
        out = f"{work}/hf_{dtype}"
        Run("export", f"{work}/gpt2", out, "--dtype", dtype).expect(0, "256 of 320 rows", "1 file")
        check_export(out, gpt2_layout(256), Model(5), kind)
        assert sorted(os.listdir(out)) == ["config.json", "model.safetensors"]
    config = json.load(open(f"{work}/hf_bf16/config.json"))
    assert config["architectures"] == ["GPT2LMHeadModel"] and config["torch_dtype"] == "bfloat16"
    assert (config["n_embd"], config["n_positions"], config["vocab_size"]) == (WIDTH, SEQ, 256)
    Run("export", ranks, f"{work}/hf_all", "--vocab", 320, "--shard-size", "40K").expect(0)
    check_export(f"{work}/hf_all", gpt2_layout(320), Model(5), "F32")
    assert len([n for n in os.listdir(f"{work}/hf_all") if n.endswith(".safetensors")]) > 5
    for arch in ("llama", "llama-tied"):
        make(f"{work}/{arch}", 7, arch, 2, 9, "piece=1234")
        Run("export", f"{work}/{arch}", f"{work}/hf_{arch}", "--format", "hf").expect(0)
        ffn = json.load(open(f"{work}/hf_{arch}/config.json"))["intermediate_size"]
        check_export(f"{work}/hf_{arch}", llama_layout(ffn, 256, arch == "llama-tied"), Model(9), "F32")

    Run("export", ranks, f"{work}/hf_fp32").expect(65, "already exists")
    Run("export", ranks, f"{work}/no/such/parent").expect(65, "create the folder first")
    Run("export", ranks).expect(64)
    Run("export", ranks, f"{work}/x", "--dtype", "fp64").expect(64, "fp32, bf16, fp16")
    Run("export", ranks, f"{work}/x", "--vocab", 321).expect(64, "320 rows")
    # A write that fails leaves nothing; the file exceeds this limit.
    limited = ["-c", "trap '' XFSZ; ulimit -f 20; \"$@\"", "-", os.path.join(BIN, "dslaunch")]
    Run(*limited, "export", ranks, f"{work}/x", program="bash", folder="/bin").expect(1, "model.safetensors", "ulimit -f")
    assert not [n for n in os.listdir(work) if ".tmp-" in n or n == "x"], "nothing half-done is left"


def test_memory(work):
    """Exports a checkpoint of 290 MB with less than 80 MB of memory. Runs before all other tests, because
    Python's own past peak counts as its children's."""
    folder = make(f"{work}/big", 1, "llama", 2, 1, "states=1", "model.hidden=1920", "model.heads=16", "model.ffn=5120")
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    base = Run("--version", program="dsrunner").expect(0).peak
    threads = min(len(os.sched_getaffinity(0)), 16)
    peaks = {"export": Run("export", folder, f"{work}/big_hf").expect(0).peak - base,
             "inspect": Run("inspect", folder).expect(0).peak - base}
    print(f"{size >> 20} MiB: " + ", ".join(f"{tool} with {peak >> 20} MiB" for tool, peak in peaks.items()) +
          f" above the program's own {base >> 20}")
    libraries = subprocess.run(["ldd", os.path.join(BIN, "dsrunner")], capture_output=True, text=True).stdout
    if "libasan" not in libraries and "libtsan" not in libraries:  # a sanitizer uses memory of its own
        assert size > 280e6 and base < 40e6 and peaks["export"] < 80e6, (size, base, peaks)
        assert peaks["inspect"] < 20e6 + 8.5e6 * threads, peaks
    # Elements of a tensor that is larger than one panel.
    with open(f"{work}/big_hf/model.safetensors", "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        entry, model = json.loads(file.read(length))["model.layers.1.mlp.up_proj.weight"], Model(1)
        rows, inner = entry["shape"]
        for i in range(0, rows * inner, 98_765):
            file.seek(8 + length + entry["data_offsets"][0] + 4 * i)
            element = i % inner * 2 * rows + rows + i // inner
            assert struct.unpack("<f", file.read(4))[0] == model.at("layers.1.mlp.gate_up_proj.weight", element), i


def test_average(work):
    for step, seed in ((10, 1), (20, 2), (30, 3)):
        make(f"{work}/run", step, "gpt2", 2, seed)
    Run("average", f"{work}/run", "--last", 3, "--out", f"{work}/mean").expect(0, "mean of 3")
    Run("inspect", f"{work}/mean").expect(0, "mean of", "every piece is intact")
    facts = json.loads(Run("inspect", f"{work}/mean", "--json").out)
    assert facts["state"]["step"] == 30 and [s["name"] for s in facts["tensors"][0]["states"]] == ["master"]
    Run("export", f"{work}/mean", f"{work}/mean_hf").expect(0)
    models = [Model(seed) for seed in (1, 2, 3)]
    _, _, data = read_safetensors(f"{work}/mean_hf")["transformer.h.1.mlp.c_fc.weight"]
    for i, x in enumerate(numbers("F32", data)):
        mean = sum(m.at("h.1.mlp.c_fc.weight", i) for m in models) / 3
        assert x == struct.unpack("<f", struct.pack("<f", mean))[0], i
    # Checkpoints by name, in any order; exact where the mean is exact.
    steps = [f"{work}/run/step-{step:08}" for step in (10, 20)]
    Run("average", *steps, "--out", f"{work}/two").expect(0)
    Run("average", *reversed(steps), "--out", f"{work}/owt").expect(0)
    differences = json.loads(Run("inspect", f"{work}/two", f"{work}/owt", "--json").out)["states"]
    assert len(differences) == 28 and not any(s["differing"] for s in differences)
    Run("average", *steps, "--out", f"{work}/two").expect(65, "already exists")
    Run("average", f"{work}/run", "--last", 4, "--out", f"{work}/four").expect(65, "3 complete checkpoints")
    wider = make(f"{work}/wide", 10, "gpt2", 1, 1, "model.hidden=96")
    Run("average", steps[0], wider, "--out", f"{work}/none").expect(65, "belong to different models", "48 x 144")
    Run("average", steps[0], "--out", f"{work}/none").expect(64)
    Run("average", *steps).expect(64, "--out")
    assert not os.path.exists(f"{work}/none")


TOML = f"""[model]
layers = {LAYERS}
hidden = {WIDTH}
heads = {HEADS}
[data]
train = "text"
validation = 0
seq_len = {SEQ}
[batch]
micro = 1
accum = 1
[optimizer]
lr = 0.0
weight_decay = 0.0
[train]
steps = 1
[determinism]
virtual_ranks = 2
[device]
threads = 1
"""


def test_import(work):
    """Exported weights come back by model.init: every master weight, on any number of ranks."""
    os.environ["DSLAUNCH_CUDA_PLUGIN"] = "none"
    with open(f"{work}/text", "wb") as file:
        file.write(bytes(range(32, 127)) * 40)
    for arch, keys in (("gpt2", ["model.vocab=300"]), ("llama", ["model.arch=llama", "model.kv_heads=2"])):
        toml = f"{work}/{arch}.toml"
        with open(toml, "w") as file:
            file.write(TOML)
        made = make(f"{work}/{arch}", 3, arch, 2, 4, *keys[:1 if arch == "gpt2" else 0])
        rows = ["--vocab", 320] if arch == "gpt2" else []
        Run("export", made, f"{work}/{arch}_f32", "--shard-size", "60K", *rows).expect(0)
        Run("export", made, f"{work}/{arch}_bf16", "--dtype", "bf16").expect(0)

        def train(init, to, *more, ranks=1):
            return Run("-n", ranks, toml, f"model.init={init}", f"checkpoint.dir={to}", f"log.dir={to}_run", *keys, *more)

        train(f"{work}/{arch}_f32", f"{work}/{arch}_back", "zero.stage=3", ranks=2).expect(0)
        states = json.loads(Run("inspect", made, f"{work}/{arch}_back", "--json").expect(1).out)["states"]
        masters = [s for s in states if s["state"] == "master"]
        assert masters and not any(s["differing"] for s in masters), masters
        # bf16 values are exact in f32, so they come back unchanged. Rows beyond the vocabulary are zeros.
        train(f"{work}/{arch}_bf16", f"{work}/{arch}_16").expect(0)
        Run("export", f"{work}/{arch}_16", f"{work}/{arch}_again", "--dtype", "bf16").expect(0)
        assert read_safetensors(f"{work}/{arch}_bf16") == read_safetensors(f"{work}/{arch}_again")
        # A job that was started resumes from its own checkpoint, not from the folder, which may be gone.
        os.rename(f"{work}/{arch}_bf16", f"{work}/{arch}_gone")
        train(f"{work}/{arch}_bf16", f"{work}/{arch}_16", "train.steps=2").expect(0)
        train(f"{work}/{arch}_bf16", f"{work}/none").expect(65, "config.json", "No such file")

        train(f"{work}/{arch}_f32", f"{work}/none", "model.layers=3", "model.ffn=100").expect(
            65, "config.json is of another model", ": 2, model.layers = 3", "model.ffn = 100")
        train(work, f"{work}/none").expect(65, "config.json")
    with open(f"{work}/llama_gone/config.json", "r+") as file:
        config = json.load(file)
        config["rope_scaling"] = {"rope_type": "llama3"}
        file.seek(0)
        json.dump(config, file)
        file.truncate()
    train(f"{work}/llama_gone", f"{work}/none").expect(
        65, 'rope_scaling.rope_type: "llama3", model.rope_scaling = "none"')
    os.remove(f"{work}/llama_f32/model.safetensors.index.json")
    train(f"{work}/llama_f32", f"{work}/none").expect(65, "has neither model.safetensors nor")
    shutil.copy(f"{work}/gpt2_gone/model.safetensors", f"{work}/llama_f32/model.safetensors")
    train(f"{work}/llama_f32", f"{work}/none").expect(
        65, "model.layers.0.input_layernorm.weight: missing", "and ")
    with open(f"{work}/llama_f32/model.safetensors", "r+b") as file:
        file.truncate(5000)
    train(f"{work}/llama_f32", f"{work}/none").expect(65, "model.safetensors: not a safetensors file")
    assert not os.path.exists(f"{work}/none"), "nothing was begun"


def test_spoiled_and_grown(work):
    """Weights that are no numbers end the job before step 0 on any rank; a larger vocabulary begins with the mean."""
    with open(f"{work}/text", "wb") as file:
        file.write(bytes(range(32, 127)) * 40)
    with open(f"{work}/from.toml", "w") as file:
        file.write(FROM_TOML)
    Run("export", make(f"{work}/qwen3", 3, "qwen3", 2, 4), f"{work}/hf").expect(0)
    with open(f"{work}/samples", "wb") as file:  # bytes have 256 tokens, so token numbers are needed for more
        tokens = bytes(i % 256 for i in range(64 * SEQ))
        header = json.dumps({"tokens": {"dtype": "U8", "shape": [64, SEQ], "data_offsets": [0, len(tokens)]}}).encode()
        file.write(struct.pack("<Q", len(header)) + header + tokens)

    def train(to, *more):
        return Run("-n", 2, f"{work}/from.toml", f"model.from={work}/hf", f"checkpoint.dir={work}/{to}", "data.format=samples",
                   f"data.train={work}/samples", f"log.dir={work}/{to}_run", "zero.stage=3", *more)

    words = "rows 256 to 299 of the embedding and of the head begin as the mean of its rows"
    train("grown", "model.vocab=300").expect(0, words)
    assert words not in train("same").expect(0).out
    Run("export", f"{work}/grown", f"{work}/hf_grown", "--vocab", 320).expect(0)
    old, new = read_safetensors(f"{work}/hf"), read_safetensors(f"{work}/hf_grown")
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        before, after = numbers("F32", old[name][2]), numbers("F32", new[name][2])
        mean = [sum(before[c::WIDTH]) / 256 for c in range(WIDTH)]
        assert after[:256 * WIDTH] == before and not any(after[300 * WIDTH:]), name
        assert all(abs(after[i] - mean[i % WIDTH]) < 1e-6 for i in range(256 * WIDTH, 300 * WIDTH)), name
    with open(f"{work}/hf/model.safetensors", "r+b") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        base = file.tell()
        for name in ("model.layers.1.mlp.up_proj.weight", "model.layers.0.self_attn.q_norm.weight"):
            file.seek(base + header[name]["data_offsets"][0] + 4)
            file.write(struct.pack("<f", float("nan")))
    train("spoiled").expect(65, "not finite numbers", "model.layers.")
    assert not os.path.exists(f"{work}/spoiled"), "nothing was begun"


FROM_TOML = "\n".join(TOML.split("\n")[4:])  # without the model's sizes
FAMILY = (("gpt2", ()), ("llama", ("model.rope_scaling=llama3", "model.rope_factor=8", "model.rope_trained=32")),
          ("mistral", ("model.head_size=10", "model.rope_theta=5e5")),
          ("qwen2", ("model.head_size=12", "model.rope_scaling=linear", "model.rope_factor=2", "model.norm_eps=1e-6")),
          ("qwen3", ("model.head_size=10", "model.rope_theta=1e6", "model.tied=true")))


def test_from(work):
    """model.from takes all sizes from a folder, and the weights that come back are those of the folder."""
    with open(f"{work}/text", "wb") as file:
        file.write(bytes(range(32, 127)) * 40)
    with open(f"{work}/from.toml", "w") as file:
        file.write(FROM_TOML)

    def train(folder, to, *more, ranks=1):
        return Run("-n", ranks, f"{work}/from.toml", f"model.from={folder}", "data.tokenizer=bytes", f"checkpoint.dir={work}/{to}",
                   f"log.dir={work}/{to}_run", *more)

    for arch, keys in FAMILY:
        made = make(f"{work}/{arch}", 3, arch, 2, 4, *keys)
        Run("export", made, f"{work}/hf_{arch}").expect(0)
        train(f"{work}/hf_{arch}", f"{arch}_back", "zero.stage=2", ranks=2).expect(0)
        states = json.loads(Run("inspect", made, f"{work}/{arch}_back", "--json").expect(1).out)["states"]
        masters = [s for s in states if s["state"] == "master"]
        assert masters and not any(s["differing"] for s in masters), masters
        Run("export", f"{work}/{arch}_back", f"{work}/again_{arch}").expect(0)
        for name in ("config.json", "model.safetensors"):
            with open(f"{work}/hf_{arch}/{name}", "rb") as one, open(f"{work}/again_{arch}/{name}", "rb") as two:
                assert one.read() == two.read(), (arch, name)
    # What else the folder has comes back unchanged, and its special tokens; elsewhere --like names the folder.
    made = {"tokenizer.json": b'{"version": "1.0"}\n\xff', "generation_config.json": b'{"eos_token_id": [7, 9]}', "vocab.json": b"{}"}
    for name, text in made.items():
        with open(f"{work}/hf_llama/{name}", "wb") as file:
            file.write(text)
    with open(f"{work}/hf_llama/config.json") as file:
        config = {**json.load(file), "bos_token_id": 5, "eos_token_id": [7, 9]}
    with open(f"{work}/hf_llama/config.json", "w") as file:
        json.dump(config, file)
    train(f"{work}/hf_llama", "llama_more").expect(0)

    def check_companions(folder):
        for name, text in made.items():
            with open(f"{folder}/{name}", "rb") as file:
                assert file.read() == text, name
        with open(f"{folder}/config.json") as file:
            given = json.load(file)
        assert given == config, given

    Run("export", f"{work}/llama_more", f"{work}/again_more").expect(0, "generation_config.json, tokenizer.json, vocab.json")
    check_companions(f"{work}/again_more")
    os.rename(f"{work}/hf_llama", f"{work}/hf_moved")
    Run("export", f"{work}/llama_more", f"{work}/again_alone").expect(0, "name a folder with --like")
    Run("export", f"{work}/llama_more", f"{work}/again_like", "--like", f"{work}/hf_moved").expect(0)
    check_companions(f"{work}/again_like")
    Run("export", f"{work}/llama_more", f"{work}/again_none", "--like", work).expect(64, "has no config.json")
    os.rename(f"{work}/hf_moved", f"{work}/hf_llama")
    train(f"{work}/hf_qwen2", "none", f"model.hidden={WIDTH}", "model.head_size=12").expect(0)
    train(f"{work}/hf_qwen2", "other", "model.hidden=64", "model.arch=llama", "model.head_size=16").expect(
        65, f"hidden_size: {WIDTH}, model.hidden = 64", 'model_type: "qwen2", model.arch = "llama"',
        "head_dim: 12, model.head_size = 16", "leave the keys of [model] out")
    train(f"{work}/hf_qwen2", "other", "model.preset=llama-tiny").expect(65, "both name a model")
    train(f"{work}/nowhere", "other").expect(65, "nowhere/config.json: cannot be read")
    with open(f"{work}/hf_llama/config.json", "w") as file:
        file.write('{"model_type": "gemma2"}')
    train(f"{work}/hf_llama", "other").expect(65, 'model_type: "gemma2"; only gpt2, llama, mistral, qwen2, qwen3, bert, roberta and t5')
    with open(f"{work}/hf_llama/config.json", "w") as file:
        file.write("[1, 2")
    train(f"{work}/hf_llama", "other").expect(65, "not a JSON object")
    assert not os.path.exists(f"{work}/other"), "nothing was begun"


def test_saved_by_transformers(work):
    """Folders of save_pretrained: the loss with which training begins, and folders that go back unchanged."""
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"not checked: no folders saved by transformers: {error}")
        return
    text = b"ab" * 2000
    with open(f"{work}/text", "wb") as file:
        file.write(text)
    with open(f"{work}/from.toml", "w") as file:
        file.write(FROM_TOML.replace("virtual_ranks = 2", "virtual_ranks = 1"))
    sizes = dict(vocab_size=320, hidden_size=WIDTH, intermediate_size=88, num_hidden_layers=LAYERS, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=64)
    llama3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                  original_max_position_embeddings=32)
    for name, more in (("Llama", dict(rope_theta=5e5, rope_scaling=llama3)), ("Llama", dict(head_dim=20)),
                       ("Mistral", dict(sliding_window=None, head_dim=10)), ("Mistral", dict(sliding_window=5)),
                       ("Qwen3", dict(head_dim=10, tie_word_embeddings=True)),
                       ("Qwen3", dict(head_dim=12, use_sliding_window=True, sliding_window=6, max_window_layers=1)),
                       ("Qwen2", dict(use_sliding_window=True, sliding_window=4, max_window_layers=1)),
                       ("Qwen2", dict(rope_theta=1e6, tie_word_embeddings=True)), ("Qwen2", dict(rms_norm_eps=1e-5))):
        torch.manual_seed(1)
        theirs = getattr(transformers, name + "ForCausalLM")(
            getattr(transformers, name + "Config")(**{**sizes, **more})).eval()
        with torch.no_grad():
            for parameter in theirs.parameters():  # biases and norms too: a wrong layout must show
                parameter.add_(torch.randn_like(parameter) * 0.3)
        folder = f"{work}/{name}_{len(os.listdir(work))}"
        theirs.save_pretrained(folder)
        losses = []
        for first in (0, 1):
            tokens = torch.tensor([list(text[first:first + SEQ + 1])])
            logits = theirs(tokens[:, :-1]).logits.double()[..., :256]  # the tokens of bytes
            losses.append(torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).item())
        Run("-n", 1, f"{work}/from.toml", f"model.from={folder}", f"log.dir={folder}_run",
            f"checkpoint.dir={folder}_steps").expect(0)
        with open(f"{folder}_run/metrics.jsonl") as file:
            ours = json.loads(file.readline())["loss"]
        off = min(abs(ours / loss - 1) for loss in losses)
        print(f"{name} {more}: loss {ours:.6f}: off by {off:.1e}")
        assert off < 1e-4 and abs(losses[0] / losses[1] - 1) > 1e-3, losses
        Run("export", f"{folder}_steps", f"{folder}_again", "--vocab", 320).expect(0)
        assert read_safetensors(f"{folder}_again") == read_safetensors(folder), "other tensors, or other bits"
        again, info = transformers.AutoModelForCausalLM.from_pretrained(f"{folder}_again", output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
        assert type(again) is type(theirs)
        ids = torch.tensor([list(text[:SEQ])])
        assert torch.equal(again.eval()(ids).logits, theirs(ids).logits), "the folder that went back computes otherwise"


def write_samples(path, fields):
    """Writes the safetensors file of data.format = "samples": {name: rows of whole numbers}."""
    header, data = {}, b""
    for name, rows in fields.items():
        part = b"".join(struct.pack(f"<{len(row)}i", *row) for row in rows)
        header[name] = dict(dtype="I32", shape=[len(rows), len(rows[0])], data_offsets=[len(data), len(data) + len(part)])
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def test_masked_lm_saved_by_transformers(work):
    """Folders of BERT and RoBERTa: the loss of masked tokens beside padding, and folders that go back unchanged."""
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"not checked: no BERT saved by transformers: {error}")
        return
    length = 13
    tokens = [5 + i * i * 7 % 290 for i in range(length)] + [1] * (SEQ - length)
    targets = [(token + 3) % 300 if i % 3 == 1 and i < length else -100 for i, token in enumerate(tokens)]
    types = [i // 4 % 2 for i in range(SEQ)]
    fields = dict(tokens=tokens, targets=targets, token_types=types, documents=[0] * length + [-1] * (SEQ - length))
    plain = FROM_TOML.replace("virtual_ranks = 2", "virtual_ranks = 1").replace(
        'train = "text"', 'train = "samples"\nformat = "samples"')
    with open(f"{work}/from.toml", "w") as file:
        file.write(plain)
    write_samples(f"{work}/samples", {name: [row] * 4 for name, row in fields.items()})
    sizes = dict(vocab_size=300, hidden_size=WIDTH, intermediate_size=88, num_hidden_layers=LAYERS, num_attention_heads=4,
                 max_position_embeddings=64)
    for name, kind, more in (("Bert", "MaskedLM", dict(type_vocab_size=3)), ("Bert", "MaskedLM", dict(hidden_act="relu")),
                             ("Bert", "PreTraining", dict(hidden_act="gelu_new")),
                             ("Roberta", "MaskedLM", dict(layer_norm_eps=1e-5))):
        torch.manual_seed(1)
        theirs = getattr(transformers, f"{name}For{kind}")(
            getattr(transformers, name + "Config")(**{**sizes, **more})).eval()
        with torch.no_grad():
            for parameter in theirs.parameters():  # biases and norms too: a wrong layout must show
                parameter.add_(torch.randn_like(parameter) * 0.3)
        folder = f"{work}/{name}_{len(os.listdir(work))}"
        theirs.save_pretrained(folder)
        ids, kinds = (torch.tensor([row[:length]]) for row in (tokens, types))
        out = theirs(ids, token_type_ids=kinds)
        logits = (out.prediction_logits if kind == "PreTraining" else out.logits).double()
        loss = torch.nn.functional.cross_entropy(logits[0], torch.tensor(targets[:length])).item()
        Run("-n", 1, f"{work}/from.toml", f"model.from={folder}", f"log.dir={folder}_run",
            f"checkpoint.dir={folder}_steps").expect(0)
        with open(f"{folder}_run/metrics.jsonl") as file:
            ours = json.loads(file.readline())["loss"]
        print(f"{name}For{kind} {more}: loss {ours:.6f}: off by {abs(ours / loss - 1):.1e}")
        assert abs(ours / loss - 1) < 1e-4, (ours, loss)
        Run("export", f"{folder}_steps", f"{folder}_again").expect(0)
        again, info = transformers.AutoModelForMaskedLM.from_pretrained(f"{folder}_again", output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
        assert type(again).__name__ == f"{name}ForMaskedLM"
        assert torch.equal(again.eval()(ids, token_type_ids=kinds).logits.double(), logits), "computes otherwise"


def test_t5_saved_by_transformers(work):
    """Folders of T5 1.0 and 1.1: the loss with padding in the encoder, decoder inputs made of the targets, and folders that
    go back unchanged."""
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"not checked: no T5 saved by transformers: {error}")
        return
    length, read = 24, 17
    source = [5 + i * i * 7 % 290 for i in range(read)] + [0] * (length - read)
    targets = [(3 + i * i * 11) % 300 if i % 7 != 4 else -100 for i in range(SEQ)]
    fields = dict(encoder_tokens=source, encoder_documents=[0] * read + [-1] * (length - read), targets=targets)
    plain = FROM_TOML.replace("virtual_ranks = 2", "virtual_ranks = 1").replace(
        'train = "text"', f'train = "samples"\nformat = "samples"\nencoder_len = {length}')
    with open(f"{work}/from.toml", "w") as file:
        file.write(plain)
    write_samples(f"{work}/samples", {name: [row] * 4 for name, row in fields.items()})
    sizes = dict(vocab_size=300, d_model=WIDTH, d_kv=10, d_ff=44, num_layers=2, num_decoder_layers=3, num_heads=4,
                 decoder_start_token_id=0)
    for tied, more in ((True, {}), (False, dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
                       (False, dict(relative_attention_num_buckets=8, relative_attention_max_distance=10,
                                    tie_word_embeddings=False))):
        torch.manual_seed(1)
        theirs = transformers.T5ForConditionalGeneration(transformers.T5Config(**{**sizes, **more})).eval()
        if not tied:  # version 5 ties every new model
            theirs.lm_head.weight = torch.nn.Parameter(torch.randn_like(theirs.shared.weight) * 0.3)
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
        folder = f"{work}/T5_{len(os.listdir(work))}"
        theirs.save_pretrained(folder)
        ids, labels = torch.tensor([source[:read]]), torch.tensor([targets])
        out = theirs(input_ids=ids, labels=labels)
        Run("-n", 1, f"{work}/from.toml", f"model.from={folder}", f"log.dir={folder}_run",
            f"checkpoint.dir={folder}_steps").expect(0)
        with open(f"{folder}_run/metrics.jsonl") as file:
            ours = json.loads(file.readline())["loss"]
        print(f"T5 {more}: loss {ours:.6f}: off by {abs(ours / out.loss.item() - 1):.1e}")
        assert abs(ours / out.loss.item() - 1) < 1e-4, (ours, out.loss)
        Run("export", f"{folder}_steps", f"{folder}_again").expect(0)
        again, info = transformers.T5ForConditionalGeneration.from_pretrained(f"{folder}_again", output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
        assert torch.equal(again.eval()(input_ids=ids, labels=labels).logits, out.logits), "computes otherwise"
    # In fp16, sums of branches are infinite, and are cut off as transformers does: the loss is finite, and another one.
    torch.manual_seed(1)
    theirs = transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes)).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name.endswith("wo.weight"):
                parameter.mul_(6e4)
    theirs.save_pretrained(f"{work}/large")
    full = theirs(input_ids=ids, labels=labels).loss.item()
    half = theirs.half()(input_ids=ids, labels=labels).loss.item()
    Run("-n", 1, f"{work}/from.toml", f"model.from={work}/large", f"log.dir={work}/large_run", "precision.dtype=fp16",
        "precision.loss_scale.init_power=4").expect(0, "advice   T5's activations overflow in fp16")
    with open(f"{work}/large_run/metrics.jsonl") as file:
        step = json.loads(file.readline())
    print(f"T5 in fp16: loss {step['loss']:.4f}, transformers' {half:.4f}, {full:.4f} in fp32")
    assert abs(step["loss"] / half - 1) < 2e-3 and abs(full / half - 1) > 5e-3 and step["skipped_steps"] == 0, step


def test_transformers(work):
    """Hugging Face's own code finds no missing and no unexpected weight, and computes the loss with which
    training from the same folder begins."""
    try:
        import torch
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        print(f"not checked: transformers does not load the exports: {error}")
        return
    text = b"ab" * 2000
    with open(f"{work}/text", "wb") as file:
        file.write(text)
    with open(f"{work}/train.toml", "w") as file:
        file.write(TOML.replace("virtual_ranks = 2", "virtual_ranks = 1"))
    for arch, keys in (("gpt2", []), ("llama", ["model.arch=llama", "model.kv_heads=2"]),
                       ("llama-tied", ["model.arch=llama", "model.kv_heads=2", "model.tied=true"])):
        folder = f"{work}/hf_{arch}"
        make(f"{work}/{arch}", 1, arch)
        Run("export", f"{work}/{arch}", folder).expect(0)
        model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
        losses = []  # of windows from an even and from an odd byte, because training does not report which one it drew
        for first in (0, 1):
            tokens = torch.tensor([list(text[first:first + SEQ + 1])])
            logits = model(tokens[:, :-1]).logits.double()
            losses.append(torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).item())
        Run("-n", 1, f"{work}/train.toml", f"model.init={folder}", f"log.dir={work}/run_{arch}", *keys).expect(0)
        with open(f"{work}/run_{arch}/metrics.jsonl") as file:
            ours = json.loads(file.readline())["loss"]
        off = min(abs(ours / loss - 1) for loss in losses)
        print(f"{arch}: loss {ours:.6f}, transformers' {losses[0]:.6f} or {losses[1]:.6f}: off by {off:.1e}")
        # Both compute in fp32. The weights are as large as activations, so a wrong layout is off by tens of percent.
        assert off < 1e-4 and abs(losses[0] / losses[1] - 1) > 1e-3


def main():
    for test in (test_memory, test_inspect, test_compare, test_export, test_average, test_import,
                 test_from, test_spoiled_and_grown, test_saved_by_transformers, test_masked_lm_saved_by_transformers,
                 test_t5_saved_by_transformers, test_transformers):
        with tempfile.TemporaryDirectory() as work:
            test(work)
        print(f"{test.__name__}: ok", flush=True)


if __name__ == "__main__":
    sys.exit(main())
