// Tests the cutting of spans against the distribution of T5's function (fixtures/spans.json, made
// by make_span_fixture.py).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/data/cut_spans.h"
#include "engine/packing/token_writer.h"
#include "support/temp_folder.h"

namespace ds::golden {
namespace {

using Json = nlohmann::json;

Json span_fixture() {
  std::ifstream file(std::string(DS_FIXTURES) + "/spans.json");
  return Json::parse(file);
}

/// How often each token of a text was cut out, and how many spans of each length there were.
struct SpanCensus {
  std::vector<double> at, lengths;
};

/// Cuts a text of the tokens 0, 1, ... for many samples; sentinels are from 1000 on.
SpanCensus census_of(const SpanShape& shape, std::int64_t tokens, int samples) {
  const test::TempFolder folder;
  EncodedDocument document;
  std::vector<std::int32_t> numbers;
  for (std::int32_t i = 0; i < tokens; ++i) numbers.push_back(i);
  document.add(numbers, true);
  TokenWriter writer(folder / "a.bin", 2000);
  writer.add(document);
  writer.finish(folder / "a.idx");
  const auto file = TokenFile::open(folder / "a.bin");
  SpanRule rule{.shape = shape, .most = tokens, .end = 999, .seed = 5};
  for (int i = 0; i < tokens; ++i) rule.sentinels.push_back(1000 + i);
  SpanCensus census{std::vector<double>(numbers.size()), std::vector<double>(numbers.size() + 1)};
  const auto [read, predicted] = span_columns(shape, tokens);
  RowBuffer row(Task::spans, predicted, read);
  for (int sample = 0; sample < samples; ++sample) {
    row.clear();
    row.begin_document();
    cut_spans(rule, sample, {*file, 0, tokens}, row);
    std::size_t length = 0;
    for (const std::int32_t token : row.targets()) {
      if (token < 999) {
        ++census.at[static_cast<std::size_t>(token)];
        ++length;
        continue;
      }
      if (token != 1000) ++census.lengths[length];
      length = 0;
    }
  }
  return census;
}

TEST_CASE("Spans are cut as often and as long as by T5's function") {
  constexpr int kSamples = 20000;
  const Json fixture = span_fixture();
  for (const Json& text : fixture["texts"]) {
    const auto tokens = text["tokens"].get<std::int64_t>();
    CAPTURE(tokens);
    const SpanShape shape{text["share"].get<double>(), text["mean"].get<double>()};
    const auto [hidden, spans] = span_counts(shape, tokens);
    CHECK(hidden == text["noise"].get<std::int64_t>());
    CHECK(spans == text["spans"].get<std::int64_t>());
    const SpanCensus census = census_of(shape, tokens, kSamples);
    // 6 standard deviations of the difference of two shares near 1/2.
    const auto is_near = [](double a, double b) { return std::abs(a - b) < 0.03; };
    for (std::size_t i = 0; i < census.at.size(); ++i)
      CHECK(is_near(census.at[i] / kSamples, text["at"][i].get<double>()));
    for (std::size_t i = 0; i < text["lengths"].size(); ++i)
      CHECK(is_near(census.lengths[i] / kSamples / static_cast<double>(spans),
                    text["lengths"][i].get<double>()));
  }
}

TEST_CASE("A row of the encoder holds as many tokens as T5 gives it") {
  const Json fixture = span_fixture();
  for (const Json& row : fixture["rows"]) {
    const SpanShape shape{row["share"].get<double>(), row["mean"].get<double>()};
    const std::int64_t most =
        most_span_tokens(shape, {row["encoder"].get<std::int64_t>(), 1 << 20});
    CHECK(most == row["tokens"].get<std::int64_t>());
    CHECK(span_columns(shape, most).decoder == row["targets"].get<std::int64_t>());
  }
}

}  // namespace
}  // namespace ds::golden
