#!/usr/bin/env python3
"""Converts a manifest into command lines of podctl (tests/e2e/pods), one per pod, as a cluster's controllers would.

    pods_of.py FILE TOKEN FOLDER [OPTION...]      OPTIONs go to every `podctl create`; FOLDER takes ConfigMaps
    pods_of.py --launcher FILE FOLDER             for kinds whose operator makes the pods (tests/e2e/operators): options of
                                                  both, of the launcher, and its command, as three arrays of bash

Fields of the downward API, secrets, ConfigMaps, users and Kubernetes' expansion of words are evaluated; what the
controllers add (names, subdomains, variables of the index) stands here, kind by kind."""
import os
import pathlib
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import manifest_rules as rules


def variables(container, labels, uid, token):
    """NAME -> value, in the order of the manifest; a label that is not there is an empty value."""
    fields = {"status.podIP": "@POD_IP@", "metadata.uid": uid, "metadata.namespace": "default",
              **{f"metadata.labels['{k}']": v for k, v in labels.items()}}
    found = {}
    for entry in container.get("env", []):
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            found[entry["name"]] = fields.get(source["fieldRef"]["fieldPath"], "")
        elif "secretKeyRef" in source:
            found[entry["name"]] = token
        else:
            found[entry["name"]] = rules.kubelet_word(entry["value"], found)
    return found


def mounted(spec, container, docs, folder):
    """ConfigMaps as podctl projects them; /dev/shm a pod has anyway."""
    options = []
    maps = {d["metadata"]["name"]: d["data"] for d in docs if d["kind"] == "ConfigMap"}
    sources = {v["name"]: v["configMap"]["name"] for v in spec.get("volumes", []) if "configMap" in v}
    for mount in container.get("volumeMounts", []):
        if mount["name"] in sources:
            source = folder / sources[mount["name"]]
            source.mkdir(exist_ok=True)
            for key, text in maps[sources[mount["name"]]].items():
                (source / key).write_text(text)
            options += ["--config", f"{mount['mountPath']}={source}", "0644"]
    return options


def pods(docs):
    """(host name, subdomain, variables of the controller, labels, pod spec), by index."""
    job = next(d for d in docs if d["kind"] not in ("ConfigMap", "Service", "Secret", "ClusterTrainingRuntime"))
    kind, name, spec = job["kind"], job["metadata"]["name"], job["spec"]
    if job["apiVersion"].startswith("batch.volcano"):
        task = spec["tasks"][0]
        hosts = [f"{name}-{task['name']}-{i}" for i in range(task["replicas"])]
        for i, host in enumerate(hosts):
            env = {"VC_TASK_INDEX": i, "VK_TASK_INDEX": i, "VC_NODE_NUM": len(hosts),
                   "VC_NODE_HOSTS": ",".join(f"{h}.{name}" for h in hosts)}
            yield host, name, env, {}, task["template"]["spec"]
    elif kind == "Job":
        for i in range(spec["completions"]):
            yield (f"{name}-{i}", spec["template"]["spec"]["subdomain"], {"JOB_COMPLETION_INDEX": i},
                   {"batch.kubernetes.io/controller-uid": "uid-of-job"}, spec["template"]["spec"])
    elif kind == "JobSet":
        group = spec["replicatedJobs"][0]
        for i in range(group["template"]["spec"]["completions"]):
            labels = {"jobset.sigs.k8s.io/jobset-uid": "uid-of-set", "jobset.sigs.k8s.io/restart-attempt": "0"}
            yield (f"{name}-{group['name']}-0-{i}", name, {"JOB_COMPLETION_INDEX": i}, labels,
                   group["template"]["spec"]["template"]["spec"])
    elif kind == "StatefulSet":
        for i in range(spec["replicas"]):
            yield f"{name}-{i}", spec["serviceName"], {}, {}, spec["template"]["spec"]
    elif kind == "LeaderWorkerSet":
        group = spec["leaderWorkerTemplate"]
        for i in range(group["size"]):
            env = {"LWS_LEADER_ADDRESS": f"{name}-0.{name}.default", "LWS_GROUP_SIZE": group["size"], "LWS_WORKER_INDEX": i}
            yield f"{name}-0-{i}" if i else f"{name}-0", name, env, {}, group["workerTemplate"]["spec"]
    elif kind == "TrainJob":
        trainer = spec["trainer"]
        for i in range(trainer["numNodes"]):
            env = {"JOB_COMPLETION_INDEX": i, "PET_NNODES": trainer["numNodes"], "PET_NODE_RANK": i,
                   "PET_NPROC_PER_NODE": trainer["numProcPerNode"], "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
                   "PET_MASTER_PORT": 29500}
            patch = spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
            pod = dict(patch["template"]["spec"]["template"]["spec"])
            pod["containers"] = [{**pod["containers"][0], "command": trainer["command"], "env": trainer.get("env", [])}]
            yield f"{name}-node-0-{i}", name, env, {}, pod


def main(path, token, folder, *options):
    docs = rules.load(pathlib.Path(path).read_text())
    for index, (host, subdomain, added, labels, spec) in enumerate(pods(docs)):
        container = spec["containers"][0]
        env = {**variables(container, labels, f"uid-of-{host}", token), **added}
        user = spec.get("securityContext", {})
        words = ["podctl", "create", f"{subdomain}.{index}", "--hostname", host, "--subdomain", subdomain]
        for name, value in env.items():
            words += ["--env", f"{name}={value}"]
        if "runAsUser" in user:
            words += ["--uid", str(user["runAsUser"]), "--gid", str(user["runAsGroup"]), "--fsgroup", str(user["fsGroup"])]
        words += [*mounted(spec, container, docs, pathlib.Path(folder)), *options, "--",
                  *(rules.kubelet_word(w, env) for w in container["command"])]
        print(shlex.join(words))


def launcher(path, folder):
    docs = rules.load(pathlib.Path(path).read_text())
    job = docs[-1]
    if job["kind"] == "TrainJob":
        patch = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        spec, trainer = patch[1]["template"]["spec"]["template"]["spec"], job["spec"]["trainer"]
        container = {**spec["containers"][0], "command": trainer["command"], "env": trainer.get("env", [])}
    else:
        replicas = job["spec"].get("mpiReplicaSpecs") or job["spec"]["etReplicaSpecs"]
        spec = next(v for k, v in replicas.items() if k.lower() == "launcher")["template"]["spec"]
        container = spec["containers"][0]
    env = variables(container, {}, "", "")
    given = [w for name, value in env.items() for w in ("--env", f"{name}={value}")]
    words = [rules.kubelet_word(w, env) for w in container["command"]]
    print(f"both=({shlex.join(mounted(spec, container, docs, pathlib.Path(folder)))})")
    print(f"its_own=({shlex.join(given)})\nwords=({shlex.join(words)})")


if sys.argv[1] == "--launcher":
    launcher(*sys.argv[2:])
else:
    main(*sys.argv[1:])
