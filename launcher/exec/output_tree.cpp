// Branches are found by a hash of place and line.
#include "launcher/exec/output_tree.h"

#include <algorithm>
#include <functional>
#include <map>

#include "engine/base/error.h"

namespace ds::launcher::exec {
namespace {

/// Returns the part of the line after its last '\r', apart from one at the end.
std::string_view last_drawn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 is 0
}

std::size_t hash_of(std::uint32_t text, std::size_t offset, std::string_view line) {
  constexpr std::size_t kOdd = 0x9e3779b97f4a7c15;  // spreads neighbors (Knuth, TAOCP 3, 6.4)
  return (std::hash<std::string_view>()(line) ^ (offset * kOdd)) * kOdd + text;
}

}  // namespace

OutputTree::OutputTree(int nodes, std::size_t most_bytes)
    : outputs_(static_cast<std::size_t>(nodes)), texts_(1), room_(most_bytes) {}

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
  const std::size_t size = line.size() + 1;
  Place& place = output.place;
  if (has_line_at(place, line)) {
    place.offset += size;
    return;
  }
  if (place.offset < texts_[place.text].bytes.size()) {  // other nodes wrote a different line here
    const std::size_t hash = hash_of(place.text, place.offset, line);
    const auto [begin, end] = branches_.equal_range(hash);
    const auto known = std::find_if(begin, end, [&](const auto& branch) {
      return texts_[branch.second].parent == place && has_line_at({branch.second, 0}, line);
    });
    if (known != end) {
      place = {known->second, size};
      return;
    }
    output.cut = output.cut || !take_room(kTextCost + size);
    if (output.cut) return;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back({.parent = place});
    branches_.emplace(hash, number);
    place = {number, 0};
  } else {
    output.cut = output.cut || !take_room(size);
    if (output.cut) return;
  }
  std::string& bytes = texts_[place.text].bytes;
  bytes.append(line).push_back('\n');
  place.offset = bytes.size();
}

std::vector<std::string_view> OutputTree::parts_to(Place place) const {
  std::vector<std::string_view> parts;
  for (; place.offset > 0; place = texts_[place.text].parent)
    parts.push_back(std::string_view(texts_[place.text].bytes).substr(0, place.offset));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<OutputGroup> OutputTree::groups(const std::vector<bool>& silent) const {
  std::map<std::pair<Place, bool>, std::vector<int>> nodes_at;
  for (std::size_t node = 0; node < outputs_.size(); ++node) {
    const NodeOutput& output = outputs_[node];
    const bool wrote = output.place.offset > 0 || output.cut;
    if (wrote || (!silent.empty() && silent[node]))
      nodes_at[{output.place, output.cut}].push_back(static_cast<int>(node));
  }
  std::vector<OutputGroup> groups;
  for (auto& [key, nodes] : nodes_at)
    groups.push_back({std::move(nodes), parts_to(key.first), key.second});
  std::sort(groups.begin(), groups.end(), [](const OutputGroup& a, const OutputGroup& b) {
    if (a.nodes.size() != b.nodes.size()) return a.nodes.size() > b.nodes.size();
    return a.nodes.front() < b.nodes.front();
  });
  return groups;
}

}  // namespace ds::launcher::exec
