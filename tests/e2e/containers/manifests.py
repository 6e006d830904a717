#!/usr/bin/env python3
"""Tests `dslaunch k8s manifest`: committed manifests equal its output; every manifest keeps the rules and, if the
projects' schemas are available, their schema; broken ones are refused; any word survives a YAML parser."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("SKIP: needs python3-yaml")
    sys.exit(77)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import manifest_rules as rules

ROOT = pathlib.Path(os.environ["DS_SOURCE"])
DSLAUNCH = os.environ["DS_BIN"] + "/dslaunch"
SCHEMAS = ROOT.parent.parent / "shared/tools/validate_manifests.py"
KINDS = ["indexed", "jobset", "statefulset", "lws", "mpijob", "trainjob", "trainjob-torch", "etjob", "volcano"]


def manifest(*words):
    return subprocess.run([DSLAUNCH, "k8s", "manifest", *words], capture_output=True)


def committed_is_generated(folder):
    subprocess.run([ROOT / "containers/k8s/generate.sh", folder], check=True)
    written = sorted(p.name for p in pathlib.Path(folder).glob("*.yaml"))
    there = sorted(p.name for p in (ROOT / "containers/k8s").glob("*.yaml"))
    assert written == there, (written, there)
    for name in written:
        same = (pathlib.Path(folder) / name).read_text() == (ROOT / "containers/k8s" / name).read_text()
        assert same, f"containers/k8s/{name} is not what dslaunch writes: run containers/k8s/generate.sh"
        problems = rules.problems_of((ROOT / "containers/k8s" / name).read_text())
        assert not problems, f"{name}: {problems}"
    return written


def schemas_hold(folder, names):
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        return "schemas not checked: no python3-jsonschema"
    tool = next((p for p in (SCHEMAS, ROOT.parent / "shared/tools/validate_manifests.py") if p.exists()), None)
    if tool is None:
        return "schemas not checked: the projects' CRDs are not on this machine"
    paths = [f"{folder}/{name}" for name in names if name != "volcano.yaml"]  # no CRD of Volcano there
    run = subprocess.run([sys.executable, tool, *paths], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    bad = pathlib.Path(folder) / "typo"
    for name, right, wrong in [("indexed.yaml", "completionMode", "completionsMode"),
                               ("jobset.yaml", "enableDNSHostnames", "enableDnsHostnames"),
                               ("statefulset.yaml", "fieldPath", "field"),
                               ("lws.yaml", "size: 4", "size: four"),
                               ("mpijob.yaml", "slotsPerWorker", "slotPerWorker"),
                               ("trainjob.yaml", "numProcPerNode", "numProcPerNodes"),
                               ("trainjob-torch.yaml", "secretKeyRef", "secretRef"),
                               ("etjob.yaml", "etReplicaSpecs", "replicaSpecs")]:
        text = (pathlib.Path(folder) / name).read_text()
        assert right in text, (name, right)
        bad.write_text(text.replace(right, wrong))
        run = subprocess.run([sys.executable, tool, bad], capture_output=True, text=True)
        assert run.returncode == 1, f"{name} with {wrong} was taken"
    return f"schemas hold for {len(paths)} files, 8 typos refused"


# File, what stands there, what is put in its place, a word of what must be said.
BROKEN = [
    ("indexed.yaml", "subdomain: gpt", "subdomain: gtp", "subdomain"),
    ("indexed.yaml", "publishNotReadyAddresses: true", "publishNotReadyAddresses: false", "not ready"),
    ("indexed.yaml", "clusterIP: None", "clusterIP: 10.0.0.1", "headless"),
    ("indexed.yaml", "selector:\n    dslaunch.io/job: gpt", "selector:\n    dslaunch.io/job: other", "other pods"),
    ("indexed.yaml", "- \"115\"", "- \"120\"", "--grace"),
    ("indexed.yaml", "values: [143]", "values: [142]", "budget"),
    ("indexed.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "as root"),
    ("indexed.yaml", "type: RuntimeDefault", "type: Unconfined", "seccomp"),
    ("indexed.yaml", "gpt-{0..3}.gpt", "gpt-{0..2}.gpt", "--peers"),
    ("indexed.yaml", "parallelism: 4", "parallelism: 3", "differ"),
    ("indexed.yaml", ", 93]", "]", "93"),
    ("indexed.yaml", "containerPort: 29400", "containerPort: 29500", "ports"),
    ("indexed.yaml", "  port: 29400", "  port: 29401", "port"),
    ("indexed.yaml", "mountPath: /dev/shm", "mountPath: /shm", "/dev/shm"),
    ("indexed.yaml", "generic gpt-token", "generic token", "no Secret gpt-token"),
    ("indexed.yaml", "POD_UID", "POD_UUID", "POD_UID"),
    ("indexed.yaml", "Seconds: 120", "Seconds: 5", "time to leave"),
    ("indexed.yaml", "name: gpt\n  labels:\n    dslaunch.io/job: gpt\nspec:\n  completion",
     "name: gpt\nspec:\n  completion", "labelled"),
    ("indexed.yaml", "name: gpt\n  labels", "name: Gpt\n  labels", "DNS label"),
    ("jobset.yaml", "jobset-uid", "uid", "look alike"),
    ("jobset.yaml", "backoffLimitPerIndex: 20", "backoffLimit: 2147483647", "lost pod"),
    ("jobset.yaml", "gpt-node-0-", "gpt-node-1-", "--peers"),
    ("jobset.yaml", "FailJobSet", "RestartJobSet", "93"),
    ("jobset-gpu.yaml", "name: gpt2-config\n  labels", "name: gpt-config\n  labels", "no ConfigMap"),
    ("jobset-gpu.yaml", "immutable: true", "immutable: false", "can change"),
    ("jobset-gpu.yaml", "- name: claim-0\n              persistent", "- name: claim-1\n              persistent",
     "no volume"),
    ("statefulset.yaml", "serviceName: gpt", "serviceName: gtp", "Service"),
    ("statefulset.yaml", "- idle", "- exit", "after success"),
    ("statefulset.yaml", "Parallel", "OrderedReady", "after the other"),
    ("lws.yaml", "restartPolicy: None", "restartPolicy: Default", "group"),
    ("volcano.yaml", "=true", "=false", "ready"),
    ("volcano.yaml", "exitCode: 93", "exitCode: 92", "93"),
    ("volcano.yaml", "restartPolicy: Never", "restartPolicy: OnFailure", "exit code"),
    ("mpijob.yaml", "/home/mpiuser/.ssh", "/root/.ssh", "not find"),
    ("mpijob.yaml", "backoffLimit: 3", "backoffLimit: 6", "for minutes"),
    ("mpijob.yaml", "memory: \"1Gi\"", "storage: \"1Gi\"", "ResourceQuota"),
    ("etjob.yaml", "name: et\n", "name: worker\n", "'et'"),
    ("trainjob.yaml", "name: dslaunch-distributed\n  trainer", "name: dslaunch\n  trainer", "no runtime"),
    ("trainjob.yaml", "[64, ", "[", "64"),
    ("trainjob.yaml", "restartPolicy: Never", "restartPolicy: OnFailure", "in place"),
    ("trainjob-torch.yaml", "[64, ", "[", "64"),
    ("trainjob-torch.yaml", "[PodFailurePolicy]", "[FailedIndexes]", "93"),
    ("trainjob.yaml", "fsGroup: 1000", "fsGroup: 0", "uid 1000"),
    ("trainjob.yaml", "port: 2222", "port: 22", "probe"),
    ("trainjob-torch.yaml", "DSLAUNCH_JOB_KEY", "JOB_KEY", "no key"),
]


def broken_are_refused():
    for name, right, wrong, said in BROKEN:
        text = (ROOT / "containers/k8s" / name).read_text()
        assert right in text, (name, right)
        problems = rules.problems_of(text.replace(right, wrong))
        assert any(said in p for p in problems), f"{name} with {wrong!r}: {problems}"


PIECES = ["yes", "null", "~", "1e3", "0x1F", "-", "- a", ": ", "a: b", " #c", "#", "'", '"', "\\", "\n", "\t", "\r",
          "$(POD_IP)", "$$", "$", "(", ")", "{{x}}", "[", "]", "{", "}", ",", "&a", "*a", "!!int", "%", "@", "`",
          "|", ">", "é", "漢", "😀", "\u2028", "\x85", "\ufeff", "\x01", "\x7f", " ", "=", "<<", "2026-01-01", "12:30", "a" * 120]


def any_word_survives(folder, trials):
    random.seed(7)
    config = pathlib.Path(folder) / "train.toml"
    for trial in range(trials):
        def word():
            return "".join(random.choices(PIECES, k=random.randint(1, 5)))
        kind, value = KINDS[trial % len(KINDS)], word()
        name = random.choice("abcxyz") + "".join(random.choices("ab0-", k=random.randint(0, 20))) + "z"
        # With the file of the job and overrides, or with a command.
        config.write_text("#" + word() + "\n" + word() * random.randint(1, 3) + random.choice(["", "\n"]), newline="")
        if trial % 2:
            words = [f"a.{word()}={word()}", f"b={word()}"]
            said, form = ["/opt/dslaunch/job/train.toml", *words], [str(config), *words]
        else:
            said = ["run", word(), word()]
            form = ["--", *said]
        root = ["--run-as-root"] if kind == "etjob" else []
        run = manifest("--kind", kind, *root, "--name", name, "--nodes", "3", "--image", "i", "-x", f"V={value}", *form)
        assert run.returncode == 0, (run.stderr, form)
        docs = rules.load(run.stdout.decode())
        problems = rules.problems_of(run.stdout.decode())
        assert not problems, problems
        command = next(c for d in docs for c in rules.commands(d) if c[-1:] and c[0] != "/usr/sbin/sshd")
        heard = [rules.kubelet_word(w, {"POD_IP": "EXPANDED"}) for w in command[-len(said):]]
        assert heard == said, (heard, said)
        values = [n["value"] for d in docs for n in rules.walk(d)
                  if isinstance(n, dict) and n.get("name") == "V" and "value" in n]
        assert [rules.kubelet_word(v, {"POD_IP": "EXPANDED"}) for v in values] == [value], (values, value)
        if trial % 2:
            kept = next(d for d in docs if d["kind"] == "ConfigMap")["data"]["train.toml"]
            assert kept == config.read_bytes().decode(), (kept, config.read_bytes())


def refused(words, code, said):
    run = manifest(*words)
    text = run.stderr.decode()
    assert run.returncode == code and said in text and not run.stdout, (words, run.returncode, text)
    assert len(text.splitlines()) <= 2, text


def bad_words_are_refused():
    some = ["--kind", "jobset", "--image", "i"]
    refused([], 64, "--kind is missing")
    refused(["--kind", "jobset", "--", "a"], 64, "--image is missing")
    refused(some, 64, "nothing to run")
    refused([*some, "--"], 64, "no command after --")
    refused([*some, "a.toml", "--", "a"], 64, "both a.toml and a command")
    refused([*some, "a.py"], 64, "is not a .toml file")
    refused([*some, "/nowhere/a.toml"], 65, "--in-image")
    refused([*some, "--in-image", "a.toml", "steps"], 64, "is not key=value")
    refused([*some, "--cpu", "4x", "--", "a"], 64, "is not a quantity")
    refused([*some, "--gang", "none", "--", "a"], 64, "--gang 'none' is not known")
    refused([*some, "--leave", "9", "--", "a"], 64, "--leave must be from 10 s")
    refused(["--kind", "etjob", "--image", "i", "--", "a"], 64, "--run-as-root")
    refused([*some, "--name", "x" * 60, "--", "a"], 64, "too long")
    refused([*some, "--", b"\xff"], 64, "is not UTF-8")
    run = subprocess.run([DSLAUNCH, "k8s", "manifst"], capture_output=True, text=True)
    assert run.returncode == 64 and "manifest" in run.stderr, run.stderr


def read_only_images_have_places_to_write():
    for kind in KINDS:
        root = ["--run-as-root"] if kind == "etjob" else []
        text = manifest("--kind", kind, *root, "--image", "i", "--claim", "c:/c", "--read-only", "--", "a").stdout.decode()
        problems = rules.problems_of(text)
        assert not problems, problems
        for doc in rules.load(text):
            of_runtime = doc["kind"] == "ClusterTrainingRuntime"
            for pod in rules.pods(doc):
                for container in pod["containers"]:
                    assert ("readOnlyRootFilesystem" in container["securityContext"]) != of_runtime, (kind, container)


def a_new_token_is_random_and_whole():
    tokens = set()
    for _ in range(3):
        docs = rules.load(manifest("--kind", "lws", "--image", "i", "--new-token", "--", "a").stdout.decode())
        tokens.add(next(d for d in docs if d["kind"] == "Secret")["stringData"]["token"])
    assert len(tokens) == 3 and all(len(t) == 64 and int(t, 16) >= 0 for t in tokens), tokens


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 90
    with tempfile.TemporaryDirectory() as folder:
        names = committed_is_generated(folder)
        print(f"{len(names)} committed manifests are what dslaunch writes, and keep the rules")
        print(schemas_hold(folder, names))
        broken_are_refused()
        print(f"{len(BROKEN)} broken manifests refused")
        any_word_survives(folder, trials)
        print(f"{trials} manifests of random words read back the same")
        bad_words_are_refused()
        read_only_images_have_places_to_write()
        a_new_token_is_random_and_whole()
    print("OK")


main()
