// Tests of Slurm allocations, with the variables of salloc and sbatch 22.05, and of other input.
#include "launcher/slurm/allocation.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "engine/base/error.h"

using namespace ds::launcher;

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Allocation> find(const Variables& variables) {
  return find_allocation([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

/// Returns "n1 2, n2 1 from SLURM_TASKS_PER_NODE".
std::string slots(const Variables& variables) {
  const auto allocation = find(variables);
  REQUIRE(allocation);
  std::string text;
  for (const Host& host : allocation->hosts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", host.name, host.slots);
  return fmt::format("{} from {}", text, allocation->slots_from);
}

std::string error_of(const Variables& variables) {
  try {
    (void)find(variables);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    const std::string what = error.what();
    const std::string start = "cannot use the Slurm allocation: ";
    REQUIRE(what.starts_with(start));
    return what.substr(start.size());
  }
  return "";
}

/// Returns the variables of salloc -N2 -n3.
Variables salloc_job() {
  return {{"SLURM_JOB_ID", "17"},           {"SLURM_JOBID", "17"},
          {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_NODELIST", "n[1-2]"},
          {"SLURM_JOB_NUM_NODES", "2"},     {"SLURM_JOB_CPUS_PER_NODE", "2,1"},
          {"SLURM_TASKS_PER_NODE", "2,1"}};
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables het_job() {
  return {{"SLURM_JOB_ID", "3"},
          {"SLURM_HET_SIZE", "2"},
          {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
          {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
          {"SLURM_JOB_NUM_NODES_HET_GROUP_0", "1"},
          {"SLURM_JOB_NUM_NODES_HET_GROUP_1", "2"},
          {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "2"},
          {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "1(x2)"},
          {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "2"},
          {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "1(x2)"}};
}

}  // namespace

TEST_CASE("outside of Slurm there is none") {
  CHECK_FALSE(find({}));
  CHECK_FALSE(find({{"SLURM_CONF", "/etc/slurm.conf"}, {"SLURM_JOB_ID", ""}}));
}

TEST_CASE("a job's nodes and tasks") {
  CHECK(slots(salloc_job()) == "n1 2, n2 1 from SLURM_TASKS_PER_NODE");
  const auto allocation = *find(with(salloc_job(), {{"SLURM_RESTART_COUNT", "2"}}));
  CHECK(allocation.job == "17");
  CHECK(allocation.restarts == 2);
  CHECK_FALSE(allocation.heterogeneous);
  REQUIRE(allocation.groups.size() == 1);
  CHECK(allocation.groups[0].names == std::vector<std::string>{"n1", "n2"});
  CHECK_FALSE(allocation.groups[0].cpus_each);
  CHECK(allocation.hosts[0].place.file == "SLURM_JOB_NODELIST");
}

TEST_CASE("names of old, and a job whose tasks nobody has said") {
  CHECK(slots({{"SLURM_JOBID", "17"}, {"SLURM_NODELIST", "b,a"}}) == "b 1, a 1 from ");
  CHECK(find({{"SLURM_JOBID", "17"}, {"SLURM_NODELIST", "b"}})->hosts[0].bare);
}

TEST_CASE("where the job has GPUs they are the slots") {
  const Variables job = salloc_job();
  CHECK(slots(with(job, {{"SLURM_GPUS_ON_NODE", "4"}})) == "n1 4, n2 4 from SLURM_GPUS_ON_NODE");
  CHECK(slots(with(job, {{"SLURM_JOB_GPUS", "0,3"}})) == "n1 2, n2 2 from SLURM_JOB_GPUS");
  CHECK(slots(with(job, {{"SLURM_GPUS_PER_NODE", "a100:4,v100:2"}, {"SLURM_GPUS_ON_NODE", "6"}})) ==
        "n1 6, n2 6 from SLURM_GPUS_PER_NODE");
  CHECK(slots(with(job, {{"SLURM_GPUS_PER_TASK", "2"}})) == "n1 4, n2 2 from SLURM_GPUS_PER_TASK");
  CHECK(slots(with(job, {{"SLURM_GPUS", "8"}, {"SLURM_GPUS_ON_NODE", "4"}})) ==
        "n1 4, n2 4 from SLURM_GPUS_ON_NODE");
  CHECK(slots(with(job, {{"SLURM_GPUS_ON_NODE", "0"}})) == "n1 2, n2 1 from SLURM_TASKS_PER_NODE");
  // The total does not give the GPUs of each node: the nodes are asked.
  CHECK(slots(with(job, {{"SLURM_GPUS", "8"}})) == "n1 0, n2 0 from SLURM_GPUS");
  CHECK(slots(with(job, {{"SLURM_GPUS", "0"}})) == "n1 2, n2 1 from SLURM_TASKS_PER_NODE");
  // The nodes have different numbers: they are asked.
  CHECK(slots(with(job, {{"SLURM_GPUS", "5"}, {"SLURM_GPUS_ON_NODE", "4"}})) ==
        "n1 0, n2 0 from SLURM_GPUS");
}

TEST_CASE("in a step the counts of tasks are not the job's") {
  const Variables step =
      with(salloc_job(), {{"SLURM_STEP_ID", "0"}, {"SLURM_TASKS_PER_NODE", "1"}});
  CHECK(slots(step) == "n1 1, n2 1 from ");
  CHECK(slots(with(step, {{"SLURM_NTASKS_PER_NODE", "3"}})) ==
        "n1 3, n2 3 from SLURM_NTASKS_PER_NODE");
  // salloc's interactive step has the job's variables.
  CHECK(slots(with(salloc_job(), {{"SLURM_STEP_ID", "4294967290"}})) ==
        "n1 2, n2 1 from SLURM_TASKS_PER_NODE");
}

TEST_CASE("components of a heterogeneous job") {
  CHECK(slots(het_job()) == "n1 2, n2 1, n3 1 from SLURM_TASKS_PER_NODE_HET_GROUP_0");
  const auto allocation = *find(het_job());
  CHECK(allocation.heterogeneous);
  REQUIRE(allocation.groups.size() == 2);
  CHECK(allocation.groups[1].component == 1);
  CHECK(allocation.groups[1].names == std::vector<std::string>{"n2", "n3"});
  CHECK(allocation.groups[1].cpus_each == 1);
  // sbatch also sets the first component's variables without a suffix.
  CHECK(slots(with(het_job(), {{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_TASKS_PER_NODE", "2"}})) ==
        "n1 2, n2 1, n3 1 from SLURM_TASKS_PER_NODE_HET_GROUP_0");
}

TEST_CASE("a node of two components is one host, and gets one agent") {
  const Variables shared = with(het_job(), {{"SLURM_JOB_NODELIST_HET_GROUP_1", "n[1-2]"}});
  CHECK(slots(shared) == "n1 3, n2 1 from SLURM_TASKS_PER_NODE_HET_GROUP_0");
  const auto allocation = *find(shared);
  REQUIRE(allocation.groups.size() == 2);
  CHECK(allocation.groups[1].names == std::vector<std::string>{"n2"});
}

TEST_CASE("an allocation without nodes is an error, never this machine alone") {
  CHECK(error_of({{"SLURM_JOB_ID", "17"}}) == "SLURM_JOB_NODELIST is not set");
  CHECK(error_of({{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", ","}}) ==
        "SLURM_JOB_NODELIST=',' has no nodes");
  CHECK(error_of(with(het_job(), {{"SLURM_HET_SIZE", "3"}})) ==
        "SLURM_JOB_NODELIST_HET_GROUP_2 is not set");
}

TEST_CASE("contradictions are named") {
  CHECK(error_of(with(salloc_job(), {{"SLURM_JOBID", "16"}})) ==
        "SLURM_JOB_ID is 17, but SLURM_JOBID is 16");
  CHECK(error_of(with(salloc_job(), {{"SLURM_JOB_NUM_NODES", "3"}})) ==
        "SLURM_JOB_NODELIST='n[1-2]' has 2 nodes, but SLURM_JOB_NUM_NODES is 3");
  CHECK(error_of(with(salloc_job(), {{"SLURM_TASKS_PER_NODE", "2(x3)"}})) ==
        "SLURM_TASKS_PER_NODE='2(x3)' has 3 nodes, but SLURM_JOB_NODELIST has 2");
  CHECK(error_of(with(salloc_job(), {{"SLURM_TASKS_PER_NODE", "two"}})) ==
        "SLURM_TASKS_PER_NODE='two' is not a list of counts");
  CHECK(error_of(with(salloc_job(), {{"SLURM_JOB_NODELIST", "n[1-2"}})) ==
        "SLURM_JOB_NODELIST='n[1-2', byte 2: unclosed '['");
  CHECK(error_of(with(salloc_job(), {{"SLURM_JOB_NODELIST", "n1,n1"}})) ==
        "SLURM_JOB_NODELIST names n1 twice");
  CHECK(error_of(with(salloc_job(), {{"SLURM_GPUS_PER_NODE", "many"}})) ==
        "SLURM_GPUS_PER_NODE must be a number of GPUs, not 'many'");
  CHECK(error_of(with(salloc_job(), {{"SLURM_RESTART_COUNT", "-1"}})) ==
        "SLURM_RESTART_COUNT must be an integer, not '-1'");
  CHECK(error_of(with(het_job(), {{"SLURM_HET_SIZE", "0"}})) == "SLURM_HET_SIZE=0 is out of range");
}
