// Tests of spares: which hosts are taken, and which are refused.
#include "launcher/hosts/placement.h"

#include <doctest/doctest.h>

#include <functional>

#include "engine/base/error.h"
#include "support/place_ranks.h"

using namespace ds::launcher;

namespace {

std::vector<Host> hosts_with(const std::vector<int>& slots) {
  std::vector<Host> hosts;
  for (const int count : slots) {
    hosts.emplace_back();
    hosts.back().name = "h" + std::to_string(hosts.size());
    hosts.back().slots = count;
  }
  return hosts;
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "none";
}

}  // namespace

TEST_CASE("the last hosts are held back, in their order") {
  std::vector<Host> hosts = hosts_with({2, 2, 3, 4});
  const std::vector<Host> spares = take_spares(hosts, 2);
  REQUIRE(spares.size() == 2);
  CHECK(spares[0].name == "h3");
  CHECK(spares[1].name == "h4");
  CHECK(hosts.size() == 2);
  CHECK(take_spares(hosts, 0).empty());
  CHECK(hosts.size() == 2);
}

TEST_CASE("a host must be left") {
  std::vector<Host> hosts = hosts_with({1, 1});
  CHECK(error_of([&] { take_spares(hosts, 2); }) ==
        "--spares 2 leaves no host for the job (2 given)\n"
        "  hint: give more hosts or fewer spares");
}

TEST_CASE("a spare that can stand in for nobody is named") {
  std::vector<Host> hosts = hosts_with({4, 3});
  const Placement placement = place_ranks(hosts, std::nullopt, 0);
  CHECK(error_of([&] { check_spares(placement, hosts_with({3, 8})); }) == "none");
  CHECK(error_of([&] {
          check_spares(placement, hosts_with({4, 2}));
        }) ==
        "the spare host h2 has 2 slots, but every node of the job has at least 3 ranks\n"
        "  hint: --spares takes the last hosts: put hosts with enough slots there");
}
