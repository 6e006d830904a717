// Callbacks of an io_context: a guard for objects that may be gone, and the timer of a state
// machine.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// Guards callbacks that may run after their object, of which it is a member, is gone: they then do
/// nothing. An expired timer and a posted call cannot be canceled, and an io_context may run on
/// when a job on it has ended. Threads: guard() from any while the object exists; its result where
/// the object is destroyed.
class Life {
 public:
  template <class Call>
  auto guard(Call call) const {
    return [life = std::weak_ptr<const bool>(token_), call = std::move(call)](auto&&... args) {
      if (life.lock()) call(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<const bool> token_ = std::make_shared<const bool>(true);
};

/// Timer of a state machine that computes its next wake time: armed after every event, restarted
/// only when that time has changed.
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
