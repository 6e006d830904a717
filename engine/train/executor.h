// Walks a program's list of ops. It knows nothing of ZeRO, of accumulation or of the model: passes
// did that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/kernels/kernels.h"
#include "engine/program/program.h"

namespace ds {

/// What the optimizer ops of one step need; set by the control op's callback.
struct UpdateScalars {
  float grad_scale = 1, lr = 0, beta1 = 0.9F, beta2 = 0.999F, eps = 1e-8F, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;
};

/// What one run of a program shares with its owner.
struct StepContext {
  UpdateScalars update;
  float loss_scale = 1;              // of the gradients that the backward pass makes
  std::uint64_t seed = 0, step = 0;  // what dropouts draw by
  Clock::duration comm_timeout = std::chrono::minutes(5);
  std::function<void(StepContext&)> on_control;  // called by the control op
  std::uint64_t progress = 0;                    // ops finished since the start of training
};

class Executor {
 public:
  /// Binds every value of `program` to `arena + offsets[value]` and every op to its kernel, once:
  /// run() allocates nothing. `world` may be null for a program without communication. All
  /// references must outlive the executor.
  Executor(const Program& program, std::byte* arena, std::span<const std::int64_t> offsets,
           Backend& backend, Group* world, Stream& stream);

  Executor(const Executor&) = delete;  // Bound ops point at this executor.
  Executor& operator=(const Executor&) = delete;

  /// Runs all ops in order. Errors: Error{comm} with the op's path in front.
  void run(StepContext& context);

  /// The memory of a value.
  [[nodiscard]] Tensor tensor(ValueId id) const;

 private:
  using Bound = std::function<void(StepContext&)>;
  Bound bind(const Op& op);
  Bound bind_forward(const Op& op);
  Bound bind_backward(const Op& op);
  Bound bind_dropout(const Op& op);
  Bound bind_step(const Op& op);
  Bound bind_clear(const Op& op);
  Bound bind_copy(const Op& op);
  Bound bind_exchange(const Op& op);
  Bound bind_all_gather(const Op& op);
  template <class Args>
  Bound call(Args args);
  [[nodiscard]] Tensor in(const Op& op, std::size_t index) const;
  [[nodiscard]] Tensor out(const Op& op, std::size_t index) const;

  const Program& program_;
  std::byte* arena_;
  std::vector<std::int64_t> offsets_;
  Device& device_;
  Kernels& kernels_;
  Group* world_;
  Stream& stream_;
  std::vector<Bound> bound_;
};

}  // namespace ds
