// Tests of srun's options and of the lines on its standard input.
#include "launcher/slurm/step_words.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.h"

using namespace ds::launcher;

namespace {

using Words = std::vector<std::string>;

Allocation four_nodes() {
  Allocation allocation;
  allocation.job = "17";
  allocation.groups = {{.component = 0, .names = {"n1", "n2", "n3", "n4"}, .cpus_each = 8}};
  for (const std::string& name : allocation.groups[0].names)
    allocation.hosts.push_back({.name = name});
  return allocation;
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_join_lines(text);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    const std::string what = error.what();
    const std::string start = "dslaunch agent --join=stdin: ";
    REQUIRE(what.starts_with(start));
    return what.substr(start.size());
  }
  return "";
}

const std::string kKey(64, 'a');

}  // namespace

TEST_CASE("one step starts an agent on every node") {
  const Allocation allocation = four_nodes();
  const auto steps = agent_steps(allocation, allocation.hosts, {.agent = "/opt/dslaunch"});
  REQUIRE(steps.size() == 1);
  CHECK(fmt::format("{}", fmt::join(steps[0].words, " ")) ==
        "srun --nodes=4 --ntasks=4 --ntasks-per-node=1 --overlap --mpi=none --cpu-bind=none "
        "--kill-on-bad-exit=0 --no-kill --input=all --cpus-per-task=8 --export=ALL /opt/dslaunch "
        "agent --join=stdin");
}

TEST_CASE("some nodes, unequal ones, and ranks that inherit nothing") {
  Allocation allocation = four_nodes();
  allocation.groups[0].cpus_each.reset();
  const auto steps = agent_steps(allocation, {{.name = "n4"}, {.name = "n2"}},
                                 {.agent = "dslaunch", .with_environment = false});
  REQUIRE(steps.size() == 1);
  CHECK(has(steps[0].words, "--nodes=2"));
  CHECK(has(steps[0].words, "--nodelist=n2,n4"));
  CHECK(has(steps[0].words, "--export=NONE"));
  for (const std::string& word : steps[0].words) CHECK_FALSE(word.starts_with("--cpus-per-task"));
}

TEST_CASE("a job that may lose nodes has one step on each of them") {
  const auto steps = agent_steps(four_nodes(), {{.name = "n1"}, {.name = "n3"}},
                                 {.agent = "dslaunch", .by_node = true});
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].nodes == Words{"n3"});
  CHECK(has(steps[1].words, "--nodes=1"));
  CHECK(has(steps[1].words, "--ntasks=1"));
  CHECK(has(steps[1].words, "--nodelist=n3"));
}

TEST_CASE("each component of a heterogeneous job has its step") {
  Allocation allocation = four_nodes();
  allocation.heterogeneous = true;
  allocation.groups[0].names = {"n1"};
  allocation.groups.push_back({.component = 1, .names = {"n2", "n3"}, .cpus_each = 2});
  allocation.groups.push_back({.component = 2, .names = {"n4"}});
  const auto steps = agent_steps(allocation, {{.name = "n1"}, {.name = "n3"}, {.name = "n2"}},
                                 {.agent = "dslaunch"});
  REQUIRE(steps.size() == 2);
  CHECK(has(steps[0].words, "--het-group=0"));
  CHECK(has(steps[0].words, "--cpus-per-task=8"));
  CHECK(has(steps[1].words, "--het-group=1"));
  CHECK(has(steps[1].words, "--nodes=2"));
  CHECK(has(steps[1].words, "--cpus-per-task=2"));
}

TEST_CASE("a host outside of the allocation is named") {
  try {
    (void)agent_steps(four_nodes(), {{.name = "n1"}, {.name = "m7"}}, {.agent = "dslaunch"});
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.what() == std::string("m7 is not a node of the Slurm job 17"));
  }
}

TEST_CASE("the lines come back as they were") {
  JoinerSetup join;
  join.key = *JoinKey::from_hex(kKey);
  join.job = "slurm-17-abc";
  join.roots = {{"10.0.0.1", 4000}, {"fd00::1", 4000}, {"login", 4000}};
  join.wait = std::chrono::seconds(60);
  join.silence = std::chrono::milliseconds(1500);
  const std::string text = join_lines(join);
  CHECK(join_lines_end(text));
  CHECK_FALSE(join_lines_end(text.substr(0, text.size() - 1)));
  const JoinerSetup again = parse_join_lines(text + "\x01 anything");
  CHECK(again.key == join.key);
  CHECK(again.job == join.job);
  REQUIRE(again.roots.size() == 3);
  CHECK(again.roots[1].host == "fd00::1");
  CHECK(again.roots[2].port == 4000);
  CHECK(again.wait == join.wait);
  CHECK(again.silence == join.silence);
}

TEST_CASE("what is wrong with the lines is named, and the key is not shown") {
  const std::string head = "dslaunch-join 1\n";
  CHECK(error_of("") == "standard input does not begin with 'dslaunch-join 1'");
  CHECK(error_of("dslaunch-join 2\nend\n") ==
        "standard input does not begin with 'dslaunch-join 1'");
  CHECK(error_of(head + "job x\n") == "standard input ends before line 'end'");
  CHECK(error_of(head + "job x\nend\n") == "line 'key' is missing");
  CHECK(error_of(head + "key 12\nend\n") == "line 'key' must have 64 hexadecimal digits");
  CHECK(error_of(head + "key " + kKey + "\nend\n") == "line 'job' is missing");
  CHECK(error_of(head + "key " + kKey + "\njob x\nend\n") == "line 'root' is missing");
  CHECK(error_of(head + "root x\nend\n") == "line 'root' must have a port and an address");
  CHECK(error_of(head + "root 0 x\nend\n") == "line 'root' must be an integer from 1 to 65535");
  CHECK(error_of(head + "sudo\nend\n") == "unknown line 'sudo'");
  const std::string most = head + "key " + kKey + "\njob x\nroot 1 x\n";
  CHECK(error_of(most + "end\n") == "line 'wait' is missing");
  CHECK(error_of(most + "wait 9\nend\n") == "line 'silence' is missing");
  CHECK(error_of(most + "wait 9\nsilence 9\nend\n") == "");
}

TEST_CASE("variables that srun or a rank would take for theirs") {
  for (const char* name :
       {"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_CPU_BIND",
        "SLURM_CPU_BIND_TYPE", "SLURM_DISTRIBUTION", "SLURM_TRES_PER_TASK"})
    CHECK_MESSAGE(is_step_option(name), name);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_GPUS_PER_NODE", "PATH"})
    CHECK_FALSE_MESSAGE(is_step_option(name), name);
  for (const char* name : {"SLURM_PROCID", "SLURM_STEP_NODELIST", "SLURM_NTASKS"})
    CHECK_MESSAGE(is_step_place(name), name);
  for (const char* name : {"SLURM_JOB_ID", "SLURMD_NODENAME", "SLURM_GPUS_ON_NODE", "HOME"})
    CHECK_FALSE_MESSAGE(is_step_place(name), name);
}

TEST_CASE("the command for guests puts an IPv6 address in brackets") {
  CHECK(guest_command({"fd00::1", 29417}) ==
        "dslaunch agent --join --root [fd00::1]:29417 --key-file FILE");
  CHECK(guest_command({"10.0.0.1", 29400}) ==
        "dslaunch agent --join --root 10.0.0.1:29400 --key-file FILE");
}
