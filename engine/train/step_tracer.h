// StepTracer: records the steps that log.trace names on every rank, and writes them as one file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/step_range.h"
#include "engine/execute/op_times.h"
#include "engine/train/trace_events.h"
#include "engine/train/trainer.h"

namespace ds {

/// Where a rank writes and what it says. Only rank 0 does both.
struct TracePlace {
  std::string folder{};  // of the run
  std::string device{};  // of this rank, for people
  std::function<void(const std::string& line)> tell{};
};

/// All ranks call the same functions in the same steps; some of these calls are collective.
class StepTracer {
 public:
  /// Allocates all that the steps need.
  StepTracer(const TrainConfig& config, StepRange steps, Trainer& trainer, Group& world,
             Device& device, TracePlace place);

  void before(std::int64_t step);
  /// Comes when all that follows a step is done. Writes the file after the last step of the trace,
  /// or of the run. A full disk costs the trace, not the job. Errors: Error{comm}.
  void after(std::int64_t step, bool is_last);

 private:
  /// What the ranks tell each other about their parts.
  struct Facts {
    TraceClock clock{};
    std::int64_t began = 0;  // the first step, by the rank's own clock, in ns
    std::int64_t bytes = 0;  // of the rank's text
    std::int64_t dropped = 0;
  };

  void write();
  [[nodiscard]] std::vector<Facts> gather(const Facts& own);
  void collect(const std::vector<Facts>& all, const std::string& own);
  [[nodiscard]] std::string head(const std::vector<Facts>& all) const;

  Trainer& trainer_;
  Group& world_;
  StepRange steps_;
  TracePlace place_;
  TraceBuffer trace_;
  OpTimes times_;
  Clock::time_point first_{}, began_{};  // when the first and the current step began
  bool has_begun_ = false;
  TraceClock clock_{};
};

/// Returns the tracer of the steps that log.trace names and this run takes; null without such
/// steps. Warns of named steps that it does not take.
std::unique_ptr<StepTracer> make_step_tracer(const TrainConfig& config, Trainer& trainer,
                                             Group& world, Device& device, TracePlace place);

}  // namespace ds
