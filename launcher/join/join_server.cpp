// Keeps the places, the nodes that fill them, and the channels to their agents.
#include "launcher/join/join_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <climits>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/own_host_name.h"
#include "launcher/join/join_connection.h"
#include "launcher/join/join_judge.h"
#include "launcher/join/join_link.h"
#include "launcher/join/join_listener.h"
#include "launcher/join/join_strangers.h"

namespace ds::launcher {

namespace {

using asio::ip::tcp;
using Connection = std::shared_ptr<JoinConnection>;

constexpr std::chrono::seconds kLeaveLimit{2};
constexpr std::size_t kMaxTold = 100;  // lines about refused connections

/// Returns a quarter of the descriptors: agents and files need the rest.
std::size_t max_strangers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::min<std::size_t>(limit.rlim_cur / 4, 4096);
}

JoinServerOptions with_silence(JoinServerOptions options) {
  options.silence = std::max(options.silence, kShortestJoinSilence);
  return options;
}

/// One place of the job, with the node that fills it.
struct Place {
  Connection connection;
  std::optional<JoinedNode> node;
  std::weak_ptr<JoinLink> link;  // channel of the job to this place
};

}  // namespace

class JoinServer::Impl : public std::enable_shared_from_this<JoinServer::Impl> {
 public:
  Impl(asio::io_context& io, JoinServerOptions options, JoinServerEvents events)
      : io_(io),
        options_(with_silence(std::move(options))),
        events_(std::move(events)),
        listener_(std::in_place, io, options_.port, options_.bind_address, options_.silence,
                  [this](tcp::socket socket) { take(std::move(socket)); }),
        timer_(io),
        leave_(io) {
    for (const std::string& name : options_.places) places_[name];
  }

  void start() { arm(); }

  void stop() {
    stopped_ = true;
    listener_.reset();
    timer_.cancel();
    leave_.cancel();
    strangers_.abandon();
    for (auto& [name, place] : places_)
      if (place.connection) place.connection->abandon();
  }

  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }
  [[nodiscard]] const JoinedNode* node(const std::string& name) const {
    const auto found = places_.find(name);
    return found != places_.end() && found->second.node ? &*found->second.node : nullptr;
  }

  std::shared_ptr<JoinLink> open(const std::string& name, ChannelEvents events) {
    auto link = std::make_shared<JoinLink>(io_, name, std::move(events));
    const auto found = places_.find(name);
    if (found == places_.end()) {
      link->refuse(fmt::format("{}: is no place of this job", name));
      return link;
    }
    forget_if_silent(found->second);
    found->second.link = link;
    if (found->second.connection)
      link->begin(found->second.connection, ++last_session_, found->second.node->address);
    return link;
  }

  void tell(const std::string& news) {
    for (auto& [name, place] : places_)
      if (place.connection) place.connection->send(JoinNews{news});
  }

  void finish(const JoinOver& over, std::function<void()> done) {
    over_ = over;
    finished_ = std::move(done);
    for (auto& [name, place] : places_) {
      if (!place.connection) continue;
      place.connection->send(over);
      place.connection->close();
    }
    leave_.expires_after(kLeaveLimit);
    leave_.async_wait([self = shared_from_this()](const asio::error_code& error) {
      if (!error && self->finished_) std::exchange(self->finished_, nullptr)();
    });
    leave_when_alone();
  }

 private:
  void take(tcp::socket socket) {
    auto holder = std::make_shared<std::weak_ptr<JoinConnection>>();
    const auto self = [weak = weak_from_this(), holder] {
      return std::pair(weak.lock(), holder->lock());
    };
    auto connection = std::make_shared<JoinConnection>(
        std::move(socket), TlsSession::Side::root, options_.key,
        JoinConnectionEvents{.on_established = {},
                             .on_record =
                                 [self](JoinRecord& record) {
                                   const auto [server, mine] = self();
                                   if (server && mine) server->on_record(mine, record);
                                 },
                             .on_end =
                                 [self](const std::string& why, bool proven) {
                                   const auto [server, mine] = self();
                                   if (server && mine) server->on_end(mine, why, proven);
                                 }});
    *holder = connection;
    strangers_.add(connection);
    connection->start();
  }

  [[nodiscard]] Place* place_of(const Connection& connection) {
    const auto found = by_connection_.find(connection.get());
    return found == by_connection_.end() ? nullptr : found->second;
  }

  void on_record(const Connection& connection, JoinRecord& record) {
    if (auto* hello = std::get_if<JoinHello>(&record)) return on_hello(connection, *hello);
    Place* place = place_of(connection);
    if (place == nullptr) return;  // records before the hello are ignored
    if (const auto* leaving = std::get_if<JoinLeaving>(&record)) {
      if (events_.on_leaving) events_.on_leaving(place->node->hello.place, leaving->signo);
      return;
    }
    const auto link = place->link.lock();
    if (!link) return;
    if (const auto* bytes = std::get_if<AgentBytes>(&record)) link->on_bytes(*bytes);
    if (const auto* closed = std::get_if<AgentClosed>(&record)) link->on_closed(*closed);
  }

  void on_hello(const Connection& connection, JoinHello& hello) {
    if (!strangers_.has(connection)) return;  // a second hello
    const auto found = places_.find(hello.place);
    const auto& present = found == places_.end() ? std::nullopt : found->second.node;
    JoinJudgement judgement =
        judge_join(hello, connection->peer_address(),
                   {options_.job, options_.places, present && is_silent(found->second)}, present);
    if (!judgement.say.empty()) say_once(judgement.say);
    if (judgement.refusal) return refuse(connection, *judgement.refusal);
    strangers_.remove(connection);
    if (over_) {
      connection->send(*over_);
      return connection->close();
    }
    Place& place = found->second;
    if (place.connection) replace(place, judgement);
    place.connection = connection;
    by_connection_[connection.get()] = &place;
    place.node = JoinedNode{std::move(hello), connection->peer_address()};
    connection->send(JoinWelcome{own_host_name()});
    const auto link = place.link.lock();
    if (link && link->waits()) link->begin(connection, ++last_session_, place.node->address);
    if (events_.on_joined) events_.on_joined(*place.node);
  }

  /// Returns whether a place is silent; pings and heartbeats are far more frequent than this limit.
  [[nodiscard]] bool is_silent(const Place& place) const {
    const auto limit = std::max<Clock::duration>(options_.silence / 2, 2 * kJoinPingPeriod);
    return Clock::now() - place.connection->last_heard() >= limit;
  }

  /// Replaces a node's own older connection, or an older node.
  void replace(Place& place, const JoinJudgement& judgement) {
    const Connection old = std::exchange(place.connection, nullptr);
    by_connection_.erase(old.get());
    if (judgement.fence) {
      refuse(old, *judgement.fence);
    } else {
      old->abandon();
    }
    const std::string why = judgement.fence ? "a newer node took its place" : "it dialled again";
    if (const auto link = place.link.lock()) link->lose(place.node->hello.place + ": " + why);
  }

  /// Drops a silent node whose agent was given up: nothing would reach the node. Such a node dials
  /// again when it can.
  void forget_if_silent(Place& place) {
    if (!place.connection || !is_silent(place)) return;
    by_connection_.erase(place.connection.get());
    place.connection->abandon();
    place.connection.reset();
    place.node.reset();
  }

  static void refuse(const Connection& connection, const JoinRefused& refusal) {
    connection->send(refusal);
    connection->close();
  }

  void on_end(const Connection& connection, const std::string& why, bool proven) {
    if (strangers_.remove(connection)) {
      if (!proven)
        say_once(
            fmt::format("a connection from {} was refused: {}", connection->peer_address(), why));
    } else if (Place* place = place_of(connection)) {
      lose(*place, why);
    }
    leave_when_alone();
  }

  /// Reports each text once: a refused node dials again and again.
  void say_once(const std::string& text) {
    if (events_.on_say && told_.size() < kMaxTold && told_.insert(text).second)
      events_.on_say(text);
  }

  void lose(Place& place, const std::string& why) {
    by_connection_.erase(place.connection.get());
    place.connection.reset();
    const std::string name = place.node->hello.place;
    place.node.reset();
    const auto link = place.link.lock();
    if (link && link->begun()) {
      link->lose(fmt::format("{}: the connection to it broke: {}", name, why));
    } else if (events_.on_left && !over_) {
      events_.on_left(name, why);
    }
  }

  void leave_when_alone() {
    if (!finished_ || !strangers_.all().empty()) return;  // a node may be dialing again
    for (const auto& [name, place] : places_)
      if (place.connection) return;
    leave_.cancel();
    asio::post(io_, std::exchange(finished_, nullptr));
  }

  void arm() {
    timer_.expires_after(kJoinPingPeriod);
    timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto self = weak.lock();
      if (error || !self || self->stopped_) return;
      self->look();
      self->arm();
    });
  }

  /// Sends pings, and drops silent nodes without an agent; running agents have their own timeout.
  void look() {
    const Clock::time_point now = Clock::now();
    const bool stood_still = now - looked_ > options_.silence / 2;
    looked_ = now;
    for (auto& [name, place] : places_) {
      if (!place.connection) continue;
      if (now - place.connection->last_sent() >= kJoinPingPeriod)
        place.connection->send(JoinPing{});
      const auto link = place.link.lock();
      if (link && link->begun()) continue;
      if (stood_still || now - place.connection->last_heard() < options_.silence) continue;
      place.connection->abandon();
      lose(place, fmt::format("silent for {} s",
                              std::chrono::ceil<std::chrono::seconds>(options_.silence).count()));
    }
  }

  asio::io_context& io_;
  JoinServerOptions options_;
  JoinServerEvents events_;
  std::optional<JoinListener> listener_;
  asio::steady_timer timer_;
  asio::steady_timer leave_;
  std::map<std::string, Place> places_;
  std::map<const JoinConnection*, Place*> by_connection_;
  JoinStrangers strangers_{max_strangers()};
  std::set<std::string> told_;
  std::optional<JoinOver> over_;
  std::function<void()> finished_;
  std::uint32_t last_session_ = 0;
  Clock::time_point looked_ = Clock::now();
  bool stopped_ = false;
};

class JoinServer::Joins final : public Transport {
 public:
  explicit Joins(JoinServer::Impl& impl) : impl_(impl) {}
  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    return make_join_channel(impl_.open(host.name, std::move(events)));
  }

 private:
  JoinServer::Impl& impl_;
};

JoinServer::JoinServer(asio::io_context& io, JoinServerOptions options, JoinServerEvents events)
    : impl_(std::make_shared<Impl>(io, std::move(options), std::move(events))),
      transport_(std::make_unique<Joins>(*impl_)) {
  impl_->start();
}
JoinServer::~JoinServer() { impl_->stop(); }
std::uint16_t JoinServer::port() const { return impl_->port(); }
const JoinedNode* JoinServer::node(const std::string& place) const { return impl_->node(place); }
Transport& JoinServer::transport() { return *transport_; }
void JoinServer::tell(const std::string& news) { impl_->tell(news); }
void JoinServer::finish(const JoinOver& over, std::function<void()> done) {
  impl_->finish(over, std::move(done));
}

}  // namespace ds::launcher
