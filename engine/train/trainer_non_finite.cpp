// Steps that are not finite: makes them on demand, and finds the first op with a bad number.
#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/comm/pieces.h"
#include "engine/program/non_finite.h"
#include "engine/train/trainer.h"

namespace ds {
namespace {

constexpr std::size_t kTextBytes = 256;  // limit of one rank's text

std::string text_in(std::span<const std::byte> bytes) {
  const char* const text = reinterpret_cast<const char*>(bytes.data());
  return {text, ::strnlen(text, bytes.size())};
}

}  // namespace

bool Trainer::is_planted() const {
  return std::ranges::find(fault_.steps, step_ + 1) != fault_.steps.end();
}

void Trainer::watch_for_plant() {
  if (fault_.op.empty()) {
    context_.loss_scale = std::numeric_limits<float>::infinity();
    return;
  }
  context_.after_op = [this](std::size_t index) {
    const Op& op = program_->ops[index];
    const ValueId made = plant_nan(op, fault_.op, [this](ValueId id) { return host_copy(id); });
    if (made == kNoValue || executor_->host_reaches(made)) return;
    executor_->copy_in(looked_at_, executor_->tensor(made).data);
  };
}

// Copies values that host code cannot read, one at a time. Pinned memory needs a synchronize(),
// because the device may still be writing it.
Tensor Trainer::host_copy(ValueId id) {
  Tensor tensor = executor_->tensor(id);
  if (!tensor) return tensor;
  if (executor_->host_reaches(id)) {
    if (program_->value(id).tier == Tier::pinned_host) memory_->stream().synchronize();
    return tensor;
  }
  looked_at_.resize(static_cast<std::size_t>(tensor.bytes()));
  executor_->copy_out(tensor.data, looked_at_);
  tensor.data = looked_at_.data();
  return tensor;
}

// Runs the same step again and checks every result. The weights are unchanged and a step is
// deterministic. All ranks take part, so all report the same place.
void Trainer::report_non_finite() {
  if (programs_.odd) redo_update();  // with skip
  NonFiniteHunt hunt(*program_, [this](ValueId id) { return host_copy(id); });
  load_batches();
  context_.on_control = [](StepContext&) {};
  const auto planted = std::move(context_.after_op);
  context_.after_op = [&](std::size_t index) {
    if (planted) planted(index);
    hunt.look(index);
  };
  executor_->run(context_);

  std::vector<std::byte> texts(static_cast<std::size_t>(world_.size()) * kTextBytes);
  const auto pieces = cut_pieces(std::span(texts), static_cast<std::size_t>(world_.size()));
  const std::span<std::byte> own = pieces[static_cast<std::size_t>(world_.rank())];
  std::memcpy(own.data(), hunt.finding().data(), std::min(hunt.finding().size(), own.size()));
  world_.about("non-finite numbers");
  world_.all_gather(pieces, Deadline::after(context_.comm_timeout));
  const auto first = std::ranges::find_if(
      pieces, [](std::span<std::byte> text) { return text.front() != std::byte{0}; });
  const std::string where =
      first == pieces.end()
          ? std::string("the sum of the gradients of all ranks is not finite")
          : fmt::format("{}, on rank {}", text_in(*first), first - pieces.begin());
  throw Error(ErrorKind::system,
              fmt::format("step {}: {} (in the gradient {}; loss {})", step_ + 1, where,
                          decision_.all.non_finite, decision_.loss),
              "lower optimizer.lr, lengthen schedule.warmup, or set optimizer.clip; "
              "precision.on_nonfinite = \"skip\" skips such steps");
}

}  // namespace ds
