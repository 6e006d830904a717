"""The cases: what is done to a job, and what is expected of it."""
import json
import time
from dataclasses import dataclass, field, replace
from typing import Callable

from cluster import wait_for
from job import CHANGING, STEPS
from judge import Expect
from kinds import has_labels

AGENTS = ("indexed", "jobset", "statefulset", "lws")
SSH = ("mpijob", "trainjob")
TOKEN = (*AGENTS, "trainjob-torch")
ALL = (*AGENTS, *SSH, "trainjob-torch")
LASTS = 250  # steps: longer than all changes of a job
LONG = 4000  # steps: a job that does not end by itself
FAULT_STEP = 8  # a checkpoint of step 5 is there by then
LATE_IMAGE = "127.0.0.1:1/dslaunch:late"  # a registry that refuses at once
SHORT = ["--in-image", "/opt/dslaunch/configs/tiny.toml", "train.steps=10"]  # without a volume

# Kills a process of a container or pod, as the node sees it: WHAT is rank, first or pause.
KILL = """
for p in /proc/[0-9]*; do
  case $1 in
    pause) grep -qsE "$2|$(echo "$2" | tr - _)" $p/cgroup && grep -qs '^pause$' $p/comm || continue ;;
    first) grep -qs "$3" $p/cgroup && grep -qsE '^NSpid:.*[[:space:]]1$' $p/status || continue ;;
    rank) grep -qs "$3" $p/cgroup && grep -qs '^dsrunner$' $p/comm || continue ;;
  esac
  kill -9 ${p#/proc/} && echo killed && exit 0
done
echo "no such process" >&2; exit 1
"""


def kill(job, pod, what):
    container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    job.fault = time.time()
    job.cluster.on_node_of(pod, KILL, what, pod["metadata"]["uid"], container)


def kc(job, *words, stdin=None):
    return job.cluster.kc("-n", job.space, *words, stdin=stdin)


def patch(job, spec):
    kc(job, "patch", job.kind.resource, job.name, "--type=merge", "-p", json.dumps({"spec": spec}))


def at_step(act):
    """The action when training has a checkpoint; then the job must come to its end."""
    def run(job):
        job.wait_step(FAULT_STEP)
        job.fault = time.time()
        act(job)
        job.wait_end(200)
    return run


def train(job):
    job.wait_end(90)


def delete(job):
    kc(job, "delete", "pod", job.worker()["metadata"]["name"], "--wait=false")


def delete_root(job):
    kc(job, "delete", "pod", job.root()["metadata"]["name"], "--wait=false")


def force_delete(job):
    kc(job, "delete", "pod", job.worker()["metadata"]["name"], "--force", "--grace-period=0", "--wait=false")


def evict(job):
    name = job.worker()["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": job.space}}
    kc(job, "create", "--raw", f"/api/v1/namespaces/{job.space}/pods/{name}/eviction", "-f", "-", stdin=json.dumps(body))


def kill_rank(job):
    kill(job, job.worker(), "rank")


def kill_agent(job):
    kill(job, job.worker(), "first")


def kill_root(job):
    kill(job, job.root(), "first")


def kill_pause(job):
    kill(job, job.worker(), "pause")


def size_of(job, pods):
    return {
        "indexed": {"completions": pods, "parallelism": pods},
        "statefulset": {"replicas": pods},
        "lws": {"replicas": pods - 1},
    }[job.kind.name]


def set_size(job, pods):
    if job.kind.name != "jobset": return patch(job, size_of(job, pods))
    # A JobSet cannot be changed, but its Job can.
    kc(job, "patch", "jobs.batch", f"{job.name}-node-0", "--type=merge", "-p", json.dumps({"spec": {"completions": pods, "parallelism": pods}}))


def resize(job):
    """2 pods, then 4, then 1, while the training runs."""
    job.wait_step(FAULT_STEP)
    job.fault = time.time()
    set_size(job, 4)
    job.wait_line(r"epoch \d+: 4 nodes and", 90, True)
    job.wait_step(job.steps()[-1][1] + 5)
    set_size(job, 1)
    job.wait_line(r"epoch \d+: 1 node and", 120, True)
    job.wait_end(300)
    job.same_as_undisturbed(LASTS, CHANGING)


def lose(job):
    """A pod is killed: the training goes on without it, and it joins again."""
    job.wait_step(FAULT_STEP)
    kill_agent(job)
    job.wait_line(r"epoch \d+: 1 node and", 60, True)
    job.wait_line(r"epoch \d+: 2 nodes and", 90, True)
    job.wait_end(300)
    job.same_as_undisturbed(LASTS, CHANGING)


def scale(job):
    gone = job.worker()["metadata"]["name"]
    patch(job, size_of(job, 1))
    wait_for("the worker ends", 60, lambda: gone not in job.live_pods())
    job.fault = time.time()
    patch(job, size_of(job, 2))


def suspend(job):
    spec = (lambda on: {"runPolicy": {"suspend": on}}) if job.kind.name == "mpijob" else (lambda on: {"suspend": on})
    patch(job, spec(True))
    wait_for("all pods end", 60, lambda: not job.live_pods())
    job.fault = time.time()
    patch(job, spec(False))


def wrong_token(job):
    kc(job, "delete", "secret", f"{job.name}-token")
    job.make_secret()
    kill_agent(job)


def missing_secret(job):
    def says_so():
        with job.lock:
            return any("CreateContainerConfigError" in json.dumps(pod["status"]) and f"{job.name}-token" in json.dumps(pod["status"])
                       for pod in job.pods.values())
    wait_for("CreateContainerConfigError that names the Secret", 60, says_so)
    job.fault = time.time()
    job.make_secret()
    job.wait_end(200)


def set_image(job, pod):
    kc(job, "patch", "pod", pod["metadata"]["name"], "--type=json", "-p",
       json.dumps([{"op": "replace", "path": "/spec/containers/0/image", "value": job.cluster.image}]))


def late_image(job):
    """All pods but the worker get the image at once, the worker when the others wait for it."""
    wait_for("root and worker", 30, lambda: job.root() and job.worker())
    time.sleep(1)  # the rest of the pods
    with job.lock:
        others = [pod for pod in job.pods.values() if not has_labels(pod, job.kind.worker)]
    for pod in others:
        set_image(job, pod)
    if job.kind.name != "trainjob-torch":  # torchrun waits without a word
        job.wait_line("wait|no TCP|no DNS|nodes are here", 120)
    job.fault = time.time()
    set_image(job, job.worker())
    job.wait_end(200)


def until_root_ends(seconds):
    def run(job):
        wait_for("the root ends", seconds, job.root_codes)
        job.main_end = job.find_main_end() or "goes on"
    return run


def until_failed(job):
    if job.kind.ends:
        job.wait_end(60)
    else:
        until_root_ends(60)(job)


def quota(job):
    def refused():
        return "exceeded quota" in kc(job, "get", "events", "-o", "json")
    wait_for("an event with 'exceeded quota'", 60, refused)
    job.fault = time.time()
    kc(job, "patch", "resourcequota", "q", "--type=merge", "-p", json.dumps({"spec": {"hard": {"limits.cpu": "8"}}}))
    job.wait_end(240)


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    run: Callable
    expect: Expect
    kinds: tuple = ALL
    options: list = field(default_factory=list)
    what: list | None = None  # instead of the training with a volume
    secret: bool = True
    edit: Callable = lambda text: text  # of the manifest
    own_space: bool = False
    steps: int = STEPS
    every: int = 5  # steps between two checkpoints
    overrides: list = field(default_factory=list)


RARE = 1000  # steps: only TERM saves a checkpoint
SAVED = Expect("complete", 0, resumed=True)


def deadline_of(text):
    return text.replace("  completionMode: Indexed", "  activeDeadlineSeconds: 15\n  completionMode: Indexed").replace(
        "    cleanPodPolicy: Running", "    activeDeadlineSeconds: 15\n    cleanPodPolicy: Running")


def two_of_four(text):
    for key in ("replicas", "completions", "parallelism"):
        text = text.replace(f"{key}: 4", f"{key}: 2")
    return text


CHANGES = {"kinds": ("indexed", "jobset", "statefulset"), "options": ["--nodes", "1:4"], "edit": two_of_four, "steps": LASTS, "every": RARE,
           "overrides": [*CHANGING, "debug.slow_data=0:100"]}  # 25 s and more, on any processor

CASES = {case.name: case for case in [
    Case("train", train, Expect("complete")),
    Case("read-only", train, Expect("complete"), options=["--read-only"], what=SHORT),
    Case("delete", at_step(delete), SAVED, every=RARE),
    Case("delete-root", at_step(delete_root), SAVED, every=RARE),
    Case("force-delete", at_step(force_delete), SAVED),
    Case("evict", at_step(evict), SAVED, every=RARE),
    Case("kill-rank", at_step(kill_rank), SAVED),
    Case("kill-agent", at_step(kill_agent), SAVED),
    Case("kill-root", at_step(kill_root), SAVED),
    Case("kill-pause", at_step(kill_pause), SAVED, steps=120),  # the kubelet needs some seconds to see it
    Case("scale", at_step(scale), SAVED, ("indexed", "statefulset", "lws"), every=RARE),
    Case("resize", resize, Expect("complete", line="4 nodes and 4 ranks"), **CHANGES),
    Case("lose", lose, Expect("complete", line="from memory"), **CHANGES),
    Case("suspend", at_step(suspend), SAVED, ("indexed", "jobset", *SSH, "trainjob-torch"), every=RARE),
    Case("wrong-token", at_step(wrong_token), replace(SAVED, line="key"), AGENTS, ["--with=--wait=40s"]),
    Case("missing-secret", missing_secret, Expect("complete"), TOKEN, secret=False),
    # The launcher of a TrainJob is created only when the other pods are ready.
    Case("late-image", late_image, Expect("complete"), (*AGENTS, "mpijob", "trainjob-torch")),
    Case("deadline", lambda job: job.wait_end(90), Expect("failed: DeadlineExceeded", 143, '"exit_code":143.*"checkpoint":"/runs'),
         ("indexed", "mpijob"), edit=deadline_of, steps=LONG),
    Case("timeout", until_root_ends(90), Expect("goes on|failed.*", 124, '"exit_code":124'), (*AGENTS, *SSH), ["--with=--timeout=4s"],
         ["--", "sleep", "60"]),
    Case("oom", until_root_ends(60), Expect("goes on|failed.*", 137, "memory"), ALL, ["--memory", "64Mi", "--max-restarts", "0"],
         ["--", "sh", "-c", "exec tail /dev/zero"]),
    Case("config-error", until_failed, Expect("failed: .*", 65, "train.steps"), what=[*SHORT, "train.steps=banana"]),
    Case("wrong-option", until_failed, Expect("failed: .*", 64, "no-such-option"), options=["--with=--no-such-option"], what=SHORT),
    Case("start-error", until_failed, Expect("failed: .*", None, "run folder"), what=[*SHORT, "log.dir=/proc/nope"]),
    Case("quota", quota, Expect("complete"), what=SHORT, own_space=True),
]}

SHORT_FORM = [("indexed", "train"), ("indexed", "kill-rank"), ("indexed", "delete"), ("mpijob", "train")]


def expectation(kind, case):
    """Nothing ends the pods of a service: they start again after a failure."""
    if case.expect.end.startswith("failed:") and not kind.ends:
        return replace(case.expect, end="goes on")
    return case.expect
