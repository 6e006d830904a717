#!/usr/bin/env bash
# log.trace: one file with every rank, step and op of the named steps, whose spans nest. It changes no bit of the result, and what
# goes wrong with it costs only the trace.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
command -v python3 >/dev/null || { echo "skipped: needs python3"; exit 77; }
small=(determinism.virtual_ranks=2 data.validation=0.05 train.validate_batches=1 schedule.total=100 train.steps=8)
says() { grep -qF -- "$2" "$work/$1.0.out" || fail "$1 does not say '$2': $(tail -5 "$work/$1.0.out")"; }
same_weights() {
  [ "$(summary_of "$1" weights_hash)" = "$hash" ] || fail "$1: other weights: $(tail -3 "$work/$1.0.out")"
}

# check NAME RANKS FIRST LAST STREAMS: reads the trace as a viewer does
check() {
  python3 - "$work/$1/trace.json" "${@:2}" <<'END' || fail "$1: the trace is wrong"
import collections, json, sys
path, ranks, first, last, streams = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), set(sys.argv[5].split(","))
trace = json.load(open(path))
facts, events = trace["otherData"], trace["traceEvents"]
steps = ["step %d" % step for step in range(first, last + 1)]
assert (facts["first_step"], facts["last_step"], facts["ranks"]) == (first, last, ranks), facts
assert facts["clock_offset_us"] == facts["clock_error_us"] == facts["dropped"] == [0] * ranks, facts
processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert [name.split(":")[0] for name in processes.values()] == ["rank %d" % rank for rank in range(ranks)], processes
tracks = {e["tid"]: (e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
counters = {e["name"] for e in events if e["ph"] == "C"}
spans = collections.defaultdict(list)
for e in events:
    if e["ph"] == "X":
        spans[e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["cat"], e["name"]))
assert set(spans) == set(tracks)
for tid, of_track in spans.items():
    stack = []
    for begin, end, cat, name in of_track:
        while stack and stack[-1][1] <= begin:
            stack.pop()
        assert begin <= end and (not stack or stack[-1][0] <= begin and end <= stack[-1][1]), (tracks[tid], name, stack)
        stack.append((begin, end))
for pid, process in processes.items():
    names = {name: tid for tid, (owner, name) in tracks.items() if owner == pid}
    assert set(names) == streams | {"steps"}, names
    of_steps = [s for s in spans[names["steps"]] if s[2] == "step"]
    phases = [s for s in spans[names["steps"]] if s[2] == "phase"]
    assert [s[3] for s in of_steps] == steps, of_steps
    for begin, end, _, step in of_steps:
        inside = [s for s in phases if begin <= s[0] and s[1] <= end]
        covered = sum(s[1] - s[0] for s in inside)
        assert abs(covered - (end - begin)) < 1, (step, covered, end - begin)
        assert {"data", "forward", "backward"} <= {s[3] for s in inside}, inside
        for stream in streams:
            ops = [s for s in spans[names[stream]] if begin <= s[0] < end]
            assert ops and sum(s[1] - s[0] for s in ops) <= end - begin, (step, stream)
        names_of_ops = [s[3] for s in spans[names["compute"]] if begin <= s[0] < end]
        assert any(name.startswith("attention block1.attn") for name in names_of_ops), names_of_ops
        assert sum(name.startswith("head_loss_backward ") for name in names_of_ops) == 2 // ranks, names_of_ops
assert "values in memory" in counters and (ranks == 1 or "bytes between ranks" in counters), counters
END
}

run_job 2 plain "${small[@]}" log.phases=false
hash=$(summary_of plain weights_hash)
[ ${#hash} = 32 ] || fail "no weights_hash"
[ ! -e "$work/plain/trace.json" ] || fail "a trace without log.trace"

run_job 2 range "${small[@]}" log.trace=3-5
says range "trace    steps 3 to 5 of 2 ranks: $work/range/trace.json"
same_weights range
check range 2 3 5 compute,reduce
[ ! -e "$work/range/trace.json.partial" ] || fail "a partial file stays"

# One step, without the phases in metrics, with streams beside the compute stream
run_job 2 streams "${small[@]}" zero.stage=3 zero.overlap=true log.trace=4 log.phases=false
same_weights streams
check streams 2 4 4 compute,gather,reduce
! grep -q phases "$work/streams/metrics.jsonl" || fail "log.phases = false: phases in metrics.jsonl"

# Offload, and the last step with its validation and checkpoint
run_job 1 end "${small[@]}" offload.optimizer.device=cpu log.trace=7-8 checkpoint.dir="$work/saves"
same_weights end
check end 1 7 8 compute,fetch,evict
grep -q '"cat":"phase","name":"validation"' "$work/end/trace.json" && grep -q '"cat":"phase","name":"save"' "$work/end/trace.json" ||
  fail "no validation or save in the trace of the last step"

# Steps that the run does not take are named and not traced; a resumed run moves the older trace.
run_job 2 beyond "${small[@]}" log.trace=7-20
says beyond "warning: log.trace names steps 7 to 20, but train.steps is 8: the trace ends there"
check beyond 2 7 8 compute,reduce
run_job 2 never "${small[@]}" log.trace=9
says never "warning: log.trace names step 9, but train.steps is 8: there will be no trace"
[ ! -e "$work/never/trace.json" ] || fail "a trace of no step"
run_job 1 end "${small[@]}" train.steps=10 log.trace=7-9 checkpoint.dir="$work/saves"
says end "this run begins behind step 8: the trace begins there"
check end 1 9 9 compute
[ -e "$work/end/previous-1/trace.json" ] || fail "the older trace is gone"

# Another machine has another clock: rank 1 in a time namespace, 1000 s ahead. The offset that is measured must be right within the
# error that the file states.
if unshare --time --monotonic 1000 true 2>/dev/null; then
  export MASTER_PORT
  MASTER_PORT=$("$DS_TESTS/comm_rank" free-port)
  pids=()
  start_rank 0 2 ahead "${small[@]}" log.trace=3-5
  RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 unshare --time --monotonic 1000 "$dsrunner" "$work/train.toml" "log.dir=$work/ahead" \
    "${small[@]}" log.trace=3-5 >"$work/ahead.1.out" 2>&1 </dev/null &
  pids[1]=$!
  end_job ahead
  same_weights ahead
  python3 - "$work/ahead/trace.json" <<'END' || fail "ahead: $(head -n 1 "$work/ahead/trace.json")"
import json, sys
trace = json.load(open(sys.argv[1]))
offsets, errors = trace["otherData"]["clock_offset_us"], trace["otherData"]["clock_error_us"]
assert offsets[0] == errors[0] == 0 and 0 < errors[1] < 1e5 and abs(offsets[1] + 1e9) <= errors[1]
assert any("(clock +-" in e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name")
begins = {e["pid"]: e["ts"] for e in trace["traceEvents"] if e["name"] == "step 3"}
assert len(begins) == 2 and max(begins.values()) < 1e6
END
else
  echo "without a rank ahead: no time namespaces here"
fi

# A trace that cannot be written
mkdir -p "$work/full/trace.json.partial/x"
run_job 2 full "${small[@]}" log.trace=2-3
says full "warning: the trace cannot be written: $work/full/trace.json.partial"
same_weights full

# On an accelerator the times come from its streams, and recorded segments are issued op by op.
. "$(dirname "$0")/../support/emulated_gpus.sh" || exit 1
if (emulate_gpus 2); then
  (
    emulate_gpus 2
    export DSLAUNCH_CUDA_ATTENTION=own
    run_job 2 device "${small[@]}" device.backend=cuda device.graphs=on
    run_job 2 emulated "${small[@]}" device.backend=cuda device.graphs=on log.trace=4-5
    hash=$(summary_of device weights_hash)
    same_weights emulated
    check emulated 2 4 5 compute,reduce
    exit $((failures > 0))
  ) || failures=$((failures + 1))
else
  echo "without the emulated GPU: not in this build"
fi

for bad in 5-3 0 -2 x 3- "3 5" 1.5 true; do
  (unset MASTER_ADDR MASTER_PORT && "$dsrunner" --check "$work/train.toml" "log.trace=$bad") >"$work/bad" 2>&1
  code=$?
  { [ $code = 65 ] && grep -qF 'log.trace must be a step or a range such as "20-22", counted from 1, not ' "$work/bad"; } ||
    fail "log.trace = $bad: exit $code: $(cat "$work/bad")"
done

[ $failures = 0 ] && echo "trace: every rank, step and op is there, spans nest, and no bit changes"
exit $((failures > 0))
