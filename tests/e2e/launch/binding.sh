#!/usr/bin/env bash
# Tests --bind: ranks run on the processors that it names, within those of the launcher.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
command -v taskset > /dev/null || { echo "SKIP: taskset is not installed"; exit 77; }
allowed() { awk '/^Cpus_allowed_list/ {print $2}' /proc/self/status; }
# One number a line.
processors() {
  local part
  for part in ${1//,/ }; do seq "${part%-*}" "${part#*-}"; done
}
mapfile -t mine < <(processors "$(allowed)")
show='while read -r name value; do [ "$name" != Cpus_allowed_list: ] || echo "$RANK $value"; done < /proc/self/status'
# lists PROCESSORS OPTIONS...: what the ranks of a launcher that may use these say, "RANK PROCESSORS", and what it says.
lists() { taskset -c "$1" "$dslaunch" --prefix '' "${@:2}" -- bash -c "$show" 2>&1 | sort; }
is() { [ "$2" = "$(printf "$3")" ] || die "$1: $2"; }

first=${mine[0]}
is "not bound without --bind" "$(lists "$(allowed)" -n 2)" "0 $(allowed)\n1 $(allowed)"
[ "$(lists "$first" -n 2 --report-bindings | grep -c 'rank [01] runs on any processor$')" = 2 ] || die "no report without --bind"
is "one rank on one processor" "$(lists "$first" --bind cores)" "0 $first"
is "two ranks of one NUMA node" "$(lists "$first" -n 2 --bind numa)" "0 $first\n1 $first"
lists "$first" --bind cores --report-bindings | grep -qE "rank 0 runs on processor $first( of NUMA node [0-9]+)?$" || die "no report"
run --bind numa --prefix '' -- bash -c "bash -c 'grep ^Cpus_allowed_list /proc/self/status'"
expect 0 "a child of a rank"
[ -s out ] || die "a child of a rank says nothing"

crowd=$(taskset -c "$first" "$dslaunch" -n 2 --bind cores -- true 2>&1)
[ $? = 69 ] || die "two ranks for one processor are not refused"
[[ $crowd == *"2 ranks cannot have a processor each"*"--bind numa"* ]] || die "the message: $crowd"
run --bind moon -- true
expect 64 "--bind moon"

# Parts of the node, as Open MPI and Hydra name them.
is "two ranks share the only core" "$(lists "$first" -n 2 --bind core)" "0 $first\n1 $first"
is "a map without --bind" "$(lists "$first" -n 2 --map-by hwthread)" "0 $first\n1 $first"
is "more ranks than cores" "$(lists "$first" -n 3 --bind openmpi --report-bindings | grep -c 'any processor')" 3
run -n 2 --map-by ppr:1:moon -- true
expect 64 "--map-by ppr:1:moon"
cores=$(taskset -c "$(allowed)" "$dslaunch" --map-by ppr:1:hwthread --dry-run -- true | tail -n 1)
[ "$cores" = "$([ ${#mine[@]} = 1 ] && echo '1 rank on 1 node' || echo "${#mine[@]} ranks on 1 node")" ] ||
  die "a rank for each hardware thread: $cores"
run --no-local -n 2 -- true
expect 65 "--no-local without other hosts"
run --no-local -H localhost,n1.invalid --dry-run -- true
expect 0 "--no-local"
grep -q 'localhost' out && die "--no-local: a rank on this machine"
run -n 2 --display-map -- true
expect 0 "--display-map"
grep -q 'LOCAL_RANK' err || die "--display-map prints no table"

if [ ${#mine[@]} -gt 1 ]; then
  is "two ranks, two processors" "$(lists "$first,${mine[1]}" -n 2 --bind cores)" "0 $first\n1 ${mine[1]}"
  is "two ranks, two hardware threads" "$(lists "$first,${mine[1]}" -n 2 --bind hwthread)" "0 $first\n1 ${mine[1]}"
else
  echo "one processor only: two ranks side by side are not tried"
fi
echo "binding: passed"
