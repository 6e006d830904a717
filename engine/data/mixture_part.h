// MixturePart: samples of several sources, each drawn as often as its weight says.
#pragma once

#include <memory>
#include <vector>

#include "engine/data/data_part.h"
#include "engine/data/weighted_order.h"

namespace ds {

/// A place is the place in its source times the number of sources, plus the source's number.
class MixturePart : public DataPart {
 public:
  MixturePart(std::vector<std::unique_ptr<DataPart>> sources, std::vector<double> weights);

  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] std::string size_text() const override;
  [[nodiscard]] std::string note() const override;
  [[nodiscard]] std::string identity() const override;
  /// Returns the samples after which every source has been read once.
  [[nodiscard]] std::int64_t epoch() const override;
  [[nodiscard]] std::int64_t place_of(std::int64_t sample, std::uint64_t seed) const override;
  [[nodiscard]] std::int64_t validation_place(std::int64_t index,
                                              std::int64_t count) const override;
  void will_need(SamplePlace sample) const override;
  [[nodiscard]] std::int64_t rows() const override;
  /// The rows of one source stand behind those of the one before.
  [[nodiscard]] std::int64_t row_place(std::int64_t index) const override;
  [[nodiscard]] SampleRow row(SamplePlace sample) const override;
  [[nodiscard]] std::string describe(SamplePlace sample, const RowError& error) const override;

 private:
  [[nodiscard]] std::int64_t count() const { return std::ssize(sources_); }
  [[nodiscard]] const DataPart& source_of(std::int64_t place) const {
    return *sources_[static_cast<std::size_t>(place % count())];
  }

  std::vector<std::unique_ptr<DataPart>> sources_;
  std::vector<double> weights_;
  mutable WeightedOrder order_;
};

/// Returns the mixture of several sources, or the only one as it is.
std::unique_ptr<DataPart> mixture_of(std::vector<std::unique_ptr<DataPart>> sources,
                                     const std::vector<double>& weights);

}  // namespace ds
