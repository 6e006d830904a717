// Tests of several programs on one command line: separators, and options of each program.
#include "launcher/cli/options.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/error.h"

using namespace ds::launcher;

namespace {

Options parse(std::vector<const char*> args) {
  args.insert(args.begin(), "dslaunch");
  return parse_args(static_cast<int>(args.size()), args.data());
}

std::string error_of(const std::vector<const char*>& args) {
  try {
    parse(args);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.what();
  }
  return "none";
}

/// Returns "a x | 4 b": each program with its -n.
std::string text_of(const Options& options) {
  std::string text = fmt::format("{}", fmt::join(options.command, " "));
  for (const MoreProgram& program : options.more_programs)
    text += fmt::format(" | {} {}", program.ranks.value_or(0), fmt::join(program.command, " "));
  return text;
}

}  // namespace

TEST_CASE("a ':' before an option starts another program, any other is an argument") {
  CHECK(text_of(parse({"-n", "2", "--", "a", "x", ":", "-n", "4", "--", "b"})) == "a x | 4 b");
  CHECK(text_of(parse({"-n", "2", "--", "a", ":", "-n", "4", "--", "b", "-q", ":", "--", "c",
                       "-n"})) == "a | 4 b -q | 0 c -n");
  CHECK(text_of(parse({"--", "sh", "-c", ":"})) == "sh -c :");
  CHECK(text_of(parse({"--", "expr", "a", ":", "b"})) == "expr a : b");
  CHECK(text_of(parse({"--one-program", "--", "a", ":", "-n", "4", "--", "b"})) == "a : -n 4 -- b");
}

TEST_CASE("a program has options of its own") {
  const Options options = parse({"-n",  "1",  "--role", "head",   "-x",   "A=1",    "--",      "a",
                                 ":",   "-n", "2",      "--role", "tail", "--host", "n1,n2:3", "-x",
                                 "A=2", "-x", "B",      "--wdir", "/w",   "--",     "b"});
  CHECK(options.hosts.role == "head");
  REQUIRE(options.more_programs.size() == 1);
  const MoreProgram& more = options.more_programs[0];
  CHECK(more.role == "tail");
  CHECK(more.hosts.size() == 2);
  CHECK(more.env.forward == std::vector<EnvForward>{{"A", "2"}, {"B", std::nullopt}});
  CHECK(more.env.wdir == "/w");
}

TEST_CASE("what is wrong with programs is said") {
  CHECK(error_of({"--", "a", ":", "-n", "4", "./b"}) ==
        "the program after ':' needs -- before its command");
  CHECK(error_of({"--", "a", ":", "-n", "4", "--"}) ==
        "no command after -- in the program after ':'");
  CHECK(error_of({"--", "a", ":", "--hostfile", "h", "--", "b"}) == "unknown option --hostfile");
  CHECK(error_of({"--", "a", ":", "-n", "4", "b", "--", "c"}) ==
        "unexpected 'b' between ':' and --");
  CHECK(error_of({"--", "a", ":", "--", "b"}) == "several programs have no -n");
  CHECK(error_of({"-n", "1", "--", "a", ":", "--", "b", ":", "--", "c"}) ==
        "several programs have no -n");
  CHECK(error_of({"-n", "1", "--role", "a b", "--", "a"}).starts_with("--role must be a name of"));
}

TEST_CASE("options of hosts that exclude each other") {
  CHECK(error_of({"-i", "a", "-e", "b", "--", "x"}) ==
        "--include and --exclude cannot be combined");
  CHECK(error_of({"-i", "a", "--num_nodes", "1", "--", "x"}) ==
        "--num-nodes cannot be combined with --include or --exclude");
  CHECK(error_of({"-e", "a", "--num_gpus", "1", "--", "x"}) ==
        "--num-gpus cannot be combined with --include or --exclude");
  CHECK(error_of({"--map-by", "moon", "--", "x"}) == "--map-by 'moon': it must be slot, node, seq, socket, numa, l3cache, core, hwthread or ppr:N:PART");
  CHECK(error_of({"--ppn", "0", "--", "x"}) == "--ppn must be an integer from 1 to 4096, not '0'");
  CHECK(error_of({"--host", "a:x", "--", "x"})
            .starts_with("--host: slots must be an integer, not 'x'"));
}

TEST_CASE("spellings of mpirun and deepspeed") {
  const Options options = parse({"-np",
                                 "4",
                                 "--machinefile",
                                 "h",
                                 "--num_nodes",
                                 "2",
                                 "--num_gpus",
                                 "3",
                                 "-H",
                                 "a:2",
                                 "-H",
                                 "b",
                                 "--npernode",
                                 "2",
                                 "--map-by",
                                 "node",
                                 "--oversubscribe",
                                 "--devices",
                                 "own",
                                 "--",
                                 "x"});
  CHECK(options.hosts.ranks == 4);
  CHECK(options.hosts.hostfile == "h");
  CHECK(options.hosts.selection.num_nodes == 2);
  CHECK(options.hosts.selection.num_gpus == 3);
  CHECK(options.hosts.selection.picks.size() == 2);
  CHECK(options.hosts.ranks_per_host == 2);
  CHECK(options.hosts.map.map_by == MapBy::node);
  CHECK(options.hosts.oversubscribe == Oversubscribe::spread);
  CHECK(options.hosts.devices == DeviceView::own);
}
