// First come, first served.
#include "launcher/transport/turns.h"

#include <asio/post.hpp>
#include <utility>

namespace ds::launcher {

void Turns::enqueue(std::function<bool()> start) {
  waiting_.push_back(std::move(start));
  post_pump();
}

void Turns::done() {
  --under_way_;
  post_pump();
}

void Turns::post_pump() {
  asio::post(io_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pump();
  });
}

void Turns::pump() {
  while (under_way_ < width_ && !waiting_.empty()) {
    const auto start = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    if (!start()) --under_way_;
  }
}

}  // namespace ds::launcher
