// Standard input of the launcher on its way to the ranks that read it.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "launcher/job/life.h"
#include "launcher/logs/input_reader.h"
#include "launcher/logs/input_window.h"
#include "launcher/logs/log_policy.h"

namespace ds::launcher {

/// Threads: the io_context's.
class JobInput {
 public:
  using Send = std::function<void(int agent, const Stdin&)>;

  JobInput(asio::io_context& io, const StdinChoice& choice, int fd, Send send)
      : io_(io), choice_(choice), fd_(fd), send_(std::move(send)) {}

  /// Ranks start (again); `agents` by node, of which the one of the chosen rank is on `node`.
  /// Order:   after the Go frames. What ranks of the epoch before have not read is lost to them;
  /// the
  ///          end of the file is told again.
  void start(const std::vector<int>& agents, int node);
  /// The ranks of an agent have taken so much.
  void taken(int agent, std::uint64_t bytes);

 private:
  void pass(const std::vector<std::byte>& bytes, bool last);
  void allow();

  asio::io_context& io_;
  StdinChoice choice_;
  int fd_;
  Send send_;
  std::vector<int> agents_;  // that get it
  InputWindow window_;
  Life life_;
  bool ended_ = false;
  std::unique_ptr<InputReader> reader_;
};

}  // namespace ds::launcher
