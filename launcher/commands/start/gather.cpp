// Waiting for joining nodes: one timer and one set of signals, until no node is missing.
#include "launcher/commands/start/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <ranges>

#include "engine/base/contract.h"
#include "launcher/dns/dns_lookup.h"
#include "launcher/fleet/life.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 50ms;  // interval of checks for missing nodes
constexpr auto kAsk = 1s;     // interval of calls of given_up
constexpr auto kSayEvery = 10s;
constexpr auto kLookAhead = 5s;  // time before a line to start its lookups; a lookup takes as long
constexpr std::size_t kMostLookups = 64;  // more names would not fit into a readable line

class Gathering {
 public:
  Gathering(asio::io_context& io, JoinServer& server, const GatherRequest& request)
      : io_(io),
        server_(server),
        request_(request),
        timer_(io),
        signals_(io, SIGHUP, SIGINT, SIGTERM) {
    if (request_.dial_of) dns_.emplace(io);
  }

  Gathered run() {
    signals_.async_wait(life_.guard([this](const asio::error_code& error, int signo) {
      if (!error)
        end(contract::kExitSignalBase + signo, fmt::format("stopped by signal {}", signo));
    }));
    look();
    io_.restart();
    while (!done_) io_.run_one();
    signals_.cancel();
    timer_.cancel();
    return result_;
  }

 private:
  [[nodiscard]] std::vector<std::string> missing() const {
    std::vector<std::string> names;
    for (const std::string& place : request_.places)
      if (server_.node(place) == nullptr) names.push_back(place);
    return names;
  }

  void look() {
    const std::vector<std::string> names = missing();
    if (names.empty()) {
      done_ = true;
      return;
    }
    const Clock::time_point now = Clock::now();
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(now - started_);
    if (now - asked_ >= kAsk && request_.given_up) {
      asked_ = now;
      if (const auto reason = request_.given_up()) return end(contract::kExitUnreachable, *reason);
    }
    if (now - started_ >= request_.wait)
      return end(contract::kExitUnreachable, line_of(names, since));
    const auto ahead = std::min<Clock::duration>(kLookAhead, request_.wait / 2);
    const bool line_is_near = now - said_ + ahead >= kSayEvery;
    const bool end_is_near = now - started_ + ahead >= request_.wait;
    if (dns_ && ((line_is_near && looked_ <= said_) || (end_is_near && !looked_last_))) {
      looked_ = now;
      looked_last_ = end_is_near;
      look_up(names);
    }
    if (now - said_ >= kSayEvery) {
      said_ = now;
      const std::string line = line_of(names, since);
      request_.say(line);
      server_.tell(line);
    }
    timer_.expires_after(kLook);
    timer_.async_wait(life_.guard([this](const asio::error_code& error) {
      if (!error) look();
    }));
  }

  /// Starts lookups of missing places. Each result replaces the former one.
  void look_up(const std::vector<std::string>& names) {
    for (const std::string& place : names | std::views::take(kMostLookups))
      dns_->look_up(request_.dial_of(place), [this, place](const DnsResult& result) {
        stages_[place] = result.problem == DnsProblem::none ? "has a DNS record, but has not joined"
                                                            : result.text;
      });
  }

  std::string line_of(const std::vector<std::string>& names, std::chrono::seconds since) {
    const std::size_t all = request_.places.size() + request_.here;
    if (!dns_) return waiting_line(all, names, since, request_.stage_of);
    return waiting_line(all, names, since,
                        [this](const std::string& place) { return stages_[place]; });
  }

  void end(int code, std::string reason) {
    done_ = true;
    result_ = {code, std::move(reason)};
  }

  asio::io_context& io_;
  JoinServer& server_;
  const GatherRequest& request_;
  asio::steady_timer timer_;
  asio::signal_set signals_;
  std::optional<DnsLookup> dns_;
  std::map<std::string, std::string> stages_;  // state of a place in DNS; empty: not known yet
  Life life_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point said_ = started_;
  Clock::time_point asked_ = started_;
  Clock::time_point looked_ = started_;
  bool looked_last_ = false;
  bool done_ = false;
  Gathered result_;
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
  return Gathering(io, server, request).run();
}

}  // namespace ds::launcher
