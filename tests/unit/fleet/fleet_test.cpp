// The life of agents: events and a clock go in, news and actions come out.
#include "launcher/fleet/fleet.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace ds::launcher;
using namespace std::chrono_literals;
using What = Fleet::News::What;
using Stage = Fleet::Stage;

const ds::Clock::time_point kT0{1h};

/// A fleet that is spoken to at times since its start.
struct Played {
  explicit Played(int agents, FleetPolicy policy = {}) : fleet(policy) {
    at(0ms);
    fleet.begin();
    for (int i = 0; i < agents; ++i) fleet.dial(fleet.add(i));
    fleet.take_actions();
  }
  Fleet& at(std::chrono::milliseconds since) {
    fleet.set_now(kT0 + since);
    return fleet;
  }
  /// All have greeted, got their Spec, and run.
  void run() {
    for (int i = 0; i < fleet.size(); ++i) {
      fleet.on(AgentGreeted{i});
      fleet.give_spec(i, i);
      fleet.on(AgentReady{i, 0});
      fleet.start(i);
    }
    fleet.take_news();
    fleet.take_actions();
  }
  /// Ticks at each time that the fleet wants, until one makes news.
  std::vector<Fleet::News> next_news(std::chrono::milliseconds until = 1h) {
    while (fleet.wake_at() <= kT0 + until) {
      fleet.set_now(fleet.wake_at());
      now = std::chrono::duration_cast<std::chrono::milliseconds>(fleet.wake_at() - kT0);
      fleet.on(Tick{});
      if (auto news = fleet.take_news(); !news.empty()) return news;
    }
    return {};
  }
  template <class T>
  int count() {
    int found = 0;
    for (const FleetAction& action : fleet.take_actions())
      found += std::holds_alternative<T>(action) ? 1 : 0;
    return found;
  }

  Fleet fleet;
  std::chrono::milliseconds now{};
};

}  // namespace

TEST_CASE("an agent from its dialling to its end") {
  Played played(1);
  Fleet& fleet = played.fleet;
  CHECK(fleet.stage(0) == Stage::opening);
  fleet.on(AgentGreeted{0});
  CHECK(fleet.take_news().front().what == What::greeted);
  fleet.give_spec(0, 3);
  CHECK(std::get<SendSpec>(fleet.take_actions().back()).node == 3);
  fleet.on(AgentReady{0, 4711});
  CHECK(fleet.take_news().front().port == 4711);
  fleet.start(0);
  CHECK(fleet.is_busy(0));
  fleet.on(AgentCleared{0});
  CHECK(fleet.take_news().front().what == What::cleared);
  fleet.dismiss(0);
  fleet.on(AgentDone{0});
  CHECK(fleet.take_news().front().was == Stage::leaving);
  CHECK(fleet.stage(0) == Stage::gone);
  CHECK(fleet.left() == 0);
  CHECK(played.count<CloseAgent>() == 1);
}

TEST_CASE("events that do not fit make no news") {
  Played played(2);
  Fleet& fleet = played.fleet;
  fleet.on(AgentReady{0, 1});
  fleet.on(AgentCleared{0});
  fleet.on(AgentSwept{0, 1});
  CHECK(fleet.take_news().empty());
  fleet.on(AgentLost{1, "gone", ""});
  CHECK(fleet.take_news().size() == 1);
  fleet.on(AgentLost{1, "gone", ""});
  fleet.on(AgentDone{1});
  fleet.on(AgentGreeted{1});
  CHECK(fleet.take_news().empty());
}

TEST_CASE(
    "a silent agent is lost after the node timeout, one that has no Spec after 5 s at least") {
  Played played(3, {.node_timeout = 2s});
  played.run();
  Fleet& fleet = played.fleet;
  fleet.on(AgentCleared{1});
  fleet.take_news();
  const auto first = played.next_news();
  REQUIRE(first.size() == 2);
  CHECK(played.now == 2s);
  CHECK((first[0].what == What::silent && first[1].what == What::silent));
  CHECK(first[0].span == 2s);
  const auto second = played.next_news();
  CHECK(second.at(0).agent == 1);
  CHECK(played.now == 5s);
}

TEST_CASE("a Spec begins a new silence: the agent was allowed a longer one") {
  Played played(1, {.node_timeout = 1s});
  Fleet& fleet = played.fleet;
  fleet.on(AgentGreeted{0});
  fleet.take_news();
  played.at(1900ms).give_spec(0, 0);
  CHECK(played.next_news().at(0).what == What::silent);
  CHECK(played.now == 2900ms);
}

TEST_CASE("what is heard keeps an agent, without a Tick for each of them") {
  constexpr int kAgents = 1000;
  Played played(kAgents, {.node_timeout = 8s});
  played.run();
  int ticks = 0;
  for (auto at = 0ms; at < 60s; ++ticks) {
    const auto wake =
        std::chrono::duration_cast<std::chrono::milliseconds>(played.fleet.wake_at() - kT0);
    for (int agent = 0; agent < kAgents; ++agent)
      played.at(at + 1ms * (agent % 500)).on(AgentHeard{agent});
    at = wake;
    played.at(at).on(Tick{});
  }
  CHECK(played.fleet.take_news().empty());
  CHECK(ticks <= 61);
}

TEST_CASE("a launcher that stood still blames no agent") {
  Played played(2, {.node_timeout = 3s});
  played.run();
  played.at(60s).on(Tick{});
  CHECK(played.fleet.take_news().empty());
}

TEST_CASE("when nobody gets further for the start timeout, those that are not ready are bad") {
  Played played(3, {.node_timeout = 0ms, .start_timeout = 10s});
  Fleet& fleet = played.fleet;
  played.at(5s).on(AgentGreeted{0});
  fleet.give_spec(0, 0);
  played.at(6s).on(AgentGreeted{1});
  fleet.give_spec(1, 1);
  played.at(7s).on(AgentReady{1, 0});
  fleet.take_news();
  const auto news = played.next_news();
  REQUIRE(news.size() == 2);
  CHECK(played.now == 17s);
  CHECK((news[0].agent == 0 && news[0].what == What::not_ready));
  CHECK((news[1].agent == 2 && news[1].what == What::no_greeting));
  // Whoever gets its Spec now has its own time.
  const int late = fleet.add(3);
  fleet.dial(late);
  CHECK(played.next_news().at(0).agent == late);
  CHECK(played.now == 27s);
}

TEST_CASE("an agent that is stopped gets KILL after the grace, and is given up 5 s later") {
  Played played(2, {.node_timeout = 0ms});
  played.run();
  played.fleet.stop(0, 4s);
  const auto news = played.next_news();
  REQUIRE(news.size() == 1);
  CHECK((news[0].agent == 0 && news[0].what == What::unanswered));
  CHECK(played.now == 11s);
  CHECK(played.count<KillAgent>() == 1);
  CHECK(played.fleet.stage(1) == Stage::running);
}

TEST_CASE("output that is held back holds back KILL, not silence") {
  Played played(1, {.node_timeout = 3s});
  played.run();
  played.fleet.stop(0, 1s);
  for (auto at = 500ms; at < 20s; at += 500ms) {
    played.at(at).on(OutputHeld{});
    played.fleet.on(AgentHeard{0});
    played.fleet.on(Tick{});
  }
  CHECK(played.count<KillAgent>() == 0);
  CHECK(played.next_news().at(0).what == What::silent);
}

TEST_CASE("an agent that was told to end and does not is closed") {
  Played played(1);
  played.fleet.on(AgentGreeted{0});
  played.fleet.dismiss(0);
  played.fleet.take_news();
  CHECK(played.next_news().at(0).what == What::left);
  CHECK(played.now == 2s);
}

TEST_CASE("a host that is dialled again is swept, in bounded time") {
  Played played(0);
  Fleet& fleet = played.fleet;
  const int agent = fleet.add(0, true);
  fleet.dial(agent);
  fleet.sweep_within(agent, 30s);
  fleet.sweep_within(agent, 5s);
  fleet.sweep_within(agent, 9s);
  fleet.on(AgentGreeted{agent});
  CHECK(played.count<SendSweep>() == 1);
  fleet.take_news();
  for (auto at = 1s; at < 5s; at += 1s) played.at(at).on(AgentHeard{agent});
  CHECK(played.next_news().at(0).what == What::not_swept);
  CHECK(played.now == 5s);
}

TEST_CASE("a time limit is told of once, and the agent goes on") {
  Played played(1, {.node_timeout = 0ms});
  played.run();
  played.fleet.limit_time(0, 20s);
  CHECK(played.next_news().at(0).what == What::time_up);
  CHECK(played.now == 20s);
  CHECK(played.fleet.stage(0) == Stage::running);
  CHECK(played.next_news(60s).empty());
}

TEST_CASE("suspension stops all clocks") {
  Played played(1, {.node_timeout = 3s});
  played.run();
  played.fleet.stop(0, 1s);
  played.at(500ms).suspend();
  CHECK(played.fleet.wake_at() == ds::Clock::time_point::max());
  CHECK_FALSE(played.fleet.take_actions().empty());
  played.at(100s).on(Tick{});
  CHECK(*played.fleet.resume() == 99'500ms);
  played.next_news(102'499ms);
  CHECK(played.count<KillAgent>() == 0);
  played.at(102s).on(AgentHeard{0});
  played.next_news(102'500ms);
  CHECK(played.count<KillAgent>() == 1);
}

TEST_CASE("heartbeats come more often while ranks run, and in a short node timeout") {
  Played calm(1);
  CHECK(calm.fleet.wake_at() == kT0 + 2s);
  calm.run();
  CHECK(calm.fleet.wake_at() == kT0 + 1s);
  Played hasty(1, {.node_timeout = 1s});
  CHECK(hasty.fleet.wake_at() == kT0 + 250ms);
}

TEST_CASE("reasons name the host, what it did not do, and how long that was waited for") {
  const auto reason = [](What what) {
    return loss_reason({.what = what, .span = 8s, .reason = "n1: refused"}, "n1");
  };
  CHECK(reason(What::silent) == "n1: nothing heard for 8 s");
  CHECK(reason(What::lost) == "n1: refused");
  CHECK(reason(What::left) == "n1: the agent exited unexpectedly");
  CHECK(reason(What::not_ready) == "n1: the agent was not ready within 8 s");
  CHECK(reason(What::no_greeting) ==
        "n1: no agent answered within 8 s; a startup file of the login shell or a forced command "
        "may be blocking there");
  CHECK(reason(What::unanswered) == "n1: no answer to KILL");
  CHECK(reason(What::not_swept) == "n1: no answer in time");
}
