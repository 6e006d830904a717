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

const JobIdentity kJob{
    .id = 0xabc, .key = "k", .live_columns = 76, .grace = std::chrono::milliseconds(1500)};

}  // namespace

TEST_CASE("a rank knows its place in the job and on its node") {
  std::vector<Host> hosts(2);
  hosts[1].slots = 3;
  const auto seen = map_of(rank_place_env(place_ranks(hosts, std::nullopt, 0), 3));
  const std::map<std::string, std::string> expected{{"RANK", "3"},
                                                    {"WORLD_SIZE", "4"},
                                                    {"LOCAL_RANK", "2"},
                                                    {"LOCAL_WORLD_SIZE", "3"},
                                                    {"NODE_RANK", "1"},
                                                    {"GROUP_RANK", "1"},
                                                    {"CROSS_RANK", "1"},
                                                    {"CROSS_SIZE", "2"},
                                                    {"LOCAL_SIZE", "3"},
                                                    {"GROUP_WORLD_SIZE", "2"},
                                                    {"ROLE_NAME", "default"},
                                                    {"ROLE_RANK", "3"},
                                                    {"ROLE_WORLD_SIZE", "4"}};
  CHECK(seen == expected);
}

TEST_CASE("all ranks get the job's own variables, and threads by cores, quota and ranks") {
  const auto seen = map_of(node_env(placement_of(1, 4), 0, kJob, {.cores = 16, .local = true}, {}));
  CHECK(seen.at("DSLAUNCH_JOB_ID") == "0000000000000abc");
  CHECK(seen.at("DSLAUNCH_JOB_KEY") == "k");
  CHECK(seen.at("DSLAUNCH_EPOCH") == "0");
  CHECK(seen.at("DSLAUNCH_LIVE") == "76");
  CHECK(seen.at("DSLAUNCH_GRACE") == "1.5");
  const JobIdentity usual{.grace = std::chrono::seconds(600)};
  CHECK(map_of(node_env(placement_of(1, 1), 0, usual, {}, {})).at("DSLAUNCH_GRACE") == "600");
  CHECK(seen.at("TORCHELASTIC_RUN_ID") == "0000000000000abc");
  const JobIdentity named{.id = 0xabc, .run_id = "gpt-7"};
  const auto seen_named = map_of(node_env(placement_of(1, 1), 0, named, {}, {}));
  CHECK(seen_named.at("TORCHELASTIC_RUN_ID") == "gpt-7");
  CHECK(seen.at("TORCHELASTIC_USE_AGENT_STORE") == "False");
  CHECK(seen.at("OMP_NUM_THREADS") == "4");
  CHECK(threads_per_rank({.cores = 16, .quota_milli = 2500}, 1) == 2);
  CHECK(threads_per_rank({.cores = 16, .quota_milli = 500}, 1) == 1);
  CHECK(threads_per_rank({.cores = 2, .quota_milli = 0}, 64) == 1);
}

TEST_CASE("defaults give way to what the user has set, wherever") {
  const NodeFacts local{.cores = 8, .local = true};
  const NodeFacts remote{.cores = 8, .local = false};
  const Placement one = placement_of(1, 1);
  const std::string threads = "OMP_NUM_THREADS";
  const auto of = [&](const NodeFacts& facts, const JobEnvironment& user) {
    const auto seen = map_of(node_env(one, 0, kJob, facts, user));
    return seen.count(threads) > 0 ? seen.at(threads) : "inherited";
  };
  CHECK(of(local, {.own_names = {threads}}) == "inherited");
  CHECK(of(remote, {.sent = {{threads, "3"}}, .own_names = {threads}}) == "3");
  CHECK(of(remote, {.own_names = {threads}}) == "8");
  CHECK(of(local, {.given = {{threads, "5"}}}) == "5");
  CHECK(of(local, {.here = EnvList{}, .own_names = {threads}}) == "8");
  CHECK(of({.cores = 8, .bound = true}, {}) == "inherited");  // two threads on one core of 64
  CHECK(map_of(node_env(one, 0, kJob, local, {})).at("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "1");
}

TEST_CASE("other nodes get what is sent, this one inherits it; what is given wins") {
  const JobEnvironment user{.given = {{"PATH", "/x"}},
                            .sent = {{"PATH", "/bin"}, {"NCCL_DEBUG", "1"}}};
  const auto there = map_of(node_env(placement_of(1, 1), 0, kJob, {.local = false}, user));
  CHECK(there.at("NCCL_DEBUG") == "1");
  CHECK(there.at("PATH") == "/x");
  const auto here = map_of(node_env(placement_of(1, 1), 0, kJob, {.local = true}, user));
  CHECK(here.count("NCCL_DEBUG") == 0);
  CHECK(here.at("PATH") == "/x");
}

TEST_CASE("names of other launchers, on request") {
  const Placement placement =
      place_ranks(parse_hostfile("a slots=1\nb slots=3\nc slots=2", "h"), std::nullopt, 0);
  CHECK(family_env(placement, 2, {}).empty());
  const auto seen =
      map_of(family_env(placement, 2, {.openmpi = true, .mpich = true, .horovod = true}));
  CHECK(seen.at("OMPI_COMM_WORLD_RANK") == "2");
  CHECK(seen.at("OMPI_COMM_WORLD_LOCAL_SIZE") == "3");
  CHECK(seen.at("OMPI_UNIVERSE_SIZE") == "6");
  CHECK(seen.at("OMPI_APP_CTX_NUM_PROCS") == "6");
  CHECK(seen.at("PMI_SIZE") == "6");
  CHECK(seen.at("MPI_LOCALRANKID") == "1");
  // Of the three nodes, two have a second rank, and b is the first of these.
  CHECK(seen.at("HOROVOD_CROSS_RANK") == "0");
  CHECK(seen.at("HOROVOD_CROSS_SIZE") == "2");
  CHECK(seen.at("HOROVOD_HOSTNAME") == "b");
  CHECK(map_of(family_env(placement, 3, {.horovod = true})).at("HOROVOD_CROSS_SIZE") == "1");
  CHECK(map_of(family_env(placement, 5, {.horovod = true})).at("HOROVOD_CROSS_RANK") == "1");
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

TEST_CASE("ranks of a part know their numbers in the whole job, and no secret of this part") {
  Placement part = placement_of(1, 2);
  make_part(part, 3, 4, "none");
  const auto seen = map_of(rank_place_env(part, 1));
  const std::map<std::string, std::string> expected{{"RANK", "7"},
                                                    {"WORLD_SIZE", "8"},
                                                    {"LOCAL_RANK", "1"},
                                                    {"LOCAL_WORLD_SIZE", "2"},
                                                    {"NODE_RANK", "3"},
                                                    {"GROUP_RANK", "3"},
                                                    {"CROSS_RANK", "3"},
                                                    {"CROSS_SIZE", "4"},
                                                    {"LOCAL_SIZE", "2"},
                                                    {"GROUP_WORLD_SIZE", "4"},
                                                    {"ROLE_NAME", "default"},
                                                    {"ROLE_RANK", "7"},
                                                    {"ROLE_WORLD_SIZE", "8"}};
  CHECK(seen == expected);
  const auto job = map_of(node_env(part, 0, kJob, {.cores = 16, .local = true}, {}));
  CHECK(job.count("DSLAUNCH_JOB_KEY") == 0);
  CHECK(job.at("TORCHELASTIC_RUN_ID") == "none");
  const auto family =
      map_of(family_env(part, 1, {.openmpi = true, .mpich = true, .horovod = true}));
  CHECK(family.at("OMPI_COMM_WORLD_RANK") == "7");
  CHECK(family.at("PMI_SIZE") == "8");
  CHECK(family.at("HOROVOD_CROSS_RANK") == "3");
  CHECK(family.at("HOROVOD_CROSS_SIZE") == "4");
  make_part(part, 0, 1, "");  // all of a job has its key
  CHECK(map_of(node_env(part, 0, kJob, {.cores = 16, .local = true}, {})).at("DSLAUNCH_JOB_KEY") ==
        "k");
}

TEST_CASE("an MPI library finds its rank, the size of the job, and its place on the node") {
  const auto seen = map_of(pmi_env(placement_of(2, 2), 3));
  const std::map<std::string, std::string> expected{
      {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  CHECK(seen == expected);
}
