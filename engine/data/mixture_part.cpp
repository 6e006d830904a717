// MixturePart: asks the source of each sample.
#include "engine/data/mixture_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/data/sampler.h"

namespace ds {

MixturePart::MixturePart(std::vector<std::unique_ptr<DataPart>> sources,
                         std::vector<double> weights)
    : sources_(std::move(sources)), weights_(std::move(weights)), order_(weights_) {}

std::int64_t MixturePart::size() const {
  std::int64_t size = 0;
  for (const auto& source : sources_) size += source->size();
  return size;
}

std::string MixturePart::size_text() const {
  std::string text;
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (std::size_t i = 0; i < sources_.size(); ++i)
    text += fmt::format("{}{:.3g} % from {}", i == 0 ? "" : ", ", 100 * weights_[i] / sum,
                        sources_[i]->size_text());
  return text;
}

std::string MixturePart::note() const {
  std::string text;
  for (const auto& source : sources_)
    if (const std::string note = source->note(); !note.empty())
      text += (text.empty() ? "" : "; ") + note;
  return text;
}

std::string MixturePart::identity() const {
  std::string text;
  for (const auto& source : sources_) text += (text.empty() ? "" : "+") + source->identity();
  return text;
}

std::int64_t MixturePart::epoch() const {
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  double longest = 1;
  for (std::size_t i = 0; i < sources_.size(); ++i)
    longest = std::max(longest, static_cast<double>(sources_[i]->epoch()) * sum / weights_[i]);
  return static_cast<std::int64_t>(std::ceil(longest));
}

std::int64_t MixturePart::place_of(std::int64_t sample, std::uint64_t seed) const {
  const WeightedOrder::Turn turn = order_.at(sample);
  const std::uint64_t own_seed = mix_bits(seed ^ mix_bits(turn.source));
  return sources_[turn.source]->place_of(turn.number, own_seed) * count() +
         static_cast<std::int64_t>(turn.source);
}

std::int64_t MixturePart::validation_place(std::int64_t index, std::int64_t total) const {
  const auto source = static_cast<std::size_t>(index % count());
  return sources_[source]->validation_place(index, total) * count() +
         static_cast<std::int64_t>(source);
}

void MixturePart::will_need(SamplePlace sample) const {
  source_of(sample.place).will_need({sample.place / count(), sample.number});
}

std::int64_t MixturePart::rows() const {
  std::int64_t rows = 0;
  for (const auto& source : sources_) rows += source->rows();
  return rows;
}

std::int64_t MixturePart::row_place(std::int64_t index) const {
  std::size_t source = 0;
  for (; index >= sources_[source]->rows(); ++source) index -= sources_[source]->rows();
  return sources_[source]->row_place(index) * count() + static_cast<std::int64_t>(source);
}

SampleRow MixturePart::row(SamplePlace sample) const {
  return source_of(sample.place).row({sample.place / count(), sample.number});
}

std::string MixturePart::describe(SamplePlace sample, const RowError& error) const {
  return source_of(sample.place).describe({sample.place / count(), sample.number}, error);
}

std::unique_ptr<DataPart> mixture_of(std::vector<std::unique_ptr<DataPart>> sources,
                                     const std::vector<double>& weights) {
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<MixturePart>(std::move(sources), weights);
}

}  // namespace ds
