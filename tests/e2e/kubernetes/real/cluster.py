"""A cluster and what the tests need in it: namespaces, a shared volume, pods that can kill processes of other pods."""
import json
import os
import shutil
import subprocess
import tempfile
import time

SPACE = "dslaunch-e2e"  # Pod Security `restricted`
BASELINE = "dslaunch-e2e-baseline"
FAULTS = "dslaunch-e2e-faults"  # `privileged`: the pods that send SIGKILL
HOST_FOLDER = "/tmp/dslaunch-e2e"  # on the node, if no storage class is given
CLAIM = "runs"


class CaseFailed(Exception):
    pass


def wait_for(what, seconds, look, pause=0.3):
    """Returns the first true value of look(). Fails after `seconds`."""
    end = time.time() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.time() > end:
            raise CaseFailed(f"not within {seconds} s: {what}")
        time.sleep(pause)


class Cluster:
    def __init__(self):
        self.tool = os.environ.get("DS_KUBERNETES_TOOL", "")
        self.image = os.environ.get("DS_KUBERNETES_IMAGE", "registry.example/dslaunch:1")
        self.words = [self.tool, "kc"] if self.tool else ["kubectl"]
        self.folder = tempfile.mkdtemp(prefix="dslaunch-e2e.")
        self.environment = {**os.environ, "PATH": self.folder + ":" + os.environ["DS_BIN"] + ":" + os.environ["PATH"]}
        if self.tool:  # programs that call kubectl get the tool's
            with open(self.folder + "/kubectl", "w", encoding="utf-8") as file:
                # The tool's own kubectl must not be this file.
                file.write(f'#!/bin/sh\nPATH="{os.environ["PATH"]}" exec "{self.tool}" kc "$@"\n')
            os.chmod(self.folder + "/kubectl", 0o755)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, words, stdin=None, seconds=120, check=True, environment=None):
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
                              env=environment)
        if check and done.returncode != 0:
            raise CaseFailed(f"{' '.join(words[:8])}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()}")
        return done

    def dslaunch(self, *words, seconds=400):
        return self.call([os.environ["DS_BIN"] + "/dslaunch", *words], None, seconds, True, self.environment).stdout

    def kc(self, *words, stdin=None, seconds=120, check=True):
        return self.call([*self.words, *words], stdin, seconds, check).stdout

    def get(self, *words):
        text = self.kc("get", *words, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else None

    def apply(self, *objects, space=None):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        return self.kc(*(["-n", space] if space else []), "apply", "-f", "-", stdin=text)

    def stream(self, *words):
        return subprocess.Popen([*self.words, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                errors="replace", stdin=subprocess.DEVNULL)

    # The tool's verbs
    def is_up(self):
        return subprocess.run([*self.words, "get", "nodes"], capture_output=True, timeout=60, check=False).returncode == 0

    def start(self, corefile, makes_image):
        """Starts the tool's cluster, or again with this Corefile, and loads an image of this build."""
        source, build = os.environ["DS_SOURCE"], os.path.dirname(os.environ["DS_BIN"].rstrip("/"))
        if corefile and self.is_up():
            self.call([self.tool, "down", "--wipe"])
        if not self.is_up():
            self.call([self.tool, "setup"], seconds=600)
            if makes_image:
                self.call([self.tool, "image", build, source], seconds=600)
            self.call([self.tool, "up", *([corefile] if corefile else [])], seconds=300)
        elif makes_image:
            self.call([self.tool, "image", build, source], seconds=600)
        self.call([self.tool, "load"], seconds=300)

    def has_resource(self, resource):
        return subprocess.run([*self.words, "get", resource, "-n", "default"], capture_output=True, timeout=60,
                              check=False).returncode == 0

    def versions(self):
        server = json.loads(self.kc("version", "-o", "json"))["serverVersion"]["gitVersion"]
        node = self.get("nodes")["items"][0]["status"]["nodeInfo"]
        return f"Kubernetes {server}, {node['containerRuntimeVersion']}, Linux {node['kernelVersion']}"

    # What the tests need
    def prepare(self):
        for name, level in [(SPACE, "restricted"), (BASELINE, "baseline"), (FAULTS, "privileged")]:
            self.apply(namespace(name, level))
        self.apply(fault_pods(self.image))
        wait_for("the pods that send SIGKILL run", 120, self.fault_pods_run)
        self.apply(*volume(SPACE))
        if not os.environ.get("DS_KUBERNETES_STORAGE_CLASS"):  # others may wait for a first pod
            wait_for("the claim is bound", 60, lambda: self.get("pvc", CLAIM, "-n", SPACE)["status"]["phase"] == "Bound")

    def fault_pods_run(self):
        status = self.get("daemonset", "faults", "-n", FAULTS).get("status", {})
        return status.get("numberReady", 0) > 0 and status["numberReady"] == status["desiredNumberScheduled"]

    def remove(self):
        for pod in self.get("pods", "-n", FAULTS)["items"]:
            self.kc("exec", "-n", FAULTS, pod["metadata"]["name"], "--", "sh", "-c", "rm -rf /shared/*", check=False)
        self.kc("delete", "ns", SPACE, BASELINE, FAULTS, "--ignore-not-found", seconds=300, check=False)
        self.kc("delete", "pv", f"{SPACE}-{CLAIM}", "--ignore-not-found", seconds=120, check=False)

    def shared(self, command, path):
        """What a command says of a path on the shared folder of the only node."""
        pod = self.get("pods", "-n", FAULTS)["items"][0]["metadata"]["name"]
        return self.kc("exec", "-n", FAULTS, pod, "--", command, f"/shared/{path}")

    def clock_ahead(self):
        """Returns by how much the clock of the first node is ahead of this machine's."""
        pod = self.get("pods", "-n", FAULTS)["items"][0]["metadata"]["name"]
        before = time.time()
        there = float(self.kc("exec", "-n", FAULTS, pod, "--", "date", "+%s.%N"))
        after = time.time()
        return 0.0 if before <= there <= after else there - (before + after) / 2

    def on_node_of(self, pod, script, *words):
        """Runs a script in the privileged pod on the node of `pod`, where all processes of the node are seen."""
        for item in self.get("pods", "-n", FAULTS)["items"]:
            if item["spec"].get("nodeName") == pod["spec"]["nodeName"]:
                return self.kc("exec", "-n", FAULTS, item["metadata"]["name"], "--", "sh", "-c", script, "sh", *words)
        raise CaseFailed("no pod for faults on the node " + pod["spec"]["nodeName"])


def namespace(name, level):
    labels = {f"pod-security.kubernetes.io/{mode}": level for mode in ("enforce", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def fault_pods(image):
    container = {"name": "faults", "image": image, "command": ["sleep", "infinity"],
                 "securityContext": {"privileged": True, "runAsUser": 0},
                 "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                 "lifecycle": {"postStart": {"exec": {"command": ["chmod", "1777", "/shared"]}}}}
    spec = {"hostPID": True, "terminationGracePeriodSeconds": 0, "containers": [container],
            "volumes": [{"name": "shared", "hostPath": {"path": HOST_FOLDER, "type": "DirectoryOrCreate"}}],
            "tolerations": [{"operator": "Exists"}]}
    labels = {"app": "faults"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "faults", "namespace": FAULTS},
            "spec": {"selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": spec}}}


def volume(space):
    """A claim that all pods mount: of the storage class that is given, or a folder of the only node."""
    storage = os.environ.get("DS_KUBERNETES_STORAGE_CLASS", "")
    name, size = f"{space}-{CLAIM}", {"storage": "1Gi"}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM, "namespace": space},
             "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": storage, "resources": {"requests": size}}}
    if storage:
        return [claim]
    claim["spec"]["volumeName"] = name
    return [{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
             "spec": {"capacity": size, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                      "hostPath": {"path": HOST_FOLDER}, "claimRef": {"namespace": space, "name": CLAIM}}}, claim]
