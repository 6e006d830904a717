#include "engine/data/set_rows.h"

#include <algorithm>

namespace ds {

SetRows rows_of_set(const DataPart& part, std::int64_t most) {
  const std::int64_t rows = part.rows();
  return {.count = std::min(rows, most), .is_whole = rows <= most};
}

std::int64_t most_validation_rows(const TrainConfig& config) {
  return config.train.validate_batches * config.determinism.virtual_ranks * config.batch.micro;
}

SetRows validation_rows(const DataPart& part, bool is_named, const TrainConfig& config) {
  const std::int64_t most = most_validation_rows(config);
  return is_named ? rows_of_set(part, most) : SetRows{.count = most};
}

}  // namespace ds
