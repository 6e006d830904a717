// Tests of the options of `dsrunner plan`.
#include "runner/plan_options.h"

#include <doctest/doctest.h>

using namespace ds;  // NOLINT: the tests of one file

TEST_CASE("options may stand anywhere, with = or a space") {
  const PlanOptions options = parse_plan_options(
      {"--nodes", "4", "train.toml", "--slots=8", "zero.stage=3", "--device-memory", "80G",
       "--host-memory=1.5TiB", "--json", "--rates", "net=50G", "--print", "shard", "--rank", "31"});
  CHECK(options.cluster.world_size() == 32);
  CHECK(options.config == "train.toml");
  CHECK(options.overrides == std::vector<std::string>{"zero.stage=3"});
  CHECK(options.limits.device == std::int64_t{80} << 30);
  CHECK(options.limits.host == std::int64_t{3} << 39);
  CHECK(options.rates.net == 50e9);
  CHECK(options.json);
  CHECK(options.print == "shard");
  CHECK(options.rank == 31);
  CHECK_FALSE(options.measure);
}

TEST_CASE("wrong arguments are usage errors that name the option") {
  const auto fails = [](std::vector<std::string> words, const char* message) {
    CAPTURE(message);
    CHECK_THROWS_WITH_AS(parse_plan_options(words), doctest::Contains(message), Error);
  };
  fails({"--nodes", "0", "t"}, "--nodes must be an integer from 1");
  fails({"--nodes", "four", "t"}, "not 'four'");
  for (const char* range : {"4:2", "0:2", "1:", ":2", "1:2:3", "1:100001"})
    fails({"--nodes", range, "t"}, "or MIN:MAX with MIN at most MAX, not '");
  fails({"--slots=", "t"}, "--slots must be");
  fails({"--device-memory", "80Q", "t"}, "--device-memory must be a size such as 80G");
  fails({"--node", "1", "t"}, "unknown option '--node'");
  fails({"--json=yes", "t"}, "unknown option '--json=yes'");
  fails({"t", "--print"}, "--print needs a value");
  fails({"t", "--rank", "1"}, "--rank 1 is out of range (0 to 0)");
  fails({"--json"}, "no train.toml given");
}
