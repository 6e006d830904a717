// Block: runs one block at a time, its threads as fibers, with barriers that suspend them.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fiber.h"
#include "grid.h"

namespace emulation {

inline constexpr int kMaxThreads = 1024;
enum class State : unsigned char { fresh, running, ready, in_block_barrier, in_warp_barrier, done };

/// Lanes that wait for each other: those whose mask has the same lowest lane.
struct Group {
  unsigned mask = 0, arrived = 0;
  WarpAction action = nullptr;
};
struct Warp {
  std::array<Group, 32> groups;
  std::array<void*, 32> arguments;
};

struct AsyncCopy {
  void* to;
  const void* from;
  bool valid;
  std::size_t group;
};
/// Asynchronous copies of one thread.
struct AsyncCopies {
  std::vector<AsyncCopy> started;
  std::size_t group = 0;  // the open group
};

class Block {
 public:
  void start(const GridShape& shape, const KernelCall& call, Random& random);
  /// Runs until all threads have ended or fault() is set.
  void run();
  [[nodiscard]] const std::string& fault() const { return fault_; }

  int barrier(bool predicate);
  void collective(unsigned mask, WarpAction action, void* arguments);
  [[nodiscard]] unsigned lane() const { return static_cast<unsigned>(current_) % 32; }
  [[nodiscard]] unsigned live_lanes() const;
  [[noreturn]] void fail(const char* message);
  void copy_async(void* shared, const void* global, bool valid);
  void copy_async_commit();
  void copy_async_wait(std::size_t pending);
  [[nodiscard]] std::string place_of(int thread) const;
  /// Returns whether `address` is below the stack of the running thread.
  [[nodiscard]] bool overflown_at(const void* address) const { return on_->overflown_at(address); }
  /// After a fault, drops suspended threads, which never continue.
  void forget_fibers();

 private:
  static void fiber_main();
  void run_threads();
  void begin_thread();
  void set_place(int thread);
  void suspend(State state);
  void make_ready(int thread);
  [[nodiscard]] Fiber* next_fiber();
  void resume(Fiber* fiber);
  Fiber* take_fiber();
  void diagnose();

  const KernelCall* call_ = nullptr;
  Random* random_ = nullptr;
  GridShape shape_;
  int threads_ = 0, started_ = 0, ended_ = 0, current_ = -1;
  bool descending_ = false, eager_ = false, lifo_ = false;
  int waiting_ = 0, predicates_ = 0, count_of_last_ = 0;
  std::array<State, kMaxThreads> states_{};
  std::array<Fiber*, kMaxThreads> fiber_of_{};
  std::array<Warp, kMaxThreads / 32> warps_{};
  std::array<AsyncCopies, kMaxThreads> copies_;
  bool any_copies_ = false;
  std::vector<int> ready_;
  std::size_t ready_from_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* on_ = nullptr;  // the running fiber
  void* scheduler_ = nullptr;
  std::string fault_;
};

/// Returns the only block.
Block& block();

}  // namespace emulation
