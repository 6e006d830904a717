// Sends a copy of the standard input of `dslaunch exec` to every node.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "launcher/exec/input_share.h"
#include "launcher/exec/input_store.h"
#include "launcher/logs/input_reader.h"

namespace ds::launcher::exec {

/// Returns whether `fd` may contain input: it is open, not a terminal and not /dev/null.
bool has_input(int fd);

/// Reads, buffers and sends the input; InputShare sets the pace. Threads: the io_context's.
/// Errors:  Error{system} as InputStore, thrown out of the loop.
class ExecInput {
 public:
  using Send = std::function<void(int node, const Stdin&)>;

  /// `at_once`: all nodes run at the same time.
  ExecInput(asio::io_context& io, int fd, int nodes, bool at_once, Send send)
      : io_(io), fd_(fd), nodes_(nodes), send_(std::move(send)), share_(nodes, at_once) {}

  /// The next 3 functions work as those of InputShare. Order:  started() after the Go frame.
  void started(int node);
  void left(int node);
  void taken(int node, std::uint64_t bytes);

 private:
  void came(const std::vector<std::byte>& bytes, bool last);
  void send_to(int node);
  void allow();

  asio::io_context& io_;
  int fd_;
  int nodes_;
  Send send_;
  InputShare share_;
  InputStore store_;
  std::unique_ptr<InputReader> reader_;
};

}  // namespace ds::launcher::exec
