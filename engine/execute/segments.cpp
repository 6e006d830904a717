// segments_of(): one walk over the ops.
#include "engine/execute/segments.h"

#include <algorithm>

#include "engine/program/liveness.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

constexpr std::size_t kShortest = 4;  // ops
// A launch takes the host 2 to 4 us, in which a GPU writes about this many bytes.
constexpr std::int64_t kBytesOfALaunch = 4 << 20;

bool is_repeatable(const Op& op) {
  const auto varies = row_of(op).varies;
  return op.stream == StreamId::compute && (varies == nullptr || !varies(op));
}

// The clock of the phases sees where a segment ends, not what happens inside.
bool begins_backward(const std::vector<Op>& ops, std::size_t i) {
  return i > 0 && ops[i].phase == Phase::backward && ops[i - 1].phase == Phase::forward;
}

}  // namespace

std::vector<Segment> segments_of(const Program& program, const Edges& edges) {
  std::vector<Segment> segments;
  Segment now;
  const auto close = [&](std::size_t next) {
    if (now.last - now.first >= kShortest) segments.push_back(now);
    now = {.first = next, .last = next};
  };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!is_repeatable(program.ops[i])) {
      close(i + 1);
      continue;
    }
    if (!edges.waits[i].empty() || begins_backward(program.ops, i)) close(i);
    now.last = i + 1;
    if (edges.is_awaited[i]) close(i + 1);
  }
  close(program.ops.size());
  return segments;
}

bool recording_pays(const Program& program) {
  std::int64_t bytes = 0, ops = 0;
  for (const Op& op : program.ops) {
    if (op.stream != StreamId::compute) continue;
    ++ops;
    for (const ValueId id : op.out) bytes += id == kNoValue ? 0 : bytes_of(program.value(id));
  }
  return ops > 0 && bytes / ops < kBytesOfALaunch;
}

}  // namespace ds
