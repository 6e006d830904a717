#!/usr/bin/env python3
# Compares random node lists, name by name, with `scontrol show hostnames`.
#
#   node_lists.py [LISTS [SEED]]      default: 10000 lists, seed 1
#
# scontrol reads all lists in one process, but for those with blanks. Slurm 22.05 refuses brackets that are not at the end of an item, which newer
# ones and we read: such items are left to the unit tests. It counts through three brackets in another order: there the
# names are compared as a set. It drops an item with a bad range silently when that has several brackets, where we refuse
# the list: bad ranges stand in items of one bracket.
import os
import random
import shutil
import subprocess
import sys
import tempfile

PREFIXES = ["n", "node", "gpu-", "r1n", "a-b", "x00", "", "c0-0c1s", "n_"]


def number_range(rng, brackets):
    width = rng.choice([0, 0, 0, 1, 2, 3, 5])
    low = rng.choice([rng.randrange(12), rng.randrange(130), rng.randrange(9990, 10010)])
    if rng.random() < 0.4:
        return f"{low:0{width}}"
    high = low + rng.choice([0, 1, 2, 9, 30] if brackets == 1 else [0, 1, 2, 5])
    if brackets == 1 and rng.random() < 0.03:
        low, high = high + 1, low  # backwards: both must refuse
    return f"{low:0{width}}-{high:0{rng.choice([0, width])}}"


def bracket(rng, brackets):
    if brackets == 1 and rng.random() < 0.01:
        return rng.choice(["[]", "[x]", "[1,]", "[,1]"])
    return "[" + ",".join(number_range(rng, brackets) for _ in range(rng.choice([1, 1, 2, 4]))) + "]"


def item(rng):
    """An item, and its brackets."""
    brackets = rng.choices([0, 1, 2, 3], [3, 6, 2, 1])[0]
    text = rng.choice(PREFIXES)
    if brackets == 0:
        return (text or "h") + str(rng.randrange(200)), 0
    for index in range(brackets):
        text += ("" if index == 0 else rng.choice(["x", "-", "n"])) + bracket(rng, brackets)
    return text, brackets


def node_list(rng):
    """A list, and whether the order of its names is the same in both."""
    items = [item(rng) for _ in range(rng.choice([1, 1, 2, 3, 6]))]
    text = items[0][0]
    commas = [" ", "\t", ", ", ","] if rng.random() < 0.03 else [",", ",", ",,"]
    for more, _ in items[1:]:
        text += rng.choice(commas) + more
    return text, all(brackets < 3 for _, brackets in items)


def has_blank(text):
    return " " in text or "\t" in text


def ask_in_one(lists, environment):
    words = "".join(f"show hostnames {text}\nshow hostnames =end{index}=\n" for index, text in enumerate(lists))
    done = subprocess.run(["scontrol"], input=words, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    results, names = [], []
    for line in done.stdout.splitlines():
        if line.startswith("scontrol:") or "\x1b" in line:
            continue  # the command, echoed
        if line == f"=end{len(results)}=":
            results.append(names)
            names = []
        else:
            names.append(line)
    if len(results) != len(lists):
        sys.exit(f"FAILED: scontrol answered {len(results)} of {len(lists)} lists")
    return results


def ask_alone(text, environment):
    done = subprocess.run(["scontrol", "show", "hostnames", text], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return done.stdout.split()


def by_scontrol(lists):
    with tempfile.TemporaryDirectory() as folder:
        conf = os.path.join(folder, "slurm.conf")
        with open(conf, "w") as out:
            out.write("ClusterName=none\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n")
        environment = {**os.environ, "SLURM_CONF": conf, "TERM": "dumb", "COLUMNS": "30000"}
        together = iter(ask_in_one([text for text in lists if not has_blank(text)], environment))
        return [ask_alone(text, environment) if has_blank(text) else next(together) for text in lists]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if not shutil.which("scontrol"):
        print("SKIP: scontrol is not installed (Debian: slurm-client)")
        sys.exit(77)
    rng = random.Random(seed)
    cases = [node_list(rng) for _ in range(count)]
    lists = [text for text, _ in cases]
    theirs = by_scontrol(lists)
    ours = subprocess.run([os.path.join(os.environ["DS_TESTS"], "node_list_bench"), "-"],
                          input="".join(text + "\n" for text in lists), text=True, stdout=subprocess.PIPE,
                          check=True).stdout.splitlines()
    refused = names = 0
    for (text, ordered), expected, line in zip(cases, theirs, ours):
        got = [] if line.startswith("!") else line.split()
        refused += not expected
        names += len(expected)
        if got != expected if ordered else sorted(got) != sorted(expected):
            sys.exit(f"FAILED: {text!r}\n  scontrol: {' '.join(expected)[:400]}\n  ours:     {line[:400]}")
    print(f"{count} lists (seed {seed}), {names} names, {refused} refused by both: equal")


main()
