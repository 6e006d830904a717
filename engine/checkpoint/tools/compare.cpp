// Compares lists first, then the elements tensor by tensor on several threads.
#include "engine/checkpoint/tools/compare.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "engine/base/error.h"
#include "engine/checkpoint/tools/tree.h"

namespace ds {
namespace {

constexpr std::int64_t kRange = 1 << 18;  // elements compared at once

std::vector<NamedLine> training_lines(const TrainingState& s) {
  return {{"step", std::to_string(s.step)},
          {"next_sample", std::to_string(s.next_sample)},
          {"seed", std::to_string(s.seed)},
          {"updates", std::to_string(s.updates)},
          {"skipped", std::to_string(s.skipped)},
          {"lr", fmt::format("{}", s.lr)},
          {"loss_scale", fmt::format("{}", s.loss_scale.scale)},
          {"loss_scale.hysteresis", std::to_string(s.loss_scale.hysteresis)},
          {"loss_scale.iteration", std::to_string(s.loss_scale.iteration)},
          {"loss_scale.last_overflow", std::to_string(s.loss_scale.last_overflow)}};
}

/// Returns the owners of a state's pieces: only -1 unless the state is per rank.
std::set<int> ranks_of(const StateEntry& state) {
  std::set<int> ranks;
  for (const Piece& piece : state.pieces) ranks.insert(piece.rank);
  return ranks;
}

void compare_elements(std::span<const float> a, std::span<const float> b, StateComparison& into) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i])) continue;
    ++into.differing;
    const bool is_finite = std::isfinite(a[i]) && std::isfinite(b[i]);
    if (!is_finite) ++into.non_finite;
    if (is_finite)
      into.largest =
          std::max(into.largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
}

class Comparer {
 public:
  Comparer(const std::shared_ptr<const Checkpoint>& a, const std::shared_ptr<const Checkpoint>& b,
           Comparison& result)
      : a_(a), b_(b), result_(result) {}

  void list() {
    for (const TensorEntry& tensor : a_->manifest().tensors) list_tensor(tensor);
    for (const TensorEntry& tensor : b_->manifest().tensors) {
      if (a_->tensor(tensor.name) == nullptr) result_.only_b.push_back(tensor.name);
    }
  }

  void run(int threads, const VerifyProgress& progress) {
    for (const StateComparison& state : result_.states) bytes_ += 4 * state.elements;
    std::vector<std::jthread> workers;
    running_ = std::max(1, threads);
    for (int i = std::max(1, threads); i > 0; --i) workers.emplace_back([this] { take_states(); });
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; }))
      progress(done_.load(), bytes_);
  }

 private:
  void list_tensor(const TensorEntry& tensor) {
    const TensorEntry* const other = b_->tensor(tensor.name);
    if (other == nullptr) return result_.only_a.push_back(tensor.name);
    if (other->shape != tensor.shape)
      return result_.shapes.push_back({tensor.name, tensor.shape, other->shape});
    for (const StateEntry& state : tensor.states) {
      if (b_->state(tensor.name, state.name) == nullptr) {
        result_.only_a.push_back(tensor.name + " " + state.name);
        continue;
      }
      result_.states.push_back(
          {.tensor = tensor.name, .state = state.name, .elements = elements_of(tensor)});
    }
    for (const StateEntry& state : other->states) {
      if (a_->state(tensor.name, state.name) == nullptr)
        result_.only_b.push_back(tensor.name + " " + state.name);
    }
  }

  void take_states() {
    PieceReader of_a(a_), of_b(b_);
    for (std::size_t i = next_++; i < result_.states.size(); i = next_++) {
      StateComparison& state = result_.states[i];
      const std::set<int> ranks = ranks_of(*a_->state(state.tensor, state.state));
      try {
        if (ranks != ranks_of(*b_->state(state.tensor, state.state)))
          throw Error(ErrorKind::config, "held by different ranks");
        for (const int rank : ranks) compare_state(of_a, of_b, rank, state);
      } catch (const Error& error) {
        state.problem = error.what();
      }
    }
    const std::scoped_lock lock(mutex_);
    if (--running_ == 0) ended_.notify_one();
  }

  void compare_state(PieceReader& of_a, PieceReader& of_b, int rank, StateComparison& state) {
    std::vector<float> a(kRange), b(kRange);
    for (std::int64_t first = 0; first < state.elements; first += kRange) {
      const auto count = static_cast<std::size_t>(std::min(kRange, state.elements - first));
      const std::span<float> into_a(a.data(), count), into_b(b.data(), count);
      of_a.read(state.tensor, state.state, first, into_a, rank);
      of_b.read(state.tensor, state.state, first, into_b, rank);
      compare_elements(into_a, into_b, state);
      done_ += static_cast<std::int64_t>(4 * count);
    }
  }

  std::shared_ptr<const Checkpoint> a_, b_;
  Comparison& result_;
  std::int64_t bytes_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::int64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
};

}  // namespace

bool Comparison::is_equal() const {
  return training.empty() && arithmetic.empty() && only_a.empty() && only_b.empty() &&
         shapes.empty() && std::ranges::all_of(states, [](const StateComparison& s) {
           return s.differing == 0 && s.problem.empty();
         });
}

Comparison compare(const std::shared_ptr<const Checkpoint>& a,
                   const std::shared_ptr<const Checkpoint>& b, int threads,
                   const VerifyProgress& progress) {
  const Manifest &of_a = a->manifest(), &of_b = b->manifest();
  Comparison result{
      .folder_a = a->folder(),
      .folder_b = b->folder(),
      .training = different_lines(training_lines(of_a.state), training_lines(of_b.state)),
      .arithmetic = different_lines(flat_lines(of_a.arithmetic), flat_lines(of_b.arithmetic)),
      .config = different_lines(flat_lines(of_a.config), flat_lines(of_b.config))};
  Comparer comparer(a, b, result);
  comparer.list();
  comparer.run(threads, progress);
  return result;
}

}  // namespace ds
