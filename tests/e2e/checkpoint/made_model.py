"""Helpers of tools.py: runs commands, models what make_checkpoint writes, reads safetensors by the
format's description with Python's standard library only."""
import array
import json
import os
import struct
import subprocess

SOURCE = os.environ.get("DS_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BIN = os.environ.get("DS_BIN") or os.path.join(SOURCE, "build/release/bin")
TESTS = os.environ.get("DS_TESTS") or os.path.join(SOURCE, "build/release/tests")
WIDTH, HEADS, KV, LAYERS, SEQ = 48, 6, 2, 2, 16


class Run:
    """Runs one command and keeps its exit code, output and peak memory in bytes."""

    def __init__(self, *words, program="dslaunch", folder=BIN):
        process = subprocess.Popen([os.path.join(folder, program), *map(str, words)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        with process.stdout, process.stderr:
            self.out, self.err = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.peak = usage.ru_maxrss * 1024

    def expect(self, code, *texts):
        text = self.out + self.err
        for wanted in texts:
            assert wanted in text, f"no {wanted!r} in:\n{text[:3000]}"
        assert self.code == code, f"exit code {self.code}, not {code}:\n{text[:3000]}"
        return self


def make(folder, step, arch, ranks=1, seed=1, *keys):
    Run(folder, step, arch, ranks, seed, *keys, program="make_checkpoint", folder=TESTS).expect(0)
    return os.path.join(folder, f"step-{step:08}")


def key_of(name):
    key = 2166136261
    for byte in name.encode():
        key = ((key ^ byte) * 16777619) & 0xFFFFFFFF
    return key


def value(key, seed, state, element):
    x = (key + seed * 977 + state * 31337 + element) & 0xFFFFFFFF
    x ^= x >> 16
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x ^= x >> 15
    return ((x & 0xFFFF) - 32768) / 32768


class Model:
    """The content that make_checkpoint wrote, element by element."""

    def __init__(self, seed):
        self.seed, self.keys = seed, {}

    def at(self, name, element, state=0):
        key = self.keys.setdefault(name, key_of(name))
        return value(key, self.seed, state, element)


def read_safetensors(folder):
    """Returns {name: (dtype, shape, bytes)} of all files in a folder, by the format's description."""
    index = os.path.join(folder, "model.safetensors.index.json")
    files = ["model.safetensors"]
    if os.path.exists(index):
        with open(index) as file:
            listed = json.load(file)
        files = sorted(set(listed["weight_map"].values()))
    tensors = {}
    for name in files:
        with open(os.path.join(folder, name), "rb") as file:
            length = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(length))
            data = file.read()
        assert (8 + length) % 8 == 0 and header.pop("__metadata__") == {"format": "pt"}
        end = 0
        for tensor, entry in header.items():
            begin, to = entry["data_offsets"]
            assert begin == end, "tensors lie side by side"
            end = to
            if os.path.exists(index):
                assert listed["weight_map"][tensor] == name
            tensors[tensor] = (entry["dtype"], entry["shape"], data[begin:to])
        assert end == len(data)
    if os.path.exists(index):
        assert listed["metadata"]["total_size"] == sum(len(t[2]) for t in tensors.values())
        assert set(listed["weight_map"]) == set(tensors)
    return tensors


def numbers(dtype, data):
    if dtype == "F32":
        return array.array("f", data)
    halves = array.array("H", data)
    if dtype == "BF16":
        return array.array("f", array.array("I", [h << 16 for h in halves]).tobytes())
    return struct.unpack(f"<{len(halves)}e", data)


def rounded(x, dtype):
    if dtype == "F32":
        return x
    if dtype == "F16":
        return struct.unpack("<e", struct.pack("<e", x))[0]
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x8000 & 0xFFFFFFFF) >> 16 << 16))[0]


def llama_layout(ffn, vocab, tied):
    """Returns name -> (our name, columns of ours, first column, shape); layer matrices are transposed."""
    head = WIDTH // HEADS
    row = (HEADS + 2 * KV) * head
    layout = {"model.embed_tokens.weight": ("embed_tokens.weight", WIDTH, None, [vocab, WIDTH]),
              "model.norm.weight": ("norm.weight", WIDTH, None, [WIDTH])}
    if not tied:
        layout["lm_head.weight"] = ("lm_head.weight", WIDTH, None, [vocab, WIDTH])
    for i in range(LAYERS):
        h = f"layers.{i}."
        q, g = h + "self_attn.qkv_proj.weight", h + "mlp.gate_up_proj.weight"
        for name, ours, columns, first, shape in [
                ("input_layernorm", h + "input_layernorm.weight", WIDTH, None, [WIDTH]),
                ("post_attention_layernorm", h + "post_attention_layernorm.weight", WIDTH, None, [WIDTH]),
                ("self_attn.q_proj", q, row, 0, [HEADS * head, WIDTH]),
                ("self_attn.k_proj", q, row, HEADS * head, [KV * head, WIDTH]),
                ("self_attn.v_proj", q, row, (HEADS + KV) * head, [KV * head, WIDTH]),
                ("self_attn.o_proj", h + "self_attn.o_proj.weight", WIDTH, 0, [WIDTH, WIDTH]),
                ("mlp.gate_proj", g, 2 * ffn, 0, [ffn, WIDTH]),
                ("mlp.up_proj", g, 2 * ffn, ffn, [ffn, WIDTH]),
                ("mlp.down_proj", h + "mlp.down_proj.weight", WIDTH, 0, [WIDTH, ffn])]:
            layout[f"model.{h}{name}.weight"] = (ours, columns, first, shape)
    return layout


def gpt2_layout(vocab):
    layout = {"transformer.wte.weight": ("wte.weight", WIDTH, None, [vocab, WIDTH]),
              "transformer.wpe.weight": ("wpe.weight", WIDTH, None, [SEQ, WIDTH])}
    vectors = {"ln_f": []}
    matrices = {}
    for i in range(LAYERS):
        vectors |= {f"h.{i}.ln_1": [], f"h.{i}.ln_2": []}
        matrices |= {f"h.{i}.attn.c_attn": (WIDTH, 3 * WIDTH), f"h.{i}.attn.c_proj": (WIDTH, WIDTH),
                     f"h.{i}.mlp.c_fc": (WIDTH, 4 * WIDTH), f"h.{i}.mlp.c_proj": (4 * WIDTH, WIDTH)}
    for name in vectors:
        for part in ("weight", "bias"):
            layout[f"transformer.{name}.{part}"] = (f"{name}.{part}", WIDTH, None, [WIDTH])
    for name, (rows, columns) in matrices.items():
        layout[f"transformer.{name}.weight"] = (f"{name}.weight", columns, None, [rows, columns])
        layout[f"transformer.{name}.bias"] = (f"{name}.bias", columns, None, [columns])
    return layout


def check_export(folder, layout, model, dtype):
    """Checks that every element is where the layout says; first None: as ours, from its beginning."""
    tensors = read_safetensors(folder)
    assert set(tensors) == set(layout), set(tensors) ^ set(layout)
    for name, (ours, columns, first, shape) in layout.items():
        kind, given, data = tensors[name]
        assert (kind, given) == (dtype, shape), (name, kind, given)
        values = numbers(kind, data)
        inner = shape[-1]
        for i, x in enumerate(values):
            element = i if first is None else (i % inner) * columns + first + i // inner
            assert x == rounded(model.at(ours, element), dtype), (name, i)
