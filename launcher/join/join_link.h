// Channel of the job to one place: waits until a node fills it, then carries its agent's bytes.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "launcher/join/join_connection.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Threads: the io_context's.   Errors: as the ChannelEnd.
class JoinLink : public std::enable_shared_from_this<JoinLink> {
 public:
  JoinLink(asio::io_context& io, ChannelEvents events) : io_(io), events_(std::move(events)) {}

  /// Starts an agent on the node that has filled the place.
  void begin(std::shared_ptr<JoinConnection> connection, std::uint32_t session,
             std::string address);
  void refuse(const std::string& why);  // the place does not exist
  void lose(const std::string& why);
  void on_bytes(const AgentBytes& bytes);
  void on_closed(const AgentClosed& closed);
  [[nodiscard]] bool waits() const { return state_ == State::waiting; }
  [[nodiscard]] bool begun() const { return state_ == State::begun; }

  // Methods of the channel.
  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const;
  void close();
  void abandon();
  [[nodiscard]] const std::string& peer_address() const { return address_; }

 private:
  enum class State { waiting, begun, ended };
  void end(ChannelEnd how);

  asio::io_context& io_;
  ChannelEvents events_;
  State state_ = State::waiting;
  std::shared_ptr<JoinConnection> connection_;
  std::uint32_t session_ = 0;
  std::string address_;
  Bytes early_;  // sent before the place was filled
  bool closing_ = false;
};

/// Returns the channel of a link; destroying the channel abandons the link.
std::unique_ptr<Channel> make_join_channel(std::shared_ptr<JoinLink> link);

}  // namespace ds::launcher
