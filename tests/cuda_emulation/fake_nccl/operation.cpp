// Operation: messages of one pair and direction move in the order of the calls.
#include "cuda_emulation/fake_nccl/operation.h"

namespace fake_nccl {

bool Operation::attempt() {
  const std::lock_guard lock(line_->mutex);
  if (line_->aborted) return true;
  if (never_ || line_->next != number_) return false;
  bool blocked[2][kMaxRanks] = {};
  bool all = true;
  for (Message& message : messages_) {
    bool& before = blocked[message.outgoing ? 1 : 0][message.peer];
    if (!before && !message.done()) move(message);
    before = before || !message.done();
    all = all && message.done();
  }
  if (all) ++line_->next;
  return all;
}

void Operation::move(Message& message) {
  Wire& wire = *line_->wire;
  auto* const head = reinterpret_cast<std::byte*>(message.outgoing ? &message.head : &message.seen);
  const std::size_t rest = sizeof(Head) - message.head_moved;
  if (message.outgoing) {
    message.head_moved += wire.push(message.peer, head + message.head_moved, rest);
    if (message.head_moved < sizeof(Head)) return;
    message.moved +=
        wire.push(message.peer, message.from + message.moved, message.head.bytes - message.moved);
    return;
  }
  message.head_moved += wire.pull(message.peer, head + message.head_moved, rest);
  if (message.head_moved < sizeof(Head) || message.seen != message.head) return;
  message.moved +=
      wire.pull(message.peer, message.to + message.moved, message.head.bytes - message.moved);
}

}  // namespace fake_nccl
