// Forwards standard input of the launcher to the ranks that read it. The reader has its own thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "launcher/fleet/wake_timer.h"
#include "launcher/logs/input_reader.h"
#include "launcher/logs/log_policy.h"

namespace ds::launcher {

/// Threads: the io_context's.
class JobInput {
 public:
  using Send = std::function<void(int agent, const Stdin&)>;
  /// Called once if reading fails; the ranks then get no end of the input.
  using OnFailed = std::function<void(int error)>;

  JobInput(asio::io_context& io, const StdinChoice& choice, int fd, Send send, OnFailed on_failed)
      : io_(io),
        choice_(choice),
        fd_(fd),
        send_(std::move(send)),
        on_failed_(std::move(on_failed)) {}

  /// Starts an epoch. `agents` by node; `node` is the chosen rank's.
  /// Order:   after the Go frames. Input that ranks of the previous epoch have not read is lost;
  ///          the end of the file is sent again.
  void start(const std::vector<int>& agents, int node) {
    if (choice_.kind == StdinChoice::Kind::none) return;
    agents_ = agents;
    if (choice_.kind == StdinChoice::Kind::one) agents_ = {agents[static_cast<std::size_t>(node)]};
    window_.start(agents_);
    if (ended_) return pass({}, true);
    if (!reader_) {
      reader_ = std::make_unique<InputReader>(fd_, [this](auto bytes, bool last, int error) {
        asio::post(io_, life_.guard([this, bytes = std::move(bytes), last, error] {
          if (error != 0) return on_failed_(error);
          pass(bytes, last);
        }));
      });
    }
    allow();
  }
  /// Records that the ranks of an agent have read this many bytes.
  void taken(int agent, std::uint64_t bytes) {
    window_.taken(agent, bytes);
    allow();
  }

 private:
  void pass(const std::vector<std::byte>& bytes, bool last) {
    ended_ = last;
    const int rank = choice_.kind == StdinChoice::Kind::one ? choice_.rank : -1;
    for (const int agent : agents_) send_(agent, {.rank = rank, .last = last, .bytes = bytes});
    window_.sent(bytes.size());
    allow();
  }
  void allow() {
    if (reader_ && !ended_) reader_->allow(window_.room());
  }

  asio::io_context& io_;
  StdinChoice choice_;
  int fd_;
  Send send_;
  OnFailed on_failed_;
  std::vector<int> agents_;  // that receive input
  InputWindow window_;
  Life life_;
  bool ended_ = false;
  std::unique_ptr<InputReader> reader_;
};

}  // namespace ds::launcher
