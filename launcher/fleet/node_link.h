// The launcher's end of one channel: sends and receives frames.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/transport/transport.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

class NodeLink {
 public:
  struct Events {
    std::function<void()> on_heard;            // any bytes arrived
    std::function<void(Message&)> on_message;  // of this job, epoch and incarnation
    /// Called once, last. The reason names host and cause, the stage is one of transport.h's.
    std::function<void(std::string reason, std::string stage)> on_lost;
  };

  NodeLink(std::string host_name, Envelope envelope, Events events)
      : host_name_(std::move(host_name)), envelope_(envelope), events_(std::move(events)) {}
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  void open(Transport& transport, const Host& host);
  void send(const Message& message);
  /// Sends a heartbeat, unless the agent has not sent a message yet (it gets an answer when it
  /// does) or was sent a frame since the last heartbeat. Never leaves out two in a row: clocks
  /// are compared by heartbeats.
  void beat(const Heartbeat& heartbeat);
  /// Sends and accepts only frames of this epoch from now on.
  void enter_epoch(std::uint32_t epoch) { envelope_.epoch = epoch; }
  [[nodiscard]] std::size_t unsent() const { return channel_ ? channel_->unsent() : 0; }
  /// Returns the numeric address by which the node was reached; empty for this machine.
  [[nodiscard]] std::string peer_address() const {
    return channel_ ? channel_->peer_address() : std::string();
  }
  [[nodiscard]] bool is_open() const { return channel_ && !closed_; }
  /// Stops all events. The channel is destroyed with the link, never inside one of its own events.
  void close() { closed_ = true; }

 private:
  void on_bytes(std::span<const std::byte> bytes);
  void on_end(const ChannelEnd& end);
  void lose(std::string reason, std::string stage);

  std::string host_name_;
  Envelope envelope_;
  Events events_;
  std::unique_ptr<Channel> channel_;
  Decoder decoder_{Decoder::Start::preamble};
  std::string noise_;  // the end of the remote side's standard error
  bool closed_ = false;
  bool talked_ = false;    // a message arrived
  bool spoke_ = false;     // since the last heartbeat was due
  bool left_out_ = false;  // the last heartbeat
};

}  // namespace ds::launcher
