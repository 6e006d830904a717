#!/usr/bin/env python3
# No hot CUDA kernel keeps registers in memory: the build refuses it, and would.
import json
import os
import shlex
import subprocess
import sys
import tempfile

REFUSES = "--warn-on-spills"
# Refused by the build (cmake/Cuda.cmake, ds_cuda_without_spills).
HOT = ["attention_backward_keys", "attention_backward_queries", "attention_forward", "dropout", "elementwise", "embed",
       "embed_backward", "glu", "leaf_squares", "norm_backward", "norm_forward", "rotary", "update"]


def fail(text):
    print("FAILED: " + text)
    sys.exit(1)


def commands(build):
    """The build's command for each .cu file, by its name without folder and suffix."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    return {os.path.basename(e["file"])[:-3]: e for e in entries if e["file"].endswith(".cu")}


def nvcc_of(entry):
    return next(word for word in shlex.split(entry["command"]) if os.path.basename(word).startswith("nvcc"))


def for_one_device(entry, source, output, *what):
    """The command with another source, output and device (`what`), without the launcher before nvcc."""
    words, kept, skip = shlex.split(entry["command"]), [], False
    if entry["file"] not in words:
        fail("no source in the command of " + entry["file"])
    for word in words[words.index(nvcc_of(entry)):]:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-c", "-MD", entry["file"]) and not word.startswith(("--generate-code", "-arch", "-gencode")):
            kept.append(word)
    return kept + [*what, source, "-o", output]


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def check_refusal(entry, folder):
    """A kernel that must spill ends the build."""
    source = os.path.join(folder, "spills.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write("__global__ void __launch_bounds__(1024, 2) spills(float* p) {\n"
                   "  float x[96];\n#pragma unroll\n  for (int i = 0; i < 96; ++i) x[i] = p[i * 32 + threadIdx.x];\n"
                   "  __syncthreads();\n#pragma unroll\n"
                   "  for (int i = 0; i < 96; ++i) p[i * 64 + threadIdx.x] = x[i] * x[95 - i];\n}\n")
    result = run(for_one_device(entry, source, os.path.join(folder, "spills.cubin"), "-arch=sm_90", "-cubin"), entry["directory"])
    if result.returncode == 0 or "spilled" not in result.stdout:
        fail("a kernel that spills was not refused:\n" + result.stdout)


def main():
    found = commands(os.path.dirname(os.environ["DS_TESTS"]))
    if not found:
        print("skipped: the CUDA backend was not built (no nvcc)")
        sys.exit(77)
    for name in HOT:
        if REFUSES not in found[name]["command"]:
            fail(f"{name}.cu is compiled without {REFUSES}")
    with tempfile.TemporaryDirectory() as folder:
        check_refusal(found["dropout"], folder)
    print(f"no spills: {len(HOT)} files by the build")


main()
