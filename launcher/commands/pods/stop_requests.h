// Filter for stop requests: counts simultaneous requests of many nodes as one. Pure.
#pragma once

#include <set>
#include <string>

namespace ds::launcher {

/// Requests to stop a job. If all pods of a job are deleted, each gets TERM and each tells the
/// root. The first request stops the job. A second one of the same node means that stopping takes
/// too long there, and kills.
class StopRequests {
 public:
  /// Returns whether the job must hear of this request. `who`: a place of the job, or empty for
  /// this process.
  bool counts(const std::string& who) {
    const bool again = !heard_.insert(who).second;
    return again || heard_.size() == 1;
  }

 private:
  std::set<std::string> heard_;
};

}  // namespace ds::launcher
