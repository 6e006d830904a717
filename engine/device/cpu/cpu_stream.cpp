// One mutex per stream. Work takes as long as a message or a copy, so the mutex is not a
// bottleneck.
#include "engine/device/cpu/cpu_stream.h"

#include <pthread.h>

#include "engine/device/cpu/float_state.h"

namespace ds {

ThreadStream::ThreadStream(const char* name) : thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), name);
}

ThreadStream::~ThreadStream() {
  synchronize();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ThreadStream::submit(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == ring_.size()) {
      std::vector<Work> longer(ring_.size() * 2);
      for (std::size_t i = 0; i < count_; ++i) longer[i] = ring_[(first_ + i) % ring_.size()];
      ring_.swap(longer);
      first_ = 0;
    }
    ring_[(first_ + count_) % ring_.size()] = work;
    ++count_;
  }
  changed_.notify_one();
}

void ThreadStream::synchronize() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return count_ == 0; });
}

void ThreadStream::run() {
  set_float_state();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return count_ > 0 || stop_; });
    if (count_ == 0) return;
    const Work work = ring_[first_];
    lock.unlock();
    work.call(work.self, work.item);
    lock.lock();
    first_ = (first_ + 1) % ring_.size();
    if (--count_ == 0) drained_.notify_all();
  }
}

void CpuEvent::record(Stream& stream) {
  const auto reach = [](void* self, std::size_t number) {
    auto& event = *static_cast<CpuEvent*>(self);
    event.reached_.store(number, std::memory_order_release);
    event.reached_.notify_all();
  };
  stream.submit({reach, this, ++issued_});
}

void CpuEvent::make_wait(Stream& stream) {
  const auto wait = [](void* self, std::size_t number) {
    auto& event = *static_cast<CpuEvent*>(self);
    for (std::size_t now = event.reached_.load(std::memory_order_acquire); now < number;
         now = event.reached_.load(std::memory_order_acquire)) {
      event.reached_.wait(now, std::memory_order_acquire);
    }
  };
  stream.submit({wait, this, issued_});
}

}  // namespace ds
