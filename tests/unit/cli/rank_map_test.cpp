// Tests --map-by, --rank-by and --bind: values, messages, and the binding of a job.
#include "launcher/cli/rank_map.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

using namespace ds::launcher;
using enum Level;

namespace {

RankMap mapped(const std::string& value) {
  RankMap map;
  set_map_by(map, {.name = "--map-by", .value = value});
  return map;
}

std::string problem(const std::string& value) {
  try {
    mapped(value);
  } catch (const ds::Error& error) {
    return error.what();
  }
  return "none";
}

/// Returns the binding of `ranks` ranks for --map-by and --bind.
Binding bound(const std::string& map_by, std::optional<BindTo> bind, int ranks = 8) {
  RankMap map = map_by.empty() ? RankMap{} : mapped(map_by);
  map.bind = bind;
  return binding_for(map, ranks);
}

Binding by_level(LevelBinding level) { return {.bind = Bind::level, .level = level}; }

}  // namespace

TEST_CASE("--map-by: hosts, parts and modifiers") {
  CHECK(mapped("node").map_by == MapBy::node);
  CHECK(mapped("node").spreads());
  CHECK(mapped("node").ranks_by_node());
  CHECK_FALSE(mapped("slot").spreads());
  CHECK(mapped("Socket:PE=4:SPAN").part == socket);
  CHECK(mapped("socket:pe=4:span").width == 4);
  CHECK(mapped("socket:span").spreads());
  CHECK_FALSE(mapped("socket:span").ranks_by_node());
  CHECK(mapped("seq").in_sequence);
  CHECK(mapped("package").part == socket);
  CHECK(mapped(":oversubscribe").oversubscribe);
  CHECK(mapped("ppr:2:node").per_host == 2);
  CHECK(mapped("ppr:2:numa:pe=2").per_part == 2);
  CHECK(mapped("ppr:2:numa:pe=2").part == numa);
  RankMap map = mapped("node");
  map.rank_by = RankBy::slot;
  CHECK_FALSE(map.ranks_by_node());
}

TEST_CASE("--map-by: what cannot be") {
  CHECK(problem("board") ==
        "--map-by 'board': it must be slot, node, seq, socket, numa, l3cache, core, hwthread or "
        "ppr:N:PART");
  CHECK(problem("ppr:2") == "--map-by 'ppr:2': ppr needs a number and a part, as in ppr:2:socket");
  CHECK(problem("ppr:2:l3cache").find("ppr counts ranks of") != std::string::npos);
  CHECK(problem("ppr:0:node").find("'0' must be a number from 1 to") != std::string::npos);
  CHECK(problem("ppr:x:node").find("'x' must be a number from 1 to") != std::string::npos);
  CHECK(problem("core:pe=").find("'' must be a number from 1 to") != std::string::npos);
  CHECK(problem("core:up").find("'up' is not supported") != std::string::npos);
  for (const char* odd : {"", ":", "::", "ppr:::", "ppr:1:core:"}) problem(odd);
}

TEST_CASE("--bind: dslaunch's own words") {
  CHECK(bound("", {}) == Binding{});
  CHECK(bound("node", {}) == Binding{});
  CHECK(bound("socket:pe=2", BindTo::none) == Binding{});
  CHECK(bound("", BindTo::cores) == Binding{.bind = Bind::cores});
  CHECK(bound("", BindTo::numa) == Binding{.bind = Bind::numa});
  CHECK(bound("node", BindTo::numa) == Binding{.bind = Bind::numa});
}

TEST_CASE("--bind: parts of a node") {
  CHECK(bound("", BindTo::core) == by_level({.map = node, .to = core}));
  CHECK(bound("socket", BindTo::core) == by_level({.map = socket, .to = core}));
  CHECK(bound("numa", BindTo::numa) == by_level({.map = numa, .to = numa}));
  CHECK(bound("socket", {}) == by_level({.map = socket, .to = socket}));
  CHECK(bound("slot:pe=2", {}) == by_level({.map = node, .to = core, .width = 2}));
  CHECK(bound("socket:pe=2", {}) == by_level({.map = socket, .to = core, .width = 2}));
  CHECK(bound("core:pe=2", BindTo::core) == by_level({.map = node, .to = core, .width = 2}));
  CHECK(bound("slot:pe=3", BindTo::hwthread) ==
        by_level({.map = node, .to = hwthread, .width = 3}));
  CHECK(bound("ppr:2:socket", {}) == by_level({.map = socket, .to = socket, .per_part = 2}));
}

TEST_CASE("--bind openmpi: the defaults of Open MPI 4.1") {
  const auto level = [](const LevelBinding& one) {
    return Binding{.bind = Bind::level, .level = one, .by_default = true};
  };
  CHECK(bound("", BindTo::openmpi, 2) == level({.map = node, .to = core}));
  CHECK(bound("", BindTo::openmpi, 3) == level({.map = node, .to = numa}));
  CHECK(bound("node", BindTo::openmpi, 3) == level({.map = node, .to = numa}));
  CHECK(bound("socket", BindTo::openmpi, 2) == level({.map = socket, .to = socket}));
  CHECK(bound("slot:pe=2", BindTo::openmpi, 8) == level({.map = node, .to = core, .width = 2}));
  CHECK(bound("ppr:2:socket", BindTo::openmpi, 2) ==
        level({.map = socket, .to = core, .per_part = 2}));
  CHECK(bound("ppr:2:socket", BindTo::openmpi, 6) ==
        level({.map = socket, .to = numa, .per_part = 2}));
}
