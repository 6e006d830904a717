// Waiting for joining nodes: runs the event loop in short steps until no node is missing.
#include "launcher/commands/start/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "engine/base/contract.h"
#include "engine/base/units.h"
#include "launcher/fleet/wake_timer.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/join/knock.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 50ms;  // interval of checks for missing nodes
constexpr auto kAsk = 1s;     // interval of calls of given_up
constexpr auto kSayEvery = 10s;
constexpr auto kKnockEvery = 3s;          // and so long after the start for the first time
constexpr std::size_t kMostLookups = 64;  // more names would not fit into a readable line
constexpr auto kSettled = 5s;  // the pods that a controller creates together have records by then

class NodeGathering {
 public:
  NodeGathering(asio::io_context& io, JoinServer& server, const GatherRequest& request)
      : server_(server), request_(request), last_call_(request.last_call) {
    next_knock_ = started_ + std::min<Clock::duration>(kKnockEvery, request.wait / 2);
    if (request_.dial_of) knocker_.emplace(io, request_.port);
  }

  [[nodiscard]] std::vector<std::string> missing() const {
    std::vector<std::string> names;
    for (const std::string& place : request_.places)
      if (server_.node(place) == nullptr) names.push_back(place);
    return names;
  }

  /// Returns whether the job may begin with the nodes that are there.
  bool complete(const std::vector<std::string>& names) {
    const std::size_t count = here(names);
    const bool enough = !request_.least || count >= *request_.least;
    const bool called = last_call_.is_over(enough, Clock::now());
    if (request_.most && count >= *request_.most) return true;
    const auto comes = [this](const std::string& place) {
      return !request_.is_out || !request_.is_out(place);
    };
    if (std::ranges::any_of(names, comes)) return false;
    return called || (names.empty() && !request_.guests);
  }

  /// Prints lines and starts lookups when their time has come. Returns how the wait ends; nothing
  /// while it goes on.
  std::optional<Gathered> look(const std::vector<std::string>& names) {
    const Clock::time_point now = Clock::now();
    if (const auto signo = request_.signal())
      return Gathered{contract::kExitSignalBase + *signo,
                      fmt::format("stopped by signal {}", *signo)};
    if (now - asked_ >= kAsk && request_.given_up) {
      asked_ = now;
      if (const auto reason = request_.given_up())
        return Gathered{contract::kExitUnreachable, *reason};
    }
    if (now - started_ >= request_.wait) {
      if (request_.least && here(names) >= *request_.least) return Gathered{};
      return Gathered{contract::kExitUnreachable, line_of(names, now)};
    }
    if (knocker_) knock(names, now);
    if (names.size() != missing_) changed_ = now;
    missing_ = names.size();
    if (request_.least && here(names) >= *request_.least && !names.empty() &&
        now - changed_ >= kSettled && none_exists(names)) {
      request_.say(line_of(names, now) + "; beginning without them");
      return Gathered{};
    }
    if (now - said_ >= kSayEvery) {
      said_ = now;
      const std::string line = line_of(names, now);
      request_.say(line);
      server_.tell(line);
    }
    return std::nullopt;
  }

 private:
  /// Returns how many nodes are there, without the root's own.
  [[nodiscard]] std::size_t here(const std::vector<std::string>& names) const {
    return request_.places.size() - names.size() + (request_.guests ? request_.guests() : 0);
  }

  /// Knocks at missing places. Most nodes have joined before the first knock, so that DNS caches
  /// learn no addresses that the next start would find outdated.
  void knock(const std::vector<std::string>& names, Clock::time_point now) {
    if (now < next_knock_) return;
    next_knock_ = now + kKnockEvery;
    for (const std::string& place : names | std::views::take(kMostLookups))
      knocker_->knock(request_.dial_of(place), [this, place](const DnsResult& result) {
        stages_[place] = {result.problem == DnsProblem::none ? "has a DNS record, but has not joined"
                                                             : result.text,
                          result.problem == DnsProblem::no_record};
      });
  }

  /// Returns whether DNS has said of all missing places, as far as they are looked up, that they
  /// have no record: a pod of that name does not exist.
  [[nodiscard]] bool none_exists(const std::vector<std::string>& names) const {
    return std::ranges::all_of(names | std::views::take(kMostLookups), [this](const auto& place) {
      const auto found = stages_.find(place);
      return found != stages_.end() && found->second.absent;
    });
  }

  [[nodiscard]] std::string line_of(const std::vector<std::string>& names, Clock::time_point now) {
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(now - started_);
    if (request_.guests && names.empty()) {
      const std::size_t present = here(names) + request_.here;
      return fmt::format("{} {} here after {} s; the job needs at least {}",
                         counted(static_cast<std::int64_t>(present), "node"),
                         present == 1 ? "is" : "are", since.count(),
                         request_.least.value_or(0) + request_.here);
    }
    const std::size_t all = request_.places.size() + request_.here;
    if (!knocker_) return waiting_line(all, names, since, request_.stage_of);
    return waiting_line(all, names, since,
                        [this](const std::string& place) { return stages_[place].text; });
  }

  JoinServer& server_;
  const GatherRequest& request_;
  struct Stage {  // of a missing place in DNS
    std::string text{};  // empty: not known yet
    bool absent = false;
  };
  std::map<std::string, Stage> stages_;
  std::optional<Knocker> knocker_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point said_ = started_;
  Clock::time_point changed_ = started_;  // the number of missing places
  std::size_t missing_ = 0;
  Clock::time_point asked_ = started_;
  Clock::time_point next_knock_;
  LastCall last_call_;
};

}  // namespace

std::string waiting_line(std::size_t all, const std::vector<std::string>& missing,
                         std::chrono::seconds since,
                         const std::function<std::string(const std::string&)>& stage_of) {
  std::map<std::string, std::vector<std::string>> by_stage;
  for (const std::string& name : missing)
    by_stage[stage_of ? stage_of(name) : std::string()].push_back(name);
  std::string list;
  for (const auto& [stage, names] : by_stage)
    list += (list.empty() ? "" : "; ") + fold_names(names) + (stage.empty() ? "" : ": " + stage);
  return fmt::format("{} of {} nodes are here after {} s; missing: {}", all - missing.size(), all,
                     since.count(), list);
}

Gathered gather(asio::io_context& io, JoinServer& server, const GatherRequest& request) {
  NodeGathering gathering(io, server, request);
  while (true) {
    const std::vector<std::string> names = gathering.missing();
    if (gathering.complete(names)) return {};
    if (auto end = gathering.look(names)) return *std::move(end);
    io.restart();
    io.run_for(kLook);
  }
}

}  // namespace ds::launcher
