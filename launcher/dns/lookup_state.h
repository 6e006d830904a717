// One look at one name: whom to ask what, when to ask again, and what follows from the answers.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/dns/dns_packet.h"
#include "launcher/dns/dns_problem.h"

namespace ds::launcher {

struct LookupPlan {
  std::vector<std::string> candidates{};    // at least one (candidate_names.h)
  std::vector<std::string> servers{};       // at least one, as people read them
  std::chrono::milliseconds timeout{1000};  // of the first try; each further one doubles it
  int tries = 2;
  bool tcp_only = false;
  std::chrono::milliseconds limit{5000};  // of all
};

struct LookupQuery {
  int number = 0;  // rising from 0; its answer names it
  DnsQuestion question{};
  std::size_t server = 0;
  bool tcp = false;
};

struct LookupEnd {
  std::vector<std::vector<std::uint8_t>> addresses{};  // 4 bytes each, then 16
  DnsProblem problem = DnsProblem::none;
  std::string text{};
  std::optional<std::chrono::seconds> negative_ttl{};
};

/// Asks every server for A and AAAA of the first candidate; without an address there, for the next
/// one. The first answers count: who has not answered 0.25 s later is not waited for. A
/// truncated answer is asked for again over TCP. A candidate that no server answers ends the look,
/// as it would be the same with the others.
class LookupState {
 public:
  LookupState(LookupPlan plan, Clock::time_point now);
  /// What is to be sent now, each once.
  std::vector<LookupQuery> take_queries();
  /// `reply` has the id and the question of this query.
  void on_reply(int number, const DnsReply& reply, Clock::time_point now);
  /// The query could not be sent, or its server refused it.
  void on_trouble(int number, const std::string& why, Clock::time_point now);
  void on_time(Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] const std::optional<LookupEnd>& end() const { return end_; }
  [[nodiscard]] int queries() const { return static_cast<int>(sent_.size()); }

 private:
  /// What one server has said about one type of the candidate.
  struct Cell {
    enum class Said { nothing, addresses, none, failed, refused };
    Said said = Said::nothing;
    bool no_name = false;  // NXDOMAIN: true of both types
    bool by_tcp = false;
    std::string trouble{};
    std::vector<std::vector<std::uint8_t>> addresses{};
    std::optional<std::uint32_t> negative_ttl{};
    std::string alias{};
    std::vector<std::vector<std::uint8_t>> cut{};  // of the truncated answer
  };
  struct Sent {
    std::size_t candidate = 0;
    std::size_t cell = 0;
    bool tcp = false;
  };
  struct Problem {
    DnsProblem kind = DnsProblem::none;
    std::string text{};
    std::optional<std::uint32_t> negative_ttl{};
  };

  void begin_candidate(Clock::time_point now);
  void begin_try(Clock::time_point now);
  void send(std::size_t cell, bool tcp);
  Cell* open_cell(int number);
  void settle(Clock::time_point now);
  void conclude(Clock::time_point now);
  [[nodiscard]] bool decided() const;
  [[nodiscard]] bool all_said() const;
  [[nodiscard]] std::vector<std::vector<std::uint8_t>> found() const;
  [[nodiscard]] Problem problem() const;
  [[nodiscard]] const std::string& server_of(std::size_t cell) const;
  void fail();

  LookupPlan plan_;
  std::vector<Cell> cells_;  // two a server: A, then AAAA
  std::vector<Sent> sent_;
  std::vector<LookupQuery> queue_;
  std::vector<Problem> problems_;  // one a candidate
  std::optional<LookupEnd> end_;
  std::size_t candidate_ = 0;
  int try_ = 0;
  Clock::time_point limit_;
  Clock::time_point candidate_began_;
  Clock::time_point try_ends_;
  std::optional<Clock::time_point> hurry_;
};

}  // namespace ds::launcher
