#!/usr/bin/env bash
# A node as the first process of a PID namespace, as a container's entrypoint is: signals count, orphans are reaped.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"
[ "$(id -u)" = 0 ] && unshare --pid --fork --mount-proc true 2>/dev/null || {
  echo "SKIPPED: no PID namespace can be made here"
  exit 77
}
peers_of 2
cat >job.sh <<'END'
trap 'sleep 0.3; : >saved.$RANK; exit 0' TERM
: >up.$RANK
while :; do sleep 0.05; done
END
# The first process of a namespace, seen from here: the child of unshare.
init_of() { cat "/proc/${pids[$1]}/task/${pids[$1]}/children"; }
start() {
  rm -f up.* saved.*
  for i in 0 1; do by="unshare --pid --fork --mount-proc --kill-child" node $i -- bash "$work/job.sh"; done
  wait_for files_there up.0 up.1
}

start
for i in 0 1; do
  init=$(init_of $i)
  [ "$(awk '/^NSpid:/ {print $3}' /proc/${init% }/status)" = 1 ] || die "node $i is not the first process"
  # An orphan of the namespace ends: it must not stay a zombie.
  nsenter -t "${init% }" -p sh -c 'sleep 0.05 & sleep 0.05 &'
done
sleep 0.3
no_zombies() {
  local i init pid
  for i in 0 1; do
    init=$(init_of $i)
    for pid in $(cat /proc/${init% }/task/${init% }/children); do [ "$(state_of "$pid")" != Z ] || return 1; done
  done
}
wait_for no_zombies
# TERM goes to the first process alone, as from a kubelet.
init=$(init_of 1)
kill -TERM ${init% }
ends 143 0 1
files_there saved.0 saved.1 || die "TERM to the first process did not let the ranks save"

# What goes on below it is killed: so ends the first process, and all else in the container.
start
init=$(init_of 0)
kill -9 $(cat /proc/${init% }/task/${init% }/children)
ends 137 0
wait_for said 1 "is lost"
kill -TERM "$(init_of 1 | tr -d ' ')"
ends 143 1
nothing_left || die "left: $(job_processes)"
echo OK
