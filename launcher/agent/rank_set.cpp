#include "launcher/agent/rank_set.h"

#include <signal.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ds::launcher {

void RankSet::start(const Spec& spec, const EnvList& node_env, const RankSetting& setting,
                    const std::vector<RankBinding>& bindings) {
  for (std::size_t i = 0; i < spec.ranks.size(); ++i)
    ranks_.push_back(
        std::make_unique<RankProcess>(spec, spec.ranks[i], node_env, setting, bindings.at(i)));
}

void RankSet::order(const ShimOrder& order, int only) {
  for (const auto& rank : ranks_)
    if (only == -1 || rank->rank() == only) rank->order(order);
}

bool RankSet::done(bool with_output) const {
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& rank) {
    return rank->done() || (rank->shim() == 0 && !with_output);
  });
}

void RankSet::kill_strays() const {
  for (const pid_t child : own_children()) {
    const bool is_shim = std::any_of(ranks_.begin(), ranks_.end(),
                                     [child](const auto& rank) { return rank->shim() == child; });
    if (!is_shim) ::kill(child, SIGKILL);
  }
}

void RankSet::add_input(const Stdin& input) {
  for (const auto& rank : ranks_)
    if (rank->input().exists() && (input.rank == -1 || input.rank == rank->rank()))
      rank->input().add(input.bytes, input.last);
}

std::uint64_t RankSet::feed_inputs() {
  std::optional<std::uint64_t> least;
  for (const auto& rank : ranks_) {
    if (!rank->input().exists()) continue;
    rank->input().write_some();
    least = std::min(least.value_or(UINT64_MAX), rank->input().taken());
  }
  if (!least) return 0;
  return *least - std::exchange(input_told_, *least);
}

void RankSet::resize(const Window& window) {
  for (const auto& rank : ranks_) rank->resize(window.rows, window.columns);
}

void RankSet::add_polls(std::vector<pollfd>& polled, bool read_output, Clock::time_point& until) {
  first_poll_ = polled.size();
  ranks_polled_ = ranks_.size();
  for (const auto& rank : ranks_) {
    polled.push_back({rank->control(), POLLIN, 0});
    for (const auto& stream : rank->streams()) {
      polled.push_back({read_output ? stream.fd.get() : -1, POLLIN, 0});
      const auto due = stream.batcher.wake_at();
      if (read_output && due) until = std::min(until, *due);
    }
    polled.push_back({rank->input().waits_for(), POLLOUT, 0});
  }
}

void RankSet::read_streams(const std::vector<pollfd>& polled, Clock::time_point now,
                           const std::function<bool()>& may_read, const OnOutput& on_output) {
  if (!may_read()) {
    blocked_ = true;
    return;
  }
  if (std::exchange(blocked_, false)) {
    for (const auto& rank : ranks_)
      for (auto& stream : rank->streams()) stream.batcher.read_on(now);
  }
  for (std::size_t n = 0; n < ranks_.size(); ++n) {
    const std::size_t r = (turn_of_ + n) % ranks_.size();
    RankProcess& rank = *ranks_[r];
    const RankProcess::OnOutput pass = [&](std::uint8_t stream, const LineBatch& batch, bool last) {
      on_output({.rank = rank.rank(),
                 .stream = stream,
                 .flags = static_cast<std::uint8_t>(batch.flags | (last ? Output::kLast : 0)),
                 .time = clock_value(now),
                 .bytes = batch.bytes});
    };
    for (std::size_t i = 0; i < 2; ++i) {
      if (!rank.streams()[i].fd) continue;
      if (!may_read()) {
        blocked_ = true;
        turn_of_ = r;
        return;
      }
      const bool ready = r < ranks_polled_ && polled[first_poll_ + 4 * r + 1 + i].revents != 0;
      // No event announces the rest of a rank whose shim has ended.
      if (ready || rank.shim() == 0) rank.read_stream(i, now, pass);
      if (!ready) rank.pass_partial(i, now, pass);
    }
  }
}

}  // namespace ds::launcher
