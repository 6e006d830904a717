#include "launcher/mpi/fence_gather.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/mpi/pmi_node.h"

namespace ds::launcher {

void FenceGather::begin(std::vector<std::vector<int>> ranks) {
  *this = FenceGather(timeout_);
  for (std::vector<int>& of_node : ranks) nodes_.push_back({.ranks = std::move(of_node)});
}

void FenceGather::take(int index, FenceIn&& message, Clock::time_point now) {
  if (!knows(index) || node(index).joined) return;
  NodeFence& from = node(index);
  std::ranges::move(message.pairs, std::back_inserter(from.pairs));
  if (!message.last) return;
  from.joined = true;
  from.missing.reset();
  if (++joined_ == nodes_.size()) {
    waits_ = false;
    due_ = Clock::time_point::max();
    return;
  }
  wait_from(now);
  look_for_ended();
}

void FenceGather::take(int index, const FenceWaits& message, Clock::time_point now) {
  if (!knows(index) || node(index).joined) return;
  node(index).missing.emplace(message.missing.begin(), message.missing.end());
  wait_from(now);
  look_for_ended();
}

void FenceGather::ended(int rank) {
  ended_.insert(rank);
  look_for_ended();
}

void FenceGather::wait_from(Clock::time_point now) {
  if (std::exchange(waits_, true) || timeout_.count() == 0) return;
  due_ = now + timeout_;
}

/// Finds ranks that will never join the fence in which others wait.
void FenceGather::look_for_ended() {
  if (!waits_ || ended_.empty() || problem_) return;
  FenceProblem found;
  for (const int rank : missing())
    if (ended_.contains(rank)) found.ranks.push_back(rank);
  if (!found.ranks.empty()) problem_ = std::move(found);
}

std::vector<int> FenceGather::missing() const {
  std::vector<int> ranks;
  for (const NodeFence& each : nodes_) {
    if (each.joined) continue;
    const std::vector<int>& of_node = each.missing ? *each.missing : each.ranks;
    ranks.insert(ranks.end(), of_node.begin(), of_node.end());
  }
  std::ranges::sort(ranks);
  return ranks;
}

void FenceGather::tick(Clock::time_point now) {
  if (now < due_) return;
  due_ = Clock::time_point::max();
  problem_ = FenceProblem{missing(), timeout_};
}

/// Prepares the messages for one node: the pairs of all others, in the order of nodes.
void FenceGather::prepare_release(std::size_t to) {
  KeyValues pairs;
  for (std::size_t from = 0; from < nodes_.size(); ++from)
    if (from != to) pairs.insert(pairs.end(), nodes_[from].pairs.begin(), nodes_[from].pairs.end());
  for (FenceOut& message : cut_pairs<FenceOut>(std::move(pairs)))
    prepared_.push_back({static_cast<int>(to), std::move(message)});
}

std::optional<FenceGather::Release> FenceGather::next_release() {
  const bool complete = !nodes_.empty() && joined_ == nodes_.size();
  if (!complete && prepared_.empty()) return std::nullopt;
  if (prepared_.empty()) prepare_release(next_to_++);
  Release next = std::move(prepared_.front());
  prepared_.pop_front();
  if (prepared_.empty() && next_to_ == nodes_.size()) {
    for (NodeFence& each : nodes_) each = {.ranks = std::move(each.ranks)};
    joined_ = next_to_ = 0;
  }
  return next;
}

}  // namespace ds::launcher
