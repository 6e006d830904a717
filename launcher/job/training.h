// Follows a training job by its output: step, checkpoints, outcomes of requested checkpoints.
// Pure.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/checkpoint_line.h"

namespace ds::launcher {

/// Returns the step of a line: "step  12/100  loss ..." -> 12.
inline std::optional<std::int64_t> step_of_line(std::string_view line) {
  constexpr std::string_view kWord = "step ";
  if (!line.starts_with(kWord)) return std::nullopt;
  line.remove_prefix(kWord.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool counted = error == std::errc() && end != line.data() + line.size() && *end == '/';
  return counted ? std::optional(step) : std::nullopt;
}

/// Follows standard output of rank 0. A request for a checkpoint gets the outcome of the next
/// requested one; a request during a pending one joins it.
/// Memory:  at most kLongest bytes of a line.
class Training {
 public:
  static constexpr std::size_t kLongest = 8192;

  /// `folder`: where relative paths of the ranks begin.
  explicit Training(std::string folder) : folder_(std::move(folder)) {}

  /// What the caller must do.
  struct News {
    bool signal = false;                      // send SIGUSR1 to rank 0 now
    std::optional<CheckpointLine> outcome{};  // for waiting requests
  };

  /// Requests a checkpoint.
  News ask() {
    wanted_ = true;
    const bool now = hears_ && !sent_;
    sent_ = sent_ || now;
    return {.signal = now};
  }
  /// Starts an epoch: until rank 0 has written something, a signal would kill it.
  void begin() {
    hears_ = sent_ = false;
    line_.clear();
  }
  /// Takes output of rank 0, which may hold partial lines.
  std::vector<News> add(std::string_view text) {
    std::vector<News> all;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
      const std::size_t room = kLongest - std::min(line_.size(), kLongest);
      line_.append(text.substr(0, std::min(end, room)));
      if (end == text.size()) break;
      text.remove_prefix(end + 1);
      News news = take(line_);
      line_.clear();
      if (news.signal || news.outcome) all.push_back(std::move(news));
    }
    return all;
  }

  /// Returns the last step that was shown.
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  /// Returns the folder of the newest known complete checkpoint; empty: none.
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }

 private:
  News take(std::string_view text) {
    News news;
    if (!std::exchange(hears_, true) && wanted_) news = ask();
    if (const auto step = step_of_line(text)) step_ = step;
    std::optional<CheckpointLine> line = parse_checkpoint_line(text);
    if (!line) return news;
    if (!line->folder.empty())
      line->folder = (std::filesystem::path(folder_) / line->folder).lexically_normal();
    if (line->what != CheckpointLine::What::failed) checkpoint_ = line->folder;
    if (line->what == CheckpointLine::What::resumed) step_ = line->step;
    if (line->asked && sent_) {
      wanted_ = sent_ = false;
      news.outcome = std::move(line);
    }
    return news;
  }

  std::string folder_;
  std::string line_;  // received so far
  std::optional<std::int64_t> step_;
  std::string checkpoint_;
  bool hears_ = false;   // rank 0 has written something
  bool wanted_ = false;  // a request waits
  bool sent_ = false;    // and rank 0 was signaled
};

}  // namespace ds::launcher
