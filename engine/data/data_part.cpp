// DataPart::fill(): from the fields of samples to the inputs of a micro-batch.
#include "engine/data/data_part.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace ds {

void DataPart::fill(std::span<const SamplePlace> samples,
                    std::span<const BatchInput> inputs) const {
  for (std::size_t b = 0; b < samples.size(); ++b) {
    try {
      const SampleRow sample = row(samples[b]);
      for (const BatchInput& input : inputs) {
        if (!input.memory || input.name == input::kSamples) continue;
        const auto each = input.memory.elements() / static_cast<std::int64_t>(samples.size());
        auto* const out = static_cast<std::int32_t*>(input.memory.data);
        fill_from_row(sample, input, each, out + static_cast<std::int64_t>(b) * each);
      }
    } catch (const RowError& error) {
      throw Error(ErrorKind::config,
                  fmt::format("data file {}: {}", describe(samples[b], error), error.what),
                  error.hint);
    }
  }
}

}  // namespace ds
