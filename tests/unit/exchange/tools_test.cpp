// Tests of the checkpoint tools' views of a manifest: lines, blocks, what still loads.
#include <doctest/doctest.h>

#include "engine/checkpoint/tools/flat_lines.h"
#include "engine/checkpoint/tools/report.h"
#include "engine/checkpoint/tools/tree.h"

namespace {

ds::TensorEntry tensor_of(const std::string& name, std::vector<std::int64_t> shape) {
  return {
      .name = name, .shape = std::move(shape), .states = {{.name = "master"}, {.name = "moment1"}}};
}

ds::Manifest some() {
  return {.tensors = {tensor_of("wte.weight", {8, 4}), tensor_of("h.0.ln.weight", {4}),
                      tensor_of("h.0.fc.weight", {4, 4}), tensor_of("h.1.ln.weight", {4}),
                      tensor_of("h.1.fc.weight", {4, 4}), tensor_of("h.2.ln.weight", {4}),
                      tensor_of("h.2.fc.weight", {4, 5}), tensor_of("ln_f.weight", {4})}};
}

}  // namespace

TEST_CASE("texts of a manifest as names and values, and where two differ") {
  const auto lines =
      ds::flat_lines("a = 1\n\n[model]\nlayers = 2\nname = \"x = y\"\n[b.c]\nd = []");
  CHECK(lines ==
        std::vector<ds::NamedLine>{
            {"a", "1"}, {"model.layers", "2"}, {"model.name", "\"x = y\""}, {"b.c.d", "[]"}});
  CHECK(ds::value_of(lines, "model.layers") == "2");
  CHECK(ds::value_of(lines, "layers").empty());
  const auto other = ds::flat_lines("a = 1\ne = 5\n[model]\nlayers = 3\nname = \"x = y\"");
  CHECK(ds::different_lines(lines, other) ==
        std::vector<ds::LineDifference>{
            {"model.layers", "2", "3"}, {"b.c.d", "[]", ""}, {"e", "", "5"}});
}

TEST_CASE("blocks by the number in a name; equal neighbors are folded") {
  CHECK(ds::block_of("h.12.attn.c_attn.weight") == "h.12");
  CHECK(ds::block_of("model.layers.3.x") == "model.layers.3");
  CHECK(ds::block_of("wte.weight").empty());
  CHECK(ds::block_of("a.3").empty());
  const ds::Manifest manifest = some();
  CHECK(ds::blocks_of(manifest, false).size() == 5);
  const auto folded = ds::blocks_of(manifest, true);
  REQUIRE(folded.size() == 4);
  CHECK((folded[1].name == "h.0" && folded[1].last == "h.1" && folded[1].count == 2));
  CHECK((folded[2].name == "h.2" && folded[2].count == 1 && folded[2].last.empty()));
  CHECK(folded[1].tensors.size() == 2);
}

TEST_CASE("what still loads: by state, and whether the weights load") {
  const ds::Manifest manifest = some();
  const auto moment = ds::what_still_loads(
      manifest, {{.tensor = "wte.weight", .state = "moment1", .first = 0, .last = 4}});
  REQUIRE(moment.size() == 3);
  CHECK(moment[0] == "master: 8 of 8 tensors");
  CHECK(moment[1] == "moment1: 7 of 8 tensors");
  CHECK(moment[2].find("checkpoint.load=weights") != std::string::npos);
  const auto master = ds::what_still_loads(manifest, {{.tensor = "wte.weight", .state = "master"},
                                                      {.tensor = "wte.weight", .state = "master"}});
  REQUIRE(master.size() == 2);
  CHECK(master[0] == "master: 7 of 8 tensors");
}

TEST_CASE("a report without verification says so; times are UTC") {
  const ds::Manifest manifest = some();
  const std::string text = ds::inspect_text({.folder = "DIR", .manifest = &manifest});
  CHECK(text.find("not checked") != std::string::npos);
  CHECK(text.find("h.0 to h.1  2 equal blocks") != std::string::npos);
  CHECK(ds::utc_text(1'700'000'000'123) == "2023-11-14 22:13:20 UTC");
}
