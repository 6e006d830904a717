// A task of srun: its place from what Slurm 22.05 sets, and what does not count as a step.
#include "engine/base/slurm_rank.h"

#include <doctest/doctest.h>

#include <map>

#include "engine/base/error.h"
#include "runner/rank_env.h"

namespace {

using Variables = std::map<std::string, std::string>;

ds::SlurmLookup lookup_in(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

/// Of a job of two nodes, tasks 2 and 1: the last one.
Variables task() {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_STEP_ID", "3"},
          {"SLURM_STEP_NUM_TASKS", "3"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
          {"SLURM_STEP_NODELIST", "n[1-2]"},
          {"SLURM_PROCID", "2"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", "1"}};
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

std::string error_of(const Variables& variables) {
  try {
    (void)ds::find_slurm_rank(lookup_in(variables));
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a task of a step knows its place") {
  const Variables variables = with(task(), "SLURM_RESTART_COUNT", "2");
  const auto place = ds::find_slurm_rank(lookup_in(variables));
  REQUIRE(place);
  CHECK(place->rank == 2);
  CHECK(place->world_size == 3);
  CHECK(place->local_rank == 0);
  CHECK(place->local_world_size == 1);
  CHECK(place->node_rank == 1);
  CHECK(place->nodes == 2);
  CHECK(place->master_addr == "n1");
  CHECK(place->master_port == 16384 + 17 * 61 + 3);
  CHECK(place->job == "17.3");
  CHECK(place->restarts == 2);
}

TEST_CASE("the first node of any list is the master") {
  const Variables lists = {
      {"n[3-7,09]", "n3"}, {"a,b", "a"}, {"r[09-10]n[1-2]-ib,x", "r09n1-ib"}, {"n7", "n7"}};
  for (const auto& [list, first] : lists) {
    CAPTURE(list);
    const Variables variables = with(task(), "SLURM_STEP_NODELIST", list);
    CHECK(ds::find_slurm_rank(lookup_in(variables))->master_addr == first);
  }
}

TEST_CASE("scripts, shells and steps of one task have no place") {
  Variables batch = task();  // sbatch: PROCID, but no step
  batch.erase("SLURM_STEP_ID");
  Variables shell = task();  // salloc: no PROCID either
  shell.erase("SLURM_STEP_ID");
  shell.erase("SLURM_PROCID");
  for (const Variables& variables :
       {Variables{}, batch, shell, with(task(), "SLURM_STEP_ID", "4294967290"),
        with(task(), "SLURM_STEP_ID", "4294967291"), with(task(), "SLURM_STEP_NUM_TASKS", "1")})
    CHECK_FALSE(ds::find_slurm_rank(lookup_in(variables)));
}

TEST_CASE("what contradicts itself is named") {
  CHECK(error_of(with(task(), "SLURM_PROCID", "3")) == "SLURM_PROCID=3 is out of range (0 to 2)");
  CHECK(error_of(with(task(), "SLURM_NODEID", "x")) == "SLURM_NODEID must be an integer, not 'x'");
  CHECK(error_of(with(task(), "SLURM_LOCALID", "1")) == "SLURM_LOCALID=1 is out of range (0 to 0)");
  CHECK(error_of(with(task(), "SLURM_LOCALID", "")) ==
        "SLURM_LOCALID is not set, but SLURM_STEP_ID is");
  for (const char* counts : {"", "2", "2,", "(x2)", "2(x", "1(x2", "2(y2)", "1(x1),4", ",1"}) {
    CAPTURE(counts);
    CHECK(error_of(with(task(), "SLURM_STEP_TASKS_PER_NODE", counts))
              .ends_with("does not say how many of the 3 tasks run on node 1"));
  }
}

TEST_CASE("the runner takes its place from the step, unless a rank is set") {
  const auto parse = [](const Variables& variables) {
    return ds::parse_rank_env(lookup_in(variables));
  };
  const ds::RankEnv env = parse(with(task(), "SLURM_RESTART_COUNT", "1"));
  CHECK(env.rank == 2);
  CHECK(env.world_size == 3);
  CHECK(env.local_world_size == 1);
  CHECK(env.master_addr == "n1");
  CHECK(env.job_id == "slurm-17.3");
  CHECK(env.epoch == 1'000'000);
  const ds::RankEnv port = parse(with(task(), "MASTER_PORT", "29500"));
  CHECK(port.rank == 2);
  CHECK(port.master_port == 29500);
  Variables own = with(task(), "RANK", "0");
  own["WORLD_SIZE"] = "1";
  own["LOCAL_RANK"] = "0";
  CHECK(parse(own).world_size == 1);
}
