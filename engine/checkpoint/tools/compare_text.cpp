// Formats a comparison as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/checkpoint/tools/compare.h"
#include "engine/checkpoint/tools/tree.h"

namespace ds {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShown = 40;  // lines of one list

std::string or_none(const std::string& value) { return value.empty() ? "(none)" : value; }

class ListText {
 public:
  explicit ListText(bool all) : all_(all) {}

  void add(std::string_view heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    text_ += fmt::format("{}\n", heading);
    const std::size_t shown = all_ ? lines.size() : std::min(lines.size(), kShown);
    for (std::size_t i = 0; i < shown; ++i) text_ += fmt::format("  {}\n", lines[i]);
    if (shown < lines.size())
      text_ += fmt::format("  and {} more (--all lists them)\n", lines.size() - shown);
  }
  void add(std::string_view heading, const std::vector<LineDifference>& differences) {
    std::vector<std::string> lines;
    for (const LineDifference& d : differences)
      lines.push_back(fmt::format("{:<32} {}  |  {}", d.name, or_none(d.a), or_none(d.b)));
    add(heading, lines);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool all_;
  std::string text_;
};

std::string state_line(const StateComparison& s) {
  const std::string name = fmt::format("{} {}", s.tensor, s.state);
  if (!s.problem.empty()) return fmt::format("{:<44} not compared: {}", name, s.problem);
  if (s.differing == 0) return fmt::format("{:<44} equal", name);
  std::string line = fmt::format("{:<44} {} of {} elements, largest difference {:.6g}", name,
                                 s.differing, s.elements, s.largest);
  if (s.non_finite > 0) line += fmt::format(", {} not finite", s.non_finite);
  return line;
}

ordered_json json_of(const std::vector<LineDifference>& differences) {
  ordered_json json = ordered_json::array();
  for (const LineDifference& d : differences)
    json.push_back({{"name", d.name}, {"a", d.a}, {"b", d.b}});
  return json;
}

ordered_json json_of(const StateComparison& s) {
  ordered_json json = {{"tensor", s.tensor}, {"state", s.state}, {"elements", s.elements}};
  if (!s.problem.empty()) {
    json["problem"] = s.problem;
    return json;
  }
  json["differing"] = s.differing;
  json["largest"] = s.largest;
  json["non_finite"] = s.non_finite;
  return json;
}

}  // namespace

std::string comparison_text(const Comparison& c, bool all) {
  ListText lists(all);
  lists.add("training state", c.training);
  lists.add("arithmetic: these decide bits", c.arithmetic);
  lists.add("config", c.config);
  lists.add("only in a", c.only_a);
  lists.add("only in b", c.only_b);
  std::vector<std::string> shapes, states;
  for (const ShapePair& pair : c.shapes)
    shapes.push_back(
        fmt::format("{:<44} {}  |  {}", pair.tensor, shape_text(pair.a), shape_text(pair.b)));
  lists.add("shapes", shapes);
  std::int64_t equal = 0;
  for (const StateComparison& s : c.states) {
    const bool same = s.differing == 0 && s.problem.empty();
    if (same) ++equal;
    if (!same || all) states.push_back(state_line(s));
  }
  lists.add("tensors", states);
  return fmt::format("a  {}\nb  {}\n{}{}: {} of {} tensor states have the same bits\n", c.folder_a,
                     c.folder_b, lists.text(), c.is_equal() ? "equal" : "different", equal,
                     c.states.size());
}

std::string comparison_json(const Comparison& c) {
  ordered_json shapes = ordered_json::array(), states = ordered_json::array();
  for (const ShapePair& pair : c.shapes)
    shapes.push_back({{"tensor", pair.tensor}, {"a", pair.a}, {"b", pair.b}});
  for (const StateComparison& s : c.states) states.push_back(json_of(s));
  const ordered_json json = {{"a", c.folder_a},
                             {"b", c.folder_b},
                             {"equal", c.is_equal()},
                             {"training", json_of(c.training)},
                             {"arithmetic", json_of(c.arithmetic)},
                             {"config", json_of(c.config)},
                             {"only_a", c.only_a},
                             {"only_b", c.only_b},
                             {"shapes", std::move(shapes)},
                             {"states", std::move(states)}};
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ds
