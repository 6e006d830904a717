// Random events for `dslaunch exec`: no order of them hangs it, closes a node that is well, or
// leaves one behind.
#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "launcher/exec/fanout.h"
#include "unit/fleet/order_of.h"
#include "unit/fleet/random_runs.h"
#include "unit/fleet/random_world.h"

namespace {

using namespace ds::launcher;
using exec::Fanout;

template <class Action>
Order to_order(const Action& action) {
  if constexpr (std::is_same_v<Action, exec::StartCommand>)
    return {Order::Kind::go, action.node};
  else if constexpr (std::is_same_v<Action, exec::Leave>)
    return {Order::Kind::conclude};
  else
    return order_of(action);
}

struct ExecTraits {
  static constexpr bool kAllAtOnce = false;
  using State = Fanout;
  using StartEvent = Start;
  using TickEvent = Tick;
  using Heard = AgentHeard;
  using Greeted = AgentGreeted;
  using Ready = AgentReady;
  using Done = AgentDone;
  using Lost = AgentLost;
  using Held = OutputHeld;
  using Signal = SignalReceived;
  using ContinuedEvent = Continued;
  // Never asked for here.
  using Cleared = AgentHeard;
  struct Swept : AgentHeard {
    Swept(int swept, std::uint32_t) : AgentHeard{swept} {}
  };

  static std::vector<Order> orders_of(const std::vector<exec::Action>& actions) {
    std::vector<Order> orders;
    for (const exec::Action& action : actions)
      orders.push_back(std::visit([](const auto& known) { return to_order(known); }, action));
    return orders;
  }
  static exec::CommandEnded ended(int node, int code) {
    return {node, {ds::ExitStatus::exited(code), {}, {}}};
  }
  template <class World>
  static void found_master(World&) {}
  template <class World>
  static void written(World&) {}
  static ds::Clock::time_point wake_at(const Fanout& fanout) { return fanout.wake_at(); }
  static bool is_ending(const Fanout& fanout) { return fanout.stopping() || fanout.finished(); }
};

std::string play_exec(std::uint64_t seed, std::uint64_t& events) {
  WorldSetup setup = draw_world(seed);
  std::mt19937_64 random(seed);
  setup.nodes = 1 + static_cast<int>(random() % 12);
  setup.ranks_per_node = 1;
  setup.spares = 0;
  exec::ExecPolicy policy;
  policy.fanout = static_cast<int>(random() % 6);
  policy.node_timeout = setup.node_timeout;
  policy.start_timeout = std::chrono::milliseconds(6'000 + random() % 30'000);
  policy.grace = std::chrono::milliseconds(500 + random() % 10'000);
  if (random() % 2 == 0) policy.command_timeout = std::chrono::milliseconds(1 + random() % 20'000);
  policy.stop_at_failure = random() % 4 == 0;
  policy.interrupt_asks = random() % 2 == 0;
  std::vector<std::string> names;
  for (int i = 0; i < setup.nodes; ++i) names.push_back("n" + std::to_string(i));
  Fanout fanout(names, policy);
  RandomWorld<ExecTraits> world(fanout, setup, seed);
  std::string problem = world.play();
  events += world.events();
  for (const exec::NodeResult& result : fanout.results())
    if (problem.empty() && result.kind == exec::NodeResult::Kind::none)
      problem = "a node has no result";
  return problem;
}

}  // namespace

TEST_CASE("random exec") { check_random_worlds("random exec", 500'000, play_exec); }
