// missing_edge(): turns a placed program into a schedule and a race into a message.
#include "engine/program/check_edges.h"

#include <algorithm>
#include <array>

#include "engine/program/liveness.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

constexpr int kNoName = -1;

class Schedule {
 public:
  Schedule(const Program& program, std::span<const std::int64_t> offsets)
      : program_(program), offsets_(offsets) {}

  [[nodiscard]] ScheduledOp scheduled(const Op& op, const std::vector<int>& waits) const {
    ScheduledOp made{.stream = static_cast<int>(op.stream), .waits = waits, .accesses = {}};
    for (const ValueId id : op.in) touch(made, id, false);
    for (const ValueId id : op.out) touch(made, id, true);
    const OpRow& row = row_of(op);
    if (row.decision == Decision::writes) {  // and reads the losses that it is derived from
      for (const MicroBatch& batch : program_.micro_batches) {
        touch(made, batch.loss, false);
        touch(made, batch.count, false);
      }
    }
    if (row.decision != Decision::none)
      made.accesses.push_back(whole(kDecision, row.decision == Decision::writes));
    if (row.uses_scratch) made.accesses.push_back(whole(kScratch, true));
    return made;
  }

 private:
  static Access whole(int memory, bool write) {
    return {.memory = memory, .begin = 0, .end = 1, .write = write, .value = kNoName};
  }

  void touch(ScheduledOp& made, ValueId id, bool write) const {
    if (id == kNoValue) return;
    const Home home = home_of(program_, id);
    const std::int64_t begin = offsets_[static_cast<std::size_t>(home.base)] + home.offset;
    made.accesses.push_back({.memory = static_cast<int>(program_.value(home.base).tier),
                             .begin = begin,
                             .end = begin + bytes_of(program_.value(id)),
                             .write = write,
                             .value = id});
  }

  const Program& program_;
  std::span<const std::int64_t> offsets_;
};

std::string words_of(const Program& program, int index, const Access& access) {
  const Op& op = program.ops[static_cast<std::size_t>(index)];
  std::string micro, what = access.memory == kDecision ? "the decision" : "the kernels' scratch";
  if (op.micro >= 0) micro = fmt::format("@{}", op.micro);
  if (access.value != kNoName) what = program.value(access.value).name;
  return fmt::format("op {} ({}{} on {}) {} {}", index, op.path, micro,
                     kStreamNames[static_cast<std::size_t>(op.stream)],
                     access.write ? "writes" : "reads", what);
}

}  // namespace

std::vector<ScheduledOp> schedule_of(const Program& program, std::span<const std::int64_t> offsets,
                                     const Edges& edges) {
  const Schedule schedule(program, offsets);
  std::vector<ScheduledOp> ops;
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    ops.push_back(schedule.scheduled(program.ops[i], edges.waits[i]));
  return ops;
}

std::optional<std::string> missing_edge(const Program& program,
                                        std::span<const std::int64_t> offsets, const Edges& edges) {
  const std::optional<Race> race = find_race(schedule_of(program, offsets, edges));
  if (!race) return std::nullopt;
  constexpr std::array<std::string_view, kTiers> kTierNames{"device", "pinned", "host", "nvme"};
  const auto memory = static_cast<std::size_t>(race->of_first.memory);
  const std::string where = memory < kTiers ? fmt::format(" (bytes {} to {} of {})", race->begin(),
                                                          race->end(), kTierNames[memory])
                                            : std::string();
  return fmt::format("{} and {}{}: nothing orders the two",
                     words_of(program, race->first, race->of_first),
                     words_of(program, race->second, race->of_second), where);
}

}  // namespace ds
