// Policy of waiting until every host of a list has a DNS record and answers: when each host is
// checked next, and the lines for the user meanwhile. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// Returns the pause after the `looks`-th lookup that found nothing (counted from 1). Lookups are
/// made 0, 0.5, 1 and 2 s after the first one, then every 5 s with a jitter of 20 %. A known
/// negative TTL stretches the early pauses, to 5 s at most, since a lookup within it only reads the
/// cache again. Later lookups are placed just after its end where that lies within their jitter.
/// `random`: from 0 to 1.
std::chrono::milliseconds pause_before_next_look(int looks,
                                                 std::optional<std::chrono::seconds> negative_ttl,
                                                 double random);

/// Pause of a pod between its own start and its first lookup of a name of the cluster. The records
/// of pods that start together appear about 1.5 s after their containers start: the kubelet reports
/// an address up to 1 s later, then the EndpointSlice is written. An earlier lookup finds nothing,
/// and the DNS caches of many clusters keep that answer for 30 s.
inline constexpr std::chrono::milliseconds kClusterFirstLook{2000};

/// How far a host is.
enum class WaitStage {
  not_looked,    // not checked yet
  no_record,     // DNS has no address
  dns_failed,    // no name server gave a usable answer
  no_connection  // it has an address, but nothing answers there
};

/// Result of a check of a host that is not ready.
struct HostLook {
  WaitStage stage = WaitStage::no_record;
  std::string reason{};  // without the host's name and address, so that equal reasons fold
  std::string detail{};  // with them; may be empty
  std::optional<std::chrono::seconds> negative_ttl{};
};

struct WaitLimits {
  std::chrono::milliseconds limit{600'000};
  std::chrono::milliseconds first_look{0};  // before the first check of any host
  std::chrono::milliseconds news{10'000};   // between two lines for the user
  std::size_t at_once = 64;                 // checks under way
};

class WaitState {
 public:
  /// `random`: returns numbers from 0 to 1, for the jitter.
  WaitState(std::vector<std::string> names, WaitLimits limits, std::function<double()> random,
            Clock::time_point now);
  /// Returns the hosts to check now. A host is under way until on_missing or on_ready is called for
  /// it. Hosts that have waited longest come first.
  std::vector<std::size_t> take_due(Clock::time_point now);
  void on_missing(std::size_t host, HostLook look, Clock::time_point now);
  void on_ready(std::size_t host);
  /// Returns the line for the user when it is due, which is every `news`.
  std::optional<std::string> take_news(Clock::time_point now);
  /// Returns the time of the next check, line or limit.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] bool all_ready() const { return ready_ == hosts_.size(); }
  [[nodiscard]] bool over(Clock::time_point now) const { return now >= began_ + limits_.limit; }
  /// Returns the text for the end of the time: a first line, then a line for each missing host (for
  /// each stage and reason if more than 64 hosts are missing).
  [[nodiscard]] std::string table() const;
  /// Returns what the user can do about the least advanced host.
  [[nodiscard]] std::string hint() const;

 private:
  struct Entry {
    std::string name;
    HostLook last{WaitStage::not_looked, "not looked up yet", {}, {}};
    int looks = 0;
    bool ready = false;
  };
  /// Names of hosts that have the same stage and reason.
  struct Group {
    WaitStage stage;
    std::string reason;
    std::vector<std::string> names;
  };
  [[nodiscard]] std::vector<Group> groups() const;

  WaitLimits limits_;
  std::function<double()> random_;
  std::vector<Entry> hosts_;
  std::set<std::pair<Clock::time_point, std::size_t>> queue_;  // when which host is due
  std::size_t ready_ = 0;
  std::size_t under_way_ = 0;
  Clock::time_point began_;
  Clock::time_point next_news_;
};

}  // namespace ds::launcher
