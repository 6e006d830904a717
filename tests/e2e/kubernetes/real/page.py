"""Runs the commands of docs/kubernetes.md in order, as a reader would.

A block of commands begins with a line of three back quotes and `sh cluster`, and may have more words:
  needs=KIND   only if the cluster has the controller of this kind
  exits=N      the exit code of the whole block; otherwise 0
"""
import os
import re
import subprocess
import time
from dataclasses import dataclass

from kinds import KINDS
from report import Result

BLOCK = re.compile(r"^```sh cluster(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
PAGE_SPACE = "train"
STORAGE = "shared"  # the page's storage class


@dataclass(frozen=True)
class Block:
    line: int
    text: str
    needs: str
    exits: int


def blocks(page):
    found = []
    for match in BLOCK.finditer(page):
        words = dict(word.split("=") for word in match[1].split())
        found.append(Block(page.count("\n", 0, match.start()) + 2, match[2], words.get("needs", ""), int(words.get("exits", "0"))))
    return found


def page_volume():
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"dslaunch-e2e-page"},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": STORAGE,
                     "hostPath": {"path": "/tmp/dslaunch-e2e"}, "claimRef": {"namespace": PAGE_SPACE, "name": "runs"}}}


def run_block(cluster, block, folder):
    text = block.text.replace("registry.example/dslaunch:1", cluster.image)
    storage = os.environ.get("DS_KUBERNETES_STORAGE_CLASS")
    text = text.replace(f"storageClassName: {STORAGE}", f"storageClassName: {storage}") if storage else text
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=cluster.environment, capture_output=True,
                          text=True, errors="replace", timeout=400, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def run_page(cluster, available):
    with open(os.environ["DS_SOURCE"] + "/docs/kubernetes.md", encoding="utf-8") as file:
        found = blocks(file.read())
    folder = cluster.folder + "/page"
    os.mkdir(folder)
    cluster.kc("delete", "ns", PAGE_SPACE, "--ignore-not-found", seconds=200)
    cluster.kc("delete", "pv", "dslaunch-e2e-page", "--ignore-not-found")
    if not os.environ.get("DS_KUBERNETES_STORAGE_CLASS"):
        cluster.apply(page_volume())
    results = []
    for block in found:
        reason = available(cluster, KINDS[block.needs]) if block.needs else ""
        if reason:
            print(f"skipped docs/kubernetes.md:{block.line}: {reason}", flush=True)
            continue
        began = time.time()
        code, output = run_block(cluster, block, folder)
        result = Result("docs", f"line {block.line}", "")
        if code != block.exits:
            result.complaints = [f"exit code {code}, expected {block.exits}"]
        print(f"{'FAILED' if result.complaints else 'ok'}     docs/kubernetes.md:{block.line} exit code {code}, {time.time() - began:.0f} s", flush=True)
        if result.complaints or cluster.logs:
            print("       " + (block.text + output).replace("\n", "\n       "), flush=True)
        results.append(result)
    cluster.kc("delete", "ns", PAGE_SPACE, seconds=200, check=False)
    cluster.kc("delete", "pv", "dslaunch-e2e-page", "--ignore-not-found", check=False)
    return results
