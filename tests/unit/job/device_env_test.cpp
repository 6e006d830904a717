// Chosen slots as CUDA_VISIBLE_DEVICES.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "launcher/agent/node_facts.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/spec.h"

using namespace ds::launcher;

namespace {

/// The last host of a hostfile.
Host host_of(const std::string& hostfile) { return parse_hostfile(hostfile, "hosts").back(); }

std::string devices(const EnvList& env) {
  if (env.empty()) return "unset";
  CHECK(env.size() == 1);
  CHECK(env[0].first == "CUDA_VISIBLE_DEVICES");
  return env[0].second;
}

Hello node_with(std::vector<std::string> names, bool limited) {
  Hello hello;
  hello.devices = std::move(names);
  hello.devices_limited = limited;
  return hello;
}

}  // namespace

TEST_CASE("only chosen slots set the devices of a node") {
  CHECK(devices(device_env(host_of("a slots=4"), Hello{})) == "unset");
  CHECK(devices(device_env(host_of("a gpus=0,2"), Hello{})) == "0,2");
  CHECK(devices(device_env(host_of("a\nb gpus=3,1"), Hello{})) == "3,1");
  CHECK(devices(device_env(host_of("a gpus=2"), node_with({"0", "1"}, false))) == "2");
}

TEST_CASE("slots count within what the node's environment leaves") {
  const Hello shared = node_with({"4", "GPU-7"}, true);
  CHECK(devices(device_env(host_of("a gpus=1,0"), shared)) == "GPU-7,4");
  CHECK(device_problem(host_of("a gpus=1,0"), false, shared).empty());
  CHECK(device_problem(host_of("a gpus=0,2"), false, shared) ==
        "a: slot 2 is chosen, but CUDA_VISIBLE_DEVICES there lists 2 devices (slot 0 is its "
        "first)");
  CHECK(device_problem(host_of("a slots=4"), false, shared).empty());
  CHECK(device_problem(host_of("a gpus=9"), false, node_with({"0"}, false)).empty());
  const Hello hidden = node_with({}, true);
  CHECK(devices(device_env(host_of("a gpus=1,0"), hidden)) == "unset");
  CHECK(device_problem(host_of("a gpus=1,0"), false, hidden).empty());
}

TEST_CASE("--devices own names the device of each rank's slot") {
  const auto own = [](const std::string& hostfile, int local_rank, const Hello& hello) {
    return devices(own_device_env(host_of(hostfile), local_rank, hello));
  };
  CHECK(own("a slots=2", 1, Hello{}) == "1");
  CHECK(own("a slots=2", 2, Hello{}) == "0");  // oversubscribed
  CHECK(own("a gpus=5,7", 0, Hello{}) == "5");
  CHECK(own("a gpus=5,7", 1, Hello{}) == "7");
  CHECK(own("a slots=2", 1, node_with({"4", "6"}, true)) == "6");
  CHECK(own("a slots=2", 1, node_with({}, true)) == "unset");
  CHECK(device_problem(host_of("a slots=2"), true, node_with({"4", "6"}, true)).empty());
  CHECK(device_problem(host_of("a slots=2"), true, node_with({"4"}, true)) ==
        "a: slot 1 is chosen, but CUDA_VISIBLE_DEVICES there lists 1 device (slot 0 is its first)");
}

TEST_CASE("the device of a rank, for the verdict") {
  const auto of = [](const std::string& hostfile, int local_rank, bool own, const EnvList& given,
                     const Hello& hello) {
    return device_of_rank(host_of(hostfile), local_rank, own, given, hello);
  };
  const Hello eight = node_with({"0", "1", "2", "3"}, false);
  const Hello shared = node_with({"4", "GPU-7"}, true);
  CHECK(of("a slots=2", 1, false, {}, Hello{}).empty());
  CHECK(of("a slots=4", 3, false, {}, eight) == "3");
  CHECK(of("a slots=8", 5, false, {}, eight).empty());
  CHECK(of("a gpus=3,1", 1, false, {}, eight) == "1");
  CHECK(of("a gpus=3,1", 2, false, {}, eight).empty());
  CHECK(of("a slots=2", 1, false, {}, shared) == "GPU-7");
  CHECK(of("a slots=2", 1, true, {}, shared) == "GPU-7");
  const EnvList given = {{"CUDA_VISIBLE_DEVICES", "2,0"}};
  CHECK(of("a slots=2", 1, false, given, eight) == "0");
  CHECK(of("a slots=2", 1, true, given, eight) == "0");
}

TEST_CASE("the list of visible devices") {
  using List = std::vector<std::string>;
  CHECK(split_visible_devices("0,2").size() == 2);
  CHECK(split_visible_devices(" 1 , GPU-ab,MIG-c") == List{"1", "GPU-ab", "MIG-c"});
  CHECK(split_visible_devices("").empty());
  CHECK(split_visible_devices("-1,0").empty());
  CHECK(split_visible_devices("1,-1,0") == List{"1"});
}

TEST_CASE("ranks of several programs know theirs") {
  PlacementRequest asked;
  asked.groups = {{.name = "learner", .ranks = 1}, {.name = "actor", .ranks = 3}};
  JobRequest request;
  request.placement = place_groups(parse_hostfile("a slots=2\nb slots=2", "hosts"), asked, 0);
  request.programs = {{.argv = {"learn"}}, {.argv = {"act"}, .env = {{"A", "1"}}}};
  const Spec spec = make_spec(request, request.placement, 0, JobIdentity{}, Hello{}, false);
  REQUIRE(spec.ranks.size() == 2);
  CHECK(spec.programs[0].argv == std::vector<std::string>{"learn"});
  CHECK(spec.programs[1].env == EnvList{{"A", "1"}});
  CHECK(spec.ranks[0].program == 0);
  CHECK(spec.ranks[1].program == 1);
  std::string roles;
  const Spec other = make_spec(request, request.placement, 1, JobIdentity{}, Hello{}, false);
  for (const auto& [name, value] : other.ranks.at(1).env)
    if (name.starts_with("ROLE_")) roles += fmt::format("{}={} ", name, value);
  CHECK(roles == "ROLE_NAME=actor ROLE_RANK=2 ROLE_WORLD_SIZE=3 ");
}

TEST_CASE("a default binding leaves crowded nodes and containers with little CPU time alone") {
  JobRequest request;
  request.placement = place_groups(parse_hostfile("a", "hosts"), {}, 0);
  request.programs = {{.argv = {"x"}}};
  request.bind = Bind::level;
  request.level = {.to = Level::core};
  request.bind_by_default = true;
  const auto bound = [&](std::uint32_t quota_milli, std::uint32_t cores = 8) {
    const Hello hello{.cores = cores, .quota_milli = quota_milli, .core_threads = 2};
    return make_spec(request, request.placement, 0, JobIdentity{}, hello, false).bind;
  };
  CHECK(bound(0) == Bind::level);
  CHECK(bound(8000) == Bind::level);
  CHECK(bound(2500) == Bind::none);
  CHECK(bound(0, 2) == Bind::level);
  CHECK(bound(0, 1) == Bind::none);  // a hardware thread, but no core, for its rank
  request.bind_by_default = false;   // the user asked for it
  CHECK(bound(2500) == Bind::level);
}
