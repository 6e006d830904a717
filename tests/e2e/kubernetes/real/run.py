#!/usr/bin/env python3
"""Runs the cases on the cluster that run.sh found, and writes the table of results."""
import argparse
import os
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from cases import CASES, LATE_IMAGE, SHORT_FORM, TOKEN, expectation
from cluster import SPACE, CaseFailed, Cluster, namespace, wait_for
from job import RUN, Job, stamp
from judge import Seen, complaints
from kinds import KINDS
from page import run_page
from report import Result, print_result, summary, table
from validate import validate

OPERATORS = threading.Lock()


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="Indexed Job, kill of a rank, deletion, MPIJob")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--cases", default="")
    parser.add_argument("--corefile", default="", help="of the tool's cluster, which is started again: cache,kubeadm")
    parser.add_argument("--starts", type=int, default=0, help="only measure N starts, one after the other")
    parser.add_argument("--docs", action="store_true", help="only run the commands of docs/kubernetes.md")
    parser.add_argument("--validate", action="store_true", help="only validate the manifests of all kinds on the server")
    parser.add_argument("--table", default="", help="file for the table of results")
    parser.add_argument("--jobs", type=int, default=3, help="cases at a time")
    parser.add_argument("--logs", default="", help="folder for what was seen of each job")
    parser.add_argument("--keep", action="store_true", help="leave the namespaces for the next call")
    parser.add_argument("--no-image", action="store_true", help="the tool's image is of this build already")
    return parser.parse_args()


def run_case(cluster, kind, case, corefile, number):
    name = f"{case.name[:8].strip('-')}-{kind.name[:4]}-{RUN[-4:]}-{number}"
    space = f"{SPACE}-{name}" if case.own_space else SPACE
    result = Result(kind.name, case.name, corefile)
    job = Job(cluster, kind, name, space)
    began = time.time()
    try:
        begin_case(cluster, job, case)
        case.run(job)
        time.sleep(0.5)  # the last lines of output
        result.complaints = complaints(expectation(kind, case), seen_of(job, case.steps if case.what is None else 0))
    except CaseFailed as error:
        result.complaints = [str(error)]
    except Exception:  # a fault of the test: shown as a failed case
        result.complaints = [traceback.format_exc()]
    fill(result, job, began)
    try:
        if result.complaints or cluster.logs:
            result.details = job.seen()
        if cluster.logs:
            with open(f"{cluster.logs}/{job.name}", "w", encoding="utf-8") as file:
                file.write(result.details)
        if not result.complaints:
            result.details = ""
        job.delete()
        if case.own_space:
            cluster.kc("delete", "ns", space, "--wait=false")
    except CaseFailed as error:
        result.complaints.append(f"cannot be deleted: {error}")
    job.stop_watching()
    print_result(result)
    return result


def begin_case(cluster, job, case):
    with OPERATORS:  # one may have ended since the last case
        if reason := available(cluster, job.kind):
            raise CaseFailed(reason)
    if case.own_space:
        cluster.apply(namespace(job.space, "restricted"), {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": job.space},
            "spec": {"hard": {"limits.cpu": "300m"}}})
    if case.secret and job.kind.name in TOKEN:
        job.make_secret()
    text = job.manifest(case.options, case.what, case.steps, case.every, case.overrides)
    if case.name == "late-image":
        text = text.replace(cluster.image, LATE_IMAGE)
    job.apply(case.edit(text))


def seen_of(job, whole):
    steps = job.steps()
    last = max((step for _, step in steps), default=0)
    return Seen(job.main_end or "goes on", job.root_codes(), job.messages(), job.resumed(), last, whole, job.text())


def fill(result, job, began):
    steps = job.steps()
    if steps and job.applied:
        result.first_step = steps[0][0] - job.applied
    after = job.steps(job.fault) if job.fault else []
    resumed = [when for when, is_first in marks(job) if when >= job.fault and is_first]
    if job.fault and after:
        later = [when for when, _ in after if not resumed or when >= resumed[0]]
        result.next_step = (later[0] if later else after[0][0]) - job.fault
    result.seconds = time.time() - began


def marks(job):
    with job.lock:
        return sorted((line[0], " resumed from " in line[3]) for line in job.lines)


def is_alive(cluster, kind):
    """The tool's mpi-operator ends when a busy machine makes it lose its lease, and nothing starts it again."""
    if kind.operator != "mpi":
        return True
    lease = cluster.get("lease", "mpi-operator", "-n", "mpi-operator")
    return lease is not None and time.time() - stamp(lease["spec"]["renewTime"]) < 60


def is_established(cluster, resource):
    conditions = (cluster.get("crd", resource) or {}).get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def available(cluster, kind):
    """Returns why a kind cannot run on this cluster; empty: it can."""
    if not kind.controller:
        return "no controller"
    if cluster.has_resource(kind.resource) and (not cluster.tool or is_alive(cluster, kind)):
        return ""
    if not cluster.tool or not kind.operator:
        return f"the cluster does not have {kind.resource}"
    for _ in range(2):  # the first process may end because the API server does not serve its new types yet
        cluster.call([cluster.tool, "operator", kind.operator], seconds=120, check=False)
        wait_for(f"{kind.resource} is established", 30, lambda: is_established(cluster, kind.resource))
    return ""


def open_kinds(cluster, kinds):
    """Starts the controllers; returns the kinds that can run and says which cannot."""
    found = []
    if any(kind.name.startswith("trainjob") for kind in kinds):  # Trainer makes JobSets
        available(cluster, KINDS["jobset"])
    for kind in kinds:
        reason = available(cluster, kind)
        if reason:
            print(f"skipped: {kind.name}: {reason}", flush=True)
        else:
            found.append(kind)
    return found


def wanted(args):
    if args.short:
        return [(KINDS[kind], CASES[case]) for kind, case in SHORT_FORM]
    kinds = [KINDS[name] for name in args.kinds.split(",")] if args.kinds else list(KINDS.values())
    cases = [CASES[name] for name in args.cases.split(",")] if args.cases else list(CASES.values())
    return [(kind, case) for case in cases for kind in kinds if kind.name in case.kinds or not kind.controller]


def run_on(cluster, args, corefile):
    pairs = wanted(args)
    kinds = open_kinds(cluster, list(dict.fromkeys(kind for kind, _ in pairs)))
    cluster.prepare()
    cluster.ahead = cluster.clock_ahead()
    if args.validate:
        return validate(cluster)
    if args.docs:
        return run_page(cluster, available)
    if args.starts:
        start = replace(CASES["train"], name="start", steps=10)
        return [run_case(cluster, kind, start, corefile, number) for kind in kinds for number in range(args.starts)]
    pairs = [(kind, case) for kind, case in pairs if kind in kinds]
    with ThreadPoolExecutor(args.jobs) as pool:
        return list(pool.map(lambda pair: run_case(cluster, pair[1][0], pair[1][1], corefile, pair[0]), enumerate(pairs)))


def main():
    args = options()
    cluster = Cluster()
    cluster.logs = args.logs
    if args.logs:
        os.makedirs(args.logs, exist_ok=True)
    try:
        results = run_all(cluster, args)
        text = table(cluster.versions(), results)
    finally:
        cluster.close()
    if args.table:
        with open(args.table, "w", encoding="utf-8") as file:
            file.write(text)
    print(summary(results))
    return 1 if any(result.complaints for result in results) else 0


def run_all(cluster, args):
    results = []
    for corefile in args.corefile.split(","):
        if cluster.tool:
            cluster.start(corefile, not args.no_image)
        elif corefile:
            sys.exit("run.py: --corefile needs DS_KUBERNETES_TOOL")
        results += run_on(cluster, args, corefile or "as found")
        if not args.keep:
            cluster.remove()
    return results


if __name__ == "__main__":
    sys.exit(main())
