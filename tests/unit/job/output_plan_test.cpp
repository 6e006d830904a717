// Tests of output plans: filters, log files, prefixes and spools by the options.
#include "launcher/job/output_plan.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;

constexpr Screens kNoTerminal{};
const Screens kTerminal{.out_is_terminal = true, .err_is_terminal = true};

OutputPlan plan(const LogPolicy& policy, const Screens& screens = kNoTerminal, int nodes = 2) {
  return plan_output(policy, placement_of(nodes, 2), "4f", screens);
}

Spec spec_of(const OutputPlan& plan) {
  Spec spec;
  for (const int rank : {0, 1}) spec.ranks.push_back({.rank = rank, .local_rank = rank});
  plan_spec(plan, spec);
  return spec;
}

}  // namespace

TEST_CASE("by default all is shown and sent, and nothing is lost on its way to a pipe") {
  const OutputPlan usual = plan({});
  CHECK(usual.shown == std::vector<std::uint8_t>(4, 3));
  CHECK(usual.sent == usual.shown);
  CHECK(usual.files.empty());
  CHECK_FALSE(usual.untouched);
  CHECK_FALSE(usual.colour[0]);
  const Spec spec = spec_of(usual);
  CHECK(spec.output.spool_bytes == 256 << 20);
  CHECK_FALSE(spec.output.drop);
  CHECK_FALSE(spec.ranks[0].has_stdin);
}

TEST_CASE("a terminal that stands still drops old lines; options say otherwise") {
  CHECK(plan({}, kTerminal).output.drop);
  CHECK(plan({}, kTerminal).output.spool_bytes == 16 << 20);
  LogPolicy policy;
  policy.backpressure = Backpressure::spool;
  CHECK_FALSE(plan(policy, kTerminal).output.drop);
  policy.backpressure = Backpressure::block;
  CHECK(plan(policy).output.spool_bytes == 0);
  policy.backpressure = Backpressure::drop;
  policy.spool_bytes = 1000;
  CHECK(plan(policy).output.drop);
  CHECK(plan(policy).output.spool_bytes == 1000);
}

TEST_CASE("a live line is for a terminal on standard output, and fits behind the prefix") {
  CHECK(plan({}, {.err_is_terminal = true}).live_columns == 0);  // as in `dslaunch ... | tee log`
  CHECK(plan({}, {.out_is_terminal = true, .columns = 80}).live_columns == 76);
  CHECK(plan_output({}, placement_of(1, 1), "4f", {.out_is_terminal = true, .columns = 80})
            .live_columns == 80);
  LogPolicy policy;
  policy.prefix = PrefixTemplate::parse("{node}/{rank}: ");
  CHECK(plan(policy, {.out_is_terminal = true, .columns = 60}).live_columns == 54);
  CHECK(plan(policy, {.out_is_terminal = true, .columns = 3}).live_columns == 2);
  policy.folder = "logs";
  CHECK(plan(policy, {.out_is_terminal = true, .columns = 60}).live_columns == 0);
}

TEST_CASE("what is not shown is not sent, unless a log file of the launcher wants it") {
  LogPolicy policy;
  policy.show = ShowChoice::parse("0,err");
  CHECK(spec_of(plan(policy)).ranks[1].sent == 2);
  policy.folder = "/logs/{job}/{node}";
  const OutputPlan here = plan(policy, kTerminal);
  CHECK(here.shown == std::vector<std::uint8_t>{3, 2, 2, 2});
  CHECK(here.sent == std::vector<std::uint8_t>(4, 3));
  CHECK(here.files[3] == "/logs/4f/n1/rank_0003.log");
  CHECK(spec_of(here).ranks[1].log_file.empty());
  // The files have all, so only the terminal may lose lines, and the nodes drop nothing.
  CHECK(here.drop_here);
  CHECK_FALSE(spec_of(here).output.drop);
  policy.folder_on_nodes = true;
  const OutputPlan there = plan(policy, kTerminal);
  CHECK(there.sent == there.shown);
  CHECK(spec_of(there).ranks[1].log_file == "/logs/4f/n0/rank_0001.log");
  CHECK_FALSE(there.drop_here);
  CHECK(spec_of(there).output.drop);
}

TEST_CASE("file names sort as their ranks do") {
  LogPolicy policy;
  policy.folder = "l";
  const OutputPlan large = plan_output(policy, placement_of(5001, 2), "4f", kNoTerminal);
  CHECK(large.files.front() == "l/rank_00000.log");
  CHECK(large.files.back() == "l/rank_10001.log");
}

TEST_CASE("one rank's bytes are untouched unless something asks for more") {
  const auto alone = [](const LogPolicy& policy) {
    return plan_output(policy, placement_of(1, 1), "4f", kNoTerminal);
  };
  LogPolicy policy;
  CHECK(alone(policy).untouched);
  policy.fold = true;
  CHECK(alone(policy).untouched);
  policy.timestamps = true;
  CHECK_FALSE(alone(policy).untouched);
  CHECK(alone(policy).prefix.has_time());
  policy = {};
  policy.prefix = PrefixTemplate::parse("> ");
  CHECK_FALSE(alone(policy).untouched);
}

TEST_CASE("colours are for terminals that want them, or for all") {
  Screens screens = kTerminal;
  screens.err_is_terminal = false;
  CHECK(plan({}, screens).colour[0]);
  CHECK_FALSE(plan({}, screens).colour[1]);
  screens.no_colour = true;
  CHECK_FALSE(plan({}, screens).colour[0]);
  LogPolicy policy;
  policy.colour = ColourChoice::always;
  CHECK(plan(policy, screens).colour[1]);
  policy.colour = ColourChoice::never;
  CHECK_FALSE(plan(policy, kTerminal).colour[0]);
}

TEST_CASE("standard input is for the chosen rank, which must exist") {
  LogPolicy policy;
  policy.input = {.kind = StdinChoice::Kind::one, .rank = 1};
  CHECK_FALSE(spec_of(plan(policy)).ranks[0].has_stdin);
  CHECK(spec_of(plan(policy)).ranks[1].has_stdin);
  policy.input = {.kind = StdinChoice::Kind::all};
  CHECK(spec_of(plan(policy)).ranks[0].has_stdin);
  policy.input = {.kind = StdinChoice::Kind::one, .rank = 4};
  CHECK_THROWS_AS(plan(policy), ds::Error);
}

TEST_CASE("ranks on a terminal get its size, and TERM below what -x says") {
  Screens screens = kTerminal;
  screens.rows = 50;
  screens.columns = 132;
  screens.terminal = "xterm-256color";
  LogPolicy policy;
  policy.pty = true;
  Spec spec;
  spec.env = {{"TERM", "vt100"}};
  plan_spec(plan(policy, screens), spec);
  CHECK(spec.output.pty);
  CHECK(spec.output.rows == 50);
  CHECK(spec.output.columns == 132);
  CHECK(spec.env == EnvList{{"TERM", "xterm-256color"}, {"TERM", "vt100"}});
}

TEST_CASE("a part shows its ranks by their numbers in the whole job") {
  Placement part = placement_of(1, 1);
  make_part(part, 2, 4, "");
  LogPolicy policy;
  policy.folder = "logs";
  const OutputPlan usual = plan_output(policy, part, "4f", kNoTerminal);
  CHECK_FALSE(usual.untouched);  // others write too
  CHECK(usual.files == std::vector<std::string>{"logs/rank_0002.log"});
  policy.show = ShowChoice::parse("0,2");
  CHECK(plan_output(policy, part, "4f", kNoTerminal).shown == std::vector<std::uint8_t>{3});
  policy.show = ShowChoice::parse("0");
  CHECK(plan_output(policy, part, "4f", kNoTerminal).shown == std::vector<std::uint8_t>{0});
}
