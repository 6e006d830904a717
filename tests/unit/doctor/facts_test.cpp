// Tests of the line format of facts.
#include "launcher/doctor/facts.h"

#include <doctest/doctest.h>

#include "launcher/doctor/facts_json.h"

using namespace ds::launcher::doctor;

namespace {

Facts some_facts() {
  Facts facts;
  facts.version = "1.0";
  facts.host_name = "n1 \"x\"\n\xff";
  facts.clock_ms = 1'700'000'000'123;
  facts.cores = 64;
  facts.load = 1.5;
  facts.memory_bytes = std::uint64_t{512} << 30;
  facts.open_files = {1024, kUnlimited};
  facts.infiniband = {"mlx5_0", "mlx5_1"};
  facts.interfaces = {{"eth0", "10.0.0.1"}};
  facts.gpus = {{0, "H100", "GPU-aa", 81559}};
  facts.gpu_processes = {{0, 12, 34, "python", "ann"}};
  facts.folders = {{"/work", "", true, true, 1000, 10}, {"/x", "No such file", false, false, 0, 0}};
  facts.check = RunnerCheck{65, "bad key"};
  return facts;
}

std::string all_lines(const Facts& facts) {
  std::string lines = first_line(facts) + gpu_line(facts);
  for (const Folder& folder : facts.folders) lines += folder_line(folder);
  return lines + check_line(*facts.check) + doing_line("nothing") + last_line();
}

}  // namespace

TEST_CASE("what is told is what is read") {
  const Facts facts = some_facts();
  const Facts read = parse_facts(all_lines(facts));
  CHECK(read.complete);
  CHECK(read.doing == "nothing");
  CHECK(read.host_name == "n1 \"x\"\n\xef\xbf\xbd");
  CHECK(read.open_files.hard == kUnlimited);
  CHECK(read.clock_ms == facts.clock_ms);
  Facts expected = facts;
  expected.host_name = read.host_name;
  CHECK(text_of(to_json(read)) == text_of(to_json(expected)));
}

TEST_CASE("a node that got stuck has told the rest") {
  const Facts facts = some_facts();
  const Facts read =
      parse_facts(first_line(facts) + doing_line("looking at /data") + "{\"folder\": {\"pa");
  CHECK(read.cores == 64);
  CHECK(read.doing == "looking at /data");
  CHECK_FALSE(read.complete);
  CHECK(read.folders.empty());
}

TEST_CASE("nonsense is passed over") {
  const Facts read = parse_facts(
      "bash: warning\n[1,2]\n3\n{\"cores\": \"many\", \"gpus\": 7, \"folder\": 1, \"check\": []}\n"
      "{\"memory_bytes\": -1, \"infiniband\": [1, \"a\"], \"gpus\": [3]}\n\n{\"kernel\": \"x\"}");
  CHECK(read.cores == 0);
  CHECK(read.kernel == "x");
  CHECK(read.infiniband == std::vector<std::string>{"", "a"});
}
