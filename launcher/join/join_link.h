// Channel of the job to one place: waits until a node fills it, then carries its agent's bytes.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "launcher/join/join_connection.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

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

  /// Ends the link: the place does not exist.
  void refuse(const std::string& why) {
    end_later({ChannelEnd::Kind::unreachable, why, stage::kConfig});
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

  /// Ends the link from the event loop, unless a node has filled the place by then.
  void end_later(ChannelEnd how) {
    asio::post(io_, [weak = std::weak_ptr(self_), how = std::move(how)] {
      if (const auto self = weak.lock(); self && (*self)->waits()) (*self)->end(how);
    });
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

}  // namespace ds::launcher
