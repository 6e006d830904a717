// Issuing ops, events between streams, and the first of several errors.
#include "engine/train/executor.h"

#include <algorithm>

namespace ds {

Workplace make_workplace(std::byte* arena, Group* world, Stream& stream) {
  Workplace place;
  place.memory[static_cast<std::size_t>(Tier::device)] = arena;
  place.streams.fill(&stream);
  place.groups.fill(world);
  return place;
}

Executor::Executor(const Program& program, std::span<const std::int64_t> offsets,
                   const Edges& edges, Backend& backend, const Workplace& workplace)
    : program_(program),
      offsets_(offsets.begin(), offsets.end()),
      device_(*backend.device),
      kernels_(*backend.kernels),
      at_(workplace) {
  DS_ASSERT(offsets_.size() == program.values.size());
  DS_ASSERT(edges.waits.size() == program.ops.size());
  for (const Op& op : program.ops) bound_.push_back(bind(op));
  for (std::size_t i = 0; i < bound_.size(); ++i)
    events_.push_back(edges.is_awaited[i] ? device_.make_event() : nullptr);
  for (const std::vector<int>& waits : edges.waits) {
    std::vector<Event*>& events = waits_.emplace_back();
    for (const int op : waits) events.push_back(events_[static_cast<std::size_t>(op)].get());
  }
}

void Executor::run(StepContext& context) {
  context_ = &context;
  const auto call = [](void* self, std::size_t op) { static_cast<Executor*>(self)->run_op(op); };
  for (std::size_t i = 0; i < bound_.size() && !stopped_; ++i) {
    Stream& stream = stream_of(program_.ops[i]);
    for (Event* const event : waits_[i]) event->make_wait(stream);
    stream.submit({call, this, i});
    if (events_[i]) events_[i]->record(stream);
    ++context.progress;
  }
  for (Stream* const stream : at_.streams) {
    if (stream != nullptr) stream->synchronize();
  }
  if (at_.activity != nullptr) at_.activity->end();
  if (error_) std::rethrow_exception(error_);
}

void Executor::run_op(std::size_t index) {
  if (broken_) return;
  try {
    tell(program_.ops[index]);
    bound_[index](*context_);
    if (context_->after_op) context_->after_op(index);
  } catch (...) {
    fail(index);
  }
}

// The ops of the other streams are its helpers: that they get on counts, what they do is not said.
void Executor::tell(const Op& op) {
  if (at_.activity == nullptr) return;
  op.stream == StreamId::compute ? at_.activity->begin(op.path) : at_.activity->tick();
}

// A rank that fails alone still takes part in the communication that was issued: the others learn
// why it failed, or at least that it did, from its end. Where communication failed there is nothing
// to wait for.
void Executor::fail(std::size_t index) {
  bool is_comm = false;
  std::exception_ptr error = std::current_exception();
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    is_comm = e.kind() == ErrorKind::comm;
    error = std::make_exception_ptr(e.with_context(program_.ops[index].path));
  } catch (...) {
  }
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  stopped_ = true;
  if (!is_comm) return;
  broken_ = true;
  for (Group* const group : at_.groups) {
    if (group != nullptr) group->abort();
  }
}

Stream& Executor::stream_of(const Op& op) const {
  Stream* const stream = at_.streams[static_cast<std::size_t>(op.stream)];
  DS_ASSERT(stream != nullptr, "every stream that a program uses is there");
  return *stream;
}

Group& Executor::group_of(const Op& op) const {
  Group* const group = at_.groups[static_cast<std::size_t>(op.stream)];
  DS_ASSERT(group != nullptr, "programs with communication get groups");
  return *group;
}

Tensor Executor::tensor(ValueId id) const {
  if (id == kNoValue) return {};
  const Value& value = program_.value(id);
  std::byte* const memory = at_.memory[static_cast<std::size_t>(value.tier)];
  if (memory == nullptr) return {nullptr, value.dtype, value.shape};
  return {memory + offsets_[static_cast<std::size_t>(id)], value.dtype, value.shape};
}

Tensor Executor::in(const Op& op, std::size_t index) const {
  return index < op.in.size() ? tensor(op.in[index]) : Tensor{};
}

Tensor Executor::out(const Op& op, std::size_t index) const {
  return index < op.out.size() ? tensor(op.out[index]) : Tensor{};
}

}  // namespace ds
