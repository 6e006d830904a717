"""The kinds of jobs: what a cluster needs for them, where they run, and which of their pods are the root and a worker."""
from dataclasses import dataclass, field

INDEX = "batch.kubernetes.io/job-completion-index"
SET = "jobset.sigs.k8s.io/replicatedjob-name"


@dataclass(frozen=True, eq=False)
class Kind:
    name: str
    resource: str  # as kubectl names its main object
    operator: str = ""  # verb of the tool that starts the controller; empty: part of Kubernetes
    controller: bool = True  # False: no controller is known to the tool; manifests are only validated
    root: dict = field(default_factory=dict)  # labels of the pod that has the job's output
    worker: dict = field(default_factory=dict)  # labels of the pod that cases disturb
    ends: bool = True  # False: a service, whose pods stay after success
    users: tuple = ("", "--run-as-root")  # empty: uid 1000


KINDS = {
    kind.name: kind
    for kind in [
        Kind("indexed", "jobs.batch", root={INDEX: "0"}, worker={INDEX: "1"}),
        Kind("jobset", "jobsets.jobset.x-k8s.io", "jobset", root={INDEX: "0"}, worker={INDEX: "1"}),
        Kind("statefulset", "statefulsets.apps", ends=False,
             root={"apps.kubernetes.io/pod-index": "0"}, worker={"apps.kubernetes.io/pod-index": "1"}),
        Kind("lws", "leaderworkersets.leaderworkerset.x-k8s.io", "lws", ends=False,
             root={"leaderworkerset.sigs.k8s.io/worker-index": "0"},
             worker={"leaderworkerset.sigs.k8s.io/worker-index": "1"}),
        Kind("volcano", "jobs.batch.volcano.sh", controller=False),
        Kind("mpijob", "mpijobs.kubeflow.org", "mpi",
             root={"training.kubeflow.org/job-role": "launcher"},
             worker={"training.kubeflow.org/job-role": "worker", "training.kubeflow.org/replica-index": "1"}),
        Kind("trainjob", "trainjobs.trainer.kubeflow.org", "trainer", users=("",),
             root={SET: "launcher"}, worker={SET: "node", INDEX: "0"}),
        Kind("trainjob-torch", "trainjobs.trainer.kubeflow.org", "trainer", root={INDEX: "0"}, worker={INDEX: "1"}),
        Kind("etjob", "trainingjobs.kai.alibabacloud.com", controller=False, users=("--run-as-root",)),
    ]
}

def has_labels(pod, wanted):
    labels = pod["metadata"].get("labels", {})
    return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())
