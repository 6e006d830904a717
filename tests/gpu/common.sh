# Functions that the steps of run.sh share: programs, records, time budgets, facts about the machine. Sourced.
# shellcheck shell=bash disable=SC2154

# In a bundle all programs are in bin/; in a build, test programs are in tests/ beside it.
find_programs() {
  if [ -x "$root/bin/dsrunner" ]; then
    bin=$root/bin tests=$root/bin
  else
    bin=${DS_BIN:-$root/build/release/bin} tests=${DS_TESTS:-$root/build/release/tests}
  fi
  [ -x "$bin/dsrunner" ] || die "no $bin/dsrunner: build it first (scripts/build.sh), or unpack a bundle"
  # In a build, the test programs do not find the backend, which is beside dsrunner. They get the one that dsrunner chooses.
  if [ -z "${DSLAUNCH_CUDA_PLUGIN:-}" ] && [ "$tests" != "$bin" ]; then
    local plugin
    plugin=$("$bin/dsrunner" --devices 2>/dev/null | sed -n 's/^plugin: \(.*\) (.*)$/\1/p')
    [ -z "$plugin" ] || export DSLAUNCH_CUDA_PLUGIN=$plugin
  fi
  library_path=''
  [ -d "$root/lib" ] || return 0
  library_path=$root/lib
  # The compiler's libraries are used only if this machine's are too old for our programs.
  ours "$bin/dsrunner" --version >/dev/null 2>&1 || library_path=$root/lib:$root/lib/gcc
}

# Runs one of our programs with the libraries of the bundle. Other programs must not see them.
ours() {
  if [ -z "$library_path" ]; then "$@"; return; fi
  LD_LIBRARY_PATH=$library_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
}

wanted() {
  [ -z "$only" ] && return 0
  case ",$only," in *",$1,"* | *",${1%%:*},"*) return 0 ;; esac
  return 1
}
wanted_any_bench() {
  [ -z "$only" ] && return 0
  case ",$only," in *,bench,* | *,bench:*) return 0 ;; esac
  return 1
}

record() { (IFS=$'\t'; printf '%s\n' "$*" >>"$records"); }
fact() { record fact "$1" "$2"; }
# step STEP CASE pass|fail|skip SECONDS EXECUTED NOTE: EXECUTED counts operations that ran on the device.
step() {
  record step "$@"
  printf '%-12s %-28s %-5s %6s s  %s\n' "$1" "$2" "$3" "$4" "$6"
}

# Prints the seconds that a step may take: its own budget, at most the rest of --budget.
allowed() {
  local want=$1
  [ -n "$quick" ] && want=$((want / 2))
  [ -z "$budget" ] && { echo "$want"; return; }
  local left=$((budget - (SECONDS - started) - 5))
  echo $((left < want ? left : want))
}

# logged NAME SECONDS COMMAND...: runs the command with its output in the log NAME; sets `spent`. 125: no time was left.
logged() {
  local name=$1 limit
  limit=$(allowed "$2")
  shift 2
  log=$logs/$name.log spent=0
  [ "$limit" -ge 5 ] || { echo "no time left of --budget $budget" >"$log"; return 125; }
  local begin=$SECONDS status=0
  ours timeout -k 10 "$limit" "$@" >"$log" 2>&1 || status=$?
  spent=$((SECONDS - begin))
  [ "$status" = 124 ] && echo "stopped: it took more than $limit s" >>"$log"
  return "$status"
}

# Prints the last non-empty line of a log, for a table.
last_words() { grep -v '^[[:space:]=]*$' "$1" | tail -n 1 | cut -c 1-120 | tr '\t' ' '; }

# Exits with 77 without a GPU. An unusable GPU or a broken plugin is a failure.
look_for_device() {
  local status=0
  ours "$tests/gpu_probe" >"$logs/probe.log" 2>&1 || status=$?
  [ "$status" = 0 ] && return
  [ -n "$self_test" ] && [ "$status" = 77 ] && die "the plugin of --self-test has no device: $(cat "$logs/probe.log")"
  cat "$logs/probe.log"
  if [ "$status" = 77 ] && [ ! -e /dev/nvidia0 ] && ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no CUDA device on this machine"
    exit 77
  fi
  echo "run.sh: the CUDA backend cannot be used (see the lines above)" >&2
  exit 1
}

gather_facts() {
  fact kind "$kind"
  fact date "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  fact version "$(ours "$bin/dsrunner" --version)"
  fact cpus "$(nproc)"
  fact cpu "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
  fact memory_kb "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
  device_name=$kind
  if nvidia-smi -L >/dev/null 2>&1 && [ "$kind" = cuda ]; then
    local key
    for key in name driver_version memory.total clocks.sm clocks.mem clocks.max.sm clocks.max.mem power.limit \
      persistence_mode compute_mode temperature.gpu ecc.mode.current; do
      fact "gpu.$key" "$(nvidia-smi -i 0 --query-gpu=$key --format=csv,noheader 2>/dev/null | head -n 1)"
    done
    device_name=$(nvidia-smi -i 0 --query-gpu=name --format=csv,noheader | head -n 1 | tr -cs 'A-Za-z0-9\n' _)
  fi
  fact probe "$(tr '\n\t' '; ' <"$logs/probe.log" | cut -c 1-600)"
}

stop_watcher() {
  [ -n "${watcher:-}" ] || return 0
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null
}

# Samples clocks and power twice a second while a benchmark runs. clocks_seen prints median, minimum and maximum.
watch_clocks() {
  watcher=''
  [ "$kind" = cuda ] || return 0
  command -v nvidia-smi >/dev/null || return 0
  nvidia-smi -i 0 --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv,noheader,nounits -lms 500 \
    >"$work/clocks" 2>/dev/null &
  watcher=$!
}
clocks_seen() {
  [ -n "$watcher" ] || return 0
  stop_watcher
  watcher=''
  local column=1 name
  for name in sm_mhz power_w temperature_c; do
    cut -d, -f$column "$work/clocks" | tr -d ' ' | sort -n |
      awk -v n=$name 'NF { v[++k] = $1 }
        END { if (k) printf "%s=%s\t%s_least=%s\t%s_most=%s\t", n, v[int((k + 1) / 2)], n, v[1], n, v[k] }'
    column=$((column + 1))
  done
}

# Prints median, minimum, maximum and count of the numbers on standard input.
spread_of() { sort -n | awk '{ v[NR] = $1 } END { if (!NR) exit 1
  m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf "%.6g %.6g %.6g %d\n", m, v[1], v[NR], NR }'; }

finish() {
  fact seconds $((SECONDS - started))
  local name
  name=${device_name}-$(date -u +%Y%m%d-%H%M%S)
  mkdir -p "$results"
  awk -v what=table -f "$here/report.awk" "$records" >"$results/$name.txt"
  awk -v what=json -f "$here/report.awk" "$records" >"$results/$name.json"
  echo
  cat "$results/$name.txt"
  echo "written: $results/$name.json and .txt"
  awk -v what=status -f "$here/report.awk" "$records"
  exit $?
}
