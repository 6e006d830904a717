// Executor: issues ops, makes streams wait for events, and keeps the first of several errors.
#include "engine/execute/executor.h"

#include <algorithm>
#include <utility>

#include "engine/execute/op_phase.h"
#include "engine/execute/op_times.h"
#include "engine/program/liveness.h"
#include "engine/program/ops/row.h"

namespace ds {

namespace {

// Updates by the host come before the copies that wait for them.
constexpr std::array<StreamId, kStreams> kWaitOrder{
    StreamId::compute, StreamId::host,  StreamId::gather, StreamId::reduce,
    StreamId::fetch,   StreamId::evict, StreamId::read,   StreamId::write};

}  // namespace

Workplace make_workplace(std::byte* arena, Group* world, Stream& stream) {
  Workplace place;
  place.memory[static_cast<std::size_t>(Tier::device)] = arena;
  place.streams.fill(&stream);
  if (world != nullptr)
    for (std::size_t s = 0; s < kStreams; ++s)
      place.groups[{CommRanks::data, static_cast<StreamId>(s)}] = world;
  return place;
}

Executor::Executor(const Program& program, std::span<const std::int64_t> offsets,
                   const Edges& edges, Backend& backend, const Workplace& workplace)
    : program_(program),
      offsets_(offsets.begin(), offsets.end()),
      device_(*backend.device),
      kernels_(*backend.kernels),
      host_kernels_(backend.host_kernels.get()),
      at_(workplace) {
  DS_ASSERT(offsets_.size() == program.values.size());
  DS_ASSERT(edges.waits.size() == program.ops.size());
  for (const MicroBatch& micro : program.micro_batches) {
    std::vector<BatchInput>& inputs = inputs_.emplace_back();
    for (const Input& in : micro.inputs)
      inputs.push_back({in.name, tensor(in.value), in.first, in.limit});
  }
  for (const Op& op : program.ops) bound_.push_back(bind(op));
  for (std::size_t i = 0; i < bound_.size(); ++i)
    events_.push_back(edges.is_awaited[i] ? device_.make_event() : nullptr);
  for (const Op& op : program.ops) phases_.push_back(phase_of(program, op));
  for (const std::vector<int>& waits : edges.waits) {
    std::vector<Wait>& made = waits_.emplace_back();
    for (const int op : waits) {
      const auto o = static_cast<std::size_t>(op);
      made.push_back({events_[o].get(), phases_[o]});
    }
  }
  if (device_.is_host() || !at_.records) return;
  for (const Segment& segment : segments_of(program, edges)) segments_.push_back({segment});
}

BoundOp Executor::bind(const Op& op) {
  const std::function<Tensor(ValueId)> tensor_of = [this](ValueId id) { return tensor(id); };
  const auto finish = [this] {
    if (device_.is_host()) return;
    wait_for_device();
    at_.streams[0]->synchronize();
  };
  return row_of(op).bind({.program = program_,
                          .op = op,
                          .device = device_,
                          .kernels = kernels_of(op),
                          .stream = stream_of(op),
                          .group = group_of(op),
                          .files = at_.files,
                          .offsets = offsets_,
                          .tensor = tensor_of,
                          .finish_device = finish});
}

void Executor::run(StepContext& context) {
  context_ = &context;
  next_segment_ = 0;
  issued_ = StepPhase::other;
  const InPhase caller(context.phases);
  if (context.times != nullptr) context.times->start(*at_.streams[0]);
  for (std::size_t i = 0; i < bound_.size() && !stopped_;) {
    const std::size_t next = issue(i);
    for (; i < next; ++i) {
      note_progress(i);
      ++context.progress;
    }
  }
  wait_for_all();
  if (at_.activity != nullptr) at_.activity->end();
  if (error_) std::rethrow_exception(error_);
  if (context.times != nullptr) context.times->finish(program_);
}

// Issues op `index`, or the recorded segment that begins there. Returns the index of the next op.
std::size_t Executor::issue(std::size_t index) {
  const auto call = [](void* self, std::size_t op) { static_cast<Executor*>(self)->run_op(op); };
  Stream& stream = stream_of(program_.ops[index]);
  make_waits(index);
  respect_held(index);
  if (program_.ops[index].stream == StreamId::compute) enter(phases_[index]);
  std::size_t next = index + 1;
  if (next_segment_ < segments_.size() && segments_[next_segment_].ops.first == index &&
      issue_recorded(next_segment_++)) {
    next = segments_[next_segment_ - 1].ops.last;
    issued_ = phases_[next - 1];
  } else {
    stream.submit({call, this, index});
  }
  if (events_[next - 1]) events_[next - 1]->record(stream);
  return next;
}

// The first run of a segment is not recorded: libraries choose and load what they need in it.
bool Executor::issue_recorded(std::size_t segment) {
  Recorded& recorded = segments_[segment];
  if (!std::exchange(recorded.has_run, true) || context_->after_op) return false;
  if (context_->times != nullptr) return false;  // a recording shows no single ops
  Stream& stream = *at_.streams[0];
  try {
    if (!recorded.recording || recorded.loss_scale != context_->loss_scale) {
      recorded.loss_scale = context_->loss_scale;
      const auto launch = [&] {
        for (std::size_t i = recorded.ops.first; i < recorded.ops.last; ++i) run_op(i);
      };
      recorded.recording = device_.record(stream, launch, std::move(recorded.recording));
    }
    if (!recorded.recording || stopped_) return false;
    for (std::size_t i = recorded.ops.first + 1; i < recorded.ops.last; ++i) respect_held(i);
    recorded.recording->issue(stream);
  } catch (...) {
    // Like an op's failure: an error from an op of the recording comes first, and run() waits for
    // what the other streams were given.
    fail(recorded.ops.first);
  }
  return true;
}

// Makes ops that write held states wait. Reading beside the copy needs no wait.
void Executor::respect_held(std::size_t index) {
  if (at_.held == nullptr || !at_.held->is_any()) return;
  const Op& op = program_.ops[index];
  for (const ValueId id : op.out) {
    if (id == kNoValue) continue;
    const Value& value = program_.value(id);
    if (!at_.held->covers(value.tier, offset(id), offset(id) + bytes_of(value))) continue;
    if (op.stream == StreamId::compute) enter(StepPhase::save);
    return at_.held->make_wait(stream_of(op));
  }
}

void Executor::wait_for_all() {
  const auto keep = [this](const auto& act) {
    try {
      act();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  };
  keep([this] { wait_for_device(); });
  for (const StreamId id : kWaitOrder) {
    Stream* const stream = at_.streams[static_cast<std::size_t>(id)];
    if (stream == nullptr) continue;
    if (context_->phases != nullptr && id != StreamId::compute)
      context_->phases->enter(phase_of(id));
    keep([stream] { stream->synchronize(); });
  }
  for (const auto& [key, group] : at_.groups) keep([group = group] { group->raise_failure(); });
}

bool Executor::host_reaches(ValueId id) const {
  return device_.is_host() || program_.value(id).tier != Tier::device;
}

void Executor::copy_out(const void* from, std::span<std::byte> to) const {
  device_.copy(to.data(), from, to.size(), *at_.streams[0]);
  at_.streams[0]->synchronize();
}

void Executor::copy_in(std::span<const std::byte> from, void* to) const {
  device_.copy(to, from.data(), from.size(), *at_.streams[0]);
  at_.streams[0]->synchronize();
}

void Executor::run_op(std::size_t index) {
  if (broken_) return;
  try {
    const Op& op = program_.ops[index];
    tell(op);
    OpTimes* const times = context_->times;
    if (times != nullptr) times->begin(index, stream_of(op));
    bound_[index](*context_);
    if (times != nullptr) times->end(index, stream_of(op));
    if (context_->after_op) context_->after_op(index);
  } catch (...) {
    fail(index);
  }
}

// Only ops of the compute stream are named; the other ranks only learn that ops of other streams
// make progress.
void Executor::tell(const Op& op) {
  if (at_.activity == nullptr) return;
  op.stream == StreamId::compute ? at_.activity->begin(op.path) : at_.activity->tick();
}

// A rank that fails alone still takes part in the communication that was issued: from the end of
// its links the others learn why it failed, or at least that it did. After a communication error
// there is nothing to wait for.
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
  for (const auto& [key, group] : at_.groups) group->abort();
}

Stream& Executor::stream_of(const Op& op) const {
  Stream* const stream = at_.streams[static_cast<std::size_t>(op.stream)];
  DS_ASSERT(stream != nullptr, "every stream that a program uses must exist");
  return *stream;
}

Group* Executor::group_of(const Op& op) const {
  const CommAttrs* comm = nullptr;
  if (const auto* exchange = std::get_if<ops::Exchange>(&op.attrs)) comm = &exchange->comm;
  if (const auto* gather = std::get_if<ops::AllGather>(&op.attrs)) comm = &gather->comm;
  if (comm == nullptr) return nullptr;
  const auto found = at_.groups.find({comm->ranks, op.stream});
  return found == at_.groups.end() ? nullptr : found->second;
}

Kernels& Executor::kernels_of(const Op& op) const {
  if (op.stream != StreamId::host) return kernels_;
  DS_ASSERT(host_kernels_ != nullptr, "for_accelerator() needs a backend with host kernels");
  return *host_kernels_;
}

Tensor Executor::tensor(ValueId id) const {
  if (id == kNoValue) return {};
  const Value& value = program_.value(id);
  std::byte* const memory = at_.memory[static_cast<std::size_t>(value.tier)];
  if (memory == nullptr) return {nullptr, value.dtype, value.shape};
  return {memory + offsets_[static_cast<std::size_t>(id)], value.dtype, value.shape};
}

}  // namespace ds
