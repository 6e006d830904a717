// Tests of the failure options: each option, and each invalid value with its whole message.
#include "launcher/cli/options.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

FailureOptions parse(std::vector<const char*> args) {
  args.insert(args.begin(), "dslaunch");
  args.insert(args.end(), {"--", "true"});
  return parse_args(static_cast<int>(args.size()), args.data()).failure;
}

std::string error_of(const std::vector<const char*>& args) {
  try {
    parse(args);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.for_people();
  }
  return "none";
}

}  // namespace

TEST_CASE("defaults of failure options") {
  const FailureOptions options = parse({});
  CHECK_FALSE(options.timeout);
  CHECK_FALSE(options.pre_signal);
  CHECK(options.forwarded_signals == std::vector<int>{SIGUSR1, SIGUSR2});
  CHECK(options.exit_skew == ExitSkew{60s, false});
  CHECK(options.max_restarts == 0);
  CHECK(options.spares == 0);
  CHECK_FALSE(options.verdict);
}

TEST_CASE("every failure option is read") {
  const FailureOptions options = parse(
      {"--timeout", "1h", "--pre-signal", "SIGUSR1@120s", "--forward-signals", "HUP,SIGCONT,WINCH",
       "--exit-skew", "500ms:stop", "--max-restarts", "3", "--spares", "2", "--verdict", "v.json"});
  CHECK(options.timeout == 3600s);
  CHECK(options.pre_signal == PreSignal{SIGUSR1, 120s});
  CHECK(options.forwarded_signals == std::vector<int>{SIGHUP, SIGCONT, SIGWINCH});
  CHECK(options.exit_skew == ExitSkew{500ms, true});
  CHECK(options.max_restarts == 3);
  CHECK(options.spares == 2);
  CHECK(options.verdict == "v.json");
  CHECK(parse({"--forward-signals", "none"}).forwarded_signals.empty());
  CHECK(parse({"--exit-skew=0"}).exit_skew == ExitSkew{0ms, false});
  CHECK(parse({"--max_restarts=1"}).max_restarts == 1);
}

TEST_CASE("wrong values of failure options: the whole message") {
  const std::string skew_hint =
      "\n  hint: for example 60s (warn), 60s:stop (stop the job), 0 (never)";
  const std::string signals_hint = "\n  hint: INT, TERM and TSTP always stop or suspend the ranks";
  struct Row {
    std::vector<const char*> args;
    std::string message;
  };
  const Row rows[] = {
      {{"--timeout", "0"}, "--timeout must be longer than 0\n  hint: see dslaunch --help"},
      {{"--timeout", "soon"},
       "--timeout must be a duration, not 'soon'\n  hint: for example 10 (seconds), 1.5s, 500ms, "
       "2m"},
      {{"--pre-signal", "USR1"},
       "--pre-signal must be SIGNAL@SECONDS, not 'USR1'\n  hint: for example USR1@120s"},
      {{"--pre-signal", "USR9@1s"},
       "--pre-signal must be SIGNAL@SECONDS, not 'USR9@1s'\n  hint: for example USR1@120s"},
      {{"--pre-signal", "USR1@0"},
       "--pre-signal must be SIGNAL@SECONDS, not 'USR1@0'\n  hint: for example USR1@120s"},
      {{"--pre-signal", "USR1@1s"},
       "--pre-signal needs a deadline\n  hint: give one with --timeout SECONDS; in a Slurm job "
       "SLURM_JOB_END_TIME sets it"},
      {{"--pre-signal", "USR1@10s", "--timeout", "10s"},
       "--pre-signal would be sent before the job begins\n"
       "  hint: its time must be shorter than --timeout"},
      {{"--forward-signals", "USR1,,USR2"},
       "--forward-signals must be a list of signals, not ''\n  hint: for example USR1,USR2,CONT; "
       "or none"},
      {{"--forward-signals", "all"},
       "--forward-signals must be a list of signals, not 'all'\n  hint: for example "
       "USR1,USR2,CONT; or none"},
      {{"--forward-signals", "TERM"},
       "--forward-signals: SIGTERM cannot be forwarded" + signals_hint},
      {{"--forward-signals", "USR1,9"},
       "--forward-signals: SIGKILL cannot be forwarded" + signals_hint},
      {{"--exit-skew", "long"}, "--exit-skew must be a duration, not 'long'" + skew_hint},
      {{"--exit-skew", "60s:kill"}, "--exit-skew must be a duration, not '60s:kill'" + skew_hint},
      {{"--exit-skew", "60s:"}, "--exit-skew must be a duration, not '60s:'" + skew_hint},
      {{"--max-restarts", "-1"},
       "--max-restarts must be an integer from 0 to 1000000, not '-1'\n"
       "  hint: see dslaunch --help"},
      {{"--spares", "many"},
       "--spares must be an integer from 0 to 65536, not 'many'\n  hint: see dslaunch --help"},
      {{"--verdict", ""}, "--verdict must not be empty\n  hint: see dslaunch --help"},
  };
  for (const Row& row : rows) CHECK(error_of(row.args) == row.message);
}

TEST_CASE("the end of an allocation is the deadline of --pre-signal, where --timeout sets none") {
  const auto timeout = [](std::vector<const char*> args) {
    args.insert(args.begin(), "dslaunch");
    args.insert(args.end(), {"--", "x"});
    return parse_args(static_cast<int>(args.size()), args.data(), 600s).failure.timeout;
  };
  CHECK(timeout({"--pre-signal", "USR1@120s"}) == 590s);
  CHECK(timeout({"--pre-signal", "USR1@120s", "--grace", "60"}) == 540s);
  CHECK(timeout({"--pre-signal", "USR1@120s", "--timeout", "900"}) == 900s);
  CHECK_FALSE(timeout({"--grace", "60"}));
  CHECK_THROWS_AS(timeout({"--pre-signal", "USR1@590s"}), ds::Error);
}
