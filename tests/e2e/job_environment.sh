#!/usr/bin/env bash
# The environment contract: what every rank of a job finds in its environment, where it runs, and as what.
set -u
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0

check() {  # NAME EXPECTED SEEN
  checks=$((checks + 1))
  [ "$2" = "$3" ] && return
  failures=$((failures + 1))
  printf 'FAILED: %s: expected\n%s\nseen\n%s\n' "$1" "$2" "$3"
}
job() { timeout 60 "$dslaunch" "$@" </dev/null; }

printf 'localhost slots=3\n' >hosts
job --hostfile hosts -- sh -c 'echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK \
  $CROSS_RANK $CROSS_SIZE $LOCAL_SIZE $MASTER_ADDR $DSLAUNCH_EPOCH' | sort >seen
check 'places' "$(printf '[%d] %d %d 3 3 0 0 0 1 3 127.0.0.1 0\n' 0 0 0 1 1 1 2 2 2)" "$(cat seen)"

# Two nodes of one machine.
printf 'localhost slots=1\n%s slots=2\n' "$(hostname)" >hosts
job --transport local --hostfile hosts -- sh -c 'echo $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $CROSS_SIZE' |
  sort >seen
check 'two nodes' "$(printf '[0] 0 0 1 0 2\n[1] 1 0 2 1 2\n[2] 2 1 2 1 2\n')" "$(cat seen)"

job -n 4 -- sh -c 'echo $MASTER_PORT $DSLAUNCH_JOB_ID $DSLAUNCH_JOB_KEY' | cut -d' ' -f2- | sort -u >seen
check 'one port, id and key for all' 1 "$(wc -l <seen)"
check 'their form' 1 "$(grep -cE '^[1-9][0-9]{3,4} [0-9a-f]{16} [0-9a-f]{64}$' seen)"
check 'another job has another key' 2 "$( (cat seen; job -n 4 -- sh -c 'echo $MASTER_PORT $DSLAUNCH_JOB_ID $DSLAUNCH_JOB_KEY' |
  cut -d' ' -f2- | sort -u) | cut -d' ' -f3 | sort -u | wc -l)"
# The port is free for a server that sets SO_REUSEADDR, as stores do.
check 'the port can be bound and used' 3 "$("$dslaunch" -n 3 -- "$DS_TESTS/net_helper" meet | grep -c ' of 3 met at 127.0.0.1 ')"

check '-x with a value' 'a b=c' "$(job -x DS_TEST='a b=c' -- sh -c 'echo "$DS_TEST"')"
check '-x of our own' mine "$(DS_TEST=mine job -x DS_TEST -- sh -c 'echo "$DS_TEST"')"
check '-x cannot displace a rank' 64 "$(job -x RANK=9 -- true 2>/dev/null; echo $?)"
check 'the environment is inherited' mine "$(DS_TEST=mine job -- sh -c 'echo "$DS_TEST"')"
check 'the place in the job of another launcher is not inherited, settings are' 'OMPI_MCA_btl=self PMIX_MCA_gds=hash' \
  "$(PMI_RANK=5 PMI_FD=9 PMIX_NAMESPACE=x OMPI_COMM_WORLD_RANK=5 OMPI_MCA_ess=^singleton HYDI_CONTROL_FD=7 \
    OMPI_MCA_btl=self PMIX_MCA_gds=hash job -- env | grep -E '^(PMI_|HYDI|OMPI_COMM|PMIX_N|PMIX_MCA_gds|OMPI_MCA_(ess|btl)=)' | sort | tr '\n' ' ' | sed 's/ $//')"
check 'OMP_NUM_THREADS of the user stays' 3 "$(OMP_NUM_THREADS=3 job -- sh -c 'echo $OMP_NUM_THREADS')"
check 'else there is one' 1 "$(env -u OMP_NUM_THREADS "$dslaunch" -n 64 -- sh -c 'echo $OMP_NUM_THREADS' | cut -d' ' -f2 | sort -u)"

check 'the current directory' "$work" "$(job -- pwd)"
mkdir -p 'a b'
check '--wdir' "$work/a b" "$(job --wdir 'a b' -- pwd)"
check 'umask' 0027 "$(umask 027; job -- sh -c umask)"
check 'signals are as in a fresh process' '0000000000000000 0000000000000000' \
  "$(trap '' USR1; job -- awk '/SigBlk|SigIgn/ {printf "%s%s", sep, $2; sep = " "}' /proc/self/status)"
check 'descriptors' '0 1 2 3' "$(job -- ls /proc/self/fd | tr '\n' ' ' | sed 's/ $//')"
check 'arguments arrive as they are' "$(printf '%s|' 'a b' '$HOME' '*' '"' "'" '' $'x\ny')" \
  "$(job -- printf '%s|' 'a b' '$HOME' '*' '"' "'" '' $'x\ny')"
# A sanitizer needs more.
ldd "$dslaunch" | grep -q 'lib[at]san' ||
  check 'a small stack' '256 256' "$(ulimit -s 256; job -n 2 -- sh -c 'ulimit -s' | sed 's/.* //' | tr '\n' ' ' | sed 's/ $//')"
check '64 ranks' 64 "$(job -n 64 -- sh -c 'echo $RANK' | sort -u | wc -l)"

# Secrets in what ranks write.
export DS_TOKEN=hunter2-and-more
check 'without --redact lines are as they are' 'x hunter2-and-more' "$(job -x DS_TOKEN -- sh -c 'echo x $DS_TOKEN')"
check '--redact hides what tells of a secret, and what is named' 'x *** y *** z shown-value' \
  "$(job --redact 'MY_*' -x DS_TOKEN -x MY_KEY=topsecret -x OTHER=shown-value -- sh -c 'echo x $DS_TOKEN y $MY_KEY z $OTHER')"
check 'a line in pieces' 'x ***!' \
  "$(job --redact none -x DS_TOKEN -- sh -c 'printf "x hunter2"; sleep 0.4; printf "%s" -and-; sleep 0.4; echo more!')"
check 'standard error, and the end without a newline' '*** hunter2-and' \
  "$(job --redact none -x DS_TOKEN -- sh -c 'printf "$DS_TOKEN hunter2-and" >&2' 2>&1)"
job --redact none -x DS_TOKEN -n 2 --log-dir logs --show none -- sh -c 'echo $RANK $DS_TOKEN; : >wrote.$RANK; while [ ! -e wrote.0 ] || [ ! -e wrote.1 ]; do sleep 0.02; done; sleep 0.2; exit 3' 2>verdict
check 'log files' '0 ***,1 ***,' "$(cat logs/rank_000?.log | tr '\n' ,)"
check 'the verdict' 0 "$(grep -c hunter2 verdict)"
check 'and has the last lines' 1 "$(grep -c '  | [01] \*\*\*' verdict)"
check 'several ranks of which one is folded' '[0-1] a ***' "$(job --redact none --fold -x DS_TOKEN -n 2 -- sh -c 'echo a $DS_TOKEN')"

if [ "$failures" != 0 ]; then
  echo "environment of ranks: $failures of $checks checks failed"
  exit 1
fi
echo "environment of ranks: $checks checks passed"
