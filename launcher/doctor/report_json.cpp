// Report as JSON, and the hostfile of the good nodes.
#include <fmt/format.h>

#include "launcher/doctor/facts_json.h"
#include "launcher/doctor/report.h"

namespace ds::launcher::doctor {
namespace {

Json texts_of(const std::vector<Finding>& findings, int node, Finding::Level level) {
  Json texts = Json::array();
  for (const Finding& finding : findings)
    if (finding.node == node && finding.level == level) texts.push_back(finding.text);
  return texts;
}

Json node_json(const NodeReport& node, int index, const std::vector<Finding>& findings) {
  Json errors = texts_of(findings, index, Finding::Level::error);
  Json warnings = texts_of(findings, index, Finding::Level::warning);
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

std::string report_json(const std::vector<NodeReport>& nodes,
                        const std::vector<Finding>& findings) {
  Json json = {{"good", good_nodes(nodes, findings).size()}};
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    json["nodes"].push_back(node_json(nodes[i], static_cast<int>(i), findings));
  json["warnings"] = texts_of(findings, -1, Finding::Level::warning);
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
