#include "launcher/join/join_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/own_host_name.h"

namespace ds::launcher {
namespace {

using asio::ip::tcp;

constexpr std::chrono::seconds kLeaveLimit{2};
constexpr std::size_t kMaxTold = 100;  // lines about refused connections

/// Returns a quarter of the descriptors: agents and files need the rest.
std::size_t max_strangers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 1, 4096);
}

JoinServerOptions with_silence(JoinServerOptions options) {
  options.silence = std::max(options.silence, kShortestJoinSilence);
  return options;
}

void refuse_node(JoinConnection& connection, const JoinRefused& refusal) {
  connection.send(refusal);
  connection.close();
}

}  // namespace

JoinServer::JoinServer(asio::io_context& io, JoinServerOptions options, JoinServerEvents events)
    : io_(io),
      options_(with_silence(std::move(options))),
      events_(std::move(events)),
      timer_(io),
      leave_(io),
      listener_(
          io, {options_.bind_address, options_.port},
          [this](const std::string& text) { say_once(text); },
          [this](tcp::socket socket) { take(std::move(socket)); }) {
  for (const std::string& name : options_.places) places_[name];
  look_later();
}

const JoinedNode* JoinServer::node(const std::string& place) const {
  const auto found = places_.find(place);
  return found != places_.end() && found->second.node ? &*found->second.node : nullptr;
}

std::unique_ptr<Channel> JoinServer::open(const Host& host, ChannelEvents events) {
  const auto found = places_.find(host.name);
  if (found == places_.end()) {
    auto link = std::make_unique<JoinLink>(io_, std::move(events), nullptr);
    link->end_later({ChannelEnd::Kind::unreachable, host.name + ": is not a place of this job",
                     stage::kConfig});
    return link;
  }
  Place& place = found->second;
  if (place.connection && is_silent(place)) {
    // The agent of this place was given up, and nothing would reach the node. Such a node dials
    // again when it can.
    place.connection->abandon();
    empty(place);
  }
  auto link = std::make_unique<JoinLink>(io_, std::move(events), &place.link);
  if (place.connection && !place.leaves_with)
    link->begin(place.connection, ++last_session_, place.node->address);
  return link;
}

void JoinServer::tell(const std::string& news) {
  for (auto& [name, place] : places_)
    if (place.connection) place.connection->send(JoinNews{news});
}

void JoinServer::refuse(const std::string& place, const std::string& why) {
  const auto found = places_.find(place);
  if (found == places_.end() || !found->second.connection) return;
  say_once(fmt::format("{} was refused: {}", place, why));
  refuse_node(*found->second.connection, {true, contract::kExitConfig, why});
  empty(found->second);
}

void JoinServer::let_go(const std::string& place, int code) {
  const auto found = places_.find(place);
  if (found == places_.end() || !found->second.connection) return;
  found->second.leaves_with = code;
  if (found->second.link == nullptr || !found->second.link->begun()) end_node(found->second);
}

/// Ends a node that leaves. Its place is free at once.
void JoinServer::end_node(Place& place) {
  place.connection->send(JoinNews{place.node->hello.place + " has left the job, which goes on"});
  place.connection->send(JoinOver{*place.leaves_with, {}});
  place.connection->close();
  empty(place);
}

void JoinServer::empty(Place& place) {
  by_connection_.erase(place.connection.get());
  place.connection.reset();
  place.node.reset();
  place.leaves_with.reset();
}

void JoinServer::finish(const JoinOver& over, std::function<void()> done) {
  over_ = over;
  finished_ = std::move(done);
  for (auto& [name, place] : places_) {
    if (!place.connection) continue;
    place.connection->send(over);
    place.connection->close();
  }
  leave_.expires_after(kLeaveLimit);
  leave_.async_wait([this](const asio::error_code& error) {
    if (!error && finished_) std::exchange(finished_, nullptr)();
  });
  leave_when_alone();
}

void JoinServer::take(tcp::socket socket) {
  asio::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int silence = static_cast<int>(options_.silence.count());
  (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence,
                     sizeof silence);
  auto connection = std::make_shared<JoinConnection>(
      std::move(socket), TlsSession::Side::root, options_.key,
      JoinConnectionEvents{.on_established = {},
                           .on_record = [this](const Connection& from,
                                               JoinRecord& record) { on_record(from, record); },
                           .on_end = [this](const Connection& from, const std::string& why,
                                            bool proven) { on_end(from, why, proven); }});
  static const std::size_t limit = max_strangers();
  if (strangers_.size() >= limit) {  // The new one replaces the oldest.
    strangers_.front()->abandon();
    strangers_.erase(strangers_.begin());
  }
  strangers_.push_back(connection);
  connection->start();
}

JoinServer::Place* JoinServer::place_of(const Connection& connection) {
  const auto found = by_connection_.find(connection.get());
  return found == by_connection_.end() ? nullptr : found->second;
}

void JoinServer::on_record(const Connection& connection, JoinRecord& record) {
  if (auto* hello = std::get_if<JoinHello>(&record)) return on_hello(connection, *hello);
  Place* place = place_of(connection);
  if (place == nullptr) return;  // records before the hello are ignored
  if (const auto* leaving = std::get_if<JoinLeaving>(&record)) {
    if (events_.on_leaving) events_.on_leaving(place->node->hello.place, leaving->signo);
    return;
  }
  const auto* closed = std::get_if<AgentClosed>(&record);
  JoinLink* const link = place->link;
  if (closed != nullptr && place->leaves_with) end_node(*place);
  if (link == nullptr) return;
  if (const auto* bytes = std::get_if<AgentBytes>(&record)) link->on_bytes(*bytes);
  if (closed != nullptr) link->on_closed(*closed);
}

void JoinServer::on_hello(const Connection& connection, JoinHello& hello) {
  if (std::ranges::count(strangers_, connection) == 0) return;  // a second hello
  const auto found = places_.find(hello.place);
  const auto& present = found == places_.end() ? std::nullopt : found->second.node;
  JoinJudgement judgement =
      judge_join(hello, connection->peer_address(),
                 {options_.job, options_.places, present && is_silent(found->second), options_.open,
                  options_.own_place},
                 present);
  if (!judgement.say.empty()) say_once(judgement.say);
  if (judgement.refusal) return refuse_node(*connection, *judgement.refusal);
  std::erase(strangers_, connection);
  if (over_) {
    connection->send(*over_);
    return connection->close();
  }
  Place& place = places_[hello.place];
  if (place.connection) replace(place, judgement);
  place.connection = connection;
  by_connection_[connection.get()] = &place;
  place.node = JoinedNode{std::move(hello), connection->peer_address()};
  connection->send(JoinWelcome{own_host_name()});
  if (place.link != nullptr && place.link->waits())
    place.link->begin(connection, ++last_session_, place.node->address);
  if (events_.on_joined) events_.on_joined(*place.node);
}

/// Returns whether a place is silent; pings and heartbeats are far more frequent than this limit.
bool JoinServer::is_silent(const Place& place) const {
  const auto limit = std::max<Clock::duration>(options_.silence / 2, 2 * kJoinPingPeriod);
  return Clock::now() - place.connection->last_heard() >= limit;
}

/// Replaces a node's own older connection, or an older node.
void JoinServer::replace(Place& place, const JoinJudgement& judgement) {
  const Connection old = std::exchange(place.connection, nullptr);
  by_connection_.erase(old.get());
  place.leaves_with.reset();
  if (judgement.fence) {
    refuse_node(*old, *judgement.fence);
  } else {
    old->abandon();
  }
  const std::string why = judgement.fence ? "a newer node took its place" : "it dialled again";
  if (place.link != nullptr) place.link->lose(place.node->hello.place + ": " + why);
}

void JoinServer::on_end(const Connection& connection, const std::string& why, bool proven) {
  if (std::erase(strangers_, connection) > 0) {
    if (!proven)
      say_once(
          fmt::format("a connection from {} was refused: {}", connection->peer_address(), why));
  } else if (Place* place = place_of(connection)) {
    lose(*place, why);
  }
  leave_when_alone();
}

/// Reports each text once: a refused node dials again and again.
void JoinServer::say_once(const std::string& text) {
  if (events_.on_say && told_.size() < kMaxTold && told_.insert(text).second) events_.on_say(text);
}

void JoinServer::lose(Place& place, const std::string& why) {
  const std::string name = place.node->hello.place;
  empty(place);
  if (place.link != nullptr && place.link->begun()) {
    place.link->lose(fmt::format("{}: the connection to it broke: {}", name, why));
  } else if (events_.on_left && !over_) {
    events_.on_left(name, why);
  }
}

void JoinServer::leave_when_alone() {
  if (!finished_ || !strangers_.empty()) return;  // a node may be dialing again
  for (const auto& [name, place] : places_)
    if (place.connection) return;
  leave_.cancel();
  asio::post(io_, std::exchange(finished_, nullptr));
}

void JoinServer::look_later() {
  timer_.expires_after(kJoinPingPeriod);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    look();
    look_later();
  });
}

/// Sends pings, and drops silent nodes without an agent; running agents have their own timeout.
void JoinServer::look() {
  const Clock::time_point now = Clock::now();
  const bool stood_still = now - looked_ > options_.silence / 2;
  looked_ = now;
  for (auto& [name, place] : places_) {
    if (!place.connection) continue;
    if (now - place.connection->last_sent() >= kJoinPingPeriod) place.connection->send(JoinPing{});
    if (place.link != nullptr && place.link->begun()) continue;
    if (stood_still || now - place.connection->last_heard() < options_.silence) continue;
    place.connection->abandon();
    lose(place, fmt::format("silent for {} s",
                            std::chrono::ceil<std::chrono::seconds>(options_.silence).count()));
  }
}

}  // namespace ds::launcher
