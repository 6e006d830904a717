// A queue of tasks that limits how many of them are under way at once.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace ds::launcher {

/// Tasks start in the order of arrival. Held by a shared pointer. Threads: the io_context's.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  Turns(asio::io_context& io, int width) : io_(io), width_(width) {}

  /// Calls `start` when there is room, never from inside this call. If it returns true, the task is
  /// under way until done().
  void enqueue(std::function<bool()> start) {
    waiting_.push_back(std::move(start));
    post_pump();
  }
  void done() {
    --under_way_;
    post_pump();
  }

 private:
  void post_pump() {
    asio::post(io_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }
  void pump() {
    while (under_way_ < width_ && !waiting_.empty()) {
      const auto start = std::move(waiting_.front());
      waiting_.pop_front();
      ++under_way_;
      if (!start()) --under_way_;
    }
  }

  asio::io_context& io_;
  const int width_;
  std::deque<std::function<bool()>> waiting_;
  int under_way_ = 0;
};

}  // namespace ds::launcher
