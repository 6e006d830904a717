#!/usr/bin/env python3
"""Checks the Dockerfiles without a container engine: they parse, copied files exist, the packages exist and bring every
library that the programs need, sshd accepts its configurations, and no layer contains a key."""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dockerfile
from dockerfile import Problem

ROOT = pathlib.Path(os.environ["DS_SOURCE"])
BIN = pathlib.Path(os.environ["DS_BIN"])
DOCKER = ROOT / "containers/docker"
SECRET = re.compile(r"token|secret|password|private|_key\b", re.I)
skipped = []


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


def ignored(path):
    patterns = [line for line in (ROOT / ".dockerignore").read_text().split("\n") if line and line[0] != "#"]
    return any(fnmatch.fnmatch(path.split("/")[0], p) for p in patterns)


def no_key(path):
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    for file in files:
        if b"PRIVATE KEY-----" in file.read_bytes():
            raise Problem(f"{file}: a private key goes into a layer")


def check_copy(step, is_last):
    for source in step.words()[:-1]:
        if "from" in step.flags:
            continue
        if not (ROOT / source).exists() or ignored(source):
            raise Problem(f"line {step.line}: COPY {source}: there is no such file")
        if is_last:
            no_key(ROOT / source)


def check_run(step, packages):
    found = dockerfile.installed_packages(step)
    packages.update(found)
    if "openssh-server" in found and "/etc/ssh/ssh_host_*" not in step.text:
        raise Problem(f"line {step.line}: the keys that openssh-server makes stay in the layer")
    if found and "/var/lib/apt/lists" not in step.text:
        raise Problem(f"line {step.line}: apt's lists stay in the layer")
    for word in step.text.split():
        if word.startswith(("scripts/", "containers/")) and not os.access(ROOT / word, os.X_OK):
            raise Problem(f"line {step.line}: {word} is no program of this tree")


def check(text):
    """Packages that are installed in the last stage, and in all."""
    stages = dockerfile.parse(text)
    every, last = set(), set()
    for stage in stages:
        is_last = stage is stages[-1]
        for step in stage.steps:
            if step.name == "COPY":
                check_copy(step, is_last)
            elif step.name == "RUN":
                check_run(step, last if is_last else every)
            elif step.name in ("ENV", "ARG", "LABEL") and SECRET.search(step.text):
                raise Problem(f"line {step.line}: a secret in {step.name}")
    names = [s.name for s in stages[-1].steps]
    if not stages[-1].image.startswith("debian:12") or len(stages) < 2:
        raise Problem("the image is not Debian 12 alone, without what was needed to build")
    if "CMD" not in names or "WORKDIR" not in names:
        raise Problem("no CMD or no WORKDIR")
    return last, every | last


BROKEN = [
    ("COPY . .", "CPY . .", "unknown instruction"),
    ("COPY --from=build", "COPY --from=builder", "no earlier stage"),
    ("COPY containers/docker/ssh ", "COPY containers/docker/sshd ", "no such file"),
    ("COPY . .", "COPY data .", "no such file"),
    ("FROM debian:12-slim\n", "FROM debian\n", "has no tag"),
    ("/etc/ssh/ssh_host_*", "/etc/nothing", "keys that openssh-server makes"),
    ("CMD [\"dslaunch\", \"--help\"]", "CMD dslaunch --help", "through a shell"),
    ("WORKDIR /home/mpiuser", "ENV DSLAUNCH_TOKEN=abc", "a secret in ENV"),
    ("scripts/fetch_text.sh", "scripts/fetch_txt.sh", "is no program"),
    ("rm -rf /var/lib/apt/lists/* /etc", "rm -rf /etc", "apt's lists"),
    ("FROM debian:12-slim AS build", "FROM debian:12-slim AS", "FROM IMAGE"),
    ("CMD [\"dslaunch\", \"--help\"]", "EXPOSE 1 \\", "beyond the end"),
]


def broken_are_refused():
    text = (DOCKER / "Dockerfile.cpu").read_text()
    for right, wrong, said in BROKEN:
        assert right in text, right
        broken = text.replace(right, wrong)
        try:
            check(broken.rstrip("\n") if "beyond" in said else broken)
        except Problem as problem:
            assert said in str(problem), (wrong, str(problem))
        else:
            raise AssertionError(f"{wrong!r} was taken")


def packages_exist(packages):
    if not list(pathlib.Path("/var/lib/apt/lists").glob("*_Packages*")):
        skipped.append("packages not looked up: apt has no lists here (apt-get update)")
        return
    said = run("apt-cache", "pkgnames").stdout.split()
    assert set(packages) <= set(said), f"there are no packages {sorted(set(packages) - set(said))}"
    assert "libdnnl99" not in said, "apt-cache knows everything"


def libraries_come_with(packages):
    """Every shared library of dsrunner belongs to a package that the image's packages depend on."""
    paths = re.findall(r"=> (/\S+)", run("ldd", BIN / "dsrunner").stdout)
    spelled = {s: path for path in paths for s in (path, "/usr" + path, os.path.realpath(path))}
    owner = {}
    for line in run("dpkg-query", "-S", *spelled).stdout.splitlines():
        package, _, file = line.partition(": ")
        owner[spelled.get(file)] = package.split(":")[0]
    skipped.extend(f"{p} is of no package here: where the image has it from is not checked" for p in paths if p not in owner)
    owners = set(owner.values())
    tree = run("apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests", "--no-enhances",
               "--no-conflicts", "--no-breaks", "--no-replaces", *sorted(packages)).stdout
    known = set(re.findall(r"^(\S+)$", tree, re.M)) | set(re.findall(r"Depends: (\S+)", tree))
    given = {"libc6", "libgcc-s1", "libstdc++6", "libasan8", "libubsan1", "libtsan2"}  # or of a build for tests only
    lacking = {o for o in owners if o not in known | given}
    assert not lacking, f"the image would lack {lacking}"
    assert "libdnnl2" in owners, "dsrunner without oneDNN: nothing was looked at"
    return len(paths)


def sshd_takes_its_configurations(folder):
    server = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])
    if server is None:
        skipped.append("sshd's configurations not tried: no OpenSSH server")
        return
    home = pathlib.Path(folder) / "home"
    (home / ".ssh").mkdir(parents=True)
    key = home / ".ssh/id_rsa"
    run("ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-N", "", "-f", key)
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    configs = {}
    for name in ("sshd_config", "mpiuser.sshd_config"):
        text = (DOCKER / "ssh" / name).read_text()
        text = re.sub(r"(?m)^HostKey .*/id_rsa$", f"HostKey {key}", text)
        configs[name] = pathlib.Path(folder) / name
        configs[name].write_text(text)
        good = run(server, "-t", "-f", configs[name])
        assert good.returncode == 0 and not good.stderr, f"{name}: {good.stderr}"
        configs[name].write_text(text + "MaxStartup 3\n")
        assert run(server, "-t", "-f", configs[name]).returncode != 0, "sshd takes anything"
        configs[name].write_text(text)
        # As a Secret is mounted: OpenSSH alone refuses it, what the image has in its place does not.
        key.chmod(0o640)
        alone = run(server, "-t", "-f", configs[name])
        wrapper = pathlib.Path(folder) / "sshd"
        wrapper.write_text((DOCKER / "ssh/sshd").read_text().replace("/usr/sbin/sshd.openssh", server))
        wrapper.chmod(0o755)
        ours = run(wrapper, "-t", "-f", configs[name], env={**os.environ, "HOME": str(home)})
        assert alone.returncode != 0 and "no hostkeys" in alone.stderr, alone.stderr
        assert ours.returncode == 0, ours.stderr
        key.chmod(0o600)
    for left in pathlib.Path("/dev/shm").glob("sshd.*"):
        if left.is_dir() and left.owner() == home.owner() and (left / "host_key").exists():
            if (left / "host_key").read_bytes() == key.read_bytes():
                shutil.rmtree(left)


def launcher_is_small(folder):
    """10 MB at most, as it goes into an image."""
    small = pathlib.Path(folder) / "dslaunch"
    if run("strip", "-o", small, BIN / "dslaunch").returncode != 0:
        skipped.append("size of dslaunch not looked at: no strip")
        return
    size = small.stat().st_size
    sanitized = re.search("lib[at]san", run("ldd", BIN / "dslaunch").stdout)
    assert sanitized or size < 10_000_000, f"dslaunch has {size} bytes"
    print(f"dslaunch has {size / 1e6:.1f} MB")


def main():
    every, last = set(), set()
    for name in ("Dockerfile.cpu", "Dockerfile.cuda"):
        last_here, every_here = check((DOCKER / name).read_text())
        last, every = last | last_here, every | every_here
    broken_are_refused()
    print(f"2 Dockerfiles parse and find their files; {len(BROKEN)} broken ones refused")
    sets = re.findall(r"^(?:build|text)=\((.*?)\)", (ROOT / "scripts/install_packages.sh").read_text(), re.M | re.S)
    assert len(sets) == 2, sets
    every.update(" ".join(sets).split())
    packages_exist(every)
    count = libraries_come_with(last)
    print(f"{len(every)} packages; {count} shared libraries of dsrunner come with them")
    with tempfile.TemporaryDirectory() as folder:
        sshd_takes_its_configurations(folder)
        launcher_is_small(folder)
    print("both configurations of sshd are sound, with keys of mode 0600 and 0640")
    for line in skipped:
        print("left out:", line)
    print("OK")


main()
