// So many at once; the others wait for their turn.
#pragma once

#include <asio/io_context.hpp>
#include <deque>
#include <functional>
#include <memory>

namespace ds::launcher {

/// Held by a shared pointer. Threads: the io_context's.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  Turns(asio::io_context& io, int width) : io_(io), width_(width) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() = default;

  /// Calls `start` when there is room, never from inside; true from it takes a place, until done().
  void enqueue(std::function<bool()> start);
  void done();
  [[nodiscard]] int under_way() const { return under_way_; }

 private:
  void pump();
  void post_pump();

  asio::io_context& io_;
  const int width_;
  std::deque<std::function<bool()>> waiting_;
  int under_way_ = 0;
};

}  // namespace ds::launcher
