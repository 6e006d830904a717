// A transport whose agents are functions: what the launcher sends is decoded, answers come back as
// frames.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "launcher/transport/transport.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// One agent's end of a channel, for the script that plays it.
class FakeAgent : public std::enable_shared_from_this<FakeAgent> {
 public:
  using Script = std::function<void(FakeAgent&, const Message&)>;

  FakeAgent(asio::io_context& io, ChannelEvents events, Script script)
      : io_(io), events_(std::move(events)), script_(std::move(script)) {}

  void say_raw(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    deliver({bytes.begin(), bytes.end()});
  }
  void say(const Message& message) { deliver(encode(envelope, message)); }
  void end(ChannelEnd how) {
    asio::post(io_, [self = shared_from_this(), how = std::move(how)] {
      if (self->owned) self->events_.on_end(how);
    });
  }
  void hear(const Bytes& bytes) {
    decoder_.feed(bytes);
    while (const auto frame = decoder_.next()) {
      envelope = frame->envelope;
      asio::post(io_, [self = shared_from_this(), bytes = encode(frame->envelope, frame->message)] {
        Decoder again;
        again.feed(bytes);
        const auto copy = again.next();
        self->script_(*self, copy->message);
      });
    }
  }

  Envelope envelope;  // of what came last
  bool owned = true;  // the launcher still has the channel

 private:
  void deliver(Bytes bytes) {
    asio::post(io_, [self = shared_from_this(), bytes = std::move(bytes)] {
      if (self->owned) self->events_.on_bytes(bytes);
    });
  }

  asio::io_context& io_;
  ChannelEvents events_;
  Script script_;
  Decoder decoder_;
};

class FakeTransport : public Transport {
 public:
  /// `on_open` plays the start of an agent on a host; `script` answers each frame.
  FakeTransport(asio::io_context& io, std::function<void(const Host&, FakeAgent&)> on_open,
                FakeAgent::Script script)
      : io_(io), on_open_(std::move(on_open)), script_(std::move(script)) {}

  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    auto agent = std::make_shared<FakeAgent>(io_, std::move(events), script_);
    on_open_(host, *agent);
    return std::make_unique<FakeChannel>(std::move(agent));
  }

 private:
  class FakeChannel : public Channel {
   public:
    explicit FakeChannel(std::shared_ptr<FakeAgent> agent) : agent_(std::move(agent)) {}
    ~FakeChannel() override { agent_->owned = false; }
    FakeChannel(const FakeChannel&) = delete;
    FakeChannel& operator=(const FakeChannel&) = delete;
    void send(Bytes bytes) override { agent_->hear(bytes); }
    [[nodiscard]] std::size_t unsent() const override { return 0; }
    void close() override {}

   private:
    std::shared_ptr<FakeAgent> agent_;
  };

  asio::io_context& io_;
  std::function<void(const Host&, FakeAgent&)> on_open_;
  FakeAgent::Script script_;
};

}  // namespace ds::launcher
