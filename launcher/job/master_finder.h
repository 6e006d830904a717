// Makes agents try the addresses of node 0, and chooses MASTER_ADDR among them.
#pragma once

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/fleet/wake_timer.h"
#include "launcher/job/job_events.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/master_search.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Threads: the io_context's.
class MasterFinder {
 public:
  struct Events {
    std::function<void(int agent, const Probe&)> send;
    std::function<void()> on_found;
    std::function<void(MasterMissing)> on_missing;
  };
  /// Input of one search.
  struct Question {
    std::vector<NodeView> nodes;
    std::vector<int> agents;  // by node
    std::vector<NodeAddress> candidates;
    std::uint16_t port = 0;
  };

  MasterFinder(asio::io_context& io, Events events) : timer_(io), events_(std::move(events)) {}

  /// Adds new secrets to the Spec of node 0, which answers probes with them.
  void open_door(Spec& spec) {
    spec.door_question = question_ = random_secret();
    spec.door_answer = answer_ = random_secret();
  }
  /// Starts a search; drops an earlier one. Ends with on_found or on_missing, perhaps before it
  /// returns. Before on_found, node 0's agent has closed its listening socket, which an early rank
  /// could take for rank 0, and no agent dials any more, which rank 0 could take for a rank.
  void begin(const Question& question) {
    ++number_;
    first_agent_ = question.agents.front();
    probers_.clear();
    ending_.clear();
    nodes_ = question.nodes;
    probing_ = probing_nodes(nodes_);
    std::vector<std::string> names;
    for (const int node : probing_) {
      probers_.push_back(question.agents[static_cast<std::size_t>(node)]);
      names.push_back(nodes_[static_cast<std::size_t>(node)].host);
    }
    Probe probe{.search = number_, .port = question.port, .question = question_, .answer = answer_};
    for (const NodeAddress& place : question.candidates) probe.addresses.push_back(place.address);
    search_.emplace(question.candidates, std::move(names), Clock::now());
    for (const int agent : probers_) events_.send(agent, probe);
    look();
  }
  /// Skips the search: on_found follows, without an address.
  void skip(int first_agent) {
    address_.clear();
    again(first_agent);
  }
  /// Uses the address found last: on_found follows.
  void again(int first_agent) {
    timer_.cancel();
    search_.reset();
    ++number_;
    first_agent_ = first_agent;
    end_tries({first_agent});
  }
  void take(int agent, const Probed& reached) {
    if (!search_ && reached.search == number_ && reached.results.empty()) {
      if (std::erase(ending_, agent) > 0 && ending_.empty()) events_.on_found();
      return;
    }
    const auto prober = std::find(probers_.begin(), probers_.end(), agent);
    if (!search_ || reached.search != number_ || prober == probers_.end()) return;
    for (const Probed::Result& result : reached.results)
      search_->take(static_cast<std::size_t>(prober - probers_.begin()), result, Clock::now());
    look();
  }
  /// Returns the address found last; empty: none yet.
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  void look() {
    const MasterSearch::State state = search_->look(Clock::now());
    if (state == MasterSearch::State::searching) {
      timer_.expires_at(search_->wake_at());
      timer_.async_wait(life_.guard([this](const asio::error_code& error) {
        if (!error && search_) look();
      }));
      return;
    }
    timer_.cancel();
    const MasterSearch ended = *search_;
    search_.reset();
    if (state == MasterSearch::State::missing)
      return events_.on_missing({.text = ended.table(nodes_.front().host),
                                 .cut_off = nodes_beside(nodes_, probing_, ended.cut_off())});
    address_ = ended.address();
    std::vector<int> agents{first_agent_};
    for (const std::size_t prober : ended.unfinished()) agents.push_back(probers_[prober]);
    end_tries(agents);
  }
  /// Sends an empty Probe; each agent answers with an empty Probed.
  void end_tries(const std::vector<int>& agents) {
    ending_ = agents;
    for (const int agent : agents) events_.send(agent, Probe{.search = number_});
  }

  asio::steady_timer timer_;
  Life life_;
  Events events_;
  std::string question_, answer_;
  std::uint32_t number_ = 0;
  std::vector<NodeView> nodes_;
  std::vector<int> probing_;  // nodes
  int first_agent_ = -1;      // of node 0
  std::vector<int> probers_;  // agents
  std::vector<int> ending_;   // agents that have not reported yet that they have ended
  std::optional<MasterSearch> search_;
  std::string address_;
};

}  // namespace ds::launcher
