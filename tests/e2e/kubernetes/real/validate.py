"""Validates the manifests of all nine kinds on the API server, and their pods against Pod Security, without running them."""
import json
import re

from cluster import BASELINE, SPACE, CaseFailed
from kinds import KINDS
from report import Result


def pod_templates(item):
    """The pod templates in an object, wherever they are."""
    if isinstance(item, list):
        for value in item:
            yield from pod_templates(value)
    elif isinstance(item, dict):
        if "containers" in item.get("spec", {}) and isinstance(item["spec"], dict):
            yield item
        for value in item.values():
            yield from pod_templates(value)


def as_objects(cluster, text):
    """Kubernetes' YAML as objects. kubectl is the parser: types that the cluster does not have are called ConfigMap for it."""
    found = []
    for part in text.split("\n---\n"):
        plain = re.sub(r"(?m)^apiVersion: .*$", "apiVersion: v1", re.sub(r"(?m)^kind: .*$", "kind: ConfigMap", part))
        found.append(json.loads(cluster.kc("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=plain)))
    return found


def check_pods(cluster, space, text, image):
    """Every pod template as a pod of its own: the server says what Pod Security refuses. Returns their number."""
    templates = list(pod_templates(as_objects(cluster, text)))
    for number, template in enumerate(templates):
        spec = template["spec"]
        spec.setdefault("containers", [])
        for container in spec["containers"]:
            container.setdefault("image", image)
        spec.pop("schedulerName", None)
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec,
               "metadata": {"name": f"check-{number}", "namespace": space, "labels": template.get("metadata", {}).get("labels", {})}}
        cluster.kc("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(pod))
    return len(templates)


def manifest(cluster, kind, space, options):
    return cluster.dslaunch("k8s", "manifest", "--kind", kind.name, "--name", "check", "--namespace", space, "--nodes", "2",
                            "--image", cluster.image, "--cpu", "250m", "--memory", "300Mi", "--claim", "runs:/runs", "-x", "A=b",
                            *options, "--in-image", "/opt/dslaunch/configs/tiny.toml")


def validate_kind(cluster, kind, space, options):
    text = manifest(cluster, kind, space, options)
    count = check_pods(cluster, space, text, cluster.image)
    if not cluster.has_resource(kind.resource):
        return f"{count} pod templates accepted; the cluster does not have {kind.resource}"
    runtime = text.split("\n---\n")[0]
    if "kind: ClusterTrainingRuntime" in runtime:  # an administrator's part; a TrainJob without it is refused
        cluster.kc("apply", "-f", "-", stdin=runtime)
    # Warnings are on stderr.
    done = cluster.call([*cluster.words, "apply", "--dry-run=server", "--validate=strict", "-f", "-"], text)
    if "would violate" in done.stderr:
        raise CaseFailed(done.stderr.strip())
    return f"accepted, {count} pod templates too"


def validate(cluster):
    results = []
    for kind in KINDS.values():
        pairs = [(space, user) for user in kind.users for space in (SPACE, BASELINE) if not user or space == BASELINE]
        for space, user in pairs:
            options, level = [user] if user else [], ("restricted" if space == SPACE else "baseline") + (" " + user if user else "")
            result = Result(kind.name, f"validate in {level}", "")
            try:
                print(f"ok     {kind.name:14} {level:24} {validate_kind(cluster, kind, space, options)}", flush=True)
            except CaseFailed as error:
                result.complaints = [str(error)]
                print(f"FAILED {kind.name:14} {level:24} {error}", flush=True)
            results.append(result)
    return results
