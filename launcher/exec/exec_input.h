// Sends a copy of the standard input of `dslaunch exec` to every node.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "launcher/exec/input_share.h"
#include "launcher/logs/input_reader.h"

namespace ds::launcher::exec {

/// Returns whether `fd` may contain input: it is open, not a terminal and not /dev/null.
inline bool has_input(int fd) {
  struct stat input {
  }, null{};
  if (::fstat(fd, &input) != 0 || ::isatty(fd) == 1) return false;
  const bool is_null =
      ::stat("/dev/null", &null) == 0 && S_ISCHR(input.st_mode) && input.st_rdev == null.st_rdev;
  return !is_null;
}

/// Reads, buffers and sends the input; InputShare sets the pace. Threads: the io_context's.
class ExecInput {
 public:
  using Send = std::function<void(int node, const Stdin&)>;
  /// Called if the input cannot be read or kept; nothing more is sent then, and no end.
  using OnFailed = std::function<void(const Error&)>;

  /// `at_once`: all nodes run at the same time.
  ExecInput(asio::io_context& io, int fd, int nodes, bool at_once, Send send, OnFailed on_failed)
      : io_(io),
        fd_(fd),
        nodes_(nodes),
        send_(std::move(send)),
        on_failed_(std::move(on_failed)),
        share_(nodes, at_once) {}

  /// The next 3 functions work as those of InputShare. Order:  started() after the Go frame.
  void started(int node) {
    share_.started(node);
    if (!reader_) {
      reader_ = std::make_unique<InputReader>(fd_, [this](auto bytes, bool last, int error) {
        asio::post(io_,
                   [this, bytes = std::move(bytes), last, error] { came(bytes, last, error); });
      });
    }
    send_to(node);
    allow();
  }
  void left(int node) {
    share_.left(node);
    allow();
  }
  void taken(int node, std::uint64_t bytes) {
    share_.taken(node, bytes);
    send_to(node);
    allow();
  }

 private:
  void came(const std::vector<std::byte>& bytes, bool last, int error) {
    if (failed_) return;
    try {
      if (error != 0) throw_errno("cannot read standard input", error);
      store_.add(bytes);
    } catch (const Error& problem) {
      failed_ = true;
      return on_failed_(problem);
    }
    share_.read(bytes.size(), last);
    for (int node = 0; node < nodes_; ++node) send_to(node);
    allow();
  }
  void send_to(int node) {
    const auto piece = share_.next(node);
    if (!piece) return;
    const std::vector<std::byte> bytes = store_.get(piece->from, piece->count);
    send_(node, {.rank = -1, .last = piece->last, .bytes = bytes});
  }
  void allow() {
    if (failed_) return;
    store_.forget(share_.needed_from());
    if (reader_) reader_->allow(share_.room());
  }

  asio::io_context& io_;
  int fd_;
  int nodes_;
  Send send_;
  OnFailed on_failed_;
  InputShare share_;
  InputStore store_;
  std::unique_ptr<InputReader> reader_;
  bool failed_ = false;
};

}  // namespace ds::launcher::exec
