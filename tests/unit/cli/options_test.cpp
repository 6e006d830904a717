// Tests of the command line: every option, both forms, and every usage error with its whole
// message.
#include "launcher/cli/options.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

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
    return error.for_people();
  }
  return "none";
}

constexpr const char* kSeeHelp = "\n  hint: see dslaunch --help";
constexpr const char* kForms =
    "\n  hint: dslaunch [options] train.toml [key=value ...]   or   "
    "dslaunch [options] -- COMMAND ARGS...";

}  // namespace

TEST_CASE("where a training goes on is a word for keys") {
  using Words = std::vector<std::string>;
  CHECK(parse({"--resume", "never", "train.toml", "a=1"}).train->overrides ==
        Words{"a=1", "checkpoint.resume=\"never\""});
  CHECK(parse({"train.toml", "--resume=a \"b\"\\/40", "--load", "weights"}).train->overrides ==
        Words{"checkpoint.resume=\"a \\\"b\\\"\\\\/40\"", "checkpoint.load=\"weights\""});
  CHECK(error_of({"--resume", "x", "--", "true"})
            .starts_with("--resume applies only to a train.toml"));
  CHECK(error_of({"--load=all", "--", "true"}).starts_with("--load applies only to a train.toml"));
  CHECK(error_of({"train.toml", "checkpoint.resume=a", "--resume", "b"})
            .starts_with("both --resume and checkpoint.resume=... are given"));
  CHECK(error_of({"train.toml", "--load", "some"}) != "none");
}

TEST_CASE("defaults") {
  const Options options = parse({"--", "true"});
  CHECK(options.action == Options::Action::run);
  CHECK_FALSE(options.hosts.hostfile);
  CHECK_FALSE(options.hosts.ranks);
  CHECK_FALSE(options.env.wdir);
  CHECK(options.env.forward.empty());
  CHECK(options.failure.grace == 10s);
  CHECK(options.hosts.dry_run == DryRun::off);
  CHECK(options.reach.transport == TransportChoice::automatic);
  CHECK(options.logs.log_level == LogLevel::info);
  CHECK(options.reach.connect_timeout == 10s);
  CHECK(options.failure.node_timeout == 8s);
  CHECK(options.failure.isolate == IsolateMode::automatic);
  CHECK(options.reach.window == 64);
  CHECK_FALSE(options.reach.ssh_config);
  CHECK(options.reach.known_hosts.empty());
  CHECK_FALSE(options.train);
  CHECK(options.command == std::vector<std::string>{"true"});
}

TEST_CASE("every option is read") {
  const Options options = parse({"--hostfile",
                                 "hosts",
                                 "-n",
                                 "4",
                                 "--wdir",
                                 "/tmp",
                                 "-x",
                                 "A=1",
                                 "-x",
                                 "B",
                                 "-x",
                                 "C=",
                                 "--grace",
                                 "500ms",
                                 "--dry-run=json",
                                 "--transport",
                                 "ssh",
                                 "--agent-path",
                                 "/opt/dslaunch",
                                 "--connect-timeout",
                                 "3",
                                 "--node-timeout",
                                 "2m",
                                 "--window",
                                 "8",
                                 "--ssh-config",
                                 "cfg",
                                 "--known-hosts",
                                 "k1",
                                 "--known-hosts",
                                 "k2",
                                 "--log-level",
                                 "debug",
                                 "--",
                                 "run",
                                 "-n",
                                 "9"});
  CHECK(options.hosts.hostfile == "hosts");
  CHECK(options.hosts.ranks == 4);
  CHECK(options.env.wdir == "/tmp");
  CHECK(options.env.forward == std::vector<EnvForward>{{"A", "1"}, {"B", std::nullopt}, {"C", ""}});
  CHECK(options.failure.grace == 500ms);
  CHECK(options.hosts.dry_run == DryRun::json);
  CHECK(options.reach.transport == TransportChoice::ssh);
  CHECK(options.reach.agent_path == "/opt/dslaunch");
  CHECK(options.reach.connect_timeout == 3s);
  CHECK(options.failure.node_timeout == 120s);
  CHECK(options.reach.window == 8);
  CHECK(options.reach.ssh_config == "cfg");
  CHECK(options.reach.known_hosts == std::vector<std::string>{"k1", "k2"});
  CHECK(options.logs.log_level == LogLevel::debug);
  CHECK(options.command == std::vector<std::string>{"run", "-n", "9"});
}

TEST_CASE("everything after -- is the command, word for word") {
  const Options options =
      parse({"-n", "2", "--", "sh", "-c", "echo --help; exit 3", "--", "", "--version"});
  CHECK(options.command ==
        std::vector<std::string>{"sh", "-c", "echo --help; exit 3", "--", "", "--version"});
}

TEST_CASE("the train form: a .toml file and overrides, options before or after") {
  const Options options = parse(
      {"train.toml", "train.steps=20", "--hostfile", "h", "zero.stage=0", "data.train=[\"a=b\"]"});
  REQUIRE(options.train);
  CHECK(options.train->config == "train.toml");
  CHECK(options.train->overrides ==
        std::vector<std::string>{"train.steps=20", "zero.stage=0", "data.train=[\"a=b\"]"});
  CHECK(options.hosts.hostfile == "h");
  CHECK(options.command.empty());
}

TEST_CASE("spellings: short option with its value attached, long option with '='") {
  CHECK(parse({"-n4", "--", "a"}).hosts.ranks == 4);
  CHECK(parse({"--hostfile=h", "--", "a"}).hosts.hostfile == "h");
  CHECK(parse({"-xA=b=c", "--", "a"}).env.forward == std::vector<EnvForward>{{"A", "b=c"}});
  CHECK(parse({"--dry-run", "--", "a"}).hosts.dry_run == DryRun::table);
  CHECK(parse({"--dry-run", "train.toml"}).train->config == "train.toml");
  CHECK(parse({"train.toml"}).failure.grace == 25s);  // it saves
  CHECK(parse({"train.toml", "--grace", "1"}).failure.grace == 1s);
  CHECK(parse({"--hostfile", "-", "--", "a"}).hosts.hostfile == "-");
}

TEST_CASE("--help and --version win over everything before --") {
  CHECK(parse({"--help"}).action == Options::Action::show_help);
  CHECK(parse({"-n", "x", "-h"}).action == Options::Action::show_help);
  CHECK(parse({"--wrong", "--version"}).action == Options::Action::show_version);
  CHECK(parse({"--", "ls", "--help"}).action == Options::Action::run);
}

TEST_CASE("one dash before a long name is understood, as mpirun's users type it") {
  CHECK(parse({"-hostfile", "h", "-np", "2", "--", "a"}).hosts.hostfile == "h");
  CHECK(parse({"-n2", "-wdir=/w", "--", "a"}).hosts.ranks == 2);
}

TEST_CASE("wrong use: the whole message") {
  struct Row {
    std::vector<const char*> args;
    std::string message;
  };
  const Row rows[] = {
      {{}, std::string("nothing to run") + kForms},
      {{"-n", "2"}, std::string("nothing to run") + kForms},
      {{"--"}, "no command after --\n  hint: for example: dslaunch -n 2 -- hostname"},
      {{"--", ""}, "no command after --\n  hint: for example: dslaunch -n 2 -- hostname"},
      {{"--hostfle", "h", "--", "a"}, "unknown option --hostfle\n  hint: did you mean --hostfile?"},
      {{"--hostfile=h", "--wdirr=x", "--", "a"},
       "unknown option --wdirr\n  hint: did you mean --wdir?"},
      {{"-q", "--", "a"},
       "unknown option -q\n  hint: see dslaunch --help; a program's own options stand after --"},
      {{"--something-else", "--", "a"},
       "unknown option --something-else\n"
       "  hint: see dslaunch --help; a program's own options stand after --"},
      {{"--nproc_per_node=2", "--", "a"},
       "unknown option --nproc-per-node\n"
       "  hint: use --ppn N for ranks per host, -n N for all ranks"},
      {{"-hosts", "a,b", "--", "a"}, "unknown option -hosts\n  hint: use --host a:4,b"},
      {{"-n", "1", "--", "a", ":", "--grace", "3", "--", "b"},
       "unknown option --grace\n  hint: only -n, --ppn, --role, --host, -x and --wdir may follow ':'; put "
       "options of the job first"},
      {{"--detach", "--stdin", "all", "--", "a"},
       "--detach and --stdin cannot be combined\n"
       "  hint: a job in the background has no standard input; let a rank read a file"},
      {{"a.toml", "--dryrun"}, "unknown option --dryrun\n  hint: did you mean --dry-run?"},
      {{"--hostfile", "--", "a"}, std::string("--hostfile needs a value") + kSeeHelp},
      {{"--hostfile", "", "--", "a"}, std::string("--hostfile must not be empty") + kSeeHelp},
      {{"-x", "--", "a"}, std::string("-x needs a value") + kSeeHelp},
      {{"--version=3", "--", "a"}, std::string("--version takes no value") + kSeeHelp},
      {{"-n", "1", "-n", "2", "--", "a"}, std::string("-n is given twice") + kSeeHelp},
      {{"--dry-run", "--dry-run=json", "--", "a"},
       std::string("--dry-run is given twice") + kSeeHelp},
      {{"--hostfile", "a", "--hostfile", "b", "--", "c"},
       std::string("--hostfile is given twice") + kSeeHelp},
      {{"-n", "0", "--", "a"},
       std::string("-n must be an integer from 1 to 1048576, not '0'") + kSeeHelp},
      {{"-n", "-3", "--", "a"},
       std::string("-n must be an integer from 1 to 1048576, not '-3'") + kSeeHelp},
      {{"-n", "4x", "--", "a"},
       std::string("-n must be an integer from 1 to 1048576, not '4x'") + kSeeHelp},
      {{"-n", "1048577", "--", "a"},
       std::string("-n must be an integer from 1 to 1048576, not '1048577'") + kSeeHelp},
      {{"--window", "99999999999999999999", "--", "a"},
       std::string("--window must be an integer from 1 to 4096, not '99999999999999999999'") +
           kSeeHelp},
      {{"--grace", "fast", "--", "a"},
       "--grace must be a duration, not 'fast'\n  hint: for example 10 (seconds), 1.5s, 500ms, 2m"},
      {{"--node-timeout", "0", "--", "a"},
       std::string("--node-timeout must be at least 100 ms, not '0'") + kSeeHelp},
      {{"--node-timeout", "99ms", "--", "a"},
       std::string("--node-timeout must be at least 100 ms, not '99ms'") + kSeeHelp},
      {{"--node-timeout", "4294968s", "--", "a"},
       std::string("--node-timeout must be at most 24 days, not '4294968s'") + kSeeHelp},
      {{"--grace", "577h", "--", "a"},
       std::string("--grace must be at most 24 days, not '577h'") + kSeeHelp},
      {{"--connect-timeout", "0ms", "--", "a"},
       std::string("--connect-timeout must be longer than 0") + kSeeHelp},
      {{"--isolate", "cgroup", "--", "a"},
       "--isolate cannot be 'cgroup'\n  hint: choose one of: auto, pid, none"},
      {{"--dry-run=xml", "--", "a"},
       "--dry-run cannot be 'xml'\n  hint: choose one of: off, table, json, env"},
      {{"--transport", "rsh", "--", "a"},
       "--transport cannot be 'rsh'\n  hint: choose one of: auto, ssh, local, slurm, exec:CMD, "
       "join"},
      {{"--log-level", "loud", "--", "a"},
       "--log-level cannot be 'loud'\n  hint: choose one of: error, warn, info, debug"},
      {{"-x", "1A=2", "--", "a"},
       std::string("-x must be NAME, NAME=value or 'PREFIX*', not '1A=2'") + kSeeHelp},
      {{"-x", "=2", "--", "a"},
       std::string("-x must be NAME, NAME=value or 'PREFIX*', not '=2'") + kSeeHelp},
      {{"-x", "A B=2", "--", "a"},
       std::string("-x must be NAME, NAME=value or 'PREFIX*', not 'A B=2'") + kSeeHelp},
      {{"-x", "A", "-x", "A=1", "--", "a"}, std::string("-x A is given twice") + kSeeHelp},
      {{"-x", "WORLD_SIZE=9", "--", "a"},
       "-x WORLD_SIZE: dslaunch sets this variable for every rank\n  hint: remove the option"},
      {{"-x", "DSLAUNCH_JOB_KEY", "--", "a"},
       "-x DSLAUNCH_JOB_KEY: dslaunch sets this variable for every rank\n  hint: remove the "
       "option"},
      {{"hostname"},
       "'hostname' is not a .toml file\n"
       "  hint: to run a program: dslaunch [options] -- hostname"},
      {{"-n", "2", "python3", "a.py"},
       "'python3' is not a .toml file\n"
       "  hint: to run a program: dslaunch [options] -- python3 a.py"},
      {{"train.py", "9"},
       "'train.py' is not a .toml file\n"
       "  hint: to run a program: dslaunch [options] -- python3 train.py 9"},
      {{"hosts", "--", "a"},
       "unexpected 'hosts' before --\n  hint: give a hostfile with --hostfile FILE"},
      {{"a.toml", "--", "b"}, std::string("both a.toml and a command after -- are given") + kForms},
      {{"a.toml", "junk"},
       "'junk' after a.toml is not key=value\n"
       "  hint: for example train.steps=20 zero.stage=0"},
      {{"a.toml", "=3"},
       "'=3' after a.toml is not key=value\n"
       "  hint: for example train.steps=20 zero.stage=0"},
      {{"a.toml", "b.toml"},
       "'b.toml' after a.toml is not key=value\n"
       "  hint: for example train.steps=20 zero.stage=0"},
  };
  for (const Row& row : rows) CHECK(error_of(row.args) == row.message);
}

TEST_CASE("an empty argument vector does not crash") {
  CHECK_THROWS_AS(parse_args(0, nullptr), ds::Error);
}

TEST_CASE("--part") {
  CHECK(parse({"--part", "0/1", "--", "true"}).hosts.part == PartRequest{0, 1, ""});
  const Options options =
      parse({"--part", "1/4:a:b", "--master-addr", "h", "--master-port", "29500", "--", "true"});
  CHECK(options.hosts.part == PartRequest{1, 4, "a:b"});
  for (const char* wrong : {"", "x", "4/4", "-1/4", "1/", "/4", "1/4x", "1:2/4", "/"})
    CHECK(error_of({"--part", wrong, "--", "true"}) ==
          "--part must be NODE or NODE/NODES, not '" + std::string(wrong) +
              "'\n  hint: for example 0/4 to 3/4; with a name of the job: 0/4:NAME");
  CHECK(error_of({"--part", "0/2", "--master-addr", "h", "--", "true"})
            .starts_with("--part of several nodes needs --master-addr and --master-port"));
  CHECK(error_of({"--part", "0/1", "--hostfile", "h", "--", "true"})
            .starts_with("--part and --hostfile cannot be combined"));
}

TEST_CASE("--nodes MIN:MAX") {
  const auto elastic = [](std::vector<const char*> args) {
    args.insert(args.end(), {"--", "true"});
    return parse(args).failure;
  };
  CHECK(!elastic({}).elastic);
  CHECK(elastic({"--nodes", "2:8"}).elastic->nodes == NodeRange{2, 8});
  CHECK(elastic({"--nodes", "3"}).elastic->nodes == NodeRange{3, 3});
  CHECK(elastic({"--nodes", "2:"}).elastic->nodes == NodeRange{2, 0});
  CHECK(elastic({"--nodes", "2:8"}).max_restarts == 3);
  CHECK(elastic({"--nodes", "2:8", "--max-restarts", "0"}).max_restarts == 0);
  CHECK(elastic({"--nodes", "2:8"}).elastic->on_loss == OnLoss::smaller);
  CHECK(elastic({"--nodes", "2:8", "--on-loss", "wait"}).elastic->on_loss == OnLoss::wait);
  CHECK(elastic({"--nodes", "2:8", "--admit", "now"}).elastic->admit == Admit::now);
  const auto refused = [](std::vector<const char*> args) {
    args.insert(args.end(), {"--", "true"});
    return error_of(args);
  };
  CHECK(refused({"--nodes", "4:2"}) ==
        "--nodes 4:2: MIN is greater than MAX\n  hint: did you mean 2:4?");
  CHECK(refused({"--nodes", "0:2"}).starts_with("--nodes 0:2: MIN must be at least 1"));
  CHECK(refused({"--on-loss", "wait"}).starts_with("--on-loss needs --nodes"));
  CHECK(refused({"--admit", "now"}).starts_with("--admit needs --nodes"));
  CHECK(refused({"--max-wait", "9"}).starts_with("--max-wait needs --nodes"));
  CHECK(refused({"--nodes", "1:2", "--part", "0/1"})
            .starts_with("--nodes and --part cannot be combined"));
  CHECK(refused({"--nodes", "1:2", "-n", "4"}).starts_with("--nodes and -n cannot be combined"));
  CHECK(refused({"--nodes", "1:2", "--stdin", "1"}).starts_with("--stdin: rank 1 is missing"));
  CHECK(error_of({"--nodes", "1:2", "--", "a", ":", "-n", "1", "--", "b"})
            .starts_with("--nodes and several programs cannot be combined"));
}
