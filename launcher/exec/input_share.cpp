#include "launcher/exec/input_share.h"

#include <algorithm>

namespace ds::launcher::exec {

InputShare::InputShare(int nodes, bool waiting_count)
    : nodes_(static_cast<std::size_t>(nodes)), waiting_count_(waiting_count) {}

void InputShare::started(int index) {
  Node& node = this->node(index);
  if (node.stage == Node::Stage::waiting) node.stage = Node::Stage::running;
}

void InputShare::left(int index) { node(index).stage = Node::Stage::left; }

void InputShare::taken(int index, std::uint64_t bytes) {
  Node& node = this->node(index);
  node.taken += std::min(bytes, node.sent - node.taken);
}

void InputShare::read(std::uint64_t bytes, bool last) {
  end_ += bytes;
  ended_ = ended_ || last;
}

std::optional<InputShare::Piece> InputShare::next(int index) {
  Node& node = this->node(index);
  if (node.stage != Node::Stage::running || node.told_end) return std::nullopt;
  const std::uint64_t to = std::min(end_, node.taken + Stdin::kWindow);
  Piece piece{.from = node.sent, .count = to - node.sent, .last = ended_ && to == end_};
  if (piece.count == 0 && !piece.last) return std::nullopt;
  node.sent = to;
  node.told_end = piece.last;
  return piece;
}

std::uint64_t InputShare::room() const {
  if (ended_) return 0;
  std::uint64_t slowest = end_;
  bool wanted = false;
  for (const Node& node : nodes_) {
    if (node.stage == Node::Stage::left) continue;
    wanted = true;
    if (node.stage == Node::Stage::running || waiting_count_)
      slowest = std::min(slowest, node.taken);
  }
  return wanted ? Stdin::kWindow - std::min(end_ - slowest, Stdin::kWindow) : 0;
}

std::uint64_t InputShare::needed_from() const {
  std::uint64_t from = end_;
  for (const Node& node : nodes_)
    if (node.stage != Node::Stage::left) from = std::min(from, node.sent);
  return from;
}

}  // namespace ds::launcher::exec
