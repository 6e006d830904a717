// Columns as wide as their widest cell; what differs is marked with '*'.
#include "launcher/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "launcher/doctor/amounts.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::doctor {
namespace {

using Level = Finding::Level;

struct Column {
  const char* title;
  Subject subject;
  std::function<std::string(const NodeReport&)> cell;
};

std::string memory_cell(const NodeReport& node) {
  const Facts& facts = node.facts;
  const std::uint64_t most = facts.memory_limit == 0
                                 ? facts.memory_bytes
                                 : std::min(facts.memory_bytes, facts.memory_limit);
  return fmt::format("{}/{}", bytes_text(std::min(facts.memory_free, most)), bytes_text(most));
}

std::string folder_cell(const NodeReport& node, std::size_t index) {
  if (node.facts.folders.size() <= index) return "?";
  const Folder& folder = node.facts.folders[index];
  return folder.problem.empty() ? bytes_text(folder.free_bytes) : "missing";
}

std::string clock_cell(const NodeReport& node) {
  if (!node.clock_from || !node.clock_to) return "?";
  // Between the two; zero if that is possible.
  const std::int64_t least = std::clamp<std::int64_t>(0, *node.clock_from, *node.clock_to);
  return least == 0 ? "0" : fmt::format("{:+.1f} s", static_cast<double>(least) / 1000);
}

const std::vector<Column>& columns() {
  static const std::vector<Column> kColumns = {
      {"cores", Subject::cores, [](const NodeReport& n) { return cores_text(n.facts); }},
      {"memory free", Subject::memory, memory_cell},
      {"GPUs", Subject::gpus,
       [](const NodeReport& n) { return std::to_string(gpu_count(n.facts)); }},
      {"/dev/shm", Subject::shm, [](const NodeReport& n) { return bytes_text(n.facts.shm_bytes); }},
      {"files", Subject::files,
       [](const NodeReport& n) { return limit_text(n.facts.open_files.soft, false); }},
      {"locked", Subject::locked,
       [](const NodeReport& n) { return limit_text(n.facts.locked_memory.soft, true); }},
      {"wdir free", Subject::folder, [](const NodeReport& n) { return folder_cell(n, 0); }},
      {"/tmp free", Subject::folder, [](const NodeReport& n) { return folder_cell(n, 1); }},
      {"clock", Subject::clock, clock_cell},
      {"address", Subject::address,
       [](const NodeReport& n) { return n.address.empty() ? "local" : n.address; }},
  };
  return kColumns;
}

std::string state_of(int node, const std::vector<Finding>& findings) {
  std::string state = "good";
  for (const Finding& finding : findings) {
    if (finding.node != node) continue;
    if (finding.level == Level::error) return "BAD";
    state = "warning";
  }
  return state;
}

using Row = std::vector<std::string>;

std::vector<Row> table_rows(const std::vector<NodeReport>& nodes,
                            const std::vector<Finding>& findings) {
  std::vector<Row> rows = {{"node", "state"}};
  for (const Column& column : columns()) rows.front().emplace_back(column.title);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int index = static_cast<int>(i);
    Row row = {printable(nodes[i].name), state_of(index, findings)};
    for (const Column& column : columns()) {
      if (!nodes[i].reached()) {
        row.emplace_back("-");
        continue;
      }
      const bool odd = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
        return f.node == index && f.subject == column.subject;
      });
      row.push_back(printable(column.cell(nodes[i])) + (odd ? "*" : ""));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string table_text(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// What all nodes that were reached have in common: one line.
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
  return common_text(nodes) + table_text(table_rows(nodes, findings)) +
         findings_text(nodes, findings, Level::error) +
         findings_text(nodes, findings, Level::warning) + "\n" + sum + "\n";
}

}  // namespace ds::launcher::doctor
