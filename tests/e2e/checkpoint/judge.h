// Compares what a trial reported and did with what it left behind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "e2e/checkpoint/draw_trial.h"
#include "e2e/checkpoint/saved_steps.h"
#include "e2e/checkpoint/trial.h"

namespace ds::test {

/// An unbroken run of the same arithmetic that saved after every step.
struct Reference {
  std::map<std::int64_t, std::string> content{};  // by step, as SavedStep::content
  std::string weights_hash{};
};

/// What rank 0 reported about checkpoints and steps.
struct Said {
  std::optional<std::int64_t> resumed{};
  std::vector<std::int64_t> saved{}, failed{};
  std::int64_t first_step = 0, last_step = 0;  // printed; 0: none
  std::string error{};                         // the line "dsrunner: ..." of any rank
};
Said said_in(const std::vector<std::string>& lines);

/// The folder as the trial found it.
struct Found {
  std::int64_t newest_good = 0;          // 0: none
  std::vector<std::string> newer_bad{};  // names of broken newer ones, which must be reported
  /// Returns whether there are checkpoints but none is good: training must not start at step 0
  /// silently.
  [[nodiscard]] bool is_refused() const { return newest_good == 0 && !newer_bad.empty(); }
};
Found found_in(const std::vector<SavedStep>& steps);

/// Returns the weights_hash of a run's summary; "none" if it has none.
std::string summary_hash(const std::filesystem::path& folder);

struct Judgement {
  std::vector<std::string> wrong{};  // violated rules
  std::string killed{};              // who was killed; empty: nobody
  std::string during{};              // what the killed one was doing
  std::set<std::string> faults{};    // faults that happened, as "EIO at sync of chunk"
  bool ended_well = false;
  Said said{};
  std::vector<SavedStep> left{};  // newest first
};

/// Judges a trial. `spoiled`: steps of damaged checkpoints; those damaged by this trial are added.
Judgement judge(const DrawnTrial& drawn, const TrialEnd& end, const Found& found,
                const Reference& reference, std::set<std::int64_t>& spoiled);

}  // namespace ds::test
