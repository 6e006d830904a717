#!/usr/bin/env bash
# Campaign of random faults against jobs of counting ranks on three hosts (network namespaces, ssh) and this machine.
#
#   campaign.sh FAULTS SEED [FAULT-NAME...]        needs DS_BIN, DS_SOURCE, DS_TESTS
#
# Each kind of fault comes once, in order, then they are random. Target, moment and shape of the job are always random.
# After each fault: the job ends in time, with the exit code and the first cause that belong to the fault; nothing of it is
# left anywhere 5 s later; no line of a rank that was not harmed is lost, torn or mixed. Prints a line a fault, then totals;
# exits 0 if all of them went well.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
. "$(dirname "$0")/faults.sh"
[ $# -ge 2 ] || { sed -n '2,10p' "$0"; exit 64; }
faults=$1 seed=$2
shift 2
[ $# -eq 0 ] || fault_names=("$@")
netns_need
dir=$(mktemp -d)
cookie=campaign-$$-$RANDOM$RANDOM
finish() {
  exec 2> /dev/null
  local pid
  for pid in $(left_now ""); do kill -9 "$pid"; done
  netns_down
  umount "$dir/small"
  rm -rf "$dir"
}
trap finish EXIT

# Pids of everything that carries the cookie: what the job started anywhere. Zombies have no environment. $1: to be left out.
left_now() {
  local file pid
  for file in $(grep -ls "DS_CAMPAIGN=$cookie" /proc/[0-9]*/environ 2> /dev/null); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    [ "$pid" = "$1" ] || echo "$pid"
  done
}
until_none_left() { # SECONDS EXCEPT: in polls, which take longer on an overloaded machine, where the job needs more time, too
  local polls=$(($1 * 20))
  while [ -n "$(left_now "$2")" ]; do
    [ $((polls--)) -gt 0 ] || return 1
    sleep 0.05
  done
}
describe_left() {
  local pid
  for pid in $(left_now "$1"); do printf '%s(%s) ' "$(name_of "$pid")" "$pid"; done
}
now() { echo "${EPOCHREALTIME/./}"; } # microseconds

netns_sshd_lines=("SetEnv SHLVL=1 DS_CAMPAIGN=$cookie")
netns_up "$dir" 3 || exit 1
mkdir "$dir/small"
small_disk=1
mount -t tmpfs -o size=128k tmpfs "$dir/small" 2> /dev/null || small_disk=0
shapes=("1:2 2:2" "1:1 2:1 3:2" "0:1 2:2" "0:2 1:1 3:1" "3:3 1:1") # HOST:SLOTS; host 0 is this machine itself

# A random shape: writes the hostfile, sets ranks and rank_node.
choose_shape() {
  local part i
  ranks=0 rank_node=()
  : > "$dir/hosts"
  for part in ${shapes[RANDOM % ${#shapes[@]}]}; do
    echo "$(host_name "${part%:*}") slots=${part#*:}" >> "$dir/hosts"
    for ((i = 0; i < ${part#*:}; i++)); do rank_node+=("${part%:*}") ranks=$((ranks + 1)); done
  done
}
# Sets root. Its output goes through a pipe, as people's does: the reader is slow if the fault says so.
start_job() {
  local -n options=options_$fault
  local extra=(${options[@]+"${options[@]}"})
  [ "$fault" != full_disk ] || extra+=("$dir/small/{job}")
  rm -rf "$job" "$dir/out" "$dir/err" "$dir/verdict" "$dir"/small/*
  mkdir "$job"
  rm -f "$dir/pipe"
  mkfifo "$dir/pipe"
  {
    if [[ $fault = slow_reader* ]]; then sleep 0.8; head -c 10000; sleep 0.7; fi
    cat
  } < "$dir/pipe" > "$dir/out" &
  reader=$!
  (
    export DS_CAMPAIGN=$cookie
    exec ip netns exec "$head_ns" "$DS_BIN/dslaunch" --ssh-config "$dir/ssh_config" --hostfile "$dir/hosts" --node-timeout 2s \
      --grace 1s --verdict "$dir/verdict" ${extra[@]+"${extra[@]}"} -- "$DS_TESTS/counting_rank" "$job" "$run_ms" 800
  ) > "$dir/pipe" 2> "$dir/err" < /dev/null &
  root=$!
}
all_up() {
  local r until=$((SECONDS + 20))
  for ((r = 0; r < ranks; r++)); do
    until [ -e "$job/up.$r" ]; do
      [ $SECONDS -lt $until ] && kill -0 "$root" 2> /dev/null || return 1
      sleep 0.01
    done
  done
}
# Waits for the launcher's end, at most $1 s; sets code.
wait_for_end() {
  local until=$((SECONDS + $1))
  while kill -0 "$root" 2> /dev/null; do
    if [ $SECONDS -gt $until ]; then
      problem="the launcher did not end within $1 s"
      kill -9 "$root"
      until=$((until + 60))
    fi
    sleep 0.02
  done
  code=0
  { wait "$root" || code=$?; } 2> /dev/null
}
check_cause() {
  local said
  cause=$(sed -n 's/^ *"text": "\(.*\)",$/\1/p' "$dir/verdict" 2> /dev/null | cut -c1-90)
  [ -n "$want_code" ] || return 0
  [ "$code" = "$want_code" ] || { problem="exit code $code, not $want_code"; return; }
  said=$(awk '/"cause": {/ { inside = 1; next } inside && /}/ { exit } inside { printf "%s ", $0 }' "$dir/verdict" | tr -s ' ' | sed 's/, "node"/ "node"/; s/, "rank"/ "rank"/')
  grep -q -- "$want_cause" <<< "$said" || problem="the cause is $said"
}
check_lines() {
  local r unharmed=
  for ((r = 0; r < ranks; r++)); do
    [[ "$harmed" = all || " $(echo $harmed) " = *" $r "* ]] || unharmed+=${unharmed:+,}$r
  done
  lines=$("$DS_TESTS/check_lines" "$job" "$dir/out" "$dir/err" "$ranks" "${unharmed:--}") || problem=$lines
}

one_fault() {
  problem= target= code= cause= lines= harmed=
  job=$dir/job
  choose_shape
  rank=$((RANDOM % ranks)) node=
  if [ "$i" -le ${#fault_names[@]} ]; then fault=${fault_names[i - 1]}; else fault=${fault_names[RANDOM % ${#fault_names[@]}]}; fi
  if [[ " $needs_ssh " = *" $fault "* ]]; then while [ "${rank_node[rank]}" = 0 ]; do rank=$((RANDOM % ranks)); done; fi
  [ "$fault" != full_disk ] || [ $small_disk = 1 ] || fault=kill_rank # no small disk can be mounted here
  node=${rank_node[rank]}
  local -n span=run_ms_$fault
  run_ms=${span:-1200}
  start_job
  if all_up; then
    sleep "0.$(printf '%03d' $((RANDOM % 400)))"
    begin=$(now)
    "fault_$fault"
    wait_for_end 12
    until_none_left 5 "" || problem="left: $(describe_left "")"
    took=$((($(now) - begin) / 1000))
    wait "$reader"
    check_cause
    [ -n "$problem" ] || check_lines
  else
    begin=$(now) took=0
    problem="the job did not start: $(tail -n 1 "$dir/err")"
    kill -9 "$root" 2> /dev/null
    wait_for_end 5
    until_none_left 5 ""
  fi
  if declare -F "after_$fault" > /dev/null; then "after_$fault"; fi
}

printf '%5s  %-16s  %-28s  %4s  %6s  %6s  %s\n' fault kind target exit ms lines cause
bad=0 total=0
for ((i = 1; i <= faults; i++)); do
  RANDOM=$(((seed * 1009 + i) % 32768))
  one_fault
  [[ ! "$lines" =~ ^[0-9]+$ ]] || total=$((total + lines))
  printf '%5d  %-16s  %-28s  %4s  %6d  %6s  %s\n' "$i" "$fault" "$target" "$code" "$took" "${lines:--}" "${cause:--}"
  [ -n "$problem" ] || continue
  bad=$((bad + 1))
  printf '       BAD: %s\n' "$problem"
  sed -n '/^dslaunch: /s/^/       said: /p' "$dir/err" | tail -n 5
done
echo "$faults faults, seed $seed: $bad bad; $total lines of output checked"
[ "$bad" -eq 0 ]
