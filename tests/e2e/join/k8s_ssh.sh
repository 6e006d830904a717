#!/usr/bin/env bash
# dslaunch --k8s over ssh: the pods are waited for, one slot each without a GPU, and the verdict is left for Kubernetes.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
export CUDA_VISIBLE_DEVICES=
net="127.$((1 + $$ / 250 % 250)).$((1 + $$ % 250))"
trap 'sshd_stop "$work"; clean_up' EXIT
sshd_setup "$work"
port=$(free_port)
printf 'Port %s\nUser %s\n' "$port" "$(id -un)" >>ssh_config
for i in 11 12; do sshd_know "$work" "[$net.$i]:$port"; done

k8s=(--k8s --transport ssh --ssh-config "$work/ssh_config" --known-hosts "$work/known_hosts" --agent-path "$dslaunch"
  --peers "$net.{11..12}" --termination-log "$work/log")
background "${k8s[@]}" --wait 30s -- sh -c 'echo "$RANK of $WORLD_SIZE on $NODE_RANK"; [ $RANK = 0 ] || exit 3'
sleep 1 # they are not there yet
sshd_start "$work" 0.0.0.0 "$port" || die "no sshd"
finish
expect 3 "a job on pods over ssh"
grep -qF '[1] 1 of 2 on 1' out || die "ranks of pods"
grep -q '"exit_code":3.*"rank":1' log || die "termination log: $(cat log)"

# A pod that never comes: the deadline, and who it was.
sshd_stop "$work"
run "${k8s[@]}" --wait 1s -- true
expect 69 "pods that never come"
grep -qF "$net.1" err || die "missing pods are named"
echo OK
