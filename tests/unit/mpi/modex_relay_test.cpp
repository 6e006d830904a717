// Tests requests for the data of one rank at the root: they are passed on, and answered for nodes
// that have ended.
#include "launcher/mpi/modex_relay.h"

#include <doctest/doctest.h>

#include <optional>

using namespace ds::launcher;

namespace {

constexpr int kNotFound = -46;  // PMIX_ERR_NOT_FOUND

template <class Kind>
std::optional<Kind> only(const std::vector<ModexRelay::Out>& out, int node) {
  if (out.size() != 1 || out[0].node != node) return std::nullopt;
  const auto* const message = std::get_if<Kind>(&out[0].message);
  return message == nullptr ? std::nullopt : std::optional<Kind>(*message);
}

ModexAsk ask(int rank, std::uint64_t id) { return {.rank = rank, .node = 0, .id = id}; }

}  // namespace

TEST_CASE("a request goes to the node of its rank, and the answer to the node that has asked") {
  ModexRelay relay;
  relay.begin({{0, 1}, {2, 3}});
  CHECK(only<ModexAsk>(relay.take(1, ask(0, 7)), 0) == ModexAsk{.rank = 0, .node = 1, .id = 7});
  const ModexAnswer answer{.node = 1, .id = 7, .status = 0, .data = "x"};
  CHECK(only<ModexAnswer>(relay.take(0, ModexAnswer(answer)), 1) == answer);
  CHECK(relay.take(0, ModexAnswer(answer)).empty());  // a second answer
  CHECK(relay.take(1, ModexAnswer{.node = 0, .id = 9}).empty());
}

TEST_CASE("a rank that does not exist has no data") {
  ModexRelay relay;
  relay.begin({{0}, {1}});
  for (const int rank : {2, -1})
    CHECK(only<ModexAnswer>(relay.take(1, ask(rank, 3)), 1) ==
          ModexAnswer{.node = 1, .id = 3, .status = kNotFound});
}

TEST_CASE("requests to a node that ends, or has ended, are answered") {
  ModexRelay relay;
  relay.begin({{0, 1}, {2}, {3}});
  relay.take(1, ask(0, 1));
  relay.take(2, ask(1, 5));
  const std::vector<ModexRelay::Out> out = relay.ended(0);
  REQUIRE(out.size() == 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    CHECK(out[i].node == static_cast<int>(i) + 1);
    CHECK(std::get<ModexAnswer>(out[i].message).status == kNotFound);
  }
  CHECK(relay.ended(0).empty());
  CHECK(only<ModexAnswer>(relay.take(2, ask(0, 6)), 2) ==
        ModexAnswer{.node = 2, .id = 6, .status = kNotFound});
  CHECK(only<ModexAsk>(relay.take(2, ask(2, 8)), 1));
  CHECK(relay.take(0, ModexAnswer{.node = 1, .id = 1}).empty());  // It comes too late.
  relay.begin({{0}, {1}});
  CHECK(only<ModexAsk>(relay.take(1, ask(0, 1)), 0));
}
