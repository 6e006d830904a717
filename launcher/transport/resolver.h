// Names -> addresses on helper threads, because getaddrinfo blocks: as many as wait for an answer.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ds::launcher {

struct Resolved {
  std::vector<asio::ip::tcp::endpoint> addresses;
  std::string problem;  // set if there are none
};

/// Threads: results arrive on the io_context's thread, never from inside `resolve`. A lookup that
///          hangs holds one of at most `threads` helpers and never the destructor; the caller keeps
///          the deadline.
class Resolver {
 public:
  Resolver(asio::io_context& io, int threads);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  void resolve(const std::string& host, int port, std::function<void(Resolved)> done);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  int max_threads_;
};

}  // namespace ds::launcher
