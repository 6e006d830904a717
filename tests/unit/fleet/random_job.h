// Random jobs: how a RandomWorld speaks to JobState.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "launcher/job/job_state.h"
#include "support/place_ranks.h"
#include "unit/fleet/order_of.h"
#include "unit/fleet/random_world.h"

namespace ds::launcher {

struct JobTraits {
  static constexpr bool kAllAtOnce = true;
  using State = JobState;
  using StartEvent = Start;
  using TickEvent = Tick;
  using Heard = AgentHeard;
  using Greeted = AgentGreeted;
  using Ready = AgentReady;
  using Cleared = AgentCleared;
  using Swept = AgentSwept;
  using Done = AgentDone;
  using Lost = AgentLost;
  using Held = OutputHeld;
  using Signal = SignalReceived;
  using ContinuedEvent = Continued;

  static std::vector<Order> orders_of(const std::vector<Action>& actions) {
    std::vector<Order> orders;
    for (const Action& action : actions)
      orders.push_back(std::visit([](const auto& known) { return order_of(known); }, action));
    return orders;
  }
  static RankExited ended(int rank, int code) {
    const bool by_signal = code > 128;
    return {
        rank,
        {by_signal ? ExitStatus::signaled(code - 128, false) : ExitStatus::exited(code), {}, {}},
        {}};
  }
  template <class World>
  static void found_master(World& world) {
    world.feed(MasterFound{});
  }
  template <class World>
  static void written(World& world) {
    world.feed(OutputWritten{});
  }
  template <class World>
  static void host_added(World& world) {
    world.feed(HostAdded{{.name = "more", .slots = world.setup().ranks_per_node}});
  }
  template <class World>
  static void host_retired(World& world, int host) {
    world.feed(HostRetired{host});
  }
  template <class World>
  static void host_ends(World& world, int host) {
    world.feed(HostsEnd{{host}});
  }
  template <class World>
  static void size_wanted(World& world, int nodes) {
    world.feed(SizeWanted{nodes});
  }
  template <class World>
  static void host_checked(World& world, int agent, bool bad) {
    world.feed(HostChecked{agent, bad ? "no program" : ""});
  }
  template <class World>
  static void rank_started(World& world, int rank) {
    world.feed(RankStarted{rank, 100});
    constexpr Clock::time_point kAt{std::chrono::hours(1)};
    if (rank == 0) world.feed(PhaseReached{"first_step", kAt});
    if (rank == 1) world.feed(PhaseReached{"kept", kAt});
  }
  static Clock::time_point wake_at(const JobState& state) {
    return state.only_writes() ? Clock::time_point::max() : state.wake_at();
  }
  static bool is_ending(const JobState& state) {
    return state.phase_name() == "stopping" || state.only_writes() || state.finished();
  }
};

/// Plays the job of a seed. Returns what went wrong, and adds to `events`. `elastic`: the number of
/// its nodes may change.
inline std::string play_job(std::uint64_t seed, std::uint64_t& events, bool elastic = false) {
  WorldSetup setup = draw_world(seed);
  std::mt19937_64 random(seed);
  JobPolicy policy;
  policy.grace = std::chrono::milliseconds(500 + random() % 10'000);
  policy.node_timeout = setup.node_timeout;
  policy.start_timeout = std::chrono::milliseconds(6'000 + random() % 30'000);
  policy.max_restarts = static_cast<int>(random() % 5);
  policy.find_master = random() % 4 == 0;
  if (random() % 8 == 0) policy.timeout = std::chrono::milliseconds(random() % 60'000 + 1);
  setup.elastic = elastic;
  if (elastic) {
    const int least = 1 + static_cast<int>(random() % static_cast<unsigned>(setup.nodes));
    setup.least = least;
    policy.trains = random() % 2 == 0;
    policy.elastic = ElasticPolicy{
        .nodes = {least, setup.nodes},
        .placing = {},
        .on_loss = static_cast<OnLoss>(random() % 2),
        .admit = static_cast<Admit>(random() % 3),
        .max_wait = std::chrono::milliseconds(1'000 + random() % 30'000)};
  }
  setup.keeps_agents = policy.keeps_agents();
  const auto hosts = [&](int count, char name) {
    std::vector<Host> named;
    for (int i = 0; i < count; ++i)
      named.push_back({.name = name + std::to_string(i),
                       .user = {},
                       .port = 0,
                       .slots = setup.ranks_per_node,
                       .place = {}});
    return named;
  };
  JobState state(place_ranks(hosts(setup.nodes, 'n'), std::nullopt, 0), policy,
                 hosts(setup.spares, 's'));
  RandomWorld<JobTraits> world(state, setup, seed);
  std::string problem = world.play();
  events += world.events();
  return problem;
}

}  // namespace ds::launcher
