# Rules for the documents of one manifest and between them, independent of schemas.
import re

import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
JOIN_PORT = 29400
LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
CONFIG = "/opt/dslaunch/job/train.toml"
SSHD = ["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"]


def load(text):
    return [doc for doc in yaml.load_all(text, Loader=Loader) if doc]


def kubelet_word(word, variables={}):
    """A word of a command as Kubernetes hands it over: $(NAME) is expanded, $$ is $."""
    def put(match):
        found = match.group(0)
        if found == "$$":
            return "$"
        return variables.get(found[2:-1], found)
    return re.sub(r"\$\$|\$\([^)]*\)", put, word, flags=re.S)


def walk(node):
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


def pods(doc):
    return [n for n in walk(doc) if isinstance(n, dict) and isinstance(n.get("containers"), list)]


def commands(doc):
    """Every container's command, and that of a TrainJob's trainer."""
    return [n["command"] for n in walk(doc)
            if isinstance(n, dict) and isinstance(n.get("command"), list)]


def expand_peers(pattern):
    match = re.fullmatch(r"(.*)\{0\.\.(\d+)\}(.*)", pattern)
    return [f"{match[1]}{i}{match[3]}" for i in range(int(match[2]) + 1)] if match else [pattern]


class Checker:
    def __init__(self, text):
        self.text, self.docs, self.problems = text, load(text), []

    def need(self, truth, problem):
        if not truth:
            self.problems.append(problem)

    def named(self, kind):
        return {d["metadata"]["name"]: d for d in self.docs if d["kind"] == kind}

    def run(self):
        self.need(self.docs, "no document")
        job = self.docs[-1]["metadata"]["name"] if self.docs else ""
        for doc in self.docs:
            name = doc.get("metadata", {}).get("name", "")
            if doc.get("kind") != "ClusterTrainingRuntime":
                self.need(doc.get("metadata", {}).get("labels", {}).get("dslaunch.io/job") == job, f"{name} is not labelled")
            if doc.get("kind") in ("Secret", "ConfigMap"):
                self.need(doc.get("immutable") is True, f"{name} can change under a running job")
            self.need(doc.get("apiVersion") and doc.get("kind"), "a document without kind")
            self.need(LABEL.fullmatch(name), f"'{name}' is no DNS label")
            for pod in pods(doc):
                self.pod(pod)
            self.references(doc)
            check = getattr(self, doc["kind"].lower() + "_", None)
            if check and not doc["apiVersion"].startswith("batch.volcano"):
                check(doc["spec"], name)
            elif check:
                self.volcano(doc["spec"], name)
        spaces = {d["metadata"].get("namespace") for d in self.docs if d["kind"] != "ClusterTrainingRuntime"}
        self.need(len(spaces) == 1, f"several namespaces: {spaces}")
        return self.problems

    def pod(self, pod):
        volumes = [v["name"] for v in pod.get("volumes", [])]
        self.need(len(set(volumes)) == len(volumes), f"a volume twice: {volumes}")
        for container in pod["containers"]:
            mounts = container.get("volumeMounts", [])
            for mount in mounts:
                self.need(mount["name"] in volumes, f"no volume for the mount '{mount['name']}'")
            paths = [m["mountPath"] for m in mounts]
            self.need(len(set(paths)) == len(paths), f"two mounts at one path: {paths}")
            if mounts:
                self.need("/dev/shm" in paths, "no memory at /dev/shm")
            self.restricted(pod, container)
            env = [e["name"] for e in container.get("env", [])]
            self.need(len(set(env)) == len(env), f"a variable twice: {env}")
            if container.get("command", [])[:2] == ["dslaunch", "agent"]:
                self.agent(pod, container, env)

    def restricted(self, pod, container):
        """The level `restricted` of Pod Security, except for kinds whose operator needs root."""
        if any(d["kind"] == "TrainingJob" for d in self.docs):
            return
        of_pod, of_container = pod.get("securityContext", {}), container.get("securityContext", {})
        self.need(of_pod.get("runAsNonRoot") and of_pod.get("runAsUser"), "a pod as root")
        self.need(of_pod.get("seccompProfile") == {"type": "RuntimeDefault"}, "no seccomp profile")
        self.need(of_container.get("allowPrivilegeEscalation") is False, "privileges can be gained")
        self.need(of_container.get("capabilities") == {"drop": ["ALL"]}, "capabilities are kept")

        if of_container.get("readOnlyRootFilesystem"):
            paths = {m["mountPath"] for m in container.get("volumeMounts", [])}
            self.need({"/tmp", "/home/mpiuser/runs"} <= paths, "nowhere to write")

    def agent(self, pod, container, env):
        self.need("--join" in container["command"], "an agent that does not join")
        for name in ("POD_IP", "POD_UID", "POD_NAMESPACE", "DSLAUNCH_TOKEN"):
            self.need(name in env, f"no {name} for the agent")
        ports = [p["containerPort"] for p in container.get("ports", [])]
        self.need(ports == [JOIN_PORT], f"the agent's ports are {ports}")
        self.need(pod.get("terminationGracePeriodSeconds", 30) >= 60, "too little time to leave")
        self.grace(pod, container["command"])
        self.need(pod.get("automountServiceAccountToken") is False, "a key to the API that nobody needs")

    def grace(self, pod, command):
        """Ranks end before Kubernetes kills their pod, and have all of the time before."""
        given = command[command.index("--grace") + 1] if "--grace" in command else "0"
        self.need(int(given) + 5 == pod.get("terminationGracePeriodSeconds", 30), f"--grace {given} is not the pod's")

    def references(self, doc):
        secrets, maps = self.named("Secret"), self.named("ConfigMap")
        told = re.findall(r"create secret generic (\S+)", self.text)
        for node in walk(doc):
            if not isinstance(node, dict):
                continue
            if "secretKeyRef" in node:
                ref = node["secretKeyRef"]
                found = ref["name"] in told or ref["key"] in secrets.get(ref["name"], {}).get("stringData", {})
                self.need(found, f"no Secret {ref['name']} with the key {ref['key']}")
            if "configMap" in node:
                name = node["configMap"]["name"]
                self.need("train.toml" in maps.get(name, {}).get("data", {}), f"no ConfigMap {name}")
        for command in commands(doc):
            self.need((CONFIG in command) == bool(maps) or not command[0].endswith(("dslaunch", "torchrun")),
                      "a ConfigMap that is not used, or none")

    def headless(self, name, labels):
        service = self.named("Service").get(name)
        self.need(service, f"no Service {name}")
        spec = service["spec"] if service else {}
        self.need(spec.get("clusterIP") == "None", f"Service {name} is not headless")
        self.need(spec.get("publishNotReadyAddresses"), f"Service {name} hides pods that are not ready")
        self.need(spec.get("selector", {}).items() <= labels.items() and spec.get("selector"),
                  f"Service {name} selects other pods")
        self.need([p["port"] for p in spec.get("ports", [])] == [JOIN_PORT], f"Service {name}'s port")

    def identity(self, spec, variable, label):
        paths = [e["valueFrom"]["fieldRef"]["fieldPath"] for n in walk(spec) if isinstance(n, dict)
                 for e in n.get("env", []) if e["name"] == variable]
        self.need(paths == [f"metadata.labels['{label}']"], f"no {variable}: two jobs of one name look alike")

    def peers(self, spec, expected):
        command = next(iter(commands(spec)), [])
        given = command[command.index("--peers") + 1] if "--peers" in command else ""
        self.need(expand_peers(given) == expected, f"--peers {given} is not {expected}")

    def batch_job(self, spec):
        self.need(spec["completions"] == spec["parallelism"], "completions and parallelism differ")
        self.policies(spec)

    def policies(self, spec):
        self.need(spec["completionMode"] == "Indexed", "not indexed")
        self.need(spec.get("podReplacementPolicy") == "Failed", "two pods of one index at once")
        self.need(spec.get("backoffLimitPerIndex", 0) >= 10, "one back-off for all pods: a lost pod costs minutes")
        self.need(spec.get("maxFailedIndexes") == 0, "a lost index does not end the job")
        codes = {action: [c for r in spec["podFailurePolicy"]["rules"] if r["action"] == action and "onExitCodes" in r
                          for c in r["onExitCodes"]["values"]] for action in ("FailJob", "Ignore")}
        self.need({64, 65, 93} == set(codes["FailJob"]), "64, 65 or 93 does not end the job")
        self.need(143 in codes["Ignore"], "pods that end with an evicted one use up their budget")
        self.need(spec["template"]["spec"].get("restartPolicy") == "Never", "containers restart in place")

    def set_policy(self, spec):
        rules = spec.get("failurePolicy", {}).get("rules", [])
        self.need([(r["action"], r["onJobFailureReasons"]) for r in rules] == [("FailJobSet", ["PodFailurePolicy"])],
                  "93 restarts the set")

    def job_(self, spec, name):
        self.batch_job(spec)
        self.need(spec["template"]["spec"].get("subdomain") == name, "the subdomain is not the Service")
        self.headless(name, spec["template"]["metadata"]["labels"])
        self.identity(spec, "JOB_UID", "batch.kubernetes.io/controller-uid")
        self.peers(spec, [f"{name}-{i}.{name}" for i in range(spec["completions"])])

    def jobset_(self, spec, name):
        self.need(spec["network"]["enableDNSHostnames"], "no names for pods")
        self.need(spec["network"]["publishNotReadyAddresses"], "pods that are not ready have no name")
        self.set_policy(spec)
        group = spec["replicatedJobs"][0]
        job = group["template"]["spec"]
        self.batch_job(job)
        self.identity(spec, "JOBSET_UID", "jobset.sigs.k8s.io/jobset-uid")
        self.identity(spec, "JOBSET_RESTART", "jobset.sigs.k8s.io/restart-attempt")
        self.peers(spec, [f"{name}-{group['name']}-0-{i}.{name}" for i in range(job["completions"])])

    def idle(self, spec):
        text = " ".join(next(iter(commands(spec)), []))
        self.need("--on-success idle" in text, "its pods would start again after success")

    def statefulset_(self, spec, name):
        self.need(spec["serviceName"] == name, "another Service's name")
        labels = spec["template"]["metadata"]["labels"]
        self.need(spec["selector"]["matchLabels"] == labels, "it selects other pods")
        self.headless(name, labels)
        self.need(spec["podManagementPolicy"] == "Parallel", "one pod after the other")
        self.idle(spec)
        self.peers(spec, [f"{name}-{i}.{name}" for i in range(spec["replicas"])])

    def leaderworkerset_(self, spec, name):
        self.need(spec["leaderWorkerTemplate"]["restartPolicy"] == "None", "one restart recreates the group")
        self.need(spec["networkConfig"]["subdomainPolicy"] == "Shared", "one Service for each group")
        self.idle(spec)

    def volcano(self, spec, name):
        plugins = spec["plugins"]
        self.need("env" in plugins, "no VC_TASK_INDEX")
        self.need("--publish-not-ready-addresses=true" in plugins.get("svc", []), "names only when ready")
        self.need(spec["minAvailable"] == sum(t["replicas"] for t in spec["tasks"]), "no gang")
        policies = spec["tasks"][0]["policies"]
        self.need({"exitCode": 93, "action": "AbortJob"} in policies, "93 does not end the job")
        self.need(spec["tasks"][0]["template"]["spec"]["restartPolicy"] == "Never",
                  "policies never see an exit code")

    def mpijob_(self, spec, name):
        replicas = spec["mpiReplicaSpecs"]
        self.need(set(replicas) == {"Launcher", "Worker"}, "not a launcher and workers")
        self.need(spec["runPolicy"]["backoffLimit"] <= 3, "a wrong configuration is tried again for minutes")
        self.need(replicas["Worker"].get("restartPolicy") == "OnFailure", "mpi-operator does not replace a worker that has failed")
        user = pods(replicas["Worker"])[0].get("securityContext", {}).get("runAsUser", 0)
        self.need(spec["sshAuthMountPath"] == ("/home/mpiuser/.ssh" if user else "/root/.ssh"), "keys that sshd does not find")
        self.launcher(replicas["Launcher"], replicas["Worker"])

    def trainingjob_(self, spec, name):
        replicas = spec["etReplicaSpecs"]
        for replica in replicas.values():
            self.need(pods(replica)[0]["containers"][0]["name"] == "et", "the container is not 'et'")
        self.launcher(replicas["launcher"], replicas["worker"])

    def launcher(self, launcher, worker):
        self.need(commands(launcher) and commands(launcher)[0][0] == "dslaunch", "the launcher runs no job")
        root = not pods(worker)[0].get("securityContext")
        sshd = pods(worker)[0]["containers"][0]
        self.need(sshd.get("command", []) + sshd.get("args", []) == ([] if root else SSHD), "another sshd")
        self.grace(pods(launcher)[0], commands(launcher)[0])
        given = pods(launcher)[0]["containers"][0].get("resources", {})
        for which in ("requests", "limits"):
            self.need({"cpu", "memory"} == set(given.get(which, {})), "a ResourceQuota refuses the launcher")

    def clustertrainingruntime_(self, spec, name):
        inner = spec["template"]["spec"]
        jobs = {j["name"]: j for j in inner["replicatedJobs"]}
        torch = "torch" in spec["mlPolicy"]
        self.need(set(jobs) == ({"node"} if torch else {"node", "launcher"}), "not node and launcher")
        self.set_policy(inner)
        self.policies(jobs["node" if torch else "launcher"]["template"]["spec"])
        for job in jobs.values():
            container = pods(job)[0]["containers"][0]
            self.need(container["name"] == "node", "Trainer mounts its keys only in 'node'")
            self.need(pods(job)[0]["securityContext"]["fsGroup"] == 1000, "keys that uid 1000 cannot read")
        if torch:
            self.need("image" not in pods(jobs["node"])[0]["containers"][0], "all jobs share the runtime, but not its image")
            return
        sshd = pods(jobs["node"])[0]["containers"][0]
        self.need(sshd["command"] + sshd["args"] == SSHD, "another sshd")
        self.need(sshd["readinessProbe"]["tcpSocket"]["port"] == 2222, "the probe asks another port")

    def trainjob_(self, spec, name):
        runtime = self.named("ClusterTrainingRuntime").get(spec["runtimeRef"]["name"])
        self.need(runtime, f"no runtime {spec['runtimeRef']['name']}")
        torch = runtime and "torch" in runtime["spec"]["mlPolicy"]
        if torch:
            self.need(spec["trainer"]["command"][0] == "torchrun", "not torchrun")
            env = [e["name"] for e in spec["trainer"].get("env", [])]
            trains = any(w.endswith(".toml") for w in spec["trainer"]["command"])
            self.need(trains == ("DSLAUNCH_JOB_KEY" in env), "no key for the ranks")
        jobs = {j["name"] for p in spec["runtimePatches"]
                for j in p["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]}
        self.need(jobs == ({"node"} if torch else {"node", "launcher"}),
                  f"patches for {jobs}")


def problems_of(text):
    return Checker(text).run()
