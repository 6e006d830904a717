#include "launcher/join/joiner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <memory>
#include <optional>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/agent/node_facts.h"
#include "launcher/fleet/stop_signals.h"
#include "launcher/join/join_connection.h"
#include "launcher/join/joiner_parts.h"
#include "launcher/join/knock.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

/// Pause after a failed connection: a wrong key, another job, a root that has just ended.
constexpr std::chrono::milliseconds kRetry = 500ms;
/// Knocks in between are ignored, so that no sender can keep this node from dialing.
constexpr std::chrono::milliseconds kKnockPause = 1s;
/// Time limit for a root to end the job, by its own grace, after this node has reported a signal.
constexpr auto kRootDecides = 10min;

std::uint64_t wall_clock() {
  const std::chrono::nanoseconds since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(since_1970.count());
}

class Joiner {
 public:
  explicit Joiner(const JoinerSetup& setup)
      : setup_(setup),
        io_(1),
        signals_(io_, SIGHUP, SIGINT, SIGTERM),
        timer_(io_),
        ping_(io_),
        agent_(io_, setup.place,
               [this](const JoinRecord& record) {
                 if (joined_) connection_->send(record);
               }),
        uid_(setup.uid.empty() ? JoinKey::random().hex().substr(0, 16) : setup.uid),
        silence_(std::max(setup.silence, kShortestJoinSilence)),
        dial_(io_, setup.roots, silence_),
        wait_until_(Clock::now() + setup.wait) {
    if (!setup.knocks_at.empty())
      knocks_.emplace(io_, setup.knocks_at, setup.roots.front().port,
                      [this](const std::string& address, const std::string&) { on_knock(address); });
  }
  ~Joiner() { drop_connection(); }
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

  int run() {
    std::signal(SIGPIPE, SIG_IGN);
    wait_for_signal();
    dial_after(setup_.first_dial);
    look();
    while (!code_ || agent_.running()) io_.run_one();
    if (over_ && setup_.on_over) setup_.on_over(*over_);
    return *code_;
  }

 private:
  // Connection to the root.

  void dial() {
    // A knock may have begun an attempt while the timer's handler was already queued.
    if (code_ || connection_ || dial_.under_way()) return;
    dial_.start([this](DialResult result) { dialed(std::move(result)); });
  }

  void dialed(DialResult result) {
    if (code_) return;
    root_ = result.root;
    leave_port_to_root(result.addresses);
    if (!result.socket) return retry(std::move(result.problem), result.retry_after);
    connection_ = std::make_shared<JoinConnection>(
        std::move(*result.socket), TlsSession::Side::joiner, setup_.key,
        JoinConnectionEvents{
            .on_established = [this] { greet(); },
            .on_record = [this](const auto&, JoinRecord& record) { on_record(record); },
            .on_end = [this](const auto&, const std::string& why, bool) { on_lost(why); }});
    connection_->start();
  }

  /// Where pods have the network of their node, the root may be on this one. It needs the port, and
  /// its knock would say nothing new.
  void leave_port_to_root(const std::vector<asio::ip::address>& root) {
    const auto is_here = [this](const asio::ip::address& address) {
      return address.to_string() == setup_.knocks_at;
    };
    if (std::ranges::any_of(root, is_here)) knocks_.reset();
  }

  void on_knock(const std::string& address) {
    const Clock::time_point now = Clock::now();
    if (code_ || connection_ || leaving_ || now - knocked_ < kKnockPause) return;
    knocked_ = now;
    timer_.cancel();
    dial_.start_at(address, [this](DialResult result) { dialed(std::move(result)); });
  }

  void greet() {
    connection_->send(JoinHello{.job = setup_.job,
                                .place = setup_.place,
                                .uid = uid_,
                                .started = started_,
                                .next_epoch = agent_.next_epoch(),
                                .node = describe_node()});
  }

  void on_lost(const std::string& why) {
    const bool was_joined = joined_;
    drop_connection();
    if (was_joined && !code_) {
      say(fmt::format("the root {} is lost: {}", root_, why));
      wait_until_ = Clock::now() + setup_.wait;
      told_at_ = Clock::now();
    } else if (!code_ && why != problem_) {
      say(fmt::format("the root {} was reached, but: {}", root_, why));
    }
    agent_.abandon();
    retry(why, kRetry);
  }

  void drop_connection() {
    joined_ = false;
    if (connection_) std::exchange(connection_, nullptr)->abandon();
  }

  void retry(std::string problem, std::chrono::milliseconds pause) {
    problem_ = std::move(problem);
    if (code_) return;
    if (leaving_) return finish(contract::kExitSignalBase + *leaving_);
    dial_after(pause);
  }

  void dial_after(std::chrono::milliseconds pause) {
    timer_.expires_after(pause);
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) dial();
    });
  }

  void on_record(JoinRecord& record) {
    if (const auto* bytes = std::get_if<AgentBytes>(&record)) {
      agent_.pass(bytes->session, bytes->bytes);
    } else if (const auto* start = std::get_if<StartAgent>(&record)) {
      agent_.start(start->session);
    } else if (const auto* closed = std::get_if<AgentClosed>(&record)) {
      agent_.end_input(closed->session);
    } else if (const auto* welcome = std::get_if<JoinWelcome>(&record)) {
      joined_ = true;
      problem_.clear();
      say_news(fmt::format("{} has joined the root {} ({})", setup_.place, welcome->root, root_));
    } else if (const auto* news = std::get_if<JoinNews>(&record)) {
      say_news(news->text);
    } else if (const auto* refused = std::get_if<JoinRefused>(&record)) {
      on_refused(*refused);
    } else if (const auto* over = std::get_if<JoinOver>(&record)) {
      over_ = *over;
      agent_.abandon();
      finish(over->code);
    }
  }

  void on_refused(const JoinRefused& refused) {
    if (!refused.final) return on_lost(refused.text);
    say("the root refused this node: " + refused.text);
    agent_.abandon();
    finish(refused.code);
  }

  // Time and signals.

  /// Sends pings, checks silence and the deadline once a second, and prints a line every 10 s.
  void look() {
    const Clock::time_point now = Clock::now();
    const bool stood_still = now - looked_ > silence_ / 2;
    looked_ = now;
    if (connection_ && connection_->established() && !agent_.speaks()) {
      if (joined_ && now - connection_->last_sent() >= kJoinPingPeriod)
        connection_->send(JoinPing{});
      if (!stood_still && now - connection_->last_heard() > silence_) on_lost("it is silent");
    }
    if (!joined_ && !code_) wait_for_root(now);
    ping_.expires_after(kJoinPingPeriod);
    ping_.async_wait([this](const asio::error_code& error) {
      if (!error) look();
    });
  }

  void wait_for_root(Clock::time_point now) {
    const auto text = [this] {
      return problem_.empty() ? std::string("nothing has answered yet")
                              : fmt::format("{}: {}", root_, problem_);
    };
    if (now >= wait_until_) {
      say(fmt::format("{} gives up: no root within {} s: {}", setup_.place,
                      std::chrono::duration_cast<std::chrono::seconds>(setup_.wait).count(),
                      text()));
      agent_.abandon();
      return finish(contract::kExitUnreachable);
    }
    if (now - told_at_ < 10s) return;
    told_at_ = now;
    say(fmt::format("{} waits for the root: {}", setup_.place, text()));
  }

  void wait_for_signal() {
    signals_.async_wait([this](const asio::error_code& error, int signo) {
      if (error) return;
      wait_for_signal();
      on_signal(signo);
    });
  }

  void on_signal(int signo) {
    if (!signals_seen_.counts(signo, Clock::now())) return;
    const bool again = leaving_.has_value();
    leaving_ = signo;
    if (!joined_ || again) return leave();
    say_news(fmt::format("{} was told to end: the root decides what follows", setup_.place));
    connection_->send(JoinLeaving{signo});
    timer_.expires_after(kRootDecides);
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) leave();
    });
  }

  void leave() {
    agent_.abandon();
    finish(contract::kExitSignalBase + *leaving_);
  }

  void finish(int code) {
    if (code_) return;
    code_ = code;
    timer_.cancel();
    if (connection_) connection_->close();
  }

  void say_news(const std::string& text) const {
    if (!setup_.only_trouble) say(text);
  }

  void say(const std::string& text) const {
    if (setup_.say) setup_.say(text);
  }

  const JoinerSetup& setup_;
  asio::io_context io_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  asio::steady_timer ping_;
  JoinAgent agent_;
  std::string uid_;
  std::chrono::milliseconds silence_;
  RootDial dial_;
  std::optional<KnockListener> knocks_;
  std::uint64_t started_ = wall_clock();
  std::string root_;  // address as dialed
  std::shared_ptr<JoinConnection> connection_;
  bool joined_ = false;
  std::string problem_;  // cause of the last failed attempt
  Clock::time_point wait_until_;
  Clock::time_point told_at_ = Clock::now();
  Clock::time_point looked_ = Clock::now();
  Clock::time_point knocked_;
  StopSignals signals_seen_;
  std::optional<int> leaving_;
  std::optional<JoinOver> over_;
  std::optional<int> code_;
};

}  // namespace

int run_joiner(const JoinerSetup& setup) { return Joiner(setup).run(); }

}  // namespace ds::launcher
