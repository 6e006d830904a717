// What the agents of a RandomWorld do when a policy orders something, and what no order may be.
// Part of random_world.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "unit/fleet/random_world.h"

namespace ds::launcher {

template <class Traits>
void RandomWorld<Traits>::obey(const Order& order) {
  using Kind = Order::Kind;
  if (concluded_ > 0) return complain("an order after the conclusion");
  switch (order.kind) {
    case Kind::open:
      return open(order);
    case Kind::spec:
      return take_spec(order.agent, order.value);
    case Kind::find_master:
      return plan(between(1, 500), What::master);
    case Kind::go:
    case Kind::stop:
    case Kind::kill:
      if (order.agent >= 0) return obey_with_ranks(order.agent, order);
      for (int agent = 0; agent < static_cast<int>(agents_.size()); ++agent)
        if (is_busy(agents_[agent])) obey_with_ranks(agent, order);
      return;
    case Kind::sweep:
      return sweep(order.agent);
    case Kind::check:
      if (open_agent(order.agent, "Check") != nullptr)
        plan(between(1, 3'000), What::check, order.agent, chance(20) ? 1 : 0);
      return;
    case Kind::dismiss:
      return leave(order.agent);
    case Kind::close:
      return close(order.agent);
    case Kind::suspend_self:
      now_ += between(0, 100'000);
      return feed(typename Traits::ContinuedEvent{});
    case Kind::flush:
      if (++flushes_ > 1) complain("two flushes");
      return plan(between(0, 300), What::written);
    case Kind::conclude:
      ++concluded_;
      for (const Agent& agent : agents_)
        if (agent.stage != Stage::closed) complain("concluded before an agent was gone");
      return;
    case Kind::other:
      return;
  }
}

template <class Traits>
typename RandomWorld<Traits>::Agent* RandomWorld<Traits>::open_agent(int number,
                                                                     const char* order) {
  if (number < 0 || number >= static_cast<int>(agents_.size()) ||
      agents_[number].stage == Stage::closed) {
    complain(fmt::format("{} for agent {}, which is gone", order, number));
    return nullptr;
  }
  return &agents_[number];
}

template <class Traits>
bool RandomWorld<Traits>::is_busy(const Agent& agent) {
  return agent.stage == Stage::preparing || agent.stage == Stage::ready ||
         agent.stage == Stage::running;
}

template <class Traits>
void RandomWorld<Traits>::open(const Order& order) {
  if (order.agent != static_cast<int>(agents_.size()))
    return complain("an agent was opened out of turn");
  Agent agent;
  agent.host = order.value;
  told_to_end_.erase(agent.host);
  agent.again =
      std::ranges::any_of(agents_, [&](const Agent& known) { return known.host == order.value; });
  if (chance(setup_.badness)) agent.fate = static_cast<Fate>(1 + up_to(7));
  agent.sick = agent.fate != Fate::well && agent.fate != Fate::dies && agent.fate != Fate::hangs &&
               agent.fate != Fate::leaves;
  if (order.agent < setup_.nodes && !setup_.elastic) {
    agent.node = order.agent;
    holders_[agent.node] = order.agent;
  }
  agents_.push_back(agent);
  if (agent.fate == Fate::mute) return;
  if (agent.fate == Fate::unreachable) return plan(between(1, 8'000), What::lost, order.agent);
  plan(between(1, 2'500), What::greet, order.agent);
  const What end = agent.fate == Fate::dies     ? What::lost
                   : agent.fate == Fate::hangs  ? What::hang
                   : agent.fate == Fate::leaves ? What::bye
                                                : What::beat;
  if (end != What::beat) plan(between(0, 40'000), end, order.agent);
}

template <class Traits>
void RandomWorld<Traits>::plan_beat(int number) {
  // Without a Spec an agent knows no node timeout.
  std::chrono::milliseconds period{2'000};
  if (is_busy(agents_[number])) period = std::min(period, setup_.node_timeout / 4);
  plan(period - between(0, 5), What::beat, number);
}

template <class Traits>
void RandomWorld<Traits>::take_spec(int number, int node) {
  Agent* agent = open_agent(number, "Spec");
  if (agent == nullptr) return;
  if (agent->stage != Stage::idle && !agent->silent && !agent->bye)
    return complain(fmt::format("Spec for agent {}, which does not wait for one", number));
  if (setup_.elastic) seat(number, node);
  if (!problem_.empty()) return;
  if (holders_[node] != number) {
    if (agents_[holders_[node]].stage != Stage::closed)
      return complain(fmt::format("node {} is given away while its agent is there", node));
    if (++fills_ > losses_) return complain("more agents stood in than were lost");
    holders_[node] = number;
  }
  agent->node = node;
  agent->stage = Stage::preparing;
  agent->stopped = false;
  ++agent->turn;
  plan_beat(number);
  if (agent->fate != Fate::unready) plan(between(1, 300), What::ready, number);
}

/// Someone adds a host, removes one, ends the node of one, or wants another number of nodes.
template <class Traits>
void RandomWorld<Traits>::scale() {
  if constexpr (requires(RandomWorld& world) { Traits::host_added(world); }) {
    const int what = up_to(3);
    const int host = up_to(hosts_ - 1);
    if (what == 0) {
      ++hosts_;
      return Traits::host_added(*this);
    }
    if (what == 1) return Traits::size_wanted(*this, setup_.least + up_to(setup_.nodes - setup_.least));
    if (what == 2) {
      told_to_end_.insert(host);
      return Traits::host_ends(*this, host);
    }
    const bool too_few = hosts_ - static_cast<int>(retired_.size()) <= setup_.least;
    if (too_few || !retired_.insert(host).second) return;
    Traits::host_retired(*this, host);
  }
}

/// Gives an agent its node in a job whose nodes are chosen for each epoch, in their order.
template <class Traits>
void RandomWorld<Traits>::seat(int number, int node) {
  if (node == 0) {
    for (const Agent& other : agents_)
      if (is_busy(other)) return complain("an epoch begins while an agent has a Spec");
    holders_.clear();
  }
  if (node != static_cast<int>(holders_.size())) return complain("nodes are not in order");
  // It may take part once more with the states that its agent holds.
  if (retired_.contains(agents_[number].host) && agents_[number].node < 0)
    return complain("a host that has left joins");
  for (const int other : holders_)
    if (agents_[other].host == agents_[number].host) return complain("a host has two nodes");
  holders_.push_back(number);
}

template <class Traits>
void RandomWorld<Traits>::obey_with_ranks(int number, const Order& order) {
  Agent* agent = open_agent(number, "an order to ranks");
  if (agent == nullptr) return;
  if (order.kind == Order::Kind::go) return go(number, *agent);
  if (order.kind == Order::Kind::stop) {
    if (std::exchange(agent->stopped, true)) return complain("TERM twice");
    if (agent->fate == Fate::stubborn || agent->fate == Fate::deaf) return;
    if (agent->stage != Stage::running) {  // its ranks have not begun
      ++agent->turn;
      if (agent->fate != Fate::unready) plan(between(1, 300), What::clear, number);
      return;
    }
    for (const int rank : agent->ranks)
      plan(between(1, order.value + 500), What::exit, number, rank * 1000 + 143);
    return;
  }
  if (agent->fate == Fate::deaf) return;
  if (agent->stage != Stage::running) {
    agent->sick = true;  // it ends
    return plan(between(1, 300), What::bye, number);
  }
  for (const int rank : agent->ranks) plan(between(1, 200), What::exit, number, rank * 1000 + 137);
}

template <class Traits>
void RandomWorld<Traits>::go(int number, Agent& agent) {
  for (const int holder : holders_)
    if (Traits::kAllAtOnce && agents_[holder].stage < Stage::ready)
      return complain("Go before every node is ready");
  agent.stage = Stage::running;
  ++agent.turn;
  agent.ranks.clear();
  for (int i = 0; i < setup_.ranks_per_node; ++i) {
    const int rank = agent.node * setup_.ranks_per_node + i;
    agent.ranks.push_back(rank);
    const int paused = setup_.elastic && chance(20) ? 94 : 0;
    const int code = chance(85) ? paused : chance(10) ? 93 : 1 + up_to(8);
    plan(between(1, 20), What::start, number, rank);
    plan(between(25, 20'000), What::exit, number, rank * 1000 + code);
  }
}

template <class Traits>
void RandomWorld<Traits>::rank_ends(int number, int value) {
  Agent& agent = agents_[number];
  const auto rank = std::ranges::find(agent.ranks, value / 1000);
  if (rank == agent.ranks.end()) return;
  const bool last = agent.ranks.size() == 1;
  agent.ranks.erase(rank);
  feed(Traits::ended(value / 1000, value % 1000));
  if (!last || agents_[number].fate == Fate::deaf) return;
  if (agents_[number].stage != Stage::closed) plan(between(1, 300), What::clear, number);
}

template <class Traits>
void RandomWorld<Traits>::clear(int number) {
  Agent& agent = agents_[number];
  if (!setup_.keeps_agents) {
    agent.bye = true;
    return feed(typename Traits::Done{number});
  }
  agent.stage = Stage::idle;
  ++agent.turn;
  feed(typename Traits::Cleared{number});
}

template <class Traits>
void RandomWorld<Traits>::sweep(int number) {
  Agent* agent = open_agent(number, "Sweep");
  if (agent != nullptr && agent->fate != Fate::unready) plan(between(1, 300), What::swept, number);
}

template <class Traits>
void RandomWorld<Traits>::leave(int number) {
  Agent* agent = open_agent(number, "dismissal");
  if (agent == nullptr) return;
  agent->stage = Stage::leaving;
  ++agent->turn;
  plan(between(1, 300), What::bye, number);
}

template <class Traits>
void RandomWorld<Traits>::close(int number) {
  Agent* agent = open_agent(number, "closing");
  if (agent == nullptr) return;
  const bool in_a_hurry = signals_ >= 2 || (signals_ >= 1 && agent->again);
  const bool later = setup_.elastic && agent->again;  // a lost host that does not answer yet
  const bool ending = Traits::is_ending(state_);
  const bool unheard = (agent->stage == Stage::opening || later) && ending;
  const bool retired = retired_.contains(agent->host) || told_to_end_.contains(agent->host);
  if (!agent->sick && !agent->bye && !in_a_hurry && !unheard && (!retired || is_busy(*agent)))
    complain(fmt::format("agent {}, which is well, is closed", number));
  const bool seated = agent->node >= 0 && agent->node < static_cast<int>(holders_.size());
  if (seated && holders_[agent->node] == number) ++losses_;
  agent->stage = Stage::closed;
  ++agent->turn;
}

}  // namespace ds::launcher
