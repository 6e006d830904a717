// FaultPlan: the file faults of the preloaded library, and how a call meets them.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "e2e/checkpoint/file_faults.h"

namespace ds::test {

/// The faults of this rank, and how many matching calls each has seen.
class FaultPlan {
 public:
  /// Returns the plan of this process, read from its environment.
  static FaultPlan& here();

  [[nodiscard]] bool is_about(const std::string& path) const {
    return log_ >= 0 && !dir_.empty() && path.starts_with(dir_);
  }
  /// Returns the fault that this call meets, or null. Every fault that matches the call counts it.
  const FileFault* next(std::string_view call, const std::string& path);
  void note(const std::string& words) const;
  /// Sends SIGKILL as the fault says; returns if another process is killed.
  void kill(const FileFault& fault) const;

  std::atomic<std::int64_t> written{0};  // bytes of all writes

 private:
  FaultPlan();

  std::string rank_, dir_;
  std::vector<FileFault> faults_;
  std::vector<std::atomic<int>> calls_;
  int root_ = 0, log_ = -1;
};

std::string path_of(int file);

/// Calls `real` as the fault says. Errors as system calls: -1 and errno.
template <typename Real>
auto perform(const FileFault* fault, Real real) -> decltype(real()) {
  if (fault == nullptr) return real();
  if (fault->what == "error") {
    errno = static_cast<int>(fault->number);
    return -1;
  }
  if (fault->what == "delay") ::usleep(static_cast<useconds_t>(fault->number) * 1000);
  const bool kills = fault->what.starts_with("kill");
  if (kills && fault->number == kBefore) FaultPlan::here().kill(*fault);
  const auto result = real();
  const int error = errno;
  if (kills && fault->number != kBefore) FaultPlan::here().kill(*fault);
  errno = error;
  return result;
}

template <typename Real>
auto call_at(std::string_view call, const std::string& path, Real real) -> decltype(real()) {
  if (!FaultPlan::here().is_about(path)) return real();
  return perform(FaultPlan::here().next(call, path), real);
}

/// Writes `size` bytes through `real`, as the fault says.
template <typename Real>
ssize_t write_at(int file, const void* from, std::size_t size, Real real) {
  FaultPlan& plan = FaultPlan::here();
  const std::string path = path_of(file);
  if (!plan.is_about(path)) return real(from, size);
  const FileFault* const fault = plan.next("write", path);
  const std::string_view what = fault == nullptr ? "" : fault->what;
  if (what == "space") {
    const std::int64_t left = fault->number - plan.written;
    if (left <= 0) {
      plan.note("! space write " + std::string(kind_of_file(path)) + " " + path);
      errno = ENOSPC;
      return -1;
    }
    size = std::min(size, static_cast<std::size_t>(left));
  }
  if (what == "short" && size > 1) size = std::max<std::size_t>(1, size / 3);
  if (what.starts_with("kill") && fault->number == kTorn) size = (size + 1) / 2;
  std::vector<unsigned char> changed;
  if (what == "flip" && size > 0) {
    const auto* const bytes = static_cast<const unsigned char*>(from);
    changed.assign(bytes, bytes + size);
    const auto at = static_cast<std::size_t>(fault->number) % (size * 8);
    changed[at / 8] = static_cast<unsigned char>(changed[at / 8] ^ (1U << at % 8));
    from = changed.data();
  }
  const ssize_t moved = perform(fault, [&] { return real(from, size); });
  if (moved > 0) plan.written += moved;
  return moved;
}

}  // namespace ds::test
