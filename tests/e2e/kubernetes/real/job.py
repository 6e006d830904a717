"""One job in the cluster: its manifest, its pods as they change, the output of every container with times, and its end."""
import json
import os
import re
import secrets
import threading
import time
from datetime import datetime, timezone

from cluster import CLAIM, SPACE, CaseFailed, wait_for
from kinds import has_labels

STEP = re.compile(r"\[0\] step +(\d+)/(\d+) +loss")
RESUMED = re.compile(r"checkpoint: step (\d+) resumed from")
STEPS = 40
RUN = f"{int(time.time()):x}"  # folders of an earlier run are not seen
# Some tenths of a second for each step on a quarter of a CPU.
TRAINING = ["--in-image", "/opt/dslaunch/configs/tiny.toml", "batch.accum=16"]
# Of jobs whose number of pods changes: the bits of 1 to 4 pods are those of one rank.
BATCH = 64
CHANGING = ["batch.accum=1", f"batch.global={BATCH}", "determinism.virtual_ranks=16", "log.samples=true"]

MEMORY = ["--memory", "300Mi"]


def stamp(text):
    """Seconds since 1970 of a time as 2026-11-23T17:02:02.406731892Z."""
    whole, _, rest = text.rstrip("Z").partition(".")
    seconds = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
    return seconds + float("0." + (rest or "0"))


def documents(stream):
    """The JSON objects that kubectl -w -o json writes one after the other."""
    lines = []
    for line in stream:
        lines.append(line)
        if line.rstrip() == "}":
            yield json.loads("".join(lines))
            lines = []


class Job:
    def __init__(self, cluster, kind, name, space=SPACE):
        self.cluster, self.kind, self.name, self.space = cluster, kind, name, space
        self.lock = threading.Lock()
        self.pods = {}  # uid: pod as last seen
        self.gone = set()  # uids of pods that are being deleted
        self.ends = {}  # container id: (uid of its pod, exit code, message)
        self.lines = []  # (time, is of the root, pod's name, text)
        self.streams, self.followed = [], set()
        self.applied = self.fault = 0.0
        self.main_end = None

    # Making it
    def manifest(self, options=(), what=None, steps=STEPS, every=5, overrides=()):
        folder = f"/runs/{RUN}/{self.name}"
        training = [*TRAINING, f"train.steps={steps}", f"checkpoint.every={every}", f"log.dir={folder}/log", f"checkpoint.dir={folder}/checkpoints", *overrides]
        return self.cluster.dslaunch(
            "k8s", "manifest", "--kind", self.kind.name, "--name", self.name, "--namespace", self.space,
            *(["--nodes", "2"] if "--nodes" not in options else []),
            "--image", self.cluster.image, "--cpu", "250m", "--leave", "30", *(MEMORY if "--memory" not in options else []),
            *(["--claim", f"{CLAIM}:/runs"] if what is None else []), *options, *(what or training))

    def make_secret(self, token=None):
        token = secrets.token_hex(32) + "\n" if token is None else token
        self.cluster.kc("-n", self.space, "create", "secret", "generic", f"{self.name}-token",
                        "--from-file=token=/dev/stdin", stdin=token)
        self.cluster.kc("-n", self.space, "label", "secret", f"{self.name}-token", f"dslaunch.io/job={self.name}")

    def apply(self, manifest):
        watch = self.cluster.stream("-n", self.space, "get", "pods", "-l", f"dslaunch.io/job={self.name}", "-w", "-o", "json")
        self.streams.append(watch)
        threading.Thread(target=self.watch, args=(watch,), daemon=True).start()
        time.sleep(0.5)
        self.applied = time.time()
        self.cluster.kc("apply", "-f", "-", stdin=manifest)

    # Watching it
    def watch(self, process):
        for pod in documents(process.stdout):
            with self.lock:
                self.pods[pod["metadata"]["uid"]] = pod
                self.note_containers(pod)

    def note_containers(self, pod):
        for status in pod["status"].get("containerStatuses", []):
            for state in (status.get("state", {}), status.get("lastState", {})):
                ended = state.get("terminated")
                if ended and ended.get("containerID") and ended["containerID"] not in self.ends:
                    self.ends[ended["containerID"]] = (pod["metadata"]["uid"], ended["exitCode"], ended.get("message", ""))
            identity = status.get("containerID", "")
            if identity and identity not in self.followed and "waiting" not in status["state"]:
                self.followed.add(identity)
                threading.Thread(target=self.follow, args=(pod,), daemon=True).start()

    def follow(self, pod):
        name, is_root = pod["metadata"]["name"], has_labels(pod, self.kind.root)
        process = self.cluster.stream("-n", self.space, "logs", "-f", "--timestamps", "--tail=-1", name)
        self.streams.append(process)
        for line in process.stdout:
            when, _, text = line.rstrip("\n").partition(" ")
            if when.endswith("Z"):
                with self.lock:
                    self.lines.append((stamp(when) - self.cluster.ahead, is_root, name, text))

    def stop_watching(self):
        for process in self.streams:
            process.kill()
            process.wait()

    # Looking at it
    def pod(self, labels):
        """The newest pod with these labels that is not being deleted."""
        with self.lock:
            found = [pod for pod in self.pods.values() if has_labels(pod, labels)
                     and "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") in ("Pending", "Running")]
        return max(found, key=lambda pod: pod["metadata"]["creationTimestamp"], default=None)

    def root(self):
        return self.pod(self.kind.root)

    def worker(self):
        return self.pod(self.kind.worker)

    def text(self, root_only=False):
        with self.lock:
            return "\n".join(line[3] for line in sorted(self.lines) if line[1] or not root_only)

    def steps(self, since=0.0):
        with self.lock:
            found = [(line[0], STEP.search(line[3])) for line in self.lines if line[0] >= since]
        return sorted((when, int(match[1])) for when, match in found if match)

    def resumed(self):
        return [int(step) for step in RESUMED.findall(self.text())]

    def messages(self):
        with self.lock:
            return [message for _, _, message in self.ends.values() if message]

    def root_codes(self):
        with self.lock:
            return [code for uid, code, _ in self.ends.values() if has_labels(self.pods[uid], self.kind.root)]

    def live_pods(self):
        """Names of the pods that have not ended, as the server knows them."""
        found = self.cluster.get("pods", "-n", self.space, "-l", f"dslaunch.io/job={self.name}") or {"items": []}
        return [pod["metadata"]["name"] for pod in found["items"] if pod["status"].get("phase") in ("Pending", "Running")]

    def find_main_end(self):
        """How the main object has ended: 'complete', 'failed: REASON', or nothing."""
        main = self.cluster.get(self.kind.resource, self.name, "-n", self.space)
        for condition in (main or {}).get("status", {}).get("conditions", []):
            if condition["status"] == "True" and condition["type"] in ("Complete", "Completed", "Succeeded"):
                return "complete"
            if condition["status"] == "True" and condition["type"] == "Failed":
                return "failed: " + condition.get("reason", "")
        return None

    # Waiting
    def wait_line(self, pattern, seconds, root_only=False):
        return wait_for(f"a line like '{pattern}'", seconds, lambda: re.search(pattern, self.text(root_only)))

    def wait_step(self, least, seconds=60):
        wait_for(f"step {least}", seconds, lambda: any(step >= least for _, step in self.steps()))

    def wait_end(self, seconds):
        if self.kind.ends:
            self.main_end = wait_for("the end of the job", seconds, self.find_main_end, 1)
            wait_for("the exit code of the root", 20, self.root_codes)
            return
        self.wait_line(r"\[0\] done after", seconds)
        codes = len(self.root_codes())
        self.delete()
        wait_for("the root's exit code after the deletion", 60, lambda: len(self.root_codes()) > codes)
        self.main_end = "complete"

    def same_as_undisturbed(self, steps, overrides):
        """Compares each step's loss and gradient norm, the weights and the samples with a run of one rank on this machine."""
        source, records = os.environ["DS_SOURCE"], f"{self.cluster.folder}/{self.name}"
        os.mkdir(records)
        for name in self.cluster.shared("ls", f"{RUN}/{self.name}/log").split():
            if name in ("metrics.jsonl", "summary.json") or name.startswith("samples-rank"):
                with open(f"{records}/{name}", "w", encoding="utf-8") as file:
                    file.write(self.cluster.shared("cat", f"{RUN}/{self.name}/log/{name}"))
        self.cluster.dslaunch("-n", "1", f"{source}/configs/tiny.toml", f"train.steps={steps}", f"log.dir={records}.alone", *overrides)
        done = self.cluster.call(["python3", f"{source}/tests/e2e/elastic/check_history.py", f"{records}.alone", records, "--batch",
                                  str(BATCH)], check=False)
        if done.returncode:
            raise CaseFailed(done.stdout + done.stderr)

    def delete(self):
        self.cluster.dslaunch("k8s", "delete", "--kind", self.kind.name, "--name", self.name, "--namespace", self.space)

    def seen(self):
        """What a person would look at after a failed case."""
        events = self.cluster.kc("-n", self.space, "get", "events", "--sort-by=.lastTimestamp", check=False).splitlines()
        mine = [line for line in events if f"/{self.name}" in line][-15:]
        with self.lock:
            pods = [f"{pod['metadata']['name']} {pod['status'].get('phase')} {json.dumps(pod['status'].get('containerStatuses', [{}])[0].get('state', {}))}"
                    for pod in self.pods.values()]
            lines = [f"{when - self.applied:7.2f} {name}: {text}" for when, _, name, text in sorted(self.lines)
                     if not re.search(r"\[0\] step +\d*[1-9]/", text)][-60:]
            ends = [f"exit code {code}: {message}" for _, code, message in self.ends.values()]
        return "\n".join(["events:", *mine, "pods:", *pods, "ended containers:", *ends, "last lines:", *lines])
