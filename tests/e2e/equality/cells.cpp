// Which settings must not change a bit, and which may.
#include "e2e/equality/cells.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds::test {

const std::vector<Axis>& axes() {
  static const std::vector<Axis> kAxes{
      {"dtype",
       true,
       {{"fp32", {"precision.dtype=fp32"}},
        {"bf16", {"precision.dtype=bf16"}},
        {"fp16", {"precision.dtype=fp16", "precision.loss_scale.init_power=12"}}}},
      {"order",
       true,
       {{"boundary", {"determinism.order=boundary"}}, {"step", {"determinism.order=step"}}}},
      {"dropout", true, {{"0.1", {"model.dropout=0.1"}}, {"0", {"model.dropout=0"}}}},
      {"stage",
       false,
       {{"0", {"zero.stage=0"}},
        {"1", {"zero.stage=1"}},
        {"2", {"zero.stage=2"}},
        {"3", {"zero.stage=3"}}}},
      {"recompute",
       false,
       {{"none", {"recompute.policy=none"}},
        {"selective", {"recompute.policy=selective"}},
        {"block", {"recompute.policy=block"}}}},
      {"activations",
       false,
       {{"kept", {"offload.activation.device=none"}}, {"host", {"offload.activation.device=cpu"}}}},
      {"pieces",
       false,
       {{"whole", {}},
        {"small",
         {"zero.gather_bucket=3000", "zero.reduce_bucket=5000", "zero.prefetch=20000",
          "zero.max_live=40000", "zero.reuse_distance=30000", "zero.persist_below=3000"}}}},
      {"overlap", false, {{"off", {"zero.overlap=false"}}, {"on", {"zero.overlap=true"}}}},
      {"world", false, {{"1", {}}, {"2", {}}, {"3", {}}, {"4", {}}}},
      {"threads", false, {{"1", {"device.threads=1"}}, {"2", {"device.threads=2"}}}}};
  return kAxes;
}

std::string name_of(const Cell& cell) {
  std::string name;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    const Axis& axis = axes()[a];
    name += fmt::format("{}{}={}", a == 0 ? "" : ",", axis.name, axis.choices[cell[a]].name);
  }
  return name;
}

namespace {

void choose(Cell& cell, std::string_view assignment) {
  const std::size_t equals = std::min(assignment.find('='), assignment.size());
  for (std::size_t a = 0; a < axes().size(); ++a) {
    if (axes()[a].name != assignment.substr(0, equals)) continue;
    const auto& choices = axes()[a].choices;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      if (fmt::format("{}={}", axes()[a].name, choices[c].name) != assignment) continue;
      cell[a] = c;
      return;
    }
  }
  throw Error(ErrorKind::usage, fmt::format("no such choice: {}", assignment));
}

}  // namespace

Cell cell_of(std::string_view text) {
  Cell cell(axes().size(), 0);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    choose(cell, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cell;
}

Cell reference_of(const Cell& cell) {
  Cell reference = cell;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    if (!axes()[a].arithmetic) reference[a] = 0;
  }
  return reference;
}

std::vector<std::string> keys_of(const Cell& cell) {
  std::vector<std::string> keys;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    for (const std::string_view key : axes()[a].choices[cell[a]].keys) keys.emplace_back(key);
  }
  return keys;
}

std::string_view choice_of(const Cell& cell, std::string_view axis) {
  for (std::size_t a = 0; a < cell.size(); ++a) {
    if (axes()[a].name == axis) return axes()[a].choices[cell[a]].name;
  }
  throw Error(ErrorKind::bug, fmt::format("no such axis: {}", axis));
}

int world_of(const Cell& cell) { return choice_of(cell, "world")[0] - '0'; }

std::vector<Cell> all_cells() {
  std::vector<Cell> cells{{}};
  for (const Axis& axis : axes()) {
    std::vector<Cell> longer;
    for (const Cell& cell : cells) {
      for (std::size_t c = 0; c < axis.choices.size(); ++c) {
        longer.push_back(cell);
        longer.back().push_back(c);
      }
    }
    cells = std::move(longer);
  }
  return cells;
}

}  // namespace ds::test
