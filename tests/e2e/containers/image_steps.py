#!/usr/bin/env python3
"""On demand, as root, without a container engine: runs the steps of a Dockerfile in debootstrap trees and checks the
result: names, users, sshd in the three forms that operators use, a training run, keys, sizes, start-up.

    tests/e2e/containers/image_steps.py cpu|cuda [FOLDER] [--check-only] [--ccache]    default: /var/tmp/dslaunch-image

Takes minutes to tens of minutes. Prints a table, which is kept in image_results.md. NVIDIA's images need an engine: a
Debian tree with this machine's /usr/local/cuda-13.0 replaces them.
--ccache: compilers take what this machine's ccache has. --check-only: looks at the tree of the run before."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dockerfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TOOLKIT = pathlib.Path("/usr/local/cuda-13.0")
ROWS = []


def skip(reason):
    print("SKIP:", reason)
    sys.exit(77)


def shell(script, **options):
    return subprocess.run(["bash", "-ec", script], check=True, **options)


def row(what, how, result):
    ROWS.append((what, how, result))
    print(f"| {what} | {how} | {result} |", flush=True)


def base_tree(folder):
    base = folder / "base"
    if not (base / ".complete").exists():
        shutil.rmtree(base, ignore_errors=True)
        files = [p for p in pathlib.Path("/etc/apt").rglob("*") if p.is_file() and p.suffix in (".list", ".sources")]
        sources = "\n".join(p.read_text() for p in files)
        mirror = re.search(r"^(?:deb|URIs:) *(?:\[[^]]*\] *)?(http\S+)", sources, re.M)
        base.mkdir(parents=True)
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", base, mirror[1] if mirror else
                        "http://deb.debian.org/debian"], check=True, stdout=subprocess.DEVNULL)
        shell(f"rm -rf {base}/var/cache/apt/archives/*.deb {base}/var/lib/apt/lists/*")
        (base / ".complete").touch()
    return base


def inside(tree, script, env=None, user=None, timeout=3000, check=True):
    """Runs a shell script in the tree: own mounts, processes and network names; the network is this machine's for RUN."""
    variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **(env or {})}
    variables |= {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy") or k.startswith("PIP_") or k == "LANG"}
    mounts = """
      mount --bind "$0" "$0"; cd "$0"
      mount -t proc proc proc; mount --rbind /sys sys; mount -t tmpfs tmpfs dev
      for d in null zero full random urandom; do touch dev/$d; mount --bind /dev/$d dev/$d; done
      mkdir dev/shm dev/pts; mount -t tmpfs -o mode=1777 tmpfs dev/shm; mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
      ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd; n=0; for f in stdin stdout stderr; do ln -s fd/$n dev/$f; n=$((n + 1)); done
      for f in etc/resolv.conf etc/hosts; do [ -e "$f" ] || touch "$f"; mount --bind "/$f" "$f"; done
      mount --bind /etc/apt/apt.conf.d etc/apt/apt.conf.d
      # pip asks whom this machine's asks.
      if [ -f /etc/pip.conf ]; then cp /etc/pip.conf dev/pip.conf; export PIP_CONFIG_FILE=/dev/pip.conf; fi
      if [ -f "$PIP_CERT" ]; then cp "$PIP_CERT" dev/ca.crt; export PIP_CERT=/dev/ca.crt; fi
      if [ -d "$PIP_FIND_LINKS" ]; then mkdir dev/wheels; mount --bind "$PIP_FIND_LINKS" dev/wheels; export PIP_FIND_LINKS=/dev/wheels; fi
      [ -z "$ALONE" ] || ip link set lo up
      if [ -n "$CACHE" ]; then
        mount --bind / mnt; mount -o remount,bind,ro mnt; mkdir dev/objects; mount --bind "$CACHE" dev/objects
        printf '#!/bin/sh\\nexec /mnt/lib64/ld-linux-x86-64.so.2 --library-path /mnt/lib/x86_64-linux-gnu:/mnt/usr/lib/x86_64-linux-gnu /mnt/usr/bin/ccache "$@"\\n' > dev/ccache
        chmod +x dev/ccache
        export CCACHE_DIR=/dev/objects CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CMAKE_CXX_COMPILER_LAUNCHER=/dev/ccache CMAKE_CUDA_COMPILER_LAUNCHER=/dev/ccache
      fi
      exec chroot $AS "$0" /bin/sh -ec "$1" """
    net = ["--net", "--uts"] if user is not None else []
    variables["AS"] = "--userspec=1000:1000 --groups=1000" if user == "mpiuser" else ""
    variables["ALONE"] = "yes" if net else ""
    cache = pathlib.Path("/root/.cache/ccache")
    variables["CACHE"] = str(cache) if "--ccache" in sys.argv and cache.is_dir() and not net else ""
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", *net,
                           "bash", "-ec", mounts, str(tree), script],
                          env=variables, text=True, capture_output=True, timeout=timeout)
    if check and done.returncode:
        sys.exit(f"image_steps: ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def stage_tree(folder, stage, number, base):
    tree = folder / f"stage{number}"
    shutil.rmtree(tree, ignore_errors=True)
    shell(f"cp -a --reflink=auto {base} {tree}; rm {tree}/.complete")
    if stage.image.startswith("nvidia/cuda"):
        if not TOOLKIT.is_dir():
            skip(f"{TOOLKIT} is not here, and {stage.image} needs a container engine")
        shell(f"mkdir -p {tree}/usr/local; cp -a --reflink=auto {TOOLKIT} {tree}/usr/local/")
        row(f"FROM {stage.image}", "not run: no container engine", f"in its place Debian with this machine's {TOOLKIT}")
    else:
        row(f"FROM {stage.image}", "debootstrap minbase in its place", f"{mib(tree)} MiB")
    return tree


def copy(step, tree, trees, context, folder_inside):
    *sources, target = step.words()
    origin = trees[step.flags["from"]] if "from" in step.flags else context
    place = tree / os.path.join(folder_inside, target).lstrip("/")
    for source in sources:
        path = origin / source.lstrip("/")
        if path.is_dir():
            shell(f"mkdir -p '{place}'; cp -a '{path}/.' '{place}/'")
        else:
            shell(f"mkdir -p '{place if target.endswith('/') else place.parent}'; cp -a '{path}' '{place}'")


def run_steps(name, folder):
    text = (ROOT / f"containers/docker/Dockerfile.{name}").read_text()
    base, context = base_tree(folder), folder / "context"
    shutil.rmtree(context, ignore_errors=True)
    shell(f"git clone -q {ROOT} {context}; rm -rf {context}/.git")
    trees = {}
    for number, stage in enumerate(dockerfile.parse(text)):
        tree = trees[stage.name] = stage_tree(folder, stage, number, base)
        place, env = "/", {}
        for step in stage.steps:
            start, said = time.monotonic(), []
            if step.name == "WORKDIR":
                place = step.text
                (tree / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif step.name == "COPY":
                copy(step, tree, trees, context, place)
            elif step.name == "ENV":
                env |= dict(word.split("=", 1) for word in step.words())
            elif step.name == "RUN":
                done = inside(tree, f"cd {place}; {step.text}", env)
                said = re.findall(r"^cudnn-frontend: .*|^build: done.*", done.stdout, re.M)
            given = "".join(f"--{k}={v} " for k, v in step.flags.items()) + step.text
            shown = given if len(given) < 90 else given[:87] + "..."
            row(f"{step.name} {shown.replace('|', chr(92) + '|')}", "run" if step.name in ("RUN", "COPY", "WORKDIR") else "read",
                "; ".join([f"{time.monotonic() - start:.1f} s", *said]))
    return base, tree


def mib(path):
    return int(subprocess.run(["du", "-sxm", path], capture_output=True, text=True, check=True).stdout.split()[0])


KEYS = "ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f /tmp/key; "
# What the operators do before a pod's command runs: the Secret's files, with their modes.
ROOT_KEYS = KEYS + ("for f in id_rsa id_rsa.pub authorized_keys; do install -m 600 /tmp/key${f#id_rsa} /root/.ssh/$f 2>/dev/null || "
                    "install -m 600 /tmp/key.pub /root/.ssh/$f; done; ")
USER_KEYS = KEYS + ("cd /home/mpiuser/.ssh; install -m 640 -o root -g mpiuser /tmp/key id_rsa; "
                    "for f in id_rsa.pub authorized_keys; do install -m 644 -o root -g mpiuser /tmp/key.pub $f; done; cd /; ")
CLEAN = "rm -rf /tmp/key /tmp/key.pub /root/.ssh/* /home/mpiuser/.ssh/*"
WAIT = "for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.2/{0}) 2>/dev/null && break; sleep 0.05; done; "


def over_ssh(tree, keys, server, port, user):
    """dslaunch to 127.0.0.2 over ssh, which proves the host key by the Secret's, with nothing in known_hosts."""
    wait = f"bash -c '{WAIT.format(port).replace(chr(39), chr(34))}'; "
    words = f"dslaunch -H 127.0.0.2:2 --transport ssh -- sh -c 'echo $(id -un) $RANK'"
    launch = f"cd; {words}" if user == "root" else f"exec setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/mpiuser {words}"
    script = f"{keys} {server} {wait} cd /home/mpiuser; code=0; ({launch}) || code=$?; {CLEAN}; exit $code"
    done = inside(tree, script, {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, user="root", timeout=60, check=False)
    good = done.returncode == 0 and sorted(re.findall(r"(root|mpiuser) (\d)", done.stdout)) == [(user, "0"), (user, "1")]
    return "2 ranks, no key asked" if good else f"FAILED: {done.returncode} {done.stdout[-300:]} {done.stderr[-600:]}"


def look(name, base, tree):
    found = subprocess.run(["grep", "-rlsI", "PRIVATE KEY-----", *(tree / d for d in ("etc", "root", "home", "opt", "run", "tmp"))],
                           capture_output=True, text=True).stdout.split()
    row("private keys in the image", "looked for", "none" if not found else f"FOUND: {found}")
    links = inside(tree, "for n in dslaunch dsrunner torchrun mpirun mpiexec mpiexec.hydra deepspeed; do command -v $n; "
                         "readlink -f $(command -v $n); done").stdout.split()
    row("names on PATH", "run", f"{len(links) // 2} found, {len(set(links[1::2]))} programs")
    if name == "cuda":
        devices = re.findall(r"(?:cuBLASLt|cuDNN|NCCL): \S+ at \S+", inside(tree, "dsrunner --devices || true").stdout)
        row("`dsrunner --devices`, no GPU here", "run", "; ".join(devices) if len(devices) == 3 else f"FAILED: {devices}")
    for user in ("root", "mpiuser"):
        done = inside(tree, "cd /home/mpiuser; dslaunch -n 2 /opt/dslaunch/configs/quickstart.toml train.steps=4 schedule.warmup=1 batch.micro=2 "
                      "data.seq_len=32 log.dir=/tmp/run sample.tokens=0 > /tmp/out 2>&1 || { cat /tmp/out; exit 1; }; tail -n 1 /tmp/out; "
                      "rm -rf /tmp/run /tmp/out", {"HOME": "/root" if user == "root" else "/home/mpiuser"}, user=user, check=False)
        last = done.stdout.strip().split("\n")[-1]
        row(f"the quickstart, 4 steps on 2 ranks, as {user}", "run", last if "done after 4" in last else f"FAILED: {done.stdout[-500:]}{done.stderr[-300:]}")
    row("mpi-operator: `sshd -De`, root, key 0600", "run", over_ssh(tree, ROOT_KEYS, "/usr/sbin/sshd -De & ", 22, "root"))
    row("et-operator: `sshd && sleep 365d`, root, key 0600", "run", over_ssh(tree, ROOT_KEYS, 'sh -c "/usr/sbin/sshd && sleep 365d" & ', 22, "root"))
    as_user = "setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/mpiuser "
    row("Trainer: `sshd -De -f ~/.sshd_config`, uid 1000, key root:1000 0640", "run",
        over_ssh(tree, USER_KEYS, as_user + "/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config & ", 2222, "mpiuser"))
    programs = {p.name: p.stat().st_size for p in (tree / "opt/dslaunch/bin").iterdir()}
    row("programs, stripped", "measured", ", ".join(f"{n} {s / 1e6:.1f} MB" for n, s in sorted(programs.items())))
    row("content of the image beyond Debian's", "measured", f"{mib(tree) - mib(base)} MiB, of it /opt/dslaunch {mib(tree / 'opt/dslaunch')} MiB")
    row("start of `dslaunch --version`, `-n 1 -- true`", "measured", starts(tree))


def starts(tree):
    """Medians of wall time from fork to exit; and of --version with the program's pages dropped from the cache before."""
    script = r"""
      median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] / 1000 }'; }
      micros() { local s=${EPOCHREALTIME/./}; "$@" > /dev/null; echo $((${EPOCHREALTIME/./} - s)); }
      cold() { for f in /opt/dslaunch/bin/dslaunch /lib/x86_64-linux-gnu/lib[cm].so.6; do
                 dd if=$f iflag=nocache count=0 status=none; done; micros dslaunch --version; }
      echo "$(for i in $(seq 100); do micros dslaunch --version; done | median) ms, $(for i in $(seq 100); do micros dslaunch -n 1 -- true; done | median) ms;" \
        "--version with its pages read from disk $(for i in $(seq 15); do cold; done | median) ms"
    """
    return inside(tree, f"exec bash -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'", user="root").stdout.strip()


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    if not words or words[0] not in ("cpu", "cuda"):
        sys.exit(__doc__)
    if os.getuid() != 0 or shutil.which("debootstrap") is None:
        skip("needs root and debootstrap")
    name, folder = words[0], pathlib.Path(words[1] if len(words) > 1 else "/var/tmp/dslaunch-image")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"## Dockerfile.{name}\n\n| step | how | result |\n|---|---|---|", flush=True)
    if "--check-only" in sys.argv:
        base, tree = folder / "base", max(folder.glob("stage*"))
    else:
        base, tree = run_steps(name, folder)
    look(name, base, tree)
    bad = [r for r in ROWS if r[2].startswith(("FAILED", "FOUND"))]
    sys.exit(f"image_steps: {len(bad)} failed" if bad else 0)


main()
