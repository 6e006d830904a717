// Report as text: common facts, the table of report_table.cpp, and the findings.
#include "launcher/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "launcher/doctor/amounts.h"
#include "launcher/doctor/report_table.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::doctor {
namespace {

using Level = Finding::Level;

/// Returns one line with the facts common to all reached nodes.
std::string common_text(const std::vector<NodeReport>& nodes) {
  const NodeReport* first = nullptr;
  int reached = 0;
  for (const NodeReport& node : nodes) {
    if (!node.reached()) continue;
    if (first == nullptr) first = &node;
    ++reached;
  }
  if (first == nullptr) return {};
  const std::array<std::function<std::string(const Facts&)>, 6> values = {
      [](const Facts& f) { return fmt::format("dslaunch {} ({})", f.version, f.build); },
      [](const Facts& f) { return f.os; },
      [](const Facts& f) { return fmt::format("{} {}", f.kernel, f.machine); },
      [](const Facts& f) { return f.cpu; },
      [](const Facts& f) { return gpu_count(f) == 0 ? "" : gpus_text(f); },
      [](const Facts& f) { return f.driver.empty() ? "" : "driver " + f.driver; }};
  std::string text;
  for (const auto& value : values) {
    const std::string common = value(first->facts);
    const bool all = std::all_of(nodes.begin(), nodes.end(), [&](const NodeReport& node) {
      return !node.reached() || value(node.facts) == common;
    });
    if (all && !common.empty()) text += (text.empty() ? "" : ", ") + common;
  }
  if (text.empty()) return {};
  return printable(fmt::format("{}: {}", counted(reached, "node"), text)) + "\n\n";
}

std::string findings_text(const std::vector<NodeReport>& nodes,
                          const std::vector<Finding>& findings, Level level) {
  struct Line {
    const std::string* words;
    std::vector<std::string> names;
  };
  std::vector<Line> lines;
  for (const Finding& finding : findings) {
    if (finding.level != level) continue;
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const Line& l) { return *l.words == finding.text; });
    if (line == lines.end()) line = lines.insert(lines.end(), {&finding.text, {}});
    if (finding.node >= 0)
      line->names.push_back(nodes[static_cast<std::size_t>(finding.node)].name);
  }
  std::string text;
  for (const Line& line : lines) {
    const std::string count = line.names.size() > 1 ? fmt::format(" ({})", line.names.size()) : "";
    const std::string who = line.names.empty() ? "" : fold_names(line.names) + count + ": ";
    text += fmt::format("  {}{}\n", who, printable(*line.words));
  }
  if (text.empty()) return text;
  return fmt::format("\n{}:\n{}", level == Level::error ? "Errors" : "Warnings", text);
}

}  // namespace

std::string report_text(const std::vector<NodeReport>& nodes,
                        const std::vector<Finding>& findings) {
  const int good = static_cast<int>(good_nodes(nodes, findings).size());
  const int all = static_cast<int>(nodes.size());
  std::string sum =
      good == all
          ? fmt::format("{} can be used", all == 1 ? "the node" : fmt::format("all {} nodes", all))
          : fmt::format("{} of {} can be used", good, counted(all, "node"));
  return common_text(nodes) + table_text(nodes, findings) +
         findings_text(nodes, findings, Level::error) +
         findings_text(nodes, findings, Level::warning) + "\n" + sum + "\n";
}

}  // namespace ds::launcher::doctor
