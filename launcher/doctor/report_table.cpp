// Table of the report: columns, cells, and lines shared by equal nodes.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "launcher/doctor/report.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::doctor {
namespace {

using Level = Finding::Level;

struct Cell {
  std::string text;
  double amount = 0;
};

Cell bytes_cell(std::uint64_t bytes) { return {bytes_text(bytes), static_cast<double>(bytes)}; }

struct Column {
  enum class Kind { value, amount, name };  // nodes with different amounts or names share a line
  const char* title;
  Subject subject;
  Kind kind;
  std::function<Cell(const NodeReport&)> cell;
};

Cell memory_cell(const NodeReport& node) {
  const Facts& facts = node.facts;
  const std::uint64_t most = facts.memory_limit == 0
                                 ? facts.memory_bytes
                                 : std::min(facts.memory_bytes, facts.memory_limit);
  const std::uint64_t free = std::min(facts.memory_free, most);
  return {fmt::format("{}/{}", bytes_text(free), bytes_text(most)), static_cast<double>(free)};
}

Cell folder_cell(const NodeReport& node, std::size_t index) {
  if (node.facts.folders.size() <= index) return {"?"};
  const Folder& folder = node.facts.folders[index];
  if (!folder.problem.empty()) return {"missing"};
  return bytes_cell(folder.free_bytes);
}

Cell clock_cell(const NodeReport& node) {
  if (!node.clock_from || !node.clock_to) return {"?"};
  // The clock difference lies between the two; zero if possible.
  const auto least =
      static_cast<double>(std::clamp<std::int64_t>(0, *node.clock_from, *node.clock_to));
  return {least == 0 ? "0" : fmt::format("{:+.1f} s", least / 1000), least};
}

const std::vector<Column>& columns() {
  using Kind = Column::Kind;
  static const std::vector<Column> kColumns = {
      {"cores", Subject::cores, Kind::value,
       [](const NodeReport& n) { return Cell{cores_text(n.facts)}; }},
      {"memory free", Subject::memory, Kind::amount, memory_cell},
      {"GPUs", Subject::gpus, Kind::value,
       [](const NodeReport& n) { return Cell{std::to_string(gpu_count(n.facts))}; }},
      {"/dev/shm", Subject::shm, Kind::amount,
       [](const NodeReport& n) { return bytes_cell(n.facts.shm_bytes); }},
      {"files", Subject::files, Kind::value,
       [](const NodeReport& n) { return Cell{limit_text(n.facts.open_files.soft, false)}; }},
      {"locked", Subject::locked, Kind::value,
       [](const NodeReport& n) { return Cell{limit_text(n.facts.locked_memory.soft, true)}; }},
      {"wdir free", Subject::folder, Kind::amount,
       [](const NodeReport& n) { return folder_cell(n, 0); }},
      {"/tmp free", Subject::tmp, Kind::amount,
       [](const NodeReport& n) { return folder_cell(n, 1); }},
      {"clock", Subject::clock, Kind::amount, clock_cell},
      {"address", Subject::address, Kind::name,
       [](const NodeReport& n) { return Cell{n.address.empty() ? "local" : n.address}; }},
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

/// Line of the table, for one or more nodes.
struct Line {
  std::vector<std::string> names;
  std::string state;
  struct Part {  // cell of one column
    Cell least, most;
    std::vector<std::string> texts;  // for columns of kind name
    bool marked = false;
  };
  std::vector<Part> parts;

  /// Returns a key; lines with the same key can be joined.
  [[nodiscard]] std::string key() const {
    std::string key = state;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool differs = columns()[i].kind != Column::Kind::value && !parts[i].marked;
      const bool known = parts[i].least.text != "-";
      key += differs && known ? "\n" : '\n' + parts[i].least.text + (parts[i].marked ? "*" : "");
    }
    return key;
  }
  void join(const Line& other) {
    names.insert(names.end(), other.names.begin(), other.names.end());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& more = other.parts[i];
      if (more.least.amount < parts[i].least.amount) parts[i].least = more.least;
      if (more.most.amount > parts[i].most.amount) parts[i].most = more.most;
      parts[i].texts.insert(parts[i].texts.end(), more.texts.begin(), more.texts.end());
    }
  }
  [[nodiscard]] std::vector<std::string> cells() const {
    const std::string count = names.size() > 1 ? fmt::format(" ({})", names.size()) : "";
    std::vector<std::string> row = {fold_names(names) + count, state};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      std::string text = part.least.text;
      if (columns()[i].kind == Column::Kind::name) text = fold_names(part.texts);
      if (part.most.text != part.least.text) text += ".." + part.most.text;
      row.push_back(text + (part.marked ? "*" : ""));
    }
    return row;
  }
};

Line line_of(const NodeReport& node, int index, const std::vector<Finding>& findings) {
  Line line{.names = {printable(node.name)}, .state = state_of(index, findings), .parts = {}};
  for (const Column& column : columns()) {
    Cell cell = node.reached() ? column.cell(node) : Cell{"-"};
    cell.text = printable(cell.text);
    const bool odd = node.reached() && std::ranges::any_of(findings, [&](const Finding& f) {
                       return f.node == index && f.subject == column.subject;
                     });
    line.parts.push_back({cell, cell, {cell.text}, odd});
  }
  return line;
}

std::vector<Line> lines_of(const std::vector<NodeReport>& nodes,
                           const std::vector<Finding>& findings) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Line line = line_of(nodes[i], static_cast<int>(i), findings);
    const auto [place, is_new] = known.try_emplace(line.key(), lines.size());
    if (is_new || nodes.size() <= kMostSingleLines)
      lines.push_back(std::move(line));
    else
      lines[place->second].join(line);
  }
  return lines;
}

}  // namespace

std::string table_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings) {
  std::vector<std::vector<std::string>> rows = {{"node", "state"}};
  for (const Column& column : columns()) rows.front().emplace_back(column.title);
  for (const Line& line : lines_of(nodes, findings)) rows.push_back(line.cells());
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace ds::launcher::doctor
