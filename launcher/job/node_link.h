// The launcher's end of one channel: frames out, frames in.
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
    std::function<void()> on_heard;            // any bytes came
    std::function<void(Message&)> on_message;  // of this job, epoch and incarnation
    /// Once; nothing follows. The reason names host and cause, the stage is one of transport.h's.
    std::function<void(std::string reason, std::string stage)> on_lost;
  };

  NodeLink(std::string host_name, Envelope envelope, Events events)
      : host_name_(std::move(host_name)), envelope_(envelope), events_(std::move(events)) {}
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  void open(Transport& transport, const Host& host);
  void send(const Message& message);
  /// Sends it unless the agent knows already that we live: it has not said a word yet (it gets an
  /// answer when it does), or something went to it since the last beat. Never leaves out two in a
  /// row: the clocks are compared by beats.
  void beat(const Heartbeat& heartbeat);
  void pause_reading(bool pause);
  /// What is sent from now on, and what is taken, is of this epoch.
  void enter_epoch(std::uint32_t epoch) { envelope_.epoch = epoch; }
  [[nodiscard]] std::size_t unsent() const { return channel_ ? channel_->unsent() : 0; }
  /// The numeric address by which the node was reached; empty for this machine.
  [[nodiscard]] std::string peer_address() const {
    return channel_ ? channel_->peer_address() : std::string();
  }
  [[nodiscard]] bool is_open() const { return channel_ && !closed_; }
  /// Silences it. The channel itself goes away with the link, or when it is taken: never from
  /// inside one of its own events.
  void close() { closed_ = true; }
  std::unique_ptr<Channel> take_channel() { return std::move(channel_); }

 private:
  void on_bytes(std::span<const std::byte> bytes);
  void on_end(const ChannelEnd& end);
  void lose(std::string reason, std::string stage);

  std::string host_name_;
  Envelope envelope_;
  Events events_;
  std::unique_ptr<Channel> channel_;
  Decoder decoder_{Decoder::Start::preamble};
  std::string noise_;  // the last of what the remote side said on its standard error
  bool closed_ = false;
  bool talked_ = false;    // a message came
  bool spoke_ = false;     // since the last beat was due
  bool left_out_ = false;  // the last beat
};

}  // namespace ds::launcher
