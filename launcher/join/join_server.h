// The root's side of a join: the nodes that have dialed in, and a transport to their agents.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/join/join_connection.h"
#include "launcher/join/join_key.h"
#include "launcher/join/join_listener.h"
#include "launcher/join/join_records.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Channel of the job to one place: waits until a node fills it, then carries its agent's bytes.
/// Threads: the io_context's.   Errors: as the ChannelEnd.
class JoinLink final : public Channel {
 public:
  /// `slot` refers to this link as long as it lives and no other one takes the place; may be null.
  JoinLink(asio::io_context& io, ChannelEvents events, JoinLink** slot)
      : io_(io), events_(std::move(events)), slot_(slot) {
    if (slot_ != nullptr) *slot_ = this;
  }
  ~JoinLink() override {
    if (begun() && !closing_) connection_->send(AgentClosed{session_, {}});
    if (slot_ != nullptr && *slot_ == this) *slot_ = nullptr;
  }
  JoinLink(const JoinLink&) = delete;
  JoinLink& operator=(const JoinLink&) = delete;

  /// The server is gone: the link no longer refers to its place.
  void forget_place() { slot_ = nullptr; }
  /// Starts an agent on the node that has filled the place.
  void begin(std::shared_ptr<JoinConnection> connection, std::uint32_t session,
             std::string address) {
    connection_ = std::move(connection);
    session_ = session;
    address_ = std::move(address);
    state_ = State::begun;
    connection_->send(StartAgent{session_});
    if (!early_.empty()) connection_->send(AgentBytes{session_, early_});
    early_ = {};
    if (closing_) connection_->send(AgentClosed{session_, {}});
  }

  /// Ends the link from the event loop, unless a node has filled the place by then.
  void end_later(ChannelEnd how) {
    asio::post(io_, [weak = std::weak_ptr(self_), how = std::move(how)] {
      if (const auto self = weak.lock(); self && (*self)->waits()) (*self)->end(how);
    });
  }

  void lose(const std::string& why) {
    if (begun()) end({ChannelEnd::Kind::lost, why, stage::kRunning});
  }

  void on_bytes(const AgentBytes& bytes) {
    if (begun() && bytes.session == session_ && events_.on_bytes) events_.on_bytes(bytes.bytes);
  }

  void on_closed(const AgentClosed& closed) {
    if (!begun() || closed.session != session_) return;
    if (!closed.problem.empty()) return lose(closed.problem);
    end({ChannelEnd::Kind::closed, {}});
  }

  [[nodiscard]] bool waits() const { return state_ == State::waiting; }
  [[nodiscard]] bool begun() const { return state_ == State::begun; }

  void send(Bytes bytes) override {
    if (begun()) return connection_->send(AgentBytes{session_, bytes});
    if (waits()) early_.insert(early_.end(), bytes.begin(), bytes.end());
  }

  [[nodiscard]] std::size_t unsent() const override {
    return begun() ? connection_->unsent() : early_.size();
  }

  [[nodiscard]] std::string peer_address() const override { return address_; }
  void close() override {
    if (std::exchange(closing_, true)) return;
    if (begun()) connection_->send(AgentClosed{session_, {}});
    // The place is empty, so no answer is awaited.
    if (waits()) end_later({ChannelEnd::Kind::closed, {}});
  }

 private:
  enum class State { waiting, begun, ended };
  void end(ChannelEnd how) {
    if (std::exchange(state_, State::ended) == State::ended) return;
    if (events_.on_end) events_.on_end(std::move(how));
  }

  asio::io_context& io_;
  ChannelEvents events_;
  JoinLink** slot_;
  std::shared_ptr<JoinLink*> self_ = std::make_shared<JoinLink*>(this);  // for end_later()
  State state_ = State::waiting;
  std::shared_ptr<JoinConnection> connection_;
  std::uint32_t session_ = 0;
  std::string address_;
  Bytes early_;  // sent before the place was filled
  bool closing_ = false;
};

struct JoinServerOptions {
  JoinKey key;
  std::string job;                  // of JoinHello; a node of another job is refused and may retry
  std::vector<std::string> places;  // hosts that may join
  std::string own_place{};          // of them the root's own, which no node may fill; may be empty
  bool open = false;  // nodes of other names may join too, and get places of their own
  std::uint16_t port = 0;           // 0: any free port
  std::string bind_address;         // numeric; empty: all addresses, IPv4 and IPv6
  /// A waiting node is lost after this; also TCP_USER_TIMEOUT.
  std::chrono::milliseconds silence{8000};
};

struct JoinServerEvents {
  std::function<void(const JoinedNode&)> on_joined;
  /// The connection of a node broke while no agent ran there.
  std::function<void(const std::string& place, const std::string& why)> on_left;
  std::function<void(const std::string& place, int signo)> on_leaving;
  /// One line for users: a stranger, a wrong key, two nodes that claim one place.
  std::function<void(const std::string& text)> on_say;
};

/// Listens from its construction on. A place has one node: the newer one (JoinHello::started)
/// stays, the older one is fenced. As a transport, it opens channels that begin when the place with
/// the name of the host is filled; it must outlive them. Threads: the io_context's, which must not
/// run once the server is destroyed; events never come from inside a call.
class JoinServer final : public Transport {
 public:
  /// Errors:  as JoinListener, which may wait for the port and say so meanwhile.
  JoinServer(asio::io_context& io, JoinServerOptions options, JoinServerEvents events);
  ~JoinServer() override {
    for (auto& [name, place] : places_)
      if (place.link != nullptr) place.link->forget_place();
  }
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  /// Returns the node that fills a place; null if there is none.
  [[nodiscard]] const JoinedNode* node(const std::string& place) const;
  /// Returns whether the job waits for a node to fill this place.
  [[nodiscard]] bool awaits(const std::string& place) const {
    const auto found = places_.find(place);
    return found != places_.end() && !over_ && found->second.link != nullptr &&
           found->second.link->waits();
  }
  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override;
  /// Sends a progress message to every connected node.
  void tell(const std::string& news);
  /// Refuses the node of a place for good; the place stays.
  void refuse(const std::string& place, const std::string& why);
  /// Lets the node of a place end with this code, once its agent has ended; the job goes on.
  void let_go(const std::string& place, int code);
  /// Sends the end of the job to every node; calls `done` when all have it, or after 2 s.
  void finish(const JoinOver& over, std::function<void()> done);

 private:
  using Connection = std::shared_ptr<JoinConnection>;
  /// One place of the job, with the node that fills it.
  struct Place {
    Connection connection;
    std::optional<JoinedNode> node;
    JoinLink* link = nullptr;  // channel of the job to this place
    std::optional<int> leaves_with{};  // exit code of the node, which ends once its agent has ended
  };

  void take(asio::ip::tcp::socket socket);
  [[nodiscard]] Place* place_of(const Connection& connection);
  void on_record(const Connection& connection, JoinRecord& record);
  void on_hello(const Connection& connection, JoinHello& hello);
  [[nodiscard]] bool is_silent(const Place& place) const;
  void replace(Place& place, const JoinJudgement& judgement);
  void on_end(const Connection& connection, const std::string& why, bool proven);
  void say_once(const std::string& text);
  void empty(Place& place);
  void end_node(Place& place);
  void lose(Place& place, const std::string& why);
  void leave_when_alone();
  void look_later();
  void look();

  asio::io_context& io_;
  JoinServerOptions options_;
  JoinServerEvents events_;
  asio::steady_timer timer_;
  asio::steady_timer leave_;
  std::map<std::string, Place> places_;
  std::map<const JoinConnection*, Place*> by_connection_;
  std::vector<Connection> strangers_;  // they have not sent their hello yet; oldest first
  std::set<std::string> told_;
  JoinListener listener_;  // may tell of a taken port when it is constructed
  std::optional<JoinOver> over_;
  std::function<void()> finished_;
  std::uint32_t last_session_ = 0;
  Clock::time_point looked_ = Clock::now();
};

}  // namespace ds::launcher
