// The environment contract, variable by variable.
#include "launcher/job/rank_environment.h"

#include <doctest/doctest.h>

#include <map>

#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;

std::map<std::string, std::string> map_of(const EnvList& variables) {
  std::map<std::string, std::string> map;
  for (const auto& [name, value] : variables) map[name] = value;  // the last one wins, as in a Spec
  return map;
}

const JobIdentity kJob{.id = 0xabc, .key = "k", .live_progress = true};

}  // namespace

TEST_CASE("a rank knows its place in the job and on its node") {
  std::vector<Host> hosts(2);
  hosts[1].slots = 3;
  const auto seen = map_of(rank_place_env(place_ranks(hosts, std::nullopt, 0), 3));
  const std::map<std::string, std::string> expected{
      {"RANK", "3"},       {"WORLD_SIZE", "4"},      {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "3"},
      {"NODE_RANK", "1"},  {"GROUP_RANK", "1"},      {"CROSS_RANK", "1"}, {"CROSS_SIZE", "2"},
      {"LOCAL_SIZE", "3"}, {"ROLE_NAME", "default"}, {"ROLE_RANK", "3"},  {"ROLE_WORLD_SIZE", "4"}};
  CHECK(seen == expected);
}

TEST_CASE("all ranks get the job's own variables, and threads by cores, quota and ranks") {
  const auto seen =
      map_of(node_env(placement_of(1, 4), 0, kJob, {.cores = 16, .local = true}, {}, {}));
  CHECK(seen.at("DSLAUNCH_JOB_ID") == "0000000000000abc");
  CHECK(seen.at("DSLAUNCH_JOB_KEY") == "k");
  CHECK(seen.at("DSLAUNCH_EPOCH") == "0");
  CHECK(seen.at("DSLAUNCH_LIVE") == "1");
  CHECK(seen.at("OMP_NUM_THREADS") == "4");
  CHECK(threads_per_rank({.cores = 16, .quota_milli = 2500}, 1) == 2);
  CHECK(threads_per_rank({.cores = 16, .quota_milli = 500}, 1) == 1);
  CHECK(threads_per_rank({.cores = 2, .quota_milli = 0}, 64) == 1);
}

TEST_CASE("OMP_NUM_THREADS of the user stays") {
  const NodeFacts local{.cores = 8, .local = true};
  const NodeFacts remote{.cores = 8, .local = false};
  const Placement one = placement_of(1, 1);
  CHECK(map_of(node_env(one, 0, kJob, local, {"OMP_NUM_THREADS=3"}, {})).count("OMP_NUM_THREADS") ==
        0);
  CHECK(map_of(node_env(one, 0, kJob, remote, {"OMP_NUM_THREADS=3"}, {})).at("OMP_NUM_THREADS") ==
        "3");
  CHECK(
      map_of(node_env(one, 0, kJob, local, {}, {{"OMP_NUM_THREADS", "5"}})).at("OMP_NUM_THREADS") ==
      "5");
}

TEST_CASE("other nodes get the variables of the trade, not the whole environment") {
  const std::vector<std::string> own{
      "NCCL_DEBUG=INFO",        "PATH=/bin",     "HOME=/root", "SECRET=1",
      "CUDA_VISIBLE_DEVICES=0", "PYTHONPATH=a=b"};
  const auto seen =
      map_of(node_env(placement_of(1, 1), 0, kJob, {.local = false}, own, {{"PATH", "/x"}}));
  CHECK(seen.at("NCCL_DEBUG") == "INFO");
  CHECK(seen.at("PYTHONPATH") == "a=b");
  CHECK(seen.at("PATH") == "/x");
  CHECK(seen.count("HOME") == 0);
  CHECK(seen.count("SECRET") == 0);
  CHECK(seen.count("CUDA_VISIBLE_DEVICES") == 0);
}

TEST_CASE("rank 0 is found at an address that the other nodes can use") {
  const Placement two = placement_of(2, 1);
  CHECK(master_address(placement_of(1, 2), {false}, {"10.0.0.1"}, "") == "127.0.0.1");
  CHECK(master_address(two, {true, true}, {}, "") == "127.0.0.1");
  CHECK(master_address(two, {true, false}, {"127.0.0.1", "10.0.0.1"}, "10.0.0.1") == "10.0.0.1");
  CHECK(master_address(two, {false, false}, {"10.0.0.2"}, "10.0.0.1") == "10.0.0.2");
  CHECK(master_address(two, {false, false}, {"127.0.0.2"}, "127.0.0.1") == "127.0.0.2");
  CHECK(master_address(two, {false, false}, {"127.0.0.1", "10.0.0.2"}, "10.0.0.1") == "10.0.0.2");
}
