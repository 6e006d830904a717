// Operation: one operation of a fake communicator. Its messages to and from peers move piece by
// piece whenever the fake runtime attempts its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_emulation/fake_nccl/wire.h"

namespace fake_nccl {

enum class Kind : std::uint32_t { all_gather = 1, broadcast, point_to_point };

/// Header of a message. If members issue different operations, headers differ and the members wait
/// forever, as NCCL's kernels would.
struct Head {
  Kind kind{};
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Head&, const Head&) = default;
};

struct Message {
  int peer = 0;
  bool outgoing = false;
  Head head{};
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t head_moved = 0, moved = 0;
  Head seen{};  // of an incoming message
  [[nodiscard]] bool done() const { return head_moved == sizeof(Head) && moved == head.bytes; }
};

/// The parts of a communicator that its operations need; queued operations keep it alive.
struct Line {
  std::unique_ptr<Wire> wire;
  std::mutex mutex;
  std::uint64_t issued = 0, next = 1;  // operations of one communicator run one after another
  bool aborted = false;
};

class Operation {
 public:
  Operation(std::shared_ptr<Line> line, std::vector<Message> messages, bool never)
      : line_(std::move(line)), messages_(std::move(messages)), never_(never) {
    number_ = ++line_->issued;
  }
  /// Moves what the wire takes. Returns whether the operation is complete.
  bool attempt();

 private:
  void move(Message& message);
  const std::shared_ptr<Line> line_;
  std::vector<Message> messages_;
  const bool never_;  // this rank's part never happens
  std::uint64_t number_ = 0;
};

}  // namespace fake_nccl
