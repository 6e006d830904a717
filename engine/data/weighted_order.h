// WeightedOrder: which source each sample of a mixture comes from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ds {

/// After any number of samples, the count of each source differs from its weight's share by less
/// than one sample. Source: Tijdeman, "The chairman assignment problem", 1980.
class WeightedOrder {
 public:
  /// `weights`: positive, of any sum.
  explicit WeightedOrder(std::span<const double> weights);

  struct Turn {
    std::size_t source = 0;
    std::int64_t number = 0;  // of the sample among those of its source
  };
  /// Returns the turn of a sample. Takes the time of all turns between the last call's sample and
  /// this one; before it, of all turns.
  [[nodiscard]] Turn at(std::int64_t sample);

 private:
  Turn take();

  std::vector<double> shares_;
  std::vector<std::int64_t> counts_;
  std::int64_t next_ = 0;  // sample
};

}  // namespace ds
