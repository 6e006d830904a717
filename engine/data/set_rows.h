// SetRows: which rows of a set are read when its loss is computed.
#pragma once

#include <cstdint>

#include "engine/config/train_config.h"
#include "engine/data/data_part.h"

namespace ds {

struct SetRows {
  std::int64_t count = 0;
  bool is_whole = false;  // every row once, in order; else `count` places, evenly spaced

  /// Returns the place and the number of row `index`, below `count`.
  [[nodiscard]] SamplePlace row_of(const DataPart& part, std::int64_t index) const {
    return {is_whole ? part.row_place(index) : part.validation_place(index, count), index};
  }
};

/// Returns `most` rows of a set, evenly spaced, or all of them if there are not more.
SetRows rows_of_set(const DataPart& part, std::int64_t most);

/// Returns the most rows that a validation in training reads of a set: train.validate_batches
/// micro-batches for each virtual rank.
std::int64_t most_validation_rows(const TrainConfig& config);

/// Returns the rows that a validation in training reads. A set with a name that has fewer rows is
/// read once; of one without a name, rows are then read several times, as they were before sets
/// had names.
SetRows validation_rows(const DataPart& part, bool is_named, const TrainConfig& config);

}  // namespace ds
