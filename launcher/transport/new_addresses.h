// Addresses of hosts that have moved, as they said themselves: caches of DNS may give the old ones
// for half a minute.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ds::launcher {

/// An address is only a hint: whoever dials it makes the host prove itself as ever. Hosts are known
/// by the first label of their names.
/// Threads: one.
class NewAddresses {
 public:
  static std::string label_of(const std::string& host) { return host.substr(0, host.find('.')); }
  void set(const std::string& host, const std::string& address) {
    if (std::exchange(addresses_[label_of(host)], address) == address) return;
    std::erase_if(waiting_, [](const Waiting& each) { return each.life.expired(); });
    for (const Waiting& each : std::vector(waiting_))
      if (each.host == label_of(host) && !each.life.expired()) each.told();
  }
  /// Returns the newest address; empty: none is known.
  [[nodiscard]] std::string of(const std::string& host) const {
    const auto found = addresses_.find(label_of(host));
    return found == addresses_.end() ? std::string() : found->second;
  }
  /// Calls `told` at every change while `life` lasts.
  void wait(const std::string& host, std::weak_ptr<int> life, std::function<void()> told) {
    waiting_.push_back({label_of(host), std::move(life), std::move(told)});
  }

 private:
  struct Waiting {
    std::string host;
    std::weak_ptr<int> life;
    std::function<void()> told;
  };

  std::map<std::string, std::string> addresses_;
  std::vector<Waiting> waiting_;
};

}  // namespace ds::launcher
