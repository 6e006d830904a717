#!/usr/bin/env bash
# Tests the rendezvous of pods without ssh under failing DNS and any start order.
#   rendezvous.sh [CASE...]
set -u
. "$(dirname "$0")/cases.sh"
cases_begin
zone=default.svc.cluster.local
say_rank='echo rank $RANK of $WORLD_SIZE on $(hostname)'
ranks_ran() { # COUNT: every rank spoke once, through the root
  local i
  for ((i = 0; i < $1; i++)); do want "$job.0" "rank $i of $1 on $job-$i\$"; done
}
all_end() { # CODE COUNT
  local i
  for ((i = 0; i < $2; i++)); do want_code "$job.$i" "$1"; done
}

# Workers are there long before their root's pod, which has no record yet.
case_workers_first() {
  agent indexed 1 3 -- -- sh -c "$say_rank"
  agent indexed 2 3 -- -- sh -c "$say_rank"
  sleep 2
  agent indexed 0 3 -- -- sh -c "$say_rank"
  all_end 0 3
  ranks_ran 3
}
# MPI programs meet through the agents that have dialed in. (Not with MPICH 4.0 of Debian: between hosts that only TCP connects,
# its UCX may wait for ever in MPI_Finalize.)
case_mpi() {
  mkdir -m 755 "$dir/mpi"
  cp "${DS_TESTS:-$DS_BIN/../tests}/pmi_probe" "$dir/mpi"
  agents indexed 3 --mount-ro "/srv/mpi=$dir/mpi" -- --mpi pmi1 -- /srv/mpi/pmi_probe fence 3
  all_end 0 3
  want "$job.0" "rank 0 of 3 is done$"
  command -v mpicc.openmpi > /dev/null || { echo "not tested: mpicc.openmpi is not installed"; return; }
  mpicc.openmpi -O1 -o "$dir/mpi/checks" "$DS_SOURCE/tests/e2e/mpi/mpi_checks.c" || fail "mpicc.openmpi"
  job=openmpi
  agents indexed 3 --mount-ro "/srv/mpi=$dir/mpi" -- -x OMPI_MCA_btl=tcp,self -- /srv/mpi/checks collectives
  all_end 0 3
  want "$job.0" 'all checks passed, 3 ranks$'
}
# The root waits; the others come one by one.
case_root_first() {
  agent indexed 0 3 -- -- sh -c "$say_rank"
  sleep 1
  agent indexed 2 3 -- -- sh -c "$say_rank"
  sleep 1
  agent indexed 1 3 -- -- sh -c "$say_rank"
  all_end 0 3
  ranks_ran 3
}
# All pods run before DNS has any of them; then record by record, the root's last: what was denied stays denied for a while.
case_records_late() {
  agents indexed 3 --not-ready -- -- sh -c "$say_rank"
  sleep 2
  podctl ready "$job.2"
  sleep 1
  podctl ready "$job.1" "$job.0"
  [ "$(podctl ask "$job.2" "$job-0.$job.$zone")" = "NXDOMAIN 0" ] || echo "note: nobody had asked just before"
  all_end 0 3
  ranks_ran 3
  few_names 3
}
# Not more than 3 names are looked up by any pod.
few_names() {
  local i names
  for ((i = 0; i < $1; i++)); do
    names=$(podctl queries "$job.$i" | awk '{ print $2 }' | sort -u | wc -l)
    [ "$names" -le 3 ] || fail "pod $i looks up $names names: $(podctl queries "$job.$i")"
    echo "measured: pod $i asks $(podctl queries "$job.$i" | awk '{ n += $1 } END { print n + 0 }') times for $names names"
  done
}
# Only the root's name matters: workers without records join.
case_no_worker_records() {
  agent indexed 0 3 -- -- sh -c "$say_rank"
  agent indexed 1 3 --not-ready -- -- sh -c "$say_rank"
  agent indexed 2 3 --not-ready -- -- sh -c "$say_rank"
  all_end 0 3
  ranks_ran 3
}
dns_fault() { # FAULT: for the root's name, and gone after 3 s
  podctl dns "$1" "$job-0.$job"
  agents indexed 2 -- -- sh -c "$say_rank"
  sleep 3
  want_not "$job.0" 'rank 1 of 2'
  podctl dns ok "$job-0.$job"
  all_end 0 2
  ranks_ran 2
}
case_servfail() { dns_fault servfail; }
case_nxdomain() { dns_fault nxdomain; }
case_dropped() { dns_fault drop; }
case_ipv6_alone() {
  agents statefulset 2 --families 6 -- -- sh -c "$say_rank; echo at \$MASTER_ADDR"
  all_end 0 2
  ranks_ran 2
  want "$job.0" "at $(podctl ip "$job.0")\$"
}
# At the deadline nobody starts: all say who is missing, and why.
case_missing() {
  agent indexed 0 3 -- --wait 13s -- sh -c "$say_rank"
  agent indexed 1 3 -- --wait 60s -- sh -c "$say_rank"
  want_code "$job.0" 69
  want_code "$job.1" 69
  want "$job.0" "2 of 3 nodes are here after 1[0-9] s; missing: $job-2\.$job: no DNS record"
  want "$job.1" "missing: $job-2\.$job"
  want_not "$job.0" 'rank 0'
  want_report "$job.0" "$job-2\.$job: no DNS record.*\"exit_code\":69"
  want_report "$job.1" "$job-2\.$job: no DNS record.*\"exit_code\":69"
}
# A worker whose root never comes.
case_no_root() {
  agent indexed 1 2 -- --wait 12s -- true
  want_code "$job.1" 69
  want "$job.1" "$job-1\.$job waits for the root: .*no DNS record"
  want "$job.1" "gives up: no root within 12 s"
  want_report "$job.1" '"exit_code":69'
}
# The name still leads to the address of the last root, where another job's root sits now. Nothing of this job runs there.
case_wrong_job() {
  local other=$job-other
  agent indexed 0 2 -- -- sh -c "$say_rank"
  agent indexed 1 2 -- --wait 60s -- sh -c "$say_rank"
  all_end 0 2
  cp "$PODS/dns/records/$job.0" "$dir/$job.record"
  podctl delete "$job.0" 5
  podctl delete "$job.1" 5
  substrate_pod indexed "$other" 0 2 --ip "$(podctl ip "$job.0")" --env "DSLAUNCH_TOKEN=not-${token}" -- \
    dslaunch agent --join --nnodes 2 -- sh -c 'echo wrong job'
  cp "$dir/$job.record" "$PODS/dns/records/$job.0" # stale
  podctl replace "$job.1"
  until_line 60 "$other.0" 'a connection from .* was refused'
  want_not "$job.1" "has joined"
  rm "$PODS/dns/records/$job.0"
  podctl replace "$job.0"
  all_end 0 2
  ranks_ran 2
  want_not "$other.0" '\] wrong job|has joined'
  podctl kill9 "$other.0"
}
# The same secret, yet another job: refused until the right one is there.
case_other_job_same_token() {
  local other=$job-other
  job=$other agent indexed 0 2 -- -- true
  agent indexed 1 2 -- --root "$(podctl ip "$other.0")" --wait 6s
  want_code "$job.1" 69
  want "$job.1" "this is the root of job .*$other"
  podctl kill9 "$other.0"
}
case_wrong_token() {
  agent indexed 0 2 -- --wait 12s -- true
  agent indexed 1 2 --env DSLAUNCH_TOKEN=another-secret-than-the-root-has -- --wait 5s -- true
  want_code "$job.1" 69
  want "$job.1" 'key|secret|token'
  want_code "$job.0" 69
  want "$job.0" "a connection from $(podctl ip "$job.1").* was refused"
}
case_no_token() {
  substrate_pod indexed "$job" 0 2 -- dslaunch agent --join --nnodes 2 -- true
  want_code "$job.0" 65
  want "$job.0" 'DSLAUNCH_TOKEN'
  want_report "$job.0" '"exit_code":65'
}
# No process of a pod shows the secret in its environment or its command line, nor does a rank get it.
case_token_hidden() {
  agents indexed 2 -- -- sh -c 'echo rank $RANK sees $(cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr "\0" "\n" | grep -c "DSLAUNCH_TOKE[N]=.")'
  all_end 0 2
  local i
  for i in 0 1; do want "$job.0" "rank $i sees 0\$"; done
}
# The secret as a mounted file with the kubelet's links, read by a user that owns nothing.
case_token_file() {
  mkdir "$dir/token"
  echo "$token" > "$dir/token/token"
  local i
  for i in 0 1; do
    substrate_pod indexed "$job" $i 2 --uid 1000 --fsgroup 1000 --secret /etc/token="$dir/token" 0400 \
      --env DSLAUNCH_TOKEN_FILE=/etc/token/token -- dslaunch agent --join --nnodes 2 -- sh -c "$say_rank; id -u; env"
  done
  all_end 0 2
  ranks_ran 2
  want_not "$job.0" "$token"
}
# Two pods that say the same index: the newer one stays, the older is told.
case_two_of_one_index() {
  agent indexed 0 3 -- -- sh -c "$say_rank"
  agent indexed 1 3 -- -- sh -c "$say_rank"
  until_line 60 "$job.1" 'has joined'
  podctl create "$job.1b" --hostname "$job-1" --subdomain "$job" --not-ready --env JOB_COMPLETION_INDEX=1 \
    --env "DSLAUNCH_TOKEN=$token" -- dslaunch agent --join --nnodes 3 -- sh -c "$say_rank"
  want_code "$job.1" 69
  want "$job.1" "two nodes say that they are $job-1\.$job: .*the newer one stays"
  agent indexed 2 3 -- -- sh -c "$say_rank"
  want_code "$job.0" 0
  want_code "$job.2" 0
  want_code "$job.1b" 0
  ranks_ran 3
}

# As clusters with the restricted pod security standard run it, with nothing writable but /dev/shm.
case_restricted() {
  agents indexed 2 --restricted --uid 1000 -- -- sh -c "$say_rank"
  all_end 0 2
  ranks_ran 2
}
# 100 ms each way, and of a hundred packets three are lost.
case_slow_network() {
  command -v python3 > /dev/null || { echo "note: not run, there is no python3 for the relay"; return; }
  agent indexed 1 2 --not-ready -- -- sh -c "$say_rank"
  podctl slow "$job.1" 100 3
  agent indexed 0 2 -- -- sh -c "$say_rank"
  all_end 0 2
  ranks_ran 2
  podctl slow "$job.1" 0
}
# The command is in a pod of its own, a launcher; the workers only join, and it is no place of the job.
case_launcher_pod() {
  local i
  for i in 0 1; do
    agent indexed $i 2 -- --wait 30s --root "run.$job"
  done
  podctl create "$job.run" --hostname run --subdomain "$job" --env "DSLAUNCH_TOKEN=$token" -- \
    dslaunch --k8s --transport join --wait 30s --peers "$job-{0..1}.$job" -- sh -c "$say_rank"
  want_code "$job.run" 0
  all_end 0 2
  for i in 0 1; do want "$job.run" "rank $i of 2 on $job-$i\$"; done
}

all="missing no_root servfail dropped nxdomain records_late workers_first root_first no_worker_records ipv6_alone wrong_job
     other_job_same_token wrong_token no_token token_hidden token_file two_of_one_index launcher_pod restricted slow_network"
[ $# -gt 0 ] || set -- $all
cases_run "${PODS_JOBS:-6}" "$@"
