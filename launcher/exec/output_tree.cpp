// Lines get numbers, pairs of (where a node stands, its next line) get places.
#include "launcher/exec/output_tree.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"

namespace ds::launcher::exec {
namespace {

// About what the maps take for an entry.
constexpr std::size_t kLineCost = 96;
constexpr std::size_t kPlaceCost = 48;

/// Without what a '\r' draws over, and without the one at the end.
std::string_view last_drawn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 is 0
}

}  // namespace

OutputTree::OutputTree(int nodes, std::size_t most_bytes)
    : outputs_(static_cast<std::size_t>(nodes)), room_(most_bytes) {}

bool OutputTree::take_room(std::size_t bytes) {
  if (bytes > room_) return false;
  room_ -= bytes;
  return true;
}

void OutputTree::add(int node, int stream, std::string_view text) {
  DS_ASSERT(stream == 1 || stream == 2);
  NodeOutput& output = outputs_.at(static_cast<std::size_t>(node));
  std::string& open = output.open[stream - 1];
  while (!text.empty() && !output.cut) {
    const std::size_t newline = text.find('\n');
    const std::string_view piece = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (newline != std::string_view::npos && open.empty()) {
      add_line(output, piece);
      continue;
    }
    output.cut = !take_room(piece.size());
    if (output.cut) break;
    open += piece;
    if (newline == std::string_view::npos) break;
    room_ += open.size();
    add_line(output, open);
    open.clear();
  }
}

void OutputTree::finish() {
  for (NodeOutput& output : outputs_) {
    for (std::string& open : output.open) {
      if (open.empty()) continue;
      room_ += open.size();
      add_line(output, open);
      open.clear();
    }
  }
}

void OutputTree::add_line(NodeOutput& output, std::string_view line) {
  line = last_drawn(line);
  auto known = line_ids_.find(line);
  if (known == line_ids_.end()) {
    output.cut = output.cut || !take_room(line.size() + kLineCost);
    if (output.cut) return;
    const auto id = static_cast<std::uint32_t>(lines_.size());
    known = line_ids_.emplace(lines_.emplace_back(line), id).first;
  }
  const std::uint64_t step = (std::uint64_t{output.place} << 32) | known->second;
  const auto next = next_.find(step);
  if (next != next_.end()) {
    output.place = next->second;
    return;
  }
  output.cut = output.cut || !take_room(kPlaceCost);
  if (output.cut) return;
  const auto place = static_cast<std::uint32_t>(places_.size());
  places_.push_back({output.place, known->second});
  next_.emplace(step, place);
  output.place = place;
}

std::vector<std::string_view> OutputTree::lines_to(std::uint32_t place) const {
  std::vector<std::string_view> lines;
  for (; place != 0; place = places_[place].parent) lines.push_back(lines_[places_[place].line]);
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::vector<OutputGroup> OutputTree::groups(const std::vector<bool>& silent) const {
  std::map<std::pair<std::uint32_t, bool>, std::vector<int>> nodes_at;
  for (std::size_t node = 0; node < outputs_.size(); ++node) {
    const NodeOutput& output = outputs_[node];
    if (output.place != 0 || output.cut || (!silent.empty() && silent[node]))
      nodes_at[{output.place, output.cut}].push_back(static_cast<int>(node));
  }
  std::vector<OutputGroup> groups;
  for (auto& [key, nodes] : nodes_at)
    groups.push_back({std::move(nodes), lines_to(key.first), key.second});
  std::sort(groups.begin(), groups.end(), [](const OutputGroup& a, const OutputGroup& b) {
    if (a.nodes.size() != b.nodes.size()) return a.nodes.size() > b.nodes.size();
    return a.nodes.front() < b.nodes.front();
  });
  return groups;
}

}  // namespace ds::launcher::exec
