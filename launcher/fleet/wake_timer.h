// Timer of a state machine that computes its next wake time: armed after every event, restarted
// only when that time has changed.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "engine/base/deadline.h"
#include "launcher/fleet/life.h"

namespace ds::launcher {

/// Threads: the io_context's.   Errors: none. `on_due` may arm it again; it must outlive its calls.
class WakeTimer {
 public:
  WakeTimer(asio::io_context& io, std::function<void()> on_due)
      : timer_(io), on_due_(std::move(on_due)) {}

  void arm(Clock::time_point at) {
    if (at == at_) return;
    at_ = at;
    timer_.expires_at(at);
    timer_.async_wait(life_.guard([this](const asio::error_code& error) {
      if (error) return;
      at_.reset();
      on_due_();
    }));
  }
  void cancel() { timer_.cancel(); }

 private:
  Life life_;
  asio::steady_timer timer_;
  std::optional<Clock::time_point> at_;
  std::function<void()> on_due_;
};

}  // namespace ds::launcher
