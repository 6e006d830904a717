// Tests of BatchLoader: each step gets its own samples, and an error comes with the step that would
// use them.
#include "engine/train/batch_loader.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/base/error.h"

using namespace ds;  // NOLINT: the tests of one file

namespace {

constexpr std::int64_t kBroken = 1000;  // this sample and those behind it cannot be read

/// Rows of 3 tokens, which count from the sample's number times 10.
class CountingPart : public DataPart {
 public:
  [[nodiscard]] std::int64_t size() const override { return kBroken; }
  [[nodiscard]] std::string size_text() const override { return {}; }
  [[nodiscard]] std::string identity() const override { return {}; }
  [[nodiscard]] std::int64_t epoch() const override { return kBroken; }
  [[nodiscard]] std::int64_t place_of(std::int64_t sample, std::uint64_t seed) const override {
    asked.push_back(sample);
    return sample + static_cast<std::int64_t>(seed);
  }
  [[nodiscard]] std::int64_t validation_place(std::int64_t index, std::int64_t) const override {
    return index;
  }
  void will_need(SamplePlace) const override {}
  [[nodiscard]] SampleRow row(SamplePlace sample) const override {
    if (sample.number >= kBroken) throw RowError{.what = "it is broken"};
    for (std::size_t i = 0; i < row_.size(); ++i)
      row_[i] = static_cast<std::int32_t>(sample.number * 10 + static_cast<std::int64_t>(i));
    SampleRow row;
    row.fields[0] = {.data = reinterpret_cast<const std::byte*>(row_.data()), .count = 3};
    return row;
  }
  [[nodiscard]] std::string describe(SamplePlace sample, const RowError&) const override {
    return std::to_string(sample.number);
  }

  mutable std::vector<std::int64_t> asked;  // samples whose places were asked for

 private:
  mutable std::array<std::int32_t, 3> row_{};
};

/// Two micro-batches of 2 samples on virtual rank 1 of 3: a step has 12 samples.
struct Rank {
  CountingPart data;
  std::array<std::array<std::int32_t, 6>, 2> tokens{};
  std::array<std::array<std::int64_t, 2>, 2> samples{};
  std::vector<std::vector<BatchInput>> inputs;
  std::vector<std::span<const BatchInput>> views;
  std::vector<MicroBatch> micros{{.virtual_rank = 1, .micro_step = 0},
                                 {.virtual_rank = 1, .micro_step = 1}};

  Rank() {
    for (std::size_t m = 0; m < 2; ++m)
      inputs.push_back({{.name = input::kTokens,
                         .memory = {tokens[m].data(), DType::i32, {6}},
                         .limit = 1 << 20},
                        {.name = input::kPositions},
                        {.name = input::kSamples, .memory = {samples[m].data(), DType::i64, {2}}}});
    views.assign(inputs.begin(), inputs.end());
  }
  [[nodiscard]] BatchLoader::Source source() const {
    return {.data = data, .batch = {.micro = 2, .accum = 2, .virtual_ranks = 3}, .seed = 7};
  }
  /// Checks the numbers of the step whose samples begin with `first`.
  void take(BatchLoader& loader, std::int64_t first) {
    loader.wait(first);
    for (std::size_t m = 0; m < 2; ++m) {
      loader.copy(m, inputs[m]);
      const std::int64_t sample = first + static_cast<std::int64_t>(m) * 6 + 2;
      CHECK(samples[m] == std::array<std::int64_t, 2>{sample, sample + 1});
      CHECK(tokens[m][0] == sample * 10);
      CHECK(tokens[m][5] == (sample + 1) * 10 + 2);
      CHECK(loader.taken()[2 * m] ==
            TakenSample{1, static_cast<std::int64_t>(m), sample, sample + 7});
    }
  }
};

}  // namespace

TEST_CASE("batch loader: steps that were asked for before, and steps that were not") {
  Rank rank;
  BatchLoader loader(rank.source(), rank.micros, rank.views);
  rank.take(loader, 0);
  for (std::int64_t first = 12; first < 600; first += 12) {
    loader.begin(first);
    rank.take(loader, first);
  }
  rank.take(loader, 120);  // as after a resume
  loader.begin(600);
  rank.take(loader, 24);
  loader.begin(36);  // nobody waits for it
}

TEST_CASE("batch loader: an error of reading comes with its step, and only once") {
  Rank rank;
  BatchLoader loader(rank.source(), rank.micros, rank.views);
  rank.take(loader, 984);
  loader.begin(996);
  CHECK_THROWS_WITH_AS(loader.wait(996), "data file 1004: it is broken", Error);
  rank.take(loader, 12);
  loader.begin(996);
  rank.take(loader, 24);
}

TEST_CASE("batch loader: places are asked for in the order of samples") {
  const CountingPart data;
  const std::array<MicroBatch, 4> micros{{{.virtual_rank = 1, .micro_step = 0},
                                          {.virtual_rank = 1, .micro_step = 1},
                                          {.virtual_rank = 2, .micro_step = 0},
                                          {.virtual_rank = 2, .micro_step = 1}}};
  const std::array<std::span<const BatchInput>, 4> none{};
  BatchLoader loader({.data = data, .batch = {.micro = 2, .accum = 2, .virtual_ranks = 3}}, micros,
                     none);
  loader.wait(12);
  CHECK(data.asked == std::vector<std::int64_t>{14, 15, 16, 17, 20, 21, 22, 23});
  std::vector<std::int64_t> taken;
  for (const TakenSample& sample : loader.taken()) taken.push_back(sample.sample);
  CHECK(taken == std::vector<std::int64_t>{14, 15, 20, 21, 16, 17, 22, 23});
}
