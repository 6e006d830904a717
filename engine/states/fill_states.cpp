// Parameter groups are filled by several threads in turn, one tile at a time.
#include "engine/states/fill_states.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "engine/base/helper_thread.h"
#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "engine/states/frozen_weights.h"
#include "engine/states/saved_states.h"
#include "engine/tensor/split_master.h"

namespace ds {
namespace {

/// Elements that are filled at once where nothing else sets a size.
constexpr std::int64_t kChunk = 1 << 18;

/// Threads that fill. Each has buffers of about 10 MiB, which the plan does not count: they are
/// gone before the first step uses its memory.
constexpr int kMostThreads = 4;

/// Where the values of a rank go. Threads share it, and lock `one_by_one` to cast and to copy to a
/// device.
struct Destination {
  const Program& step;
  const ShardSpec& spec;
  const Executor& executor;
  TileFiles* files;
  Kernels& kernels;
  Stream& stream;
  StatesBefore before;
  std::mutex one_by_one{};
};

/// Fills the values that this rank holds of one group from a source. Threads: one.
class FirstValues {
 public:
  FirstValues(Destination& to, StateSource& source)
      : to_(to), step_(to.step), spec_(to.spec), executor_(to.executor), source_(source) {}

  void fill(const ParamGroup& group) {
    if (group.trains)
      for (const StateTile& tile : group.states) fill_tile(group, tile);
    const ValueId weights = group.weights != kNoValue ? group.weights : group.slice;
    if (group.trains && is_master(group, weights)) return;
    if (step_.value(weights).tier == Tier::nvme) return fill_files(group, weights);
    if (group.weights != kNoValue) return fill_memory(group, kMaster, weights, shared_part(group));
    for (const OwnedPart& part : group.own) fill_memory(group, kMaster, weights, part);
  }

 private:
  struct NamedValue {
    std::string_view state;
    ValueId value;
  };
  static std::array<NamedValue, 3> states_of(const StateTile& tile) {
    return {{{kMaster, tile.master}, {kMoment1, tile.moment1}, {kMoment2, tile.moment2}}};
  }

  // fp32 masters may be the weights themselves, or views of them.
  [[nodiscard]] bool is_master(const ParamGroup& group, ValueId weights) const {
    std::int64_t elements = 0;
    for (const StateTile& tile : group.states)
      if (home_of(step_, tile.master).base == weights) elements += tile.elements;
    return elements == step_.value(weights).shape.elements();
  }

  // What this rank fills of values that all ranks hold whole.
  [[nodiscard]] OwnedPart shared_part(const ParamGroup& group) const {
    if (!source_.is_shared()) return {.elements = group.elements};
    const ElementRange share = even_share(group, spec_.rank, spec_.world_size);
    return {.first = share.first, .elements = share.last - share.first, .at = share.first};
  }

  void fill_tile(const ParamGroup& group, const StateTile& tile) {
    if (step_.value(tile.master).tier == Tier::nvme) return fill_tile_in_files(group, tile);
    OwnedPart part{.first = tile.first, .elements = tile.elements};
    if (spec_.stage == 0) {
      const OwnedPart shared = shared_part(group);
      part.first = std::max(tile.first, shared.first);
      part.elements =
          std::min(tile.first + tile.elements, shared.first + shared.elements) - part.first;
      part.at = part.first - tile.first;
    }
    // share_states() does not send what the source lacks, so each rank clears all that it holds.
    const OwnedPart whole{.first = tile.first, .elements = tile.elements};
    for (const auto& [state, value] : states_of(tile)) {
      if (value == kNoValue) continue;
      if (source_.has(state)) {
        fill_memory(group, state, value, part);
      } else if (to_.before == StatesBefore::any) {
        fill_memory(group, state, value, whole);
      }
    }
  }

  // The states of a tile are adjacent in the file and are written at once.
  void fill_tile_in_files(const ParamGroup& group, const StateTile& tile) {
    const ValueId home = step_.value(tile.master).base;
    const auto bytes = static_cast<std::size_t>(bytes_of(step_.value(home)));
    std::vector<std::byte> whole(bytes + kTileAlignment);
    std::byte* const data = aligned(whole.data());
    for (const auto& [state, value] : states_of(tile)) {
      if (value == kNoValue) continue;
      auto* const first = reinterpret_cast<float*>(data) + step_.value(value).offset;
      fill_range(group, state, tile.first, {first, static_cast<std::size_t>(tile.elements)});
    }
    to_.files->write(executor_.offset(home), {data, bytes});
  }

  // Fills elements [part.at, part.at + part.elements) of the value.
  void fill_memory(const ParamGroup& group, std::string_view state, ValueId id,
                   const OwnedPart& part) {
    if (part.elements <= 0) return;  // another rank has all of it
    const Tensor values = executor_.tensor(id);
    if (values.dtype == DType::f32 && executor_.host_reaches(id))
      return fill_range(group, state, part.first,
                        {static_cast<float*>(values.data) + part.at,
                         static_cast<std::size_t>(part.elements)});
    for (const OwnedPart& piece : tiles_of({part}, kChunk)) {
      const Tensor chunk{static_cast<std::byte*>(values.data) + piece.at * size_of(values.dtype),
                         values.dtype,
                         {piece.elements}};
      buffer_.resize(static_cast<std::size_t>(piece.elements));
      fill_range(group, state, piece.first, buffer_);
      if (executor_.host_reaches(id)) {
        convert(chunk);
      } else {
        staging_.resize(static_cast<std::size_t>(chunk.bytes()));
        convert({staging_.data(), chunk.dtype, chunk.shape});
        const std::lock_guard lock(to_.one_by_one);
        executor_.copy_in(staging_, chunk.data);
      }
    }
  }

  void convert(const Tensor& to) {
    if (to.dtype == DType::f32) {
      std::ranges::copy(buffer_, static_cast<float*>(to.data));
    } else if (to.dtype == DType::i16) {
      std::ranges::transform(buffer_, static_cast<std::int16_t*>(to.data), low_half);
    } else {
      cast({.in = {buffer_.data(), DType::f32, to.shape}, .out = to});
    }
  }

  void cast(const Cast& cast) {
    const std::lock_guard lock(to_.one_by_one);
    to_.kernels.run(cast, to_.stream);
    to_.stream.synchronize();
  }

  // Writes tile by tile, in the form in which the tiles will be read.
  void fill_files(const ParamGroup& group, ValueId id) {
    const DType dtype = step_.value(id).dtype;
    for (const OwnedPart& tile : tiles_of(group.own, spec_.state_tile)) {
      buffer_.assign(static_cast<std::size_t>(padded(tile.elements)), 0.0F);
      fill_range(group, kMaster, tile.first,
                 std::span(buffer_).first(static_cast<std::size_t>(tile.elements)));
      const std::int64_t bytes = padded(tile.elements) * size_of(dtype);
      std::vector<std::byte> whole(static_cast<std::size_t>(bytes) + kTileAlignment);
      std::byte* const data = aligned(whole.data());
      cast({.in = {buffer_.data(), DType::f32, {padded(tile.elements)}},
            .out = {data, dtype, {padded(tile.elements)}}});
      to_.files->write(executor_.offset(id) + tile.at * size_of(dtype),
                       {data, static_cast<std::size_t>(bytes)});
    }
  }

  /// Fills elements [first, first + out.size()) of the group's flat memory; gaps become zeros.
  void fill_range(const ParamGroup& group, std::string_view state, std::int64_t first,
                  std::span<float> out) {
    const auto part_of = [&](std::int64_t from, std::int64_t to) {
      return out.subspan(static_cast<std::size_t>(from - first),
                         static_cast<std::size_t>(to - from));
    };
    const std::int64_t end = first + std::ssize(out);
    std::int64_t filled = first;
    if (source_.has(state)) {
      for (const ParamTensor& tensor : group.tensors) {
        const std::int64_t from = std::max(first, tensor.offset);
        const std::int64_t to = std::min(end, tensor.offset + tensor.shape.elements());
        if (from >= to) continue;
        DS_ASSERT(from >= filled, "the tensors of a group ascend");
        std::ranges::fill(part_of(filled, from), 0.0F);
        source_.read(tensor, state, from - tensor.offset, part_of(from, to));
        filled = to;
      }
    }
    std::ranges::fill(part_of(filled, end), 0.0F);
  }

  Destination& to_;
  const Program& step_;
  const ShardSpec& spec_;
  const Executor& executor_;
  StateSource& source_;
  std::vector<float> buffer_;
  std::vector<std::byte> staging_;  // for values that the host cannot write
};

/// Groups that threads take in turn. After an error no more groups are taken.
class GroupsInTurn {
 public:
  explicit GroupsInTurn(const std::vector<ParamGroup>& groups) : groups_(groups) {}

  /// Never throws: rethrow() does.
  template <class Fill>
  void each(const Fill& fill) {
    for (std::size_t i = next_++; i < groups_.size(); i = next_++) {
      try {
        fill(groups_[i]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < failed_) error_ = std::current_exception();
        failed_ = std::min(failed_, i);
        next_ = groups_.size();
      }
    }
  }
  /// Throws the error of the first group that failed.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::vector<ParamGroup>& groups_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::size_t failed_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr error_;
};

}  // namespace

void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream,
                 int threads, StatesBefore before) {
  Destination to{step, spec, executor, files, kernels, stream, before};
  GroupsInTurn groups(step.groups);
  const auto fill_from = [&](StateSource& from) {
    FirstValues values(to, from);
    groups.each([&](const ParamGroup& group) { values.fill(group); });
  };
  std::vector<std::unique_ptr<StateSource>> sources;
  {
    std::vector<std::jthread> others;
    // Files are written one at a time, by tiles that are too large for buffers of several threads.
    const auto most = files == nullptr ? std::min(threads, kMostThreads) : 1;
    try {
      const SignalsBlocked blocked;
      while (std::ssize(others) + 1 < most) {
        auto another = source.for_another_thread();
        if (another == nullptr) break;
        sources.push_back(std::move(another));
        others.emplace_back([&, &from = *sources.back()] {
          executor.enter_thread();
          fill_from(from);
        });
      }
    } catch (const std::system_error&) {
      // At a limit of threads, fewer threads read.
    }
    fill_from(source);
  }
  sources.clear();
  groups.rethrow();
  stream.synchronize();
}

}  // namespace ds
