// Standard input of `dslaunch exec` on its way to every node.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "launcher/exec/input_share.h"
#include "launcher/exec/input_store.h"
#include "launcher/logs/input_reader.h"

namespace ds::launcher::exec {

/// Somebody may have put something into it: it is open, no terminal and not /dev/null.
bool has_input(int fd);

/// Threads: the io_context's.
/// Errors:  Error{system} as InputStore, out of the loop.
class ExecInput {
 public:
  using Send = std::function<void(int node, const Stdin&)>;

  /// `at_once`: all nodes run at the same time.
  ExecInput(asio::io_context& io, int fd, int nodes, bool at_once, Send send)
      : io_(io), fd_(fd), nodes_(nodes), send_(std::move(send)), share_(nodes, at_once) {}

  /// As InputShare. Order:  after the Go frame.
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
