// BlockQueue on io_uring. Each block is submitted as it is started, so that the checksum of the
// next block is computed while it is in flight.
#include "engine/storage/uring_queue.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/storage/io_priority.h"
#include "engine/storage/uring_ring.h"

namespace ds {
namespace {

constexpr std::size_t kMaxRegistered = std::size_t{1} << 30;  // kernel limit per registered buffer

class KernelQueue final : public UringQueue {
 public:
  KernelQueue(std::shared_ptr<const OpenFiles> files, Direction direction, const UringCalls& calls,
              Urgency urgency)
      : files_(std::move(files)),
        direction_(direction),
        calls_(calls),
        priority_(urgency == Urgency::low ? kLowIoPriority : std::uint16_t{0}) {}

  bool open(int depth) {
    if (!ring_.open(static_cast<unsigned>(depth), calls_)) return false;
    std::vector<int> descriptors;
    for (const UniqueFd& file : files_->files) descriptors.push_back(file.get());
    // If registration is refused (small open-file limit, old kernel), plain descriptors are used.
    files_registered_ = calls_.enroll(ring_.fd(), IORING_REGISTER_FILES, descriptors.data(),
                                      static_cast<unsigned>(descriptors.size())) == 0;
    return true;
  }

  int register_memory(std::span<const std::span<std::byte>> arenas) override {
    if (!buffers_.empty()) calls_.enroll(ring_.fd(), IORING_UNREGISTER_BUFFERS, nullptr, 0);
    buffers_.clear();
    for (const std::span<std::byte>& arena : arenas) {
      for (std::size_t at = 0; at < arena.size(); at += kMaxRegistered) {
        buffers_.push_back({arena.data() + at, std::min(kMaxRegistered, arena.size() - at)});
      }
    }
    if (buffers_.empty()) return 0;
    if (calls_.enroll(ring_.fd(), IORING_REGISTER_BUFFERS, buffers_.data(),
                      static_cast<unsigned>(buffers_.size())) == 0) {
      return 0;
    }
    buffers_.clear();
    return errno;
  }

  void start(int slot, const FileBlock& block) override {
    const bool reads = direction_ == Direction::read;
    io_uring_sqe& order = ring_.next_order();
    order.opcode = reads ? IORING_OP_READ : IORING_OP_WRITE;
    if (const auto buffer = buffer_of(block); buffer < buffers_.size()) {
      order.opcode = reads ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
      order.buf_index = static_cast<std::uint16_t>(buffer);
    }
    order.fd = files_->files[static_cast<std::size_t>(block.file)].get();
    if (files_registered_) {
      order.flags = IOSQE_FIXED_FILE;
      order.fd = block.file;
    }
    order.ioprio = priority_;
    order.off = static_cast<std::uint64_t>(block.offset);
    order.addr = reinterpret_cast<std::uint64_t>(block.memory);
    order.len = static_cast<std::uint32_t>(block.size);
    order.user_data = static_cast<std::uint64_t>(slot);
    enter(0, nullptr);
  }

  int wait(std::span<BlockEnd> ends, Deadline deadline) override {
    while (true) {
      if (const int count = take(ends); count > 0) return count;
      if (deadline.passed()) return 0;
      enter(1, &deadline);
    }
  }

 private:
  /// Returns the index of the registered buffer that holds the block's memory, or the buffer count.
  [[nodiscard]] std::size_t buffer_of(const FileBlock& block) const {
    const auto holds = [&](const iovec& buffer) {
      const auto* const begin = static_cast<const std::byte*>(buffer.iov_base);
      return block.memory >= begin && block.memory + block.size <= begin + buffer.iov_len;
    };
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), holds);
    return static_cast<std::size_t>(found - buffers_.begin());
  }

  int take(std::span<BlockEnd> ends) {
    int count = 0;
    while (std::cmp_less(count, ends.size())) {
      const auto end = ring_.take_end();
      if (!end) break;
      ends[static_cast<std::size_t>(count++)] = {static_cast<int>(end->tag), end->result};
    }
    return count;
  }

  /// Submits the queued orders; with a deadline, also waits for `complete` ends.
  void enter(unsigned complete, const Deadline* deadline) {
    __kernel_timespec left{};
    io_uring_getevents_arg argument{};
    unsigned flags = 0;
    if (deadline != nullptr) {
      const auto time = deadline->remaining();
      left = {.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
      argument.ts = reinterpret_cast<std::uint64_t>(&left);
      flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    }
    const int handed = calls_.enter(ring_.fd(), ring_.unsubmitted(), complete, flags,
                                    deadline != nullptr ? &argument : nullptr,
                                    deadline != nullptr ? sizeof(argument) : 0);
    if (handed >= 0) {
      ring_.submitted(static_cast<unsigned>(handed));
    } else if (errno == EAGAIN || errno == EBUSY) {  // the kernel is temporarily out of memory
      if (deadline != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (errno != EINTR && errno != ETIME) {
      throw_errno("io_uring_enter", errno, "use offload.io.engine = \"threads\" for these files");
    }
  }

  std::shared_ptr<const OpenFiles> files_;
  Direction direction_;
  UringCalls calls_;
  std::uint16_t priority_;
  UringRing ring_;
  bool files_registered_ = false;
  std::vector<iovec> buffers_;
};

}  // namespace

std::unique_ptr<UringQueue> make_uring_queue(std::shared_ptr<const OpenFiles> files,
                                             Direction direction, int depth,
                                             const UringCalls& calls, std::string& why_not,
                                             Urgency urgency) {
  auto queue = std::make_unique<KernelQueue>(std::move(files), direction, calls, urgency);
  if (queue->open(depth)) return queue;
  const int error = errno;
  why_not = fmt::format("io_uring is not available: {}{}", std::generic_category().message(error),
                        error == ENOMEM ? ", see ulimit -l" : "");
  return nullptr;
}

}  // namespace ds
