// HostHistory: what a job with --nodes MIN:MAX has seen of each host: whether its ranks have run
// well, how often it failed in a row, whether it left for good. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace ds::launcher {

/// Hosts are numbered as in Roster.
class HostHistory {
 public:
  static constexpr std::chrono::seconds kLongestDelay{30};

  /// The host leaves the job for good. Returns false if it already has.
  bool retire(int host) {
    proven_.erase(host);
    return retired_.insert(host).second;
  }
  [[nodiscard]] bool is_retired(int host) const { return retired_.contains(host); }
  [[nodiscard]] int retired() const { return static_cast<int>(retired_.size()); }

  /// A host that has left may take part again. It counts as one that was not reached so often.
  void may_return(int host, int failures) {
    retired_.erase(host);
    failures_[host] = failures;
  }

  /// The ranks of the host have begun.
  void began(int host) { failures_.erase(host); }
  /// The ranks of the host have run well.
  void proved(int host) { proven_.insert(host); }
  /// The host was lost, or could not be reached. It may come back as another machine.
  void lost(int host) { proven_.erase(host); }
  /// Returns whether the ranks of other hosts have run well, and those of this host never have: a
  /// failure that it alone explains is no reason to end the job.
  [[nodiscard]] bool joins(int host) const { return !proven_.empty() && !proven_.contains(host); }

  /// Counts a failure before the ranks of the host have begun. Returns how many there were before.
  int failed(int host) { return failures_[host]++; }
  [[nodiscard]] int failures(int host) const {
    const auto found = failures_.find(host);
    return found == failures_.end() ? 0 : found->second;
  }
  /// Returns the delay of the next attempt after so many earlier failures in a row.
  [[nodiscard]] static std::chrono::milliseconds delay_after(int failures) {
    return std::min(std::chrono::seconds(1 << std::clamp(failures, 0, 5)), kLongestDelay);
  }

 private:
  std::set<int> retired_;
  std::set<int> proven_;
  std::map<int, int> failures_;
};

}  // namespace ds::launcher
