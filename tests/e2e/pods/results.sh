#!/usr/bin/env bash
# Long form of the pod tests: all cases TIMES over (3), training with 2 and 4 pods, 200 pods of one job; prints the table
# that pods_results.md keeps.      results.sh [TIMES]
set -u
here=$(cd "$(dirname "$0")" && pwd)
times=${1:-3}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for ((time = 0; time < times; time++)); do
  for script in "training.sh 2" "training.sh 4" rendezvous.sh ends.sh; do
    echo "# ${script%%.*}${script#*.sh}"
    # shellcheck disable=SC2086 # a script and its argument
    "$here"/$script
  done
done >> "$log" 2>&1
{ echo "# scale"; "$here/scale.sh" 200; } >> "$log" 2>&1
grep -A40 '^FAIL' "$log" >&2
awk '
  /^# / { group = substr($0, 3) }
  /^(ok|FAIL)  / {
    key = group "|" $2
    if (!(key in runs)) order[++n] = key
    runs[key]++
    if ($1 == "ok") good[key]++
    if (i = index($0, "measured: ")) said[key] = substr($0, i + 10)
  }
  END {
    print "| test | case | passed | measured in the last run |\n|---|---|---|---|"
    for (i = 1; i <= n; i++) {
      split(order[i], part, "|")
      text = said[order[i]]
      gsub(/ *measured: /, "; ", text)
      printf "| %s | %s | %d of %d | %s |\n", part[1], part[2], good[order[i]], runs[order[i]], text
      bad += runs[order[i]] - good[order[i]]
    }
    exit bad > 0
  }' "$log"
