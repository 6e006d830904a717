// Follows a training by what rank 0 tells on its rank channel: step, checkpoints, outcomes of
// requested checkpoints. Pure.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/checkpoint_line.h"
#include "engine/base/training_facts.h"
#include "launcher/job/job_events.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Returns what the facts of rank 0 say of its states.
inline StatesTold states_told(std::string_view facts) {
  const std::string saves = fact_value(facts, kSavesFact);
  return {.may_pause = saves != "no" || fact_value(facts, kKeepsFact) != "no",
          .saves_at_stop = saves != "no" && saves != kNotOnSignals};
}

/// A request for a checkpoint gets the outcome of the next requested one; a request during a
/// pending one joins it.
class Training {
 public:
  /// `folder`: where relative paths of the ranks begin.
  explicit Training(std::string folder) : folder_(std::move(folder)) {}

  /// Requests a checkpoint. Returns true if rank 0 must get the order now.
  bool ask() {
    wanted_ = true;
    return running_ && !std::exchange(sent_, true);
  }
  /// Starts an epoch: its ranks have their channels. Returns true if rank 0 must get an order.
  bool begin() {
    running_ = true;
    step_.reset();  // the last epoch's may be later than where this one begins
    sent_ = wanted_;
    return sent_;
  }
  /// Takes what rank 0 has told. Returns the outcome for waiting requests, if it has one.
  std::optional<CheckpointLine> take(const RankNews& news) {
    std::optional<CheckpointLine> outcome;
    for (const std::string& text : news.checkpoints)
      if (auto line = take_line(text)) outcome = std::move(line);
    if (news.step >= 0) {
      step_ = news.step;
      kept_ = news.kept;
    }
    return outcome;
  }

  /// Returns why nothing is saved while the ranks have ended and the job waits for hosts, and what
  /// can be done. `saves_before_end`: the end of the job saves what is kept.
  [[nodiscard]] std::string while_waiting(std::string_view hosts, bool saves_before_end) const {
    std::string text = fmt::format("no ranks run, because the job waits for hosts ({})", hosts);
    if (kept_ >= 0) text += fmt::format("; step {} was kept in memory", kept_);
    if (!checkpoint_.empty()) text += "; the newest checkpoint is " + checkpoint_;
    text += "; ask again when the ranks run";
    if (saves_before_end) text += ", or end the job with dslaunch kill, which saves what is kept";
    return text;
  }
  /// Returns the last finished step.
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  /// Returns the newest step that all ranks keep in memory; -1: none.
  [[nodiscard]] std::int64_t kept() const { return kept_; }
  /// Returns the folder of the newest known complete checkpoint; empty: none.
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }

 private:
  std::optional<CheckpointLine> take_line(std::string_view text) {
    std::optional<CheckpointLine> line = parse_checkpoint_line(text);
    if (!line) return std::nullopt;
    if (!line->folder.empty())
      line->folder = (std::filesystem::path(folder_) / line->folder).lexically_normal();
    if (line->what != CheckpointLine::What::failed) checkpoint_ = line->folder;
    if (line->what == CheckpointLine::What::resumed) step_ = line->step;
    if (!line->asked || !sent_) return std::nullopt;
    wanted_ = sent_ = false;
    return line;
  }

  std::string folder_;
  std::optional<std::int64_t> step_;
  std::int64_t kept_ = -1;
  std::string checkpoint_;
  bool running_ = false;  // an epoch has started
  bool wanted_ = false;   // a request waits
  bool sent_ = false;     // and rank 0 has the order
};

}  // namespace ds::launcher
