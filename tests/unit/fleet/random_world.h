// A world of agents and ranks made from one seed: it answers a policy's orders, well or badly, and
// checks after each what must never happen.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// What a policy has asked for, whatever its own name for it.
struct Order {
  enum class Kind {
    open,
    spec,
    find_master,
    go,
    stop,
    kill,
    sweep,
    check,
    dismiss,
    close,
    suspend_self,
    flush,
    conclude,
    other
  };
  Kind kind = Kind::other;
  int agent = -1;  // of go, stop and kill: -1 is every agent with a Spec that has not cleared up
  int value = 0;   // of open: the host; of spec: the node; of stop: the grace in ms
};

/// The size and the temper of one world.
struct WorldSetup {
  int nodes = 1;
  int ranks_per_node = 1;
  int spares = 0;
  bool keeps_agents = false;  // they clear up and wait for another Spec
  bool elastic = false;       // the policy chooses the nodes of each epoch
  int least = 1;              // of an elastic job: nodes
  std::chrono::milliseconds node_timeout{8'000};
  int badness = 20;  // percent of agents that do not behave
  bool signals = false;
  bool stalls = false;
};

/// Traits: how a policy is spoken to. `State` with on(event, now) and wake_at(), finished();
///         orders_of(actions); ended(rank, status); is_ending(state), wake_at(state).
template <class Traits>
class RandomWorld {
 public:
  using State = typename Traits::State;
  using time_point = Clock::time_point;

  RandomWorld(State& state, const WorldSetup& setup, std::uint64_t seed)
      : state_(state),
        setup_(setup),
        random_(seed),
        holders_(setup.nodes, -1),
        hosts_(setup.nodes + setup.spares) {}

  /// Plays until the policy has concluded. Returns what went wrong; empty: nothing.
  std::string play() {
    feed(typename Traits::StartEvent{});
    if (setup_.signals) plan_signals();
    for (int count = setup_.elastic ? up_to(3) : 0; count > 0; --count)
      plan(between(0, 40'000), What::scale);
    while (problem_.empty() && !state_.finished()) step();
    if (problem_.empty() && concluded_ != 1) complain(fmt::format("{} conclusions", concluded_));
    return problem_;
  }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] const WorldSetup& setup() const { return setup_; }

 private:
  enum class Fate {
    well,
    unreachable,  // lost before it greets
    mute,         // never greets
    unready,      // greets, beats, and never gets ready or swept
    dies,         // lost at some time
    hangs,        // silent from some time on
    stubborn,     // its ranks end by KILL alone
    deaf,         // its ranks end, but it never says so, not even after KILL
    leaves        // says Bye at some time
  };
  enum class Stage { opening, sweeping, idle, preparing, ready, running, leaving, closed };
  struct Agent {
    int host = 0;
    Fate fate = Fate::well;
    Stage stage = Stage::opening;
    int node = -1;
    bool again = false;
    bool sick = false;    // it may be closed for good reason
    bool silent = false;  // hangs
    bool bye = false;     // its Bye was heard
    bool stopped = false;
    int turn = 0;            // news that it planned before a later turn is not sent
    std::vector<int> ranks;  // that run
  };
  enum class What {
    greet,
    ready,
    beat,
    clear,
    swept,
    bye,
    lost,
    hang,
    exit,
    check,
    start,
    master,
    written,
    signal,
    scale,
    stray
  };
  struct Planned {
    time_point at;
    std::uint64_t order;
    What what;
    int agent = -1;
    int turn = 0;
    int value = 0;
    friend bool operator>(const Planned& a, const Planned& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  // Chance.
  int up_to(int most) { return static_cast<int>(random_() % (static_cast<unsigned>(most) + 1)); }
  bool chance(int percent) { return up_to(99) < percent; }
  std::chrono::milliseconds between(int least, int most) {
    return std::chrono::milliseconds(least + up_to(most - least));
  }

  void complain(const std::string& what) {
    if (problem_.empty())
      problem_ = fmt::format("{} ({:.3f} s after the start)", what,
                             std::chrono::duration<double>(now_ - kStart).count());
  }

  // What comes later.
  void plan(std::chrono::milliseconds after, What what, int agent = -1, int value = 0) {
    const int turn = agent < 0 ? 0 : agents_[agent].turn;
    planned_.push({now_ + after, ++order_, what, agent, turn, value});
  }
  void plan_signals() {
    constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP};
    for (int count = up_to(4); count > 0; --count)
      plan(between(0, 40'000), What::signal, -1, kSignals[up_to(3)]);
  }

  void step() {
    if (++steps_ > 100'000 || now_ > kStart + std::chrono::hours(24))
      return complain("it goes on for ever");
    const time_point wake = Traits::wake_at(state_);
    const time_point next = planned_.empty() ? time_point::max() : planned_.top().at;
    if (wake == time_point::max() && next == time_point::max())
      return complain("nothing will ever happen");
    now_ = std::max(now_, std::min(wake, next));
    // The launcher's machine stands still, and then finds either first.
    if (setup_.stalls && chance(1) && up_to(9) == 0) now_ += between(2'500, 60'000);
    const bool tick = wake <= now_ && (next > now_ || chance(50));
    if (tick) return feed(typename Traits::TickEvent{});
    const Planned planned = planned_.top();
    planned_.pop();
    happen(planned);
  }

  void happen(const Planned& planned) {
    if (planned.agent < 0) return happen_to_all(planned);
    Agent& agent = agents_[planned.agent];
    if (agent.stage == Stage::closed || agent.silent || agent.bye) return;
    const int number = planned.agent;
    if (planned.what == What::beat) {
      feed(typename Traits::Heard{number});
      plan_beat(number);
      return;
    }
    if (planned.what == What::lost) {
      agent.sick = true;
      return feed(typename Traits::Lost{number, "gone", "running"});
    }
    if (planned.what == What::hang) {
      agent.sick = agent.silent = true;
      return;
    }
    if (planned.what == What::bye) {
      agent.bye = true;
      feed(typename Traits::Heard{number});
      return feed(typename Traits::Done{number});
    }
    if (planned.turn != agent.turn) return;
    feed(typename Traits::Heard{number});
    if (agent.stage == Stage::closed) return;
    switch (planned.what) {
      case What::greet:
        agent.stage = agent.again ? Stage::sweeping : Stage::idle;
        plan_beat(number);
        return feed(typename Traits::Greeted{number});
      case What::ready:
        agent.stage = Stage::ready;
        return feed(typename Traits::Ready{number, 4000});
      case What::swept:
        agent.stage = Stage::idle;
        return feed(typename Traits::Swept{number, 1});
      case What::check:
        if constexpr (requires(RandomWorld& world) { Traits::host_checked(world, 0, false); })
          Traits::host_checked(*this, number, planned.value != 0);
        return;
      case What::start:
        if constexpr (requires(RandomWorld& world) { Traits::rank_started(world, 0); })
          Traits::rank_started(*this, planned.value);
        return;
      case What::exit:
        return rank_ends(number, planned.value);
      case What::clear:
        return clear(number);
      default:
        return;
    }
  }

  void happen_to_all(const Planned& planned) {
    switch (planned.what) {
      case What::master:
        return Traits::found_master(*this);
      case What::written:
        return Traits::written(*this);
      case What::signal:
        ++signals_;
        return feed(typename Traits::Signal{planned.value});
      case What::scale:
        return scale();
      default:
        return;
    }
  }

 public:
  template <class Event>
  void feed(const Event& event) {
    if (!problem_.empty() || state_.finished()) return;
    ++events_;
    const std::vector<Order> orders = Traits::orders_of(state_.on(event, now_));
    for (const Order& order : orders) obey(order);
    if (chance(3)) stray();
  }

 private:
  /// News that do not fit, late or repeated; none of them may do harm.
  void stray() {
    if (agents_.empty() || straying_ || state_.finished()) return;
    straying_ = true;
    const int number = up_to(static_cast<int>(agents_.size()) - 1);
    const Agent& agent = agents_[number];
    const int what = up_to(5);
    if (what == 0 && agent.stage != Stage::opening) feed(typename Traits::Greeted{number});
    if (what == 1 && agent.stage != Stage::preparing) feed(typename Traits::Ready{number, 1});
    if (what == 2 && agent.stage == Stage::closed) feed(typename Traits::Done{number});
    if (what == 3 && agent.stage == Stage::closed) feed(typename Traits::Lost{number, "late", ""});
    if (what == 4 && agent.stage != Stage::sweeping) feed(typename Traits::Swept{number, 1});
    if (what == 5) feed(typename Traits::Held{});
    straying_ = false;
  }

  // The orders: random_orders.h.
  void obey(const Order& order);
  Agent* open_agent(int number, const char* order);
  static bool is_busy(const Agent& agent);
  void open(const Order& order);
  void plan_beat(int number);
  void take_spec(int number, int node);
  void seat(int number, int node);
  void scale();
  void obey_with_ranks(int number, const Order& order);
  void go(int number, Agent& agent);
  void rank_ends(int number, int value);
  void clear(int number);
  void sweep(int number);
  void leave(int number);
  void close(int number);

  static constexpr time_point kStart{std::chrono::hours(1)};

  State& state_;
  WorldSetup setup_;
  std::mt19937_64 random_;
  std::vector<Agent> agents_;
  std::vector<int> holders_;  // by node: its agent, or the last one that it had
  int hosts_;                 // that were ever in the job
  std::set<int> retired_;      // of them
  std::set<int> told_to_end_;  // of them, since their last agent was opened
  std::priority_queue<Planned, std::vector<Planned>, std::greater<>> planned_;
  std::uint64_t order_ = 0;
  time_point now_ = kStart;
  std::uint64_t events_ = 0;
  int steps_ = 0;
  int signals_ = 0;
  int fills_ = 0;   // agents that took another one's node
  int losses_ = 0;  // agents of nodes that were closed
  int flushes_ = 0;
  int concluded_ = 0;
  bool straying_ = false;
  std::string problem_;
};

/// The world of one seed, every size and temper being drawn from it.
inline WorldSetup draw_world(std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto up_to = [&](int most) { return static_cast<int>(random() % (most + 1U)); };
  constexpr int kTimeouts[] = {1'000, 2'000, 3'000, 8'000};
  WorldSetup setup;
  setup.nodes = 1 + up_to(5);
  setup.ranks_per_node = 1 + up_to(2);
  setup.spares = up_to(3);
  setup.node_timeout = std::chrono::milliseconds(kTimeouts[up_to(3)]);
  setup.badness = up_to(40);
  setup.signals = up_to(3) == 0;
  setup.stalls = up_to(3) == 0;
  return setup;
}

}  // namespace ds::launcher

#include "unit/fleet/random_orders.h"
