// Tests of the command lines of `dslaunch agent --join` and `dslaunch --k8s`.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/cli/options.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

using Parse = Options (*)(int, const char* const*);

Options parse_main(int argc, const char* const* argv) { return parse_args(argc, argv); }

Options parsed(Parse parse, std::vector<const char*> words) {
  words.insert(words.begin(), "name");
  return parse(static_cast<int>(words.size()), words.data());
}
Options agent(std::vector<const char*> words) { return parsed(parse_agent_args, std::move(words)); }
Options main_command(std::vector<const char*> words) {
  return parsed(parse_main, std::move(words));
}

std::string refusal(Parse parse, std::vector<const char*> words) {
  try {
    parsed(parse, std::move(words));
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.what();
  }
  return "taken";
}

RootWord root(const char* text) { return root_value({"--root", text}); }

}  // namespace

TEST_CASE("an agent that joins has the options of a job") {
  const Options options =
      agent({"--join", "--peers", "gpt-{0..3}.gpt", "--nnodes=4", "--node-rank", "2", "--slots",
             "8", "--job-id=gpt", "--wait=1m", "--join-port", "29401", "--on-success=idle",
             "--grace=5", "-x", "A=1", "--max-restarts=3", "train.toml", "train.steps=5"});
  CHECK(options.pods.join);
  CHECK(options.pods.peers == "gpt-{0..3}.gpt");
  CHECK(options.pods.nodes == NodeRange{4, 4});
  CHECK(!options.failure.nodes);
  CHECK(options.pods.node_rank == 2);
  CHECK(options.pods.slots == 8);
  CHECK(options.pods.job_id == "gpt");
  CHECK(options.pods.wait == 60s);
  CHECK(options.pods.join_port == 29401);
  CHECK(options.pods.on_success == AfterSuccess::idle);
  CHECK(options.failure.grace == 5s);
  CHECK(options.failure.max_restarts == 3);
  REQUIRE(options.train);
  CHECK(options.train->overrides == std::vector<std::string>{"train.steps=5"});
  const Options elastic = agent({"--join", "--nnodes=2:4", "train.toml"});
  CHECK(elastic.failure.nodes == NodeRange{2, 4});
  CHECK(elastic.failure.elastic);
  CHECK(refusal(parse_agent_args, {"--join", "--nnodes=2:4", "--nodes=2:4", "train.toml"}) ==
        "--nnodes MIN:MAX and --nodes cannot be combined");
  CHECK(refusal(parse_agent_args, {"--join", "--nnodes=2:", "train.toml"}) ==
        "--nnodes 2:: MAX is missing");
  const Options command = agent({"--join", "--", "prog", "--join", "-h"});
  CHECK(command.command == std::vector<std::string>{"prog", "--join", "-h"});
  CHECK(command.pods.slots == kAutoSlots);
  CHECK(!command.pods.join_port);
  CHECK(command.pods.wait == 600s);
}

TEST_CASE("what makes no sense for an agent is named") {
  for (const std::string word : {"--hostfile=x", "--machinefile=x", "-H", "--include=a", "--k8s",
                                 "--transport=ssh", "--detach", "--dry-run", "--ssh-config=x"}) {
    CAPTURE(word);
    CHECK(refusal(parse_agent_args, {"--join", word.c_str(), "--", "true"}) ==
          word.substr(0, word.find('=')) + " cannot be used with dslaunch agent --join");
  }
  CHECK(refusal(parse_agent_args, {"--peers=a", "--", "true"}) ==
        "dslaunch agent accepts options only with --join");
  CHECK(refusal(parse_agent_args, {"--join"}) == "nothing to run");
  CHECK(refusal(parse_agent_args, {"--join", "--root=a", "--", "true"}) ==
        "--root and a command cannot be combined without --nodes MIN:MAX");
  CHECK(refusal(parse_agent_args, {"--join", "--root=a", "--nodes=1:2", "train.toml"}) == "taken");
  CHECK(refusal(parse_agent_args, {"--join", "--root=a", "--peers=a,b", "--nodes=1:2", "a.toml"}) ==
        "--root, --peers and a command cannot be combined");
  CHECK(refusal(parse_agent_args, {"--join", "--root=a", "--nodes=2:", "a.toml"}) ==
        "--nodes MIN: needs a MAX with --root");
  CHECK(refusal(parse_agent_args, {"--join", "--node-name=a", "--", "true"}) ==
        "--node-name needs --root, without --peers");
  CHECK(refusal(parse_agent_args, {"--join", "--nnodes=2", "--node-rank=2", "--", "true"}) ==
        "--node-rank 2 is out of range for --nnodes 2");
  CHECK(refusal(parse_agent_args, {"--join", "--", "true", "--hostfile", "x"}) == "taken");
  CHECK(refusal(parse_agent_args, {"--join", "--root=a"}) == "taken");
  CHECK(agent({"--help"}).action == Options::Action::show_help);
}

TEST_CASE("where a root is") {
  CHECK(root("gpt-0.gpt") == RootWord{"gpt-0.gpt", 0});
  CHECK(root("gpt-0.gpt.:1234") == RootWord{"gpt-0.gpt.", 1234});
  CHECK(root("10.0.0.1:65535") == RootWord{"10.0.0.1", 65535});
  CHECK(root("[2001:db8::1]:29400") == RootWord{"2001:db8::1", 29400});
  CHECK(root("[2001:db8::1]") == RootWord{"2001:db8::1", 0});
  CHECK(root("2001:db8::1") == RootWord{"2001:db8::1", 0});
  for (const char* bad : {"", ":1", "a:", "a:0", "a:65536", "a:x", "a b", "[a]:1", "[::1", "[::1]1",
                          "-a", "a/b", "http://a", "x:2:3"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(root(bad), ds::Error);
  }
}

TEST_CASE("the main command finds pods with --k8s") {
  const Options options = main_command({"--k8s", "--peers=a,b", "--", "true"});
  CHECK(options.pods.k8s);
  CHECK(refusal(parse_main, {"--peers=a,b", "--", "true"}) == "--peers needs --k8s");
  CHECK(refusal(parse_main, {"--nnodes=2", "--", "true"}) == "--nnodes needs --k8s");
  CHECK(refusal(parse_main, {"--slots=2", "--", "true"}) == "--slots needs --k8s");
  for (const std::string word : {"--job-id=a", "--join-port=1", "--key-file=a"})
    CHECK(refusal(parse_main, {"--k8s", word.c_str(), "--", "true"}) ==
          word.substr(0, word.find('=')) +
              " needs --k8s --transport join, or --nodes MIN:MAX in a Slurm allocation");
  CHECK(refusal(parse_main, {"--k8s", "--transport=join", "--dry-run", "--", "true"}) ==
        "--dry-run and --transport join cannot be combined");
  CHECK(refusal(parse_main, {"--k8s", "--transport=join", "--job-id=a", "--", "true"}) == "taken");
  CHECK(refusal(parse_main, {"--k8s", "--hostfile=x", "--", "true"}) ==
        "--k8s and --hostfile cannot be combined");
  CHECK(refusal(parse_main, {"--k8s", "-H", "a", "--", "true"}) ==
        "--k8s and --host cannot be combined");
  CHECK(refusal(parse_main, {"--join", "--", "true"}).starts_with("unknown option --join"));
}

TEST_CASE("an agent's table is that of dslaunch without hosts, with its own") {
  Options options;
  const std::vector<std::string> all = agent_table(options).names();
  const auto has = [&](std::string_view name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  for (const std::string& name : own_agent_table(options).names()) CHECK(has(name));
  for (const char* name : {"--grace", "-x", "--peers", "--ppn", "--verdict", "--master-port"})
    CHECK(has(name));
  for (const char* name : {"--hostfile", "-H", "--detach", "--k8s", "--version", "-h"})
    CHECK(!has(name));
}
