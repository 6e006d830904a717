// Drives MasterSearch by frames and a timer.
#include "launcher/job/master_finder.h"

#include <algorithm>

#include "launcher/job/job_facts.h"

namespace ds::launcher {

void MasterFinder::open_door(Spec& spec) {
  question_ = random_secret();
  answer_ = random_secret();
  spec.door_question = question_;
  spec.door_answer = answer_;
}

void MasterFinder::begin(const Question& question) {
  ++number_;
  first_agent_ = question.agents.front();
  master_ = question.nodes.front().host;
  probers_.clear();
  ending_.clear();
  std::vector<std::string> names;
  for (const int node : probing_nodes(question.nodes)) {
    probers_.push_back(question.agents[static_cast<std::size_t>(node)]);
    names.push_back(question.nodes[static_cast<std::size_t>(node)].host);
  }
  Probe probe;
  probe.search = number_;
  probe.port = question.port;
  probe.question = question_;
  probe.answer = answer_;
  for (const NodeAddress& place : question.candidates) probe.addresses.push_back(place.address);
  search_.emplace(question.candidates, std::move(names), Clock::now());
  for (const int agent : probers_) events_.send(agent, probe);
  look();
}

void MasterFinder::take(int agent, const Probed& reached) {
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

void MasterFinder::look() {
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
  if (state == MasterSearch::State::missing) return events_.on_missing(ended.table(master_));
  address_ = ended.address();
  std::vector<int> agents{first_agent_};
  for (const std::size_t prober : ended.unfinished()) agents.push_back(probers_[prober]);
  end_tries(agents);
}

void MasterFinder::skip(int first_agent) {
  address_.clear();
  again(first_agent);
}

void MasterFinder::again(int first_agent) {
  timer_.cancel();
  search_.reset();
  ++number_;
  first_agent_ = first_agent;
  end_tries({first_agent});
}

/// Sends an empty Probe; each agent answers with an empty Probed.
void MasterFinder::end_tries(const std::vector<int>& agents) {
  ending_ = agents;
  Probe nothing;
  nothing.search = number_;
  for (const int agent : agents) events_.send(agent, nothing);
}

}  // namespace ds::launcher
