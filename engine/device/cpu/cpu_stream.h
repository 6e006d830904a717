// Streams and events of the CPU: work in the caller, or in a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/device.h"

namespace ds {

/// Runs work in submit(); it has finished on return.
class CallerStream final : public Stream {
 public:
  void submit(const Work& work) override { work.call(work.self, work.item); }
  void synchronize() override {}
};

/// Runs work in order in a thread. Its queue is a ring that grows only to the longest program's
/// need.
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
  std::condition_variable changed_;  // signals the thread
  std::condition_variable drained_;  // signals synchronize()
  std::vector<Work> ring_{64};
  std::size_t first_ = 0, count_ = 0;  // of the ring; work in progress still counts
  bool stop_ = false;
  std::thread thread_;
};

/// Numbers each record and keeps the highest number reached.
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
