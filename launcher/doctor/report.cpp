// Report as text (common facts, the table of report_table.cpp, the findings) and as JSON, and the
// hostfile of the good nodes.
#include "launcher/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "engine/base/units.h"
#include "launcher/doctor/facts_json.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::doctor {
namespace {

using Level = Finding::Level;

/// Returns one line with the facts common to all reached nodes.
std::string common_text(const std::vector<NodeReport>& nodes) {
  const auto first = std::ranges::find_if(nodes, &NodeReport::reached);
  if (first == nodes.end()) return {};
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
  return printable(fmt::format(
             "{}: {}", counted(std::ranges::count_if(nodes, &NodeReport::reached), "node"), text)) +
         "\n\n";
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

Json texts_of(const std::vector<Finding>& findings, int node, Level level) {
  Json texts = Json::array();
  for (const Finding& finding : findings)
    if (finding.node == node && finding.level == level) texts.push_back(finding.text);
  return texts;
}

Json node_json(const NodeReport& node, int index, const std::vector<Finding>& findings) {
  Json errors = texts_of(findings, index, Level::error);
  Json warnings = texts_of(findings, index, Level::warning);
  Json json = {{"name", node.name}};
  json["state"] = !errors.empty() ? "bad" : !warnings.empty() ? "warning" : "good";
  json["slots"] = node.slots;
  json["errors"] = std::move(errors);
  json["warnings"] = std::move(warnings);
  if (!node.address.empty()) json["address"] = node.address;
  if (!node.reverse_name.empty()) json["address_name"] = node.reverse_name;
  if (node.clock_from && node.clock_to) json["clock_ahead_ms"] = {*node.clock_from, *node.clock_to};
  if (node.reached()) json["facts"] = to_json(node.facts);
  return json;
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

std::string report_json(const std::vector<NodeReport>& nodes,
                        const std::vector<Finding>& findings) {
  Json json = {{"good", good_nodes(nodes, findings).size()}};
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    json["nodes"].push_back(node_json(nodes[i], static_cast<int>(i), findings));
  json["warnings"] = texts_of(findings, -1, Level::warning);
  return text_of(json, 2) + "\n";
}

std::string hostfile_text(const std::vector<Host>& hosts, const std::vector<int>& indices) {
  std::string text;
  for (const int index : indices) {
    const Host& host = hosts[static_cast<std::size_t>(index)];
    const bool address6 = host.name.find(':') != std::string::npos;
    if (!host.user.empty()) text += host.user + "@";
    text += address6 ? "[" + host.name + "]" : host.name;
    if (host.port != 0) text += fmt::format(" port={}", host.port);
    if (!host.address.empty()) text += " addr=" + host.address;
    if (!host.devices.empty()) text += fmt::format(" gpus={}", fmt::join(host.devices, ","));
    text += host.slots == kAutoSlots ? " slots=auto" : fmt::format(" slots={}", host.slots);
    if (host.max_slots != 0) text += fmt::format(" max-slots={}", host.max_slots);
    text += '\n';
  }
  return text;
}

}  // namespace ds::launcher::doctor
