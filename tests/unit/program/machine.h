// Machine and World: a small interpreter of sharded programs on their placed memory, all ranks in
// one process.
//
// Sums and moves run in float. A backward op writes random numbers that depend only on its path,
// virtual rank and micro-step. Every other result is a pattern that is checked at each read, which
// detects bytes that were reused too early.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/program/passes.h"

namespace ds::test {

/// Returns what backward op `path` of one micro-batch adds to its `operand`-th result.
std::vector<float> random_gradient(const std::string& path, std::size_t operand, int virtual_rank,
                                   int micro_step, std::int64_t elements);

class Machine {
 public:
  explicit Machine(Program program);
  /// Runs up to the next communication op and returns it; null at the end.
  const Op* run();
  /// Continues after the communication op, once the partners' bytes are in place.
  void pass() { ++next_; }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const PlacementPlan& plan() const { return plan_; }
  [[nodiscard]] float* floats(ValueId id);
  [[nodiscard]] int broken_reads() const { return broken_reads_; }

 private:
  [[nodiscard]] std::byte* data(ValueId id);
  void run_op(const Op& op);
  void add_gradient(const Op& op, std::size_t operand);
  void write_pattern(ValueId id);
  void check_pattern(ValueId id);

  Program program_;
  PlacementPlan plan_;
  std::array<std::vector<std::byte>, kTiers> arenas_;
  std::size_t next_ = 0;
  int broken_reads_ = 0;
};

/// All ranks of a job, in lockstep.
class World {
 public:
  World(const Program& differentiated, ShardSpec spec);
  /// Returns each rank's reduced gradient of group g.
  [[nodiscard]] std::vector<std::vector<float>> gradients(int g);
  [[nodiscard]] int broken_reads() const;

 private:
  void exchange(const std::vector<const Op*>& ops);
  void all_gather(const std::vector<const Op*>& ops);

  std::vector<Machine> ranks_;
};

/// Computes the gradient by the written rule: one process, no slices, no slots.
std::vector<float> expected_gradient(const Program& differentiated, int g, const ShardSpec& spec);

}  // namespace ds::test
