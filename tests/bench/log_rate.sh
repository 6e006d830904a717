#!/usr/bin/env bash
# Lines per second that dslaunch merges: short lines (seq) of several ranks, prefixed, into a pipe that counts them.
# Usage: log_rate.sh [--runs 7] [--ranks 2] [--lines 5000000] [--hosts 0] [--fold]
#   --hosts N   the ranks run on N loopback addresses of one sshd, all of them through ssh (0: this machine, no ssh)
#   --fold      only folded output: the same lines from all ranks, with times, and lines that each rank prints alone
# Targets on 2 cores: 3 million lines/s locally, also folded; 1 million over ssh from 4 hosts.
set -eu
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
bin=${DS_BIN:-$SOURCE/build/release/bin}
runs=7 ranks=2 lines=5000000 hosts=0
names=(plain dslaunch timestamps log-dir fold)
while [ $# -gt 0 ]; do
  case $1 in
    --fold)
      names=(fold fold-timestamps fold-own)
      shift
      continue
      ;;
    --runs) runs=$2 ;;
    --ranks) ranks=$2 ;;
    --lines) lines=$2 ;;
    --hosts) hosts=$2 ;;
    *)
      sed -n '2,6p' "$0"
      exit 64
      ;;
  esac
  shift 2
done
work=$(mktemp -d)
trap 'type sshd_stop >/dev/null 2>&1 && sshd_stop "$work"; rm -rf "$work"' EXIT
where=(-n "$ranks")
if [ "$hosts" -gt 0 ]; then
  . "$SOURCE/tests/support/sshd.sh"
  sshd_need
  sshd_setup "$work"
  port=$(free_port)
  for ((i = 1; i <= hosts; i++)); do
    echo "127.0.1.$i port=$port slots=$(((ranks + hosts - 1) / hosts))" >>"$work/hosts"
    sshd_know "$work" "[127.0.1.$i]:$port"
  done
  sshd_start "$work" 0.0.0.0 "$port"
  where=(-n "$ranks" --hostfile "$work/hosts" --transport ssh --ssh-config "$work/ssh_config")
fi

# micros: prints the microseconds for all lines of all ranks; every line is counted unless lines are folded
micros() {
  local start=${EPOCHREALTIME/./} end seen
  seen=$("$@" | wc -l)
  end=${EPOCHREALTIME/./}
  [ "$seen" = $((ranks * lines)) ] || [ "${folds:-}" = yes ] || {
    echo "$seen of $((ranks * lines)) lines arrived" >&2
    exit 1
  }
  echo $((end - start))
}
plain() {
  for _ in $(seq "$ranks"); do seq "$lines" & done
  wait
}
ours() { "$bin/dslaunch" "${where[@]}" "$@" -- seq "$lines"; }
own() { "$bin/dslaunch" "${where[@]}" "$@" -- sh -c "exec seq \$((1\${RANK}00000000)) \$((1\${RANK}00000000 + $lines - 1))"; }

measure() {
  case $1 in
    plain) micros plain ;;
    dslaunch) micros ours ;;
    timestamps) micros ours --timestamps ;;
    log-dir) micros ours --log-dir "$work/logs" ;;
    fold) folds=yes micros ours --fold ;;
    fold-timestamps) folds=yes micros ours --fold --timestamps ;;
    fold-own) micros own --fold ;;
  esac
}
for _ in $(seq "$runs"); do
  for name in "${names[@]}"; do echo "$name $(measure "$name")"; done
done | {
  samples=$(cat)
  place="this machine"
  [ "$hosts" = 0 ] || place="$hosts hosts over ssh"
  echo "$ranks ranks on $place, $((ranks * lines)) lines, $runs runs in turn, $(nproc) cores"
  printf '%-44s %8s %8s %8s\n' "million lines/s" median worst best
  for name in "${names[@]}"; do
    awk -v n=$name '$1 == n {print $2}' <<<"$samples" | sort -n |
      awk -v n=$name -v all=$((ranks * lines)) '{v[NR] = all / $1}
        END {if (n == "plain") n = "the same processes here into one pipe"
             else if (n == "fold-own") n = "dslaunch --fold, other lines of each rank"
             else if (n == "fold-timestamps") n = "dslaunch --fold --timestamps"
             else if (n != "dslaunch") n = "dslaunch --" n
             printf "%-44s %8.1f %8.1f %8.1f\n", n, v[int((NR + 1) / 2)], v[NR], v[1]}'
  done
  echo "target: at least $([ "$hosts" = 0 ] && echo 3.0 || echo 1.0) on 2 cores"
}
