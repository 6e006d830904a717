// Forwards standard input of the launcher to the ranks that read it.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "launcher/fleet/life.h"
#include "launcher/logs/input_reader.h"
#include "launcher/logs/log_policy.h"

namespace ds::launcher {

/// Threads: the io_context's.
class JobInput {
 public:
  using Send = std::function<void(int agent, const Stdin&)>;

  JobInput(asio::io_context& io, const StdinChoice& choice, int fd, Send send)
      : io_(io), choice_(choice), fd_(fd), send_(std::move(send)) {}

  /// Starts an epoch. `agents` by node; `node` is the chosen rank's.
  /// Order:   after the Go frames. Input that ranks of the previous epoch have not read is lost;
  ///          the end of the file is sent again.
  void start(const std::vector<int>& agents, int node);
  /// Records that the ranks of an agent have read this many bytes.
  void taken(int agent, std::uint64_t bytes);

 private:
  void pass(const std::vector<std::byte>& bytes, bool last);
  void allow();

  asio::io_context& io_;
  StdinChoice choice_;
  int fd_;
  Send send_;
  std::vector<int> agents_;  // that receive input
  InputWindow window_;
  Life life_;
  bool ended_ = false;
  std::unique_ptr<InputReader> reader_;
};

}  // namespace ds::launcher
