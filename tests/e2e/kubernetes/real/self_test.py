#!/usr/bin/env python3
"""Tests the pure parts of the tests on a cluster: what is compared, how times and kubectl's output are read, the blocks of the page."""
import io
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from cases import CASES, SHORT_FORM, expectation
from job import documents, stamp
from judge import Expect, Seen, complaints
from kinds import KINDS
from page import blocks
from validate import pod_templates

GOOD = Seen("complete", [143, 0], ['{"exit_code":0}'], [12], 40, 40, "all is well")
EXPECT = Expect("complete", 0, '"exit_code":0', resumed=True, line="well")


def change(**fields):
    return Seen(**{**GOOD.__dict__, **fields})


assert complaints(EXPECT, GOOD) == []
for bad in [change(end="failed: x"), change(codes=[0, 143]), change(codes=[]), change(messages=['{"exit_code":1}']),
            change(resumed=[]), change(last_step=39), change(output="")]:
    assert len(complaints(EXPECT, bad)) == 1, bad

assert stamp("1970-01-01T00:00:02.500000000Z") == 2.5 and stamp("1970-01-01T00:01:00Z") == 60
assert list(documents(io.StringIO('{\n  "a": 1\n}\n{\n  "a": {\n  }\n}\n'))) == [{"a": 1}, {"a": {}}]
assert len(list(pod_templates({"spec": {"template": {"spec": {"containers": []}}}}))) == 1

PAGE = "text\n```sh cluster\na\nb\n```\n```sh\nno\n```\n```sh cluster needs=lws exits=65\nc\n```\n"
assert [(block.line, block.text, block.needs, block.exits) for block in blocks(PAGE)] == [(3, "a\nb\n", "", 0), (10, "c\n", "lws", 65)]
with open(os.environ["DS_SOURCE"] + "/docs/kubernetes.md", encoding="utf-8") as file:
    found = blocks(file.read())
assert len(found) > 15 and all(block.needs in ["", *KINDS] for block in found)

assert all(kind in KINDS and case in CASES for kind, case in SHORT_FORM)
assert all(set(case.kinds) <= set(KINDS) for case in CASES.values())
assert expectation(KINDS["lws"], CASES["config-error"]).end == "goes on"
assert expectation(KINDS["jobset"], CASES["config-error"]).end == "failed: .*"
print("passed")
