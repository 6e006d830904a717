#!/usr/bin/env bash
# Memory of the launcher with N hosts (loopback addresses of one sshd): idle, and while every rank floods it with output that is
# read slowly. Run on demand; the last results are in launch_results.md.
# Usage: root_memory.sh [--hosts 1000]
# Prints resident anonymous memory (not shared with other processes) and the budget of docs/logs.md: 60 KiB per host, and 80 MiB
# more under flood. Exits with 1 if it takes more.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
hosts=1000
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    *) sed -n '2,6p' "$0"; exit 64 ;;
  esac
done
. "$SOURCE/tests/support/sshd.sh"
sshd_need
dir=$(mktemp -d)
launcher=
trap '[ -z "$launcher" ] || kill "$launcher" 2> /dev/null; wait; sshd_stop "$dir"; rm -rf "$dir"' EXIT
sshd_setup "$dir"
port=$(free_port)
for ((i = 0; i < hosts; i++)); do
  address=127.0.$((1 + i / 250)).$((1 + i % 250))
  echo "$address port=$port" >> "$dir/hostfile"
  known+=("[$address]:$port")
done
sshd_know "$dir" "${known[@]}"
sshd_start "$dir" 0.0.0.0 "$port" "MaxStartups 5000"
memory() { awk '$1 == "RssAnon:" { print $2 }' "/proc/$launcher/status"; } # KiB
over=0
# show WHAT KIB BUDGET_KIB: prints one line of the result
show() {
  awk "BEGIN { printf \"%s: %.1f MiB, %.1f KiB a host (budget %.1f MiB)\n\", \"$1\", $2 / 1024, $2 / $hosts, $3 / 1024 }"
  [ "$2" -le "$3" ] || over=1
}

mkfifo "$dir/pipe"
# Reads only the first lines until the flood has come, then 1 MB/s.
{
  head -n "$hosts" > "$dir/up"
  until [ -e "$dir/go" ]; do sleep 0.1; done
  while [ "$(head -c 100000 | wc -c)" -gt 0 ]; do sleep 0.1; done
} < "$dir/pipe" &
"$BIN/dslaunch" --hostfile "$dir/hostfile" --ssh-config "$dir/ssh_config" --backpressure block -- \
  sh -c "echo up; until [ -e $dir/go ]; do sleep 5; done; exec yes \"a line of output of rank \$RANK, of a common length\"" \
  > "$dir/pipe" 2> "$dir/err" < /dev/null &
launcher=$!
for ((i = 0; i < 1200; i++)); do
  [ "$(cat "$dir/up" 2> /dev/null | wc -l)" -lt "$hosts" ] || break
  kill -0 "$launcher" 2> /dev/null || { echo "FAIL: the job ended: $(tail -n 3 "$dir/err")"; exit 1; }
  sleep 0.1
done
[ "$(wc -l < "$dir/up")" -ge "$hosts" ] || { echo "FAIL: only $(wc -l < "$dir/up") of $hosts hosts started within 120 s"; exit 1; }
sleep 3
show "idle" "$(memory)" $((60 * hosts))
touch "$dir/go"
most=0
for ((i = 0; i < 200; i++)); do
  now=$(memory)
  [ "$now" -le $most ] || most=$now
  sleep 0.1
done
show "most within 20 s of flood" "$most" $((60 * hosts + 80 * 1024))
kill -INT "$launcher"
sleep 0.2
begin=$SECONDS
wait "$launcher"
echo "Ctrl-C under flood: ended after $((SECONDS - begin)) s"
launcher=
exit $over
