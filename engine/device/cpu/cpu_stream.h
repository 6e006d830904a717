// Streams and events of the CPU: the caller's own order, or a thread beside it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/device.h"

namespace ds {

/// Work is done when submit() returns.
class CallerStream final : public Stream {
 public:
  void submit(const Work& work) override { work.call(work.self, work.item); }
  void synchronize() override {}
};

/// A thread that does its work in order. Its queue is a ring that grows only until it is as long as
/// the longest program needs.
class ThreadStream final : public Stream {
 public:
  explicit ThreadStream(const char* name);
  ~ThreadStream() override;
  ThreadStream(const ThreadStream&) = delete;
  ThreadStream& operator=(const ThreadStream&) = delete;
  void submit(const Work& work) override;
  void synchronize() override;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;  // for the thread
  std::condition_variable drained_;  // for synchronize()
  std::vector<Work> ring_{64};
  std::size_t first_ = 0, count_ = 0;  // of the ring; the one being done is still counted
  bool stop_ = false;
  std::thread thread_;
};

/// Counts: every record has a number, and the highest that was reached is kept.
class CpuEvent final : public Event {
 public:
  void record(Stream& stream) override;
  void make_wait(Stream& stream) override;
  [[nodiscard]] bool has_passed() override {
    return reached_.load(std::memory_order_acquire) >= issued_;
  }

 private:
  std::size_t issued_ = 0;
  std::atomic<std::size_t> reached_{0};
};

}  // namespace ds
