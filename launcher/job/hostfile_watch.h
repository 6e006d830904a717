// HostfileWatch: which changes of a hostfile a running job with --nodes MIN:MAX follows. Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// What a look at the hostfile has found.
struct HostfileLook {
  bool is_whole = true;       // false: a writer may not have finished it
  std::string problem{};      // why it names no hosts; then `hosts` is empty
  std::vector<Host> hosts{};  // after --include and the like
};
using HostfileReader = std::function<HostfileLook()>;

struct HostfileChange {
  std::string problem{};  // why the job keeps its hosts; the rest is empty then
  std::vector<Host> add{};
  std::vector<std::string> remove{};
};

/// Compares each look with the last hosts that the job has followed, not with the hosts of the job:
/// what `dslaunch scale` has changed stays.
/// Promise: a change counts when two looks in a row find it. A file without a host, or with an
///          error, changes nothing. Each change is returned once, or until the job can make it.
class HostfileWatch {
 public:
  /// `hosts`: of the file at the start.
  explicit HostfileWatch(std::vector<Host> hosts)
      : followed_(std::move(hosts)), last_({.hosts = followed_}) {}

  std::optional<HostfileChange> take(HostfileLook look) {
    if (!look.is_whole) return std::nullopt;
    if (look.problem.empty() && look.hosts.empty()) look.problem = "it names no host";
    const bool again = is_same(look, last_);
    last_ = std::move(look);
    if (!again) {
      told_ = false;
      why_.clear();
    }
    if (!again || std::exchange(told_, true)) return std::nullopt;
    HostfileChange change{.problem = last_.problem};
    if (!change.problem.empty()) return change;
    for (const Host& host : last_.hosts)
      if (!has(followed_, host.name)) change.add.push_back(host);
    for (const Host& host : followed_)
      if (!has(last_.hosts, host.name)) change.remove.push_back(host.name);
    if (change.add.empty() && change.remove.empty()) return std::nullopt;
    return change;
  }
  /// The job has made the last change; else the next one still contains it.
  void followed() { followed_ = last_.hosts; }
  /// The job cannot make the last change now: the next look returns it again. Returns whether it
  /// was refused for this reason for the first time.
  bool refused(const std::string& why) {
    told_ = false;
    return std::exchange(why_, why) != why;
  }

 private:
  static bool has(const std::vector<Host>& hosts, const std::string& name) {
    return std::ranges::count(hosts, name, &Host::name) > 0;
  }
  static bool is_same(const HostfileLook& a, const HostfileLook& b) {
    return a.problem == b.problem &&
           std::ranges::equal(a.hosts, b.hosts, [](const Host& x, const Host& y) {
             return x.name == y.name && x.slots == y.slots;
           });
  }

  std::vector<Host> followed_;
  HostfileLook last_;
  bool told_ = true;  // last_ was returned
  std::string why_;   // it was refused
};

}  // namespace ds::launcher
