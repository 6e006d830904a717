// Device: memory, ordered queues of work, and copies between tiers. This is seam 1 of 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/function_ref.h"

namespace ds {

/// Where bytes are stored. The CPU backend's `device` is ordinary memory; nvme is files
/// (engine/storage), never an arena.
enum class Tier : std::uint8_t { device, pinned_host, host, nvme };
inline constexpr std::size_t kTiers = 4;

/// One contiguous piece of a tier, freed on destruction. Allocation does not touch its pages.
class Arena {
 public:
  virtual ~Arena() = default;
  [[nodiscard]] virtual std::byte* data() = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// An ordered queue of work.
class Stream {
 public:
  /// A function of host code with an argument; it must not throw. On an accelerator's stream it
  /// only issues: what it launches runs later, in the stream's order.
  struct Work {
    void (*call)(void* self, std::size_t item) = nullptr;
    void* self = nullptr;
    std::size_t item = 0;
  };
  virtual ~Stream() = default;
  /// Runs `work` after everything submitted before. A side stream of the CPU and every host stream
  /// run it in a thread of their own; the CPU's compute stream and an accelerator's streams run it
  /// at once in the caller.
  virtual void submit(const Work& work) = 0;
  /// Waits until everything submitted has finished.
  virtual void synchronize() = 0;
};

/// A point in a stream that others can wait for. It is reusable: the last record counts.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  /// Makes everything submitted to `stream` from now on wait for the last recorded point.
  virtual void make_wait(Stream& stream) = 0;
  /// Returns whether the last recorded point was reached; true before the first record.
  [[nodiscard]] virtual bool has_passed() = 0;
};

/// The times at which streams pass points, by number. A time that was not noted since the first
/// start is undefined.
class StreamTimes {
 public:
  virtual ~StreamTimes() = default;
  /// Comes before each use of the points; all streams are idle.
  virtual void start(Stream& compute) = 0;
  /// Notes when `stream` gets to this point. Called from the stream's own work.
  virtual void note(std::size_t point, Stream& stream) = 0;
  /// Returns the time of a point that its stream has passed.
  [[nodiscard]] virtual Clock::time_point at(std::size_t point) = 0;
};

/// The times of streams whose work runs on the host.
class HostTimes : public StreamTimes {
 public:
  explicit HostTimes(std::size_t points) : times_(points) {}
  void start(Stream&) override {}
  void note(std::size_t point, Stream&) override { times_[point] = Clock::now(); }
  [[nodiscard]] Clock::time_point at(std::size_t point) override { return times_[point]; }

 private:
  std::vector<Clock::time_point> times_;
};

/// Work of a stream that can be issued repeatedly as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void issue(Stream& stream) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  /// Describes the device for people: "CPU, 2 threads, AVX-512 + bf16".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Returns the bytes of the tier that this process may still allocate (cgroup limits included).
  [[nodiscard]] virtual std::size_t free_bytes(Tier tier) const = 0;
  /// Errors: Error{config} if the tier cannot hold `bytes`, naming both numbers.
  virtual std::unique_ptr<Arena> allocate(Tier tier, std::size_t bytes) = 0;
  /// Returns whether host code may access the device's tier: true on the CPU. Where it may not,
  /// kernels and copies also reach the tiers pinned_host and host, by the same addresses.
  [[nodiscard]] virtual bool is_host() const = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Stream> make_side_stream(const char* name) = 0;
  /// Creates a stream for host code that finishes on return (kernels of the CPU, files), in a
  /// thread of its own; events order it with the other streams.
  virtual std::unique_ptr<Stream> make_host_stream(const char* name) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual std::unique_ptr<StreamTimes> make_stream_times(std::size_t points) {
    return std::make_unique<HostTimes>(points);
  }
  /// Calls `launch` and records what it puts on `stream` without running it: the same kernels with
  /// the same arguments and addresses. `earlier` (or null) is a recording of the same kernels with
  /// other arguments, which is changed where that is cheaper than a new one. Returns null if the
  /// device cannot record.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(Stream&, FunctionRef<void()>,
                                                          std::unique_ptr<Recording> /*earlier*/) {
    return nullptr;
  }
  /// Called by each further thread before it copies. Threads copy one at a time.
  virtual void enter_thread() {}
  /// Order: runs on `stream`; source and destination must stay valid until it has finished.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;
  /// Order: runs on `stream`.
  virtual void zero(void* data, std::size_t bytes, Stream& stream) = 0;
};

}  // namespace ds
