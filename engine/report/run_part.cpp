#include "engine/report/run_part.h"

#include <fmt/format.h>

#include <utility>

namespace ds::report {

void PartLines::broken() {
  if (part_.bad.count++ == 0) part_.bad.first = fmt::format("{}:{}", file_, lines_);
}

void PartLines::add_too_long() {
  ++lines_;
  broken();
}

void PartLines::add(std::string_view text, bool is_cut) {
  ++lines_;
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
  MetricsLine line = parse_metrics_line(text);
  if (auto* step = std::get_if<StepLine>(&line)) {
    // One process never goes back, so such a line is damaged.
    if (!part_.steps.empty() && step->at.step <= part_.steps.back().at.step) return broken();
    part_.steps.push_back(*step);
  } else if (auto* validation = std::get_if<ValidationLine>(&line)) {
    part_.validations.push_back(std::move(*validation));
  } else if (auto* save = std::get_if<SaveLine>(&line)) {
    part_.saves.push_back(*save);
  } else if (std::holds_alternative<EpochLine>(line)) {
    RunPart next;
    next.bad = part_.bad;
    ended_.push_back(std::exchange(part_, std::move(next)));
    ended_.back().bad = {};
  } else if (std::holds_alternative<BrokenLine>(line)) {
    if (is_cut)
      part_.bad.cut_end = true;
    else
      broken();
  }
}

std::vector<RunPart> PartLines::take() {
  ended_.push_back(std::exchange(part_, {}));
  return std::exchange(ended_, {});
}

}  // namespace ds::report
