#include "launcher/mpi/fence_gather.h"

#include <algorithm>
#include <utility>

namespace ds::launcher {

void FenceGather::begin(std::vector<std::vector<int>> ranks) {
  *this = FenceGather(timeout_);
  ranks_ = std::move(ranks);
}

FenceGather::Fence& FenceGather::fence_of(const FenceIn& message) {
  const auto [at, is_new] = fences_.try_emplace(message.name);
  Fence& fence = at->second;
  if (!is_new) return fence;
  fence.ranks.insert(message.ranks.begin(), message.ranks.end());
  for (std::size_t node = 0; node < ranks_.size(); ++node) {
    const auto takes_part = [&](int rank) { return fence.ranks.contains(rank); };
    if (fence.ranks.empty() || std::ranges::any_of(ranks_[node], takes_part))
      fence.parts[static_cast<int>(node)];
  }
  return fence;
}

void FenceGather::take(int node, FenceIn&& message, Clock::time_point now) {
  if (!knows(node)) return;
  Fence& fence = fence_of(message);
  const auto part = fence.parts.find(node);
  if (part == fence.parts.end() || part->second.joined) return;
  if (!message.data.empty()) part->second.data.push_back(std::move(message.data));
  if (!message.last) return;
  part->second.joined = true;
  if (fence.ranks.empty()) waiting_.erase(node);
  if (++fence.joined == fence.parts.size())
    return release(message.name, std::move(fences_.extract(message.name).mapped()));
  wait_from(now);
  look_for_ended();
}

void FenceGather::take(int node, const FenceWaits& message, Clock::time_point now) {
  const auto joined = [&](const auto& open) {
    const auto part = open.second.parts.find(node);
    return open.second.ranks.empty() && part != open.second.parts.end() && part->second.joined;
  };
  if (!knows(node) || std::ranges::any_of(fences_, joined)) return;
  waiting_[node].assign(message.missing.begin(), message.missing.end());
  if (message.missing.empty()) waiting_.erase(node);
  const auto of_all = [](const auto& open) { return open.second.ranks.empty(); };
  if (waiting_.empty() && std::ranges::none_of(fences_, of_all)) return stop_waiting();
  wait_from(now);
  look_for_ended();
}

void FenceGather::ended(int rank) {
  ended_.insert(rank);
  look_for_ended();
}

void FenceGather::wait_from(Clock::time_point now) {
  if (first_done_ || std::exchange(waits_, true) || timeout_.count() == 0) return;
  due_ = now + timeout_;
}

/// Finds ranks that will never join a fence in which others wait.
void FenceGather::look_for_ended() {
  if (ended_.empty() || problem_) return;
  std::set<int> found;
  const auto look = [&](const std::vector<int>& ranks) {
    for (const int rank : ranks)
      if (ended_.contains(rank)) found.insert(rank);
  };
  for (const auto& [node, ranks] : waiting_) look(ranks);
  for (const auto& [name, fence] : fences_) look(missing(fence));
  if (!found.empty()) problem_ = FenceProblem{{found.begin(), found.end()}, {}};
}

std::vector<int> FenceGather::missing(const Fence& fence) const {
  std::vector<int> ranks;
  for (const auto& [node, part] : fence.parts) {
    if (part.joined) continue;
    const auto reported = waiting_.find(node);
    const bool is_known = fence.ranks.empty() && reported != waiting_.end();
    for (const int rank : is_known ? reported->second : ranks_[static_cast<std::size_t>(node)])
      if (fence.ranks.empty() || fence.ranks.contains(rank)) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

std::vector<int> FenceGather::missing_in_first() const {
  for (const auto& [name, fence] : fences_)
    if (fence.ranks.empty()) return missing(fence);
  Fence none;  // that no node has joined
  for (std::size_t node = 0; node < ranks_.size(); ++node) none.parts[static_cast<int>(node)];
  return missing(none);
}

void FenceGather::tick(Clock::time_point now) {
  if (now < due_) return;
  due_ = Clock::time_point::max();
  problem_ = FenceProblem{missing_in_first(), timeout_};
}

/// Prepares the messages for all nodes of a fence that has completed.
void FenceGather::release(const std::string& name, Fence fence) {
  first_done_ = first_done_ || fence.ranks.empty();
  if (first_done_) stop_waiting();
  FenceOut next{.name = name, .last = false, .number = ++completed_, .data = {}};
  std::vector<int> nodes;
  for (const auto& [node, part] : fence.parts) nodes.push_back(node);
  for (auto& [node, part] : fence.parts) {
    for (std::string& data : part.data) {
      if (!next.data.empty() && next.data.size() + data.size() > kFenceFrameBytes)
        prepared_.push_back({nodes, std::exchange(next, {name, false, completed_, {}})});
      next.data.empty() ? next.data.swap(data) : void(next.data += data);
      data = {};
    }
  }
  next.last = true;
  prepared_.push_back({std::move(nodes), std::move(next)});
}

std::optional<FenceGather::Release> FenceGather::next_release() {
  if (prepared_.empty()) return std::nullopt;
  Release next = std::move(prepared_.front());
  prepared_.pop_front();
  return next;
}

}  // namespace ds::launcher
