// Waiting until every host of a list has a DNS record and answers: which host is looked at when,
// and what people are told meanwhile. Pure.
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

/// How far a host has got.
enum class WaitStage {
  not_looked,    // its turn has not come
  no_record,     // DNS has no address
  dns_failed,    // no name server has given an answer
  no_connection  // an address, but nothing answers there
};

/// What a look at a host has found.
struct HostLook {
  WaitStage stage = WaitStage::no_record;
  std::string reason{};  // without the host's name or address, so that equal ones fold
  std::string detail{};  // with them; empty: the reason is all
  std::optional<std::chrono::seconds> negative_ttl{};
};

struct WaitLimits {
  std::chrono::milliseconds limit{600'000};
  std::chrono::milliseconds news{10'000};  // between two lines for people
  std::size_t at_once = 64;                // looks under way
};

class WaitState {
 public:
  /// `random`: numbers from 0 to 1 for the jitter.
  WaitState(std::vector<std::string> names, WaitLimits limits, std::function<double()> random,
            Clock::time_point now);
  /// The hosts to look at now; each then counts as under way until one of the next two.
  std::vector<std::size_t> take_due(Clock::time_point now);
  void on_missing(std::size_t host, HostLook look, Clock::time_point now);
  void on_ready(std::size_t host);
  /// The line of every `news`, once each; none while it is not due.
  std::optional<std::string> take_news(Clock::time_point now);
  /// When take_due, take_news or the limit has something to do.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] bool all_ready() const { return ready_ == hosts_.size(); }
  [[nodiscard]] bool over(Clock::time_point now) const { return now >= began_ + limits_.limit; }
  /// What is missing when the limit has come: a first line, then a line a host (of many hosts a
  /// line for each stage and reason).
  [[nodiscard]] std::string table() const;
  /// What to do about the host that got least far.
  [[nodiscard]] std::string hint() const;

 private:
  struct Entry {
    std::string name;
    HostLook last{WaitStage::not_looked, "not looked up yet", {}, {}};
    int looks = 0;
    bool ready = false;
  };
  /// Names that wait for the same thing, in the order of their stages.
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
