// GlooGroup::Operation: one operation of a Gloo group. Posts messages, waits for all of them, or
// says which peer is at fault.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/gloo/gloo_group.h"

namespace ds::comm {

class GlooGroup::Operation {
 public:
  /// Errors: Error{comm} when the group failed or was aborted before. `bytes`: what all members
  /// know of the sizes of a collective; nothing for point-to-point messages.
  Operation(GlooGroup& group, std::string_view name, Deadline deadline,
            std::optional<std::uint64_t> bytes = 0);
  ~Operation();
  Operation(const Operation&) = delete;

  /// Zero bytes post nothing: both ends know the size.
  void receive(int from, std::span<std::byte> into, std::uint64_t slot);
  void send(int to, std::span<const std::byte> data, std::uint64_t slot);
  /// Returns when every posted message has arrived or has left (its memory may be reused).
  void finish();
  /// Returns when the message that was posted first has arrived or left.
  void finish_first();

 private:
  void finish(Message& message);
  void post(Message message, std::uint64_t slot);
  bool wait(Message& message, std::chrono::milliseconds gloo_timeout);
  /// `waited_for`: the message whose wait was interrupted; null outside of a wait.
  void look_at_news(const Message* waited_for);
  void fail_if_late(const Message* waited_for);
  [[nodiscard]] std::string message_of(std::string_view what) const;
  bool is_complete(Message& message);
  void forget_messages();
  [[noreturn]] void fail(std::string_view what);
  [[noreturn]] void fail_of_peer(int peer);
  [[nodiscard]] std::string missing_peers();

  GlooGroup& group_;
  const std::string_view name_;
  const Clock::time_point begun_ = Clock::now();
  std::vector<Message>& messages_;
  std::string early_report_;
  std::optional<Watchdog::Watch> watch_;  // watches the deadline
};

}  // namespace ds::comm
