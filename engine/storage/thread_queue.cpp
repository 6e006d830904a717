// Worker threads with two bounded rings, orders and ends, under one lock.
#include "engine/storage/thread_queue.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/storage/io_priority.h"

namespace ds {
namespace {

constexpr std::size_t kThreadsAFolder = 8;

/// A FIFO of fixed capacity.
template <typename T>
class Ring {
 public:
  explicit Ring(int capacity) : items_(static_cast<std::size_t>(capacity)) {}
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void push(T item) { items_[(first_ + size_++) % items_.size()] = item; }
  T pop() {
    --size_;
    return items_[std::exchange(first_, (first_ + 1) % items_.size())];
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0, size_ = 0;
};

struct Order {
  int slot = 0;
  FileBlock block;
};

/// State shared by queue and workers. A worker that is blocked by a dead disk keeps it alive.
struct Shared {
  std::shared_ptr<const OpenFiles> files;
  Direction direction;
  Urgency urgency;
  Ring<Order> orders;
  Ring<BlockEnd> ends;
  int working = 0;
  bool stop = false;
  std::mutex mutex;
  std::condition_variable ordered, ended;
};

std::int64_t move_block(const Shared& shared, const FileBlock& block) {
  const int file = shared.files->files[static_cast<std::size_t>(block.file)].get();
  const auto size = static_cast<std::size_t>(block.size);
  const ssize_t moved = shared.direction == Direction::read
                            ? ::pread(file, block.memory, size, block.offset)
                            : ::pwrite(file, block.memory, size, block.offset);
  return moved < 0 ? -errno : moved;
}

// Lowers the I/O priority of this thread. If that is refused, only the small depth keeps these
// requests from slowing down the others.
void lower_priority() { ::syscall(SYS_ioprio_set, kOwnThread, 0, kLowIoPriority); }

void work(const std::shared_ptr<Shared>& shared) {
  if (shared->urgency == Urgency::low) lower_priority();
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->ordered.wait(lock, [&] { return shared->stop || !shared->orders.empty(); });
    if (shared->stop) return;
    const Order order = shared->orders.pop();
    ++shared->working;
    lock.unlock();
    const std::int64_t result = move_block(*shared, order.block);
    lock.lock();
    --shared->working;
    shared->ends.push({order.slot, result});
    shared->ended.notify_one();
  }
}

class ThreadQueue final : public BlockQueue {
 public:
  ThreadQueue(std::shared_ptr<const OpenFiles> files, Direction direction, int depth,
              Urgency urgency)
      : shared_(std::make_shared<Shared>(std::move(files), direction, urgency, Ring<Order>(depth),
                                         Ring<BlockEnd>(depth))) {
    const std::size_t threads =
        std::min(static_cast<std::size_t>(depth), kThreadsAFolder * shared_->files->files.size());
    while (threads_.size() < threads) threads_.emplace_back(work, shared_);
  }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;

  ~ThreadQueue() override {
    bool all_idle = false;
    {
      const std::scoped_lock lock(shared_->mutex);
      shared_->stop = true;
      all_idle = shared_->working == 0;
    }
    shared_->ordered.notify_all();
    // A disk that does not respond blocks its thread forever, so such threads are not joined.
    for (std::thread& thread : threads_) all_idle ? thread.join() : thread.detach();
  }

  void start(int slot, const FileBlock& block) override {
    {
      const std::scoped_lock lock(shared_->mutex);
      shared_->orders.push({slot, block});
    }
    shared_->ordered.notify_one();
  }

  int wait(std::span<BlockEnd> ends, Deadline deadline) override {
    std::unique_lock lock(shared_->mutex);
    shared_->ended.wait_until(lock, deadline.at(), [&] { return !shared_->ends.empty(); });
    int count = 0;
    for (; !shared_->ends.empty() && std::cmp_less(count, ends.size()); ++count) {
      ends[static_cast<std::size_t>(count)] = shared_->ends.pop();
    }
    return count;
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockQueue> make_thread_queue(std::shared_ptr<const OpenFiles> files,
                                              Direction direction, int depth, Urgency urgency) {
  return std::make_unique<ThreadQueue>(std::move(files), direction, depth, urgency);
}

}  // namespace ds
