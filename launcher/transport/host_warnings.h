// Folds warnings that concern many hosts into one line each. Pure.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/hosts/fold_names.h"

namespace ds::launcher {

/// A warning without the name of its host.
struct HostWarning {
  std::string one;   // for a single host
  std::string many;  // for several hosts: without what differs between them
};

class HostWarnings {
 public:
  /// Keeps the warning until take(). A warning that a host repeats is kept once a run.
  void add(const std::string& host, HostWarning warning) {
    if (!known_.emplace(host, warning.many).second) return;
    const auto same = std::ranges::find_if(
        waiting_, [&](const Waiting& one) { return one.warning.many == warning.many; });
    if (same != waiting_.end())
      same->hosts.push_back(host);
    else
      waiting_.push_back({std::move(warning), {host}});
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Returns one line for each text, with the names of all of its hosts in front, and forgets them.
  std::vector<std::string> take() {
    std::vector<std::string> lines;
    for (const Waiting& one : std::exchange(waiting_, {}))
      lines.push_back(fold_names(one.hosts) + ": " +
                      (one.hosts.size() == 1 ? one.warning.one : one.warning.many));
    return lines;
  }

 private:
  struct Waiting {
    HostWarning warning;
    std::vector<std::string> hosts;
  };
  std::vector<Waiting> waiting_;
  std::set<std::pair<std::string, std::string>> known_;  // host and text
};

}  // namespace ds::launcher
