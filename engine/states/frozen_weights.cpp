// Reads whole blocks of files, and copies what host code cannot reach.
#include "engine/states/frozen_weights.h"

#include "engine/program/liveness.h"
#include "engine/tensor/widen.h"

namespace ds {

std::byte* aligned(std::byte* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return data + (kTileAlignment - address % kTileAlignment) % kTileAlignment;
}

FileRange file_range(const Program& program, const Executor& executor, ValueId id,
                     std::int64_t first, std::int64_t count) {
  const Home home = home_of(program, id);
  const std::int64_t size = size_of(program.value(id).dtype);
  const std::int64_t begin = executor.offset(home.base) + home.offset + first * size;
  const std::int64_t from = begin / kTileAlignment * kTileAlignment;
  const std::int64_t end = begin + count * size;
  return {.offset = from,
          .bytes = (end - from + kTileAlignment - 1) / kTileAlignment * kTileAlignment,
          .skipped = begin - from};
}

std::span<const float> FrozenWeights::read(ValueId id, std::int64_t first, std::int64_t count) {
  const Value& value = step_.value(id);
  const std::byte* data = nullptr;
  if (value.tier == Tier::nvme) {
    const FileRange range = file_range(step_, executor_, id, first, count);
    bytes_.resize(static_cast<std::size_t>(range.bytes + kTileAlignment));
    std::byte* const whole = aligned(bytes_.data());
    files_->read(range.offset, {whole, static_cast<std::size_t>(range.bytes)});
    data = whole + range.skipped;
  } else {
    data = static_cast<const std::byte*>(executor_.tensor(id).data) + first * size_of(value.dtype);
    if (!executor_.host_reaches(id)) {
      bytes_.resize(static_cast<std::size_t>(count * size_of(value.dtype)));
      executor_.copy_out(data, bytes_);
      data = bytes_.data();
    }
  }
  values_.resize(static_cast<std::size_t>(count));
  widen(data, value.dtype, values_);
  return values_;
}

}  // namespace ds
