// How the executor follows the phases of a step: by a clock around ops and waits on the CPU, by
// marks on the compute stream of an accelerator.
#include <chrono>
#include <thread>

#include "engine/execute/executor.h"

namespace ds {
namespace {

constexpr std::size_t kMilestone = 32;  // ops
constexpr auto kPoll = std::chrono::microseconds(20);

}  // namespace

void Executor::note_progress(std::size_t index) {
  if (device_.is_host() || (index + 1) % kMilestone != 0) return;
  set_mark();
  follow_device();
}

// On the CPU, waiting blocks this thread. On an accelerator it blocks the compute stream, between
// two marks.
void Executor::make_waits(std::size_t index) {
  const Op& op = program_.ops[index];
  Stream& stream = stream_of(op);
  const bool is_followed = context_->phases != nullptr && op.stream == StreamId::compute;
  for (const Wait& wait : waits_[index]) {
    if (is_followed && !wait.event->has_passed()) enter(wait.phase);
    wait.event->make_wait(stream);
  }
}

// Begins a phase of the compute stream: on an accelerator behind what was issued so far.
void Executor::enter(StepPhase phase) {
  if (context_->phases == nullptr) return;
  if (device_.is_host()) return context_->phases->enter(phase);
  if (phase == issued_) return;
  set_mark();
  issued_ = phase;
  follow_device();
}

// All marks exist after the first runs.
void Executor::set_mark() {
  if (marks_set_ == marks_.size()) marks_.push_back({device_.make_event()});
  Mark& mark = marks_[marks_set_++];
  mark.ends = issued_;
  mark.event->record(*at_.streams[0]);
}

// Moves on to the phase that the device has reached. Counts progress for the ranks that wait for
// this one.
void Executor::follow_device() {
  for (; marks_passed_ < marks_set_ && marks_[marks_passed_].event->has_passed(); ++marks_passed_)
    if (at_.activity != nullptr) at_.activity->tick();
  if (context_->phases != nullptr)
    context_->phases->enter(marks_passed_ < marks_set_ ? marks_[marks_passed_].ends : issued_);
}

void Executor::wait_for_device() {
  if (device_.is_host()) return;
  for (follow_device(); marks_passed_ < marks_set_; follow_device())
    std::this_thread::sleep_for(kPoll);
  marks_set_ = marks_passed_ = 0;
}

}  // namespace ds
