// Many nodes of a job are told to end at once: that is one wish. Pure.
#pragma once

#include <set>
#include <string>

namespace ds::launcher {

/// When all pods of a job are deleted, each hears TERM, and each tells the root. The first word
/// stops the job; a second one of the same node means that it takes too long there, and kills.
class StopWishes {
 public:
  /// `who`: a place of the job, or empty for this process. Whether the job shall hear of it.
  bool counts(const std::string& who) {
    const bool again = !heard_.insert(who).second;
    return again || heard_.size() == 1;
  }

 private:
  std::set<std::string> heard_;
};

}  // namespace ds::launcher
