// Block: the scheduler of a block's fibers, and the barriers that suspend them.
#include "block_scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulation {

unsigned char* dynamic_shared_bytes = nullptr;
unsigned current_lane = 0;

namespace {
Block* const the_block = new Block;  // never destroyed: host threads may outlive statics
}  // namespace

Block& block() { return *the_block; }

void Block::start(const GridShape& shape, const KernelCall& call, Random& random) {
  call_ = &call;
  random_ = &random;
  shape_ = shape;
  threads_ = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
  started_ = ended_ = waiting_ = predicates_ = 0;
  const std::uint64_t coins = random.next();
  descending_ = (coins & 1U) != 0;
  eager_ = (coins & 2U) != 0;
  lifo_ = (coins & 4U) != 0;
  std::fill_n(states_.begin(), threads_, State::fresh);
  ready_.clear();
  ready_from_ = 0;
  fault_.clear();
  if (!any_copies_) return;
  for (AsyncCopies& copies : copies_) copies.started.clear(), copies.group = 0;
  any_copies_ = false;
}

void Block::set_place(int thread) {
  current_ = thread;
  current_lane = static_cast<unsigned>(thread) % 32;
  const auto number = static_cast<unsigned>(thread);
  const dim3& size = shape_.block;
  threadIdx = size.y == 1 && size.z == 1
                  ? uint3{number, 0, 0}
                  : uint3{number % size.x, number / size.x % size.y, number / size.x / size.y};
}

void Block::begin_thread() {
  const int number = started_++;
  const int thread = descending_ ? threads_ - 1 - number : number;
  set_place(thread);
  states_[static_cast<std::size_t>(thread)] = State::running;
}

// One fiber runs thread after thread; only a thread that waits keeps its fiber.
void Block::run_threads() {
  while (started_ < threads_ && !(eager_ && ready_from_ < ready_.size())) {
    begin_thread();
    call_->run_thread();
    states_[static_cast<std::size_t>(current_)] = State::done;
    ++ended_;
  }
}

void Block::fiber_main() {
  Block& self = block();
  while (true) {
    self.run_threads();
    Fiber* const own = self.on_;
    self.idle_.push_back(own);
    Fiber* const next = self.next_fiber();
    if (next != nullptr) self.resume(next);
    switch_fibers(&own->stack_pointer, next != nullptr ? next->stack_pointer : self.scheduler_);
  }
}

Fiber* Block::take_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(static_cast<int>(fibers_.size()), &fiber_main));
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

/// Returns null if no thread can continue.
Fiber* Block::next_fiber() {
  const bool any_ready = ready_from_ < ready_.size();
  if (any_ready && (eager_ || started_ == threads_)) {
    int thread = 0;
    if (lifo_) {
      thread = ready_.back();
      ready_.pop_back();
    } else {
      thread = ready_[ready_from_++];
    }
    if (ready_from_ == ready_.size()) ready_.clear(), ready_from_ = 0;
    Fiber* const fiber = fiber_of_[static_cast<std::size_t>(thread)];
    fiber->thread = thread;
    return fiber;
  }
  if (started_ < threads_) {
    Fiber* const fiber = take_fiber();
    fiber->thread = -1;
    return fiber;
  }
  return nullptr;
}

void Block::resume(Fiber* fiber) {
  on_ = fiber;
  if (fiber->thread < 0) return;
  set_place(fiber->thread);
  states_[static_cast<std::size_t>(fiber->thread)] = State::running;
}

void Block::run() {
  while (fault_.empty()) {
    if (ended_ == threads_) return;
    Fiber* const fiber = next_fiber();
    if (fiber == nullptr) return diagnose();
    resume(fiber);
    switch_fibers(&scheduler_, fiber->stack_pointer);
  }
}

void Block::suspend(State state) {
  const auto own_thread = static_cast<std::size_t>(current_);
  Fiber* const own = on_;
  states_[own_thread] = state;
  fiber_of_[own_thread] = own;
  Fiber* const next = next_fiber();
  if (next == nullptr) {
    switch_fibers(&own->stack_pointer, scheduler_);
    return;
  }
  resume(next);
  switch_fibers(&own->stack_pointer, next->stack_pointer);
}

void Block::make_ready(int thread) {
  states_[static_cast<std::size_t>(thread)] = State::ready;
  ready_.push_back(thread);
}

int Block::barrier(bool predicate) {
  predicates_ += predicate ? 1 : 0;
  if (++waiting_ < threads_) {
    suspend(State::in_block_barrier);
    return count_of_last_;
  }
  count_of_last_ = predicates_;
  waiting_ = predicates_ = 0;
  const bool down = (random_->next() & 1U) != 0;
  for (int i = 0; i < threads_; ++i) {
    const int thread = down ? threads_ - 1 - i : i;
    if (thread != current_) make_ready(thread);
  }
  return count_of_last_;
}

unsigned Block::live_lanes() const {
  const int first = current_ / 32 * 32;
  unsigned lanes = 0;
  for (int i = 0; i < 32 && first + i < threads_; ++i) {
    if (states_[static_cast<std::size_t>(first + i)] != State::done) lanes |= 1U << i;
  }
  return lanes;
}

void Block::collective(unsigned mask, WarpAction action, void* arguments) {
  const unsigned own = lane();
  if ((mask >> own & 1U) == 0)
    fail("a lane calls a warp function with a mask that does not include it");
  const int first = current_ / 32 * 32;
  Warp& warp = warps_[static_cast<std::size_t>(first / 32)];
  Group& group = warp.groups[static_cast<std::size_t>(__builtin_ctz(mask))];
  if (group.arrived == 0) {
    group.mask = mask;
    group.action = action;
  } else if (group.mask != mask || group.action != action) {
    fail("lanes of one warp have diverged: they call different warp functions");
  }
  warp.arguments[own] = arguments;
  group.arrived |= 1U << own;
  if (group.arrived != mask) return suspend(State::in_warp_barrier);
  group.arrived = 0;
  if (action != nullptr) action(warp.arguments.data(), mask);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lane != own && (mask >> lane & 1U) != 0) make_ready(first + static_cast<int>(lane));
  }
}

void Block::forget_fibers() {
  fibers_.clear();
  idle_.clear();
  for (Warp& warp : warps_) {
    for (Group& group : warp.groups) group.arrived = 0;
  }
}

std::string Block::place_of(int thread) const {
  const auto n = static_cast<unsigned>(thread);
  const dim3& size = shape_.block;
  const auto text = [](unsigned x, unsigned y, unsigned z) {
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
  };
  return "block " + text(blockIdx.x, blockIdx.y, blockIdx.z) + " thread " +
         text(n % size.x, n / size.x % size.y, n / size.x / size.y);
}

/// Called when no thread can continue and some have not ended: reports who waits for whom.
void Block::diagnose() {
  int waits_block = -1, waits_warp = -1, done = -1;
  for (int i = threads_ - 1; i >= 0; --i) {
    const State state = states_[static_cast<std::size_t>(i)];
    if (state == State::in_block_barrier) waits_block = i;
    if (state == State::in_warp_barrier) waits_warp = i;
    if (state == State::done) done = i;
  }
  fault_ = place_of(waits_block >= 0 ? waits_block : waits_warp) + " waits at " +
           (waits_block >= 0 ? "__syncthreads()" : "a warp function");
  if (waits_block >= 0 && waits_warp >= 0) {
    fault_ += ", which " + place_of(waits_warp) + " does not reach: it waits at a warp function";
  } else if (done >= 0) {
    fault_ += ", which " + place_of(done) + " never reached: it has returned";
  } else {
    fault_ += " for lanes that do not exist";
  }
}

void Block::fail(const char* message) {
  fault_ = place_of(current_) + ": " + message;
  void* nowhere = nullptr;
  switch_fibers(&nowhere, scheduler_);
  std::abort();
}

void Block::copy_async(void* shared, const void* global, bool valid) {
  any_copies_ = true;
  AsyncCopies& own = copies_[static_cast<std::size_t>(current_)];
  own.started.push_back({shared, global, valid, own.group});
}

void Block::copy_async_commit() { ++copies_[static_cast<std::size_t>(current_)].group; }

void Block::copy_async_wait(std::size_t pending) {
  AsyncCopies& own = copies_[static_cast<std::size_t>(current_)];
  std::size_t finished = 0;
  for (const AsyncCopy& copy : own.started) {
    if (copy.group + pending >= own.group) break;  // groups only increase
    if (copy.valid) {
      std::memcpy(copy.to, copy.from, 16);
    } else {
      std::memset(copy.to, 0, 16);
    }
    ++finished;
  }
  own.started.erase(own.started.begin(),
                    own.started.begin() + static_cast<std::ptrdiff_t>(finished));
}

int block_barrier(bool predicate) { return block().barrier(predicate); }
void warp_collective(unsigned mask, WarpAction action, void* arguments) {
  block().collective(mask, action, arguments);
}
unsigned live_lanes() { return block().live_lanes(); }
void kernel_fault(const char* message) { block().fail(message); }
void copy_async(void* shared, const void* global, bool valid) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (!aligned(shared) || !aligned(global)) kernel_fault("cp.async: an address is not aligned");
  if (!in_shared_memory(shared)) kernel_fault("cp.async: the target is not in shared memory");
  block().copy_async(shared, global, valid);
}
void copy_async_commit() { block().copy_async_commit(); }
void copy_async_wait(int pending) { block().copy_async_wait(static_cast<std::size_t>(pending)); }

}  // namespace emulation
