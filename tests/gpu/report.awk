# Turns run.sh's records into a table (what=table), JSON (what=json), or only the exit status (what=status). Records are
# tab-separated: fact KEY VALUE; step STEP CASE STATUS SECONDS EXECUTED NOTE; bench NAME KEY=VALUE...
function quoted(text) {
  gsub(/\\/, "\\\\\\\\", text)
  gsub(/"/, "\\\"", text)
  gsub(/[\001-\037]/, " ", text)
  return "\"" text "\""
}
function value(text) { return text ~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ ? text : quoted(text) }
function field(row, key, k) { return (row, key) in bench_value ? bench_value[row, key] : k }

BEGIN { FS = "\t" }
$1 == "fact" { fact_key[++facts] = $2; fact_value[facts] = $3; by_key[$2] = $3 }
$1 == "step" {
  ++steps
  for (i = 2; i <= 7; ++i) step_field[steps, i] = $i
  executed += $6
  if ($4 == "fail") ++failed
  if ($4 == "pass") ++passed
  if ($4 == "skip") ++skipped
}
$1 == "bench" {
  bench_name[++benches] = $2
  for (i = 3; i <= NF; ++i) {
    at = index($i, "=")
    if (!at) continue
    key = substr($i, 1, at - 1)
    bench_keys[benches] = bench_keys[benches] "\t" key
    bench_value[benches, key] = substr($i, at + 1)
  }
}

function print_json(   i, n, keys, k) {
  printf "{\n  \"schema\": 1,\n  \"passed\": %s,\n  \"executed_on_device\": %d,\n", ok() ? "true" : "false", executed
  printf "  \"facts\": {"
  for (i = 1; i <= facts; ++i) printf "%s\n    %s: %s", (i > 1 ? "," : ""), quoted(fact_key[i]), value(fact_value[i])
  printf "\n  },\n  \"steps\": ["
  for (i = 1; i <= steps; ++i) {
    printf "%s\n    {\"step\": %s, \"case\": %s, \"status\": %s, \"seconds\": %s, \"executed\": %s, \"note\": %s}", \
      (i > 1 ? "," : ""), quoted(step_field[i, 2]), quoted(step_field[i, 3]), quoted(step_field[i, 4]), \
      value(step_field[i, 5]), value(step_field[i, 6]), quoted(step_field[i, 7])
  }
  printf "\n  ],\n  \"bench\": ["
  for (i = 1; i <= benches; ++i) {
    printf "%s\n    {\"name\": %s", (i > 1 ? "," : ""), quoted(bench_name[i])
    n = split(bench_keys[i], keys, "\t")
    for (k = 2; k <= n; ++k) printf ", %s: %s", quoted(keys[k]), value(bench_value[i, keys[k]])
    printf "}"
  }
  print "\n  ]\n}"
}

function print_table(   i) {
  if (by_key["kind"] == "emulated") print "EMULATED: this run tests only the script and proves nothing about a GPU.\n"
  printf "%s, driver %s, %s; %s CPUs\n\n", by_key["gpu.name"], by_key["gpu.driver_version"], by_key["date"], by_key["cpus"]
  printf "%-12s %-28s %-6s %8s %9s  %s\n", "step", "case", "status", "seconds", "executed", "note"
  for (i = 1; i <= steps; ++i)
    printf "%-12s %-28s %-6s %8s %9s  %s\n", step_field[i, 2], step_field[i, 3], step_field[i, 4], step_field[i, 5], \
      step_field[i, 6], step_field[i, 7]
  if (benches) {
    print "\nTraining, tokens/s (median, minimum and maximum of windows). FLOP/token = 6 N + 6 L C T, N = parameters in"
    print "matrix products; share of the bf16 rate measured in this run, and of the datasheet's 989 TFLOP/s."
    printf "%-22s %10s %10s %10s %8s %9s %8s %8s %7s\n", "bench", "tokens/s", "least", "most", "windows", "TFLOP/s", \
      "of peak", "of 989", "ratio"
    for (i = 1; i <= benches; ++i) {
      if (field(i, "tokens_per_s", "") == "") continue
      printf "%-22s %10.0f %10.0f %10.0f %8d %9.1f %8s %7.1f%% %7s\n", bench_name[i], field(i, "tokens_per_s", 0), \
        field(i, "least", 0), field(i, "most", 0), field(i, "windows", 0), field(i, "tflops", 0), \
        field(i, "of_peak", "") == "" ? "-" : sprintf("%.1f%%", 100 * field(i, "of_peak", 0)), \
        100 * field(i, "of_989", 0), field(i, "ratio", "-")
    }
    for (i = 1; i <= benches; ++i) {
      if (field(i, "note", "") != "") printf "%s: %s\n", bench_name[i], field(i, "note", "")
    }
  }
  printf "\n%d passed, %d failed, %d skipped; %d cases executed on the device: %s\n", passed, failed, skipped, executed, \
    ok() ? "PASSED" : "NOT PASSED"
}

# A run that executes nothing on the device does not pass.
function ok() { return failed == 0 && executed > 0 }

END {
  if (what == "json") print_json()
  if (what == "table") print_table()
  if (what == "status") exit !ok()
}
