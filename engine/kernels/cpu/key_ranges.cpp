// The ranges of keys that queries see, from the documents of tokens.
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {
namespace {

/// The documents of the tokens of one sequence.
struct Documents {
  const std::int32_t* numbers;
  std::int64_t count;

  /// Returns where the run of equal numbers that begins at `first` ends.
  [[nodiscard]] std::int64_t end_of_run(std::int64_t first) const {
    std::int64_t end = first + 1;
    while (end < count && numbers[end] == numbers[first]) ++end;
    return end;
  }
};

struct Run {
  std::int64_t first = 0, last = 0;
};

/// Returns the run of keys with this number, [0, 0) if there is none. The search begins at *next
/// and goes round, so that it is linear where documents have the same order in queries and keys. It
/// sets *next to the end of the run.
Run find_run(const Documents& keys, std::int32_t number, std::int64_t* next) {
  const std::int64_t begin = *next;
  for (const auto& [from, end] : {Run{begin, keys.count}, Run{0, begin}}) {
    for (std::int64_t at = from; at < end;) {
      const std::int64_t past = keys.end_of_run(at);
      if (keys.numbers[at] == number) {
        *next = past;
        return {at, past};
      }
      at = past;
    }
  }
  return {};
}

}  // namespace

template <>
void run(const Context& c, const KeyRanges& a) {
  const std::int64_t batch = a.ranges.shape[0], time = a.ranges.shape[1];
  DS_ASSERT(a.ranges.dtype == DType::i32 && a.ranges.elements() == 2 * batch * time);
  DS_ASSERT(a.documents.dtype == DType::i32 && a.documents.elements() == batch * time);
  const bool cross = static_cast<bool>(a.key_documents);
  const std::int64_t keys = cross ? a.key_documents.elements() / batch : time;
  c.pool.parallel_for(batch, [&](std::int64_t b, int) {
    const Documents queries{static_cast<const std::int32_t*>(a.documents.data) + b * time, time};
    const Documents among{
        static_cast<const std::int32_t*>(a.key_documents.data) + (cross ? b * keys : 0), keys};
    auto* ranges = static_cast<std::int32_t*>(a.ranges.data) + 2 * b * time;
    std::int64_t next = 0;
    for (std::int64_t q = 0; q < time;) {
      const std::int64_t end = queries.end_of_run(q);
      Run seen;
      if (queries.numbers[q] >= 0) {
        seen = cross ? find_run(among, queries.numbers[q], &next) : Run{q, end};
      }
      for (; q < end; ++q) {
        ranges[2 * q] = static_cast<std::int32_t>(seen.first);
        ranges[2 * q + 1] = static_cast<std::int32_t>(seen.last);
      }
    }
  });
}

}  // namespace ds::cpu
