// Coordinator: meetings, faults, reports.
#include "engine/comm/mesh/coordinator.h"

#include <utility>

#include "engine/comm/mesh/suspension.h"

namespace ds::comm {

constexpr std::size_t kMostMeshes = 10'000, kLongestFault = 10'000;

Coordinator::Coordinator(int world_size, Clock::duration patience, Clock::time_point now)
    : patience_(patience), observed_(static_cast<std::size_t>(world_size)), last_request_(now) {
  for (Observed& each : observed_) each.beat_at = each.progress_at = now;
}

std::optional<std::string> Coordinator::answer(std::string_view request, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forgive_suspension(now);
  ByteReader in(request);
  switch (static_cast<Request>(in.number())) {
    case Request::meet:
      return meet(in);
    case Request::fault:
      return take_fault(in);
    case Request::report:
      return take_report(in, now);
  }
  return std::nullopt;
}

// Rank 0 reports every beat, so a long time without any request was a suspension.
void Coordinator::forgive_suspension(Clock::time_point now) {
  const Clock::duration gap = now - std::exchange(last_request_, now);
  if (gap < suspension_of(patience_)) return;
  for (Observed& each : observed_) {
    each.beat_at += gap;
    each.progress_at += gap;
  }
}

// Returns null when there are too many.
Coordinator::Mesh* Coordinator::find_mesh(const std::string& name) {
  const bool is_room = meshes_.size() < kMostMeshes || meshes_.contains(name);
  return is_room ? &meshes_[name] : nullptr;
}

std::optional<std::string> Coordinator::meet(ByteReader& request) {
  const std::string name = request.text();
  const std::uint64_t size = request.number(), place = request.number();
  std::string card = request.text();
  std::vector<int> ranks;
  while (request.is_good() && !request.is_done()) {
    const std::uint64_t rank = request.number();
    if (rank >= observed_.size()) return std::nullopt;
    ranks.push_back(static_cast<int>(rank));
  }
  if (!request.is_done() || size > observed_.size() || place >= size) return std::nullopt;
  Mesh* const mesh = find_mesh(name);
  if (mesh == nullptr) return std::nullopt;
  if (place == 0) mesh->ranks = std::move(ranks);
  mesh->cards[place] = std::move(card);
  ByteWriter answer;
  answer.put(size - mesh->cards.size());
  for (std::uint64_t each = 0; each < size && mesh->cards.size() < size; ++each)
    if (!mesh->cards.contains(each)) answer.put(each);
  if (mesh->cards.size() == size)
    for (const auto& [each, text] : mesh->cards) answer.put(text);
  return answer.take();
}

std::optional<std::string> Coordinator::take_fault(ByteReader& request) {
  const std::string name = request.text(), why = request.text();
  Mesh* const mesh = find_mesh(name);
  if (!request.is_done() || mesh == nullptr) return std::nullopt;
  if (mesh->fault.empty()) mesh->fault = why.substr(0, kLongestFault);
  return mesh->fault;
}

std::optional<std::string> Coordinator::take_report(ByteReader& request, Clock::time_point now) {
  const std::uint64_t rank = request.number();
  std::optional<RankReport> report = decode_rank_report(request.text());
  if (!request.is_done() || rank >= observed_.size() || !report) return std::nullopt;
  Observed& seen = observed_[rank];
  seen.beat_at = now;
  if (report->progress != seen.report.progress) seen.progress_at = now;
  seen.report = *std::move(report);
  if (now - judged_at_ >= beat_of(patience_) / 4) {
    judged_at_ = now;
    findings_ = encode(find_hangs(
        observed_, [this](const std::string& group) { return meshes_[group].ranks; }, patience_,
        now));
  }
  return findings_;
}

}  // namespace ds::comm
