"""Compares what was seen of a job with what a case expects. Pure."""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Expect:
    end: str  # pattern of: complete, 'failed: REASON', 'goes on'
    code: int | None = 0  # the last exit code of the root; None: any
    verdict: str = '"exit_code":0'  # pattern that one termination message has
    resumed: bool = False  # steps go on from a checkpoint
    line: str = ""  # pattern that some line of output has


@dataclass(frozen=True)
class Seen:
    end: str
    codes: list  # of the root's containers
    messages: list  # termination messages of all pods
    resumed: list  # steps of the checkpoints that were loaded
    last_step: int
    steps: int
    output: str


def complaints(expect, seen):
    """Returns what is not as expected; an empty list: all is."""
    found = []
    if not re.fullmatch(expect.end, seen.end):
        found.append(f"the end is '{seen.end}', expected '{expect.end}'")
    if expect.code is not None and (not seen.codes or seen.codes[-1] != expect.code):
        found.append(f"the root's exit codes are {seen.codes}, expected {expect.code} at the end")
    if expect.verdict and not any(re.search(expect.verdict, message) for message in seen.messages):
        found.append(f"no termination message is like '{expect.verdict}'")
    if expect.resumed and not any(step >= 5 for step in seen.resumed):
        found.append(f"no checkpoint was loaded (loaded: {seen.resumed})")
    if expect.end == "complete" and seen.steps and seen.last_step != seen.steps:
        found.append(f"the last step is {seen.last_step}, expected {seen.steps}")
    if expect.line and not re.search(expect.line, seen.output):
        found.append(f"no line of output is like '{expect.line}'")
    return found
