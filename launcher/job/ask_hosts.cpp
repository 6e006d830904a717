#include "launcher/job/ask_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <map>
#include <string>

#include "engine/base/error.h"
#include "launcher/fleet/fleet.h"
#include "launcher/fleet/wake_timer.h"
#include "launcher/hosts/bad_hosts.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/job_facts.h"

namespace ds::launcher {
namespace {

/// A fleet whose agents are dismissed as soon as they have greeted.
class Questions {
 public:
  Questions(asio::io_context& io, const std::vector<Host>& hosts,
            const std::vector<NodeRoute>& routes, const AskLimits& limits)
      : io_(io),
        hosts_(hosts),
        routes_(routes),
        limits_(limits),
        fleet_({.node_timeout = {}, .start_timeout = limits.start_timeout}),
        links_(io, {.on_heard = [](int) {},
                    .on_message = [this](int agent, Message& message) { take(agent, message); },
                    .on_lost = [this](const AgentLost& lost) { feed(lost); },
                    .on_continued = [] {}}),
        timer_(io, [this] { feed(Tick{}); }),
        hellos_(hosts.size()) {}

  std::vector<std::optional<Hello>> answers() {
    fleet_.set_now(Clock::now());
    for (std::size_t host = 0; host < hosts_.size(); ++host)
      fleet_.dial(fleet_.add(static_cast<int>(host)));
    settle();
    io_.run();
    io_.restart();
    io_.poll();  // handlers left by channels and the timer
    io_.restart();
    std::vector<BadHost> bad;
    for (const auto& [host, why] : bad_) bad.push_back(why);
    if (expired_)
      throw Error(ErrorKind::deadline, fmt::format("the deadline of {} has passed: {}",
                                                   span_text(*limits_.timeout), missing_text()));
    if (bad.size() > static_cast<std::size_t>(limits_.spares))
      throw Error(ErrorKind::unreachable,
                  fmt::format("{} of {} hosts with slots=auto cannot be asked what they have:\n{}",
                              bad.size(), hosts_.size(), bad_hosts_table(bad, "  ")));
    for (const BadHost& host : bad) limits_.say(bad_host_line(host) + "; it becomes a spare host");
    return std::move(hellos_);
  }

 private:
  void take(int agent, Message& message) {
    auto* hello = std::get_if<Hello>(&message);
    if (hello == nullptr) return;
    const auto index = static_cast<std::size_t>(agent);
    if (hello->version != kWireVersion)
      return feed(AgentLost{agent, version_reason(hosts_[index].name, *hello), stage::kStart});
    hellos_[index] = std::move(*hello);
    feed(AgentGreeted{agent});
  }

  template <class T>
  void feed(const T& event) {
    fleet_.set_now(Clock::now());
    fleet_.on(event);
    settle();
  }

  void settle() {
    for (const Fleet::News& news : fleet_.take_news()) {
      const std::string& name = hosts_[static_cast<std::size_t>(news.agent)].name;
      if (news.what == Fleet::News::What::greeted)
        fleet_.close(news.agent);
      else
        bad_[news.agent] = {name, loss_stage(news), loss_reason(news, name)};
    }
    for (const FleetAction& action : fleet_.take_actions()) perform(action);
    look_at_clock();
    if (fleet_.left() > 0 && !expired_)
      return timer_.arm(std::min({fleet_.wake_at(), deadline_at_, say_at_}));
    timer_.cancel();
    asio::post(io_, [this] { io_.stop(); });  // after the channels are gone
  }

  void look_at_clock() {
    const Clock::time_point now = Clock::now();
    expired_ = fleet_.left() > 0 && now >= deadline_at_;
    if (now < say_at_ || fleet_.left() == 0 || expired_) return;
    limits_.say(missing_text());
    say_at_ = now + (say_after_ *= 2);
  }
  [[nodiscard]] std::string missing_text() const {
    std::vector<std::string> names;
    for (std::size_t host = 0; host < hosts_.size(); ++host)
      if (!hellos_[host] && !bad_.contains(static_cast<int>(host)))
        names.push_back(hosts_[host].name);
    return fmt::format("still waiting for {} of {} hosts with slots=auto: {}", names.size(),
                       hosts_.size(), fold_names(names));
  }

  void perform(const FleetAction& action) {
    if (const auto* open = std::get_if<OpenAgent>(&action)) {
      const auto host = static_cast<std::size_t>(open->host);
      links_.open(open->agent, hosts_[host], routes_[host]);
    } else if (const auto* close = std::get_if<CloseAgent>(&action)) {
      links_.perform(*close);
    }
  }

  asio::io_context& io_;
  const std::vector<Host>& hosts_;
  const std::vector<NodeRoute>& routes_;
  AskLimits limits_;
  Fleet fleet_;
  AgentLinks links_;
  WakeTimer timer_;
  std::vector<std::optional<Hello>> hellos_;
  std::map<int, BadHost> bad_;         // by host
  std::chrono::seconds say_after_{5};  // as JobState::kSayMissingAfter
  Clock::time_point say_at_ = Clock::now() + say_after_;
  Clock::time_point deadline_at_ =
      limits_.timeout ? Clock::now() + *limits_.timeout : Clock::time_point::max();
  bool expired_ = false;
};

}  // namespace

std::vector<std::optional<Hello>> ask_hosts(asio::io_context& io, const std::vector<Host>& hosts,
                                            const std::vector<NodeRoute>& routes,
                                            const AskLimits& limits) {
  std::signal(SIGPIPE, SIG_IGN);
  return Questions(io, hosts, routes, limits).answers();
}

}  // namespace ds::launcher
