// Tests of the rank's environment: what counts as set, and which variable each error names.
#include "runner/rank_env.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/base/error.h"

namespace {

using Variables = std::map<std::string, std::string>;

ds::RankEnv parse(const Variables& variables) {
  return ds::parse_rank_env([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const Variables& variables) {
  try {
    parse(variables);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.what();
  }
  return "";
}

Variables two_ranks() {
  return {{"RANK", "1"},
          {"WORLD_SIZE", "2"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "10.0.0.1"},
          {"MASTER_PORT", "29500"}};
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace

TEST_CASE("an empty environment, or empty values, mean a job of one rank") {
  for (const Variables& variables :
       {Variables{}, Variables{{"RANK", ""}}, Variables{{"HOME", "/root"}}}) {
    const ds::RankEnv env = parse(variables);
    CHECK(env.rank == 0);
    CHECK(env.world_size == 1);
    CHECK(env.local_rank == 0);
    CHECK(env.local_world_size == 1);
    CHECK(env.job_key.empty());
  }
}

TEST_CASE("a full environment is read") {
  Variables variables = two_ranks();
  const std::string key(64, 'a');
  variables.insert({{"LOCAL_WORLD_SIZE", "2"},
                    {"DSLAUNCH_JOB_ID", "j1"},
                    {"DSLAUNCH_JOB_KEY", key},
                    {"DSLAUNCH_EPOCH", "3"}});
  const ds::RankEnv env = parse(variables);
  CHECK(env.rank == 1);
  CHECK(env.world_size == 2);
  CHECK(env.local_rank == 1);
  CHECK(env.local_world_size == 2);
  const ds::Rendezvous rendezvous = env.rendezvous(std::chrono::seconds(7));
  CHECK(rendezvous.rank == 1);
  CHECK(rendezvous.world_size == 2);
  CHECK(rendezvous.master_addr == "10.0.0.1");
  CHECK(rendezvous.master_port == 29500);
  CHECK(rendezvous.job_id == "j1");
  CHECK(rendezvous.job_key == key);
  for (const char* blanks : {"\n", "\r\n", " \t"}) {  // of a Secret that was made from a file
    variables["DSLAUNCH_JOB_KEY"] = key + blanks;
    CHECK(parse(variables).rendezvous(std::chrono::seconds(7)).job_key == key);
  }
  CHECK(rendezvous.epoch == 3);
  CHECK(rendezvous.timeout == std::chrono::seconds(7));
}

TEST_CASE("a world of 1 needs no master") {
  const ds::RankEnv env = parse({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}});
  CHECK(env.world_size == 1);
  CHECK(env.master_addr.empty());
}

TEST_CASE("under torchrun, whose agent listens at MASTER_PORT itself, the next port is used") {
  CHECK(parse(with(two_ranks(), "TORCHELASTIC_USE_AGENT_STORE", "True")).master_port == 29501);
  CHECK(parse(with(two_ranks(), "TORCHELASTIC_USE_AGENT_STORE", "False")).master_port == 29500);
  const Variables last = with(two_ranks(), "MASTER_PORT", "65535");
  CHECK(parse(with(last, "TORCHELASTIC_USE_AGENT_STORE", "True")).master_port == 65534);
}

TEST_CASE("errors name the variable that is missing, malformed or contradictory") {
  struct Row {
    Variables variables;
    const char* message;
  };
  const Row rows[] = {
      {without(two_ranks(), "RANK"),
       "RANK is not set, but WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT is"},
      {{{"MASTER_ADDR", "x"}}, "WORLD_SIZE is not set, but MASTER_ADDR is"},
      {without(two_ranks(), "LOCAL_RANK"), "LOCAL_RANK is not set"},
      {without(two_ranks(), "MASTER_ADDR"), "MASTER_ADDR is not set"},
      {without(two_ranks(), "MASTER_PORT"), "MASTER_PORT is not set"},
      {with(two_ranks(), "RANK", "2"), "RANK=2 is out of range (0 to 1)"},
      {with(two_ranks(), "DSLAUNCH_GRACE", "10s"),
       "DSLAUNCH_GRACE='10s' is not a number of seconds"},
      {with(two_ranks(), "DSLAUNCH_GRACE", "-1"), "DSLAUNCH_GRACE='-1' is not a number of seconds"},
      {with(two_ranks(), "DSLAUNCH_GRACE", "nan"),
       "DSLAUNCH_GRACE='nan' is not a number of seconds"},
      {with(two_ranks(), "RANK", "-1"), "RANK=-1 is out of range (0 to 1)"},
      {with(two_ranks(), "RANK", "one"), "RANK='one' is not an integer"},
      {with(two_ranks(), "RANK", "1x"), "RANK='1x' is not an integer"},
      {with(two_ranks(), "WORLD_SIZE", "0"), "WORLD_SIZE=0 is out of range (1 to 1000000)"},
      {with(two_ranks(), "WORLD_SIZE", "99999999999999999999"),
       "WORLD_SIZE='99999999999999999999' is not an integer"},
      {with(two_ranks(), "LOCAL_WORLD_SIZE", "1"), "LOCAL_WORLD_SIZE=1 is out of range (2 to 2)"},
      {with(two_ranks(), "MASTER_PORT", "65536"), "MASTER_PORT=65536 is out of range (1 to 65535)"},
      {with(two_ranks(), "DSLAUNCH_EPOCH", "-2"), "DSLAUNCH_EPOCH=-2 is out of range"},
      {with(two_ranks(), "DSLAUNCH_JOB_KEY", "secret"),
       "DSLAUNCH_JOB_KEY is not 64 hexadecimal digits"},
      {with(two_ranks(), "DSLAUNCH_TEST_WIRE", "rate=200M"),
       "DSLAUNCH_TEST_WIRE='rate=200M' is not a wire speed"},
      {with(two_ranks(), "DSLAUNCH_TEST_WIRE", "rate=0,latency=1ms"), "DSLAUNCH_TEST_WIRE='"},
      {with(two_ranks(), "DSLAUNCH_TEST_WIRE", "rate=1M,latency=1"), "DSLAUNCH_TEST_WIRE='"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const std::string error = error_of(row.variables);
    CHECK_MESSAGE(error.starts_with(row.message), error);
    CHECK(error.find("secret") == std::string::npos);
  }
}

TEST_CASE("the grace, if the launcher sets it") {
  CHECK(!parse(two_ranks()).grace_s);
  CHECK(parse(with(two_ranks(), "DSLAUNCH_GRACE", "120")).grace_s == 120);
  CHECK(parse(with(two_ranks(), "DSLAUNCH_GRACE", "0.5")).grace_s == 0.5);
  CHECK(parse(with(two_ranks(), "DSLAUNCH_GRACE", "0")).grace_s == 0);
}

TEST_CASE("the speed of a test wire") {
  const ds::RankEnv env = parse(with(two_ranks(), "DSLAUNCH_TEST_WIRE", "rate=200M,latency=1.5ms"));
  REQUIRE(env.test_wire);
  CHECK(env.test_wire->bytes_per_second == 200.0 * 1024 * 1024);
  CHECK(env.test_wire->latency == std::chrono::microseconds(1500));
  CHECK(!parse(two_ranks()).test_wire);
}

TEST_CASE("the node and the range of an elastic job") {
  CHECK(parse(two_ranks()).node.empty());
  CHECK(parse(two_ranks()).most_ranks == 0);
  CHECK(parse(with(two_ranks(), "GROUP_RANK", "3")).node == "3");
  CHECK(parse(with(with(two_ranks(), "GROUP_RANK", "3"), "NODE_RANK", "2")).node == "2");
  CHECK(parse(with(two_ranks(), "DSLAUNCH_ELASTIC_RANKS", "2:16")).most_ranks == 16);
  CHECK(parse(with(two_ranks(), "DSLAUNCH_ELASTIC_RANKS", "2:16")).least_ranks == 2);
  CHECK(parse(with(two_ranks(), "DSLAUNCH_ELASTIC_RANKS", "4:4")).most_ranks == 4);
  for (const char* bad :
       {"4", "4:", ":4", "5:4", "0:4", "1:4x", "1 :4", "1:99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(error_of(with(two_ranks(), "DSLAUNCH_ELASTIC_RANKS", bad)) ==
          "DSLAUNCH_ELASTIC_RANKS='" + std::string(bad) + "' is not MIN:MAX with 1 <= MIN <= MAX");
  }
}
