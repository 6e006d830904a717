// Tests of spans: the text comes back from what the encoder reads and what the decoder predicts,
// rows hold whole texts, and draws depend on seed, sample and place alone.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/data/cut_spans.h"
#include "engine/data/open_data.h"
#include "engine/packing/token_writer.h"
#include "support/temp_folder.h"

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t kEnd = 1, kFirstSentinel = 2, kSentinels = 40, kFirstWord = 100;

/// A tokenizer of words w0, w1, ... with T5's special tokens.
std::string span_tokenizer(const ds::test::TempFolder& folder, int sentinels = kSentinels) {
  std::string vocab = R"("<pad>": 0, "</s>": 1)", added;
  const auto add = [&](const std::string& token, int number) {
    added += std::string(added.empty() ? "" : ",") + R"({"id": )" + std::to_string(number) +
             R"(, "content": ")" + token + R"(", "special": true})";
  };
  add("<pad>", 0);
  add("</s>", 1);
  for (int i = 0; i < sentinels; ++i) {
    const std::string name = "<extra_id_" + std::to_string(i) + ">";
    vocab += ", \"" + name + "\": " + std::to_string(kFirstSentinel + i);
    add(name, kFirstSentinel + i);
  }
  folder.file("tokenizer.json", R"({"added_tokens": [)" + added +
                                    R"(], "model": {"type": "BPE", "merges": [],)" +
                                    R"( "vocab": {)" + vocab + "}}}");
  folder.file("tokenizer_config.json", R"({"eos_token": "</s>"})");
  return folder / "tokenizer.json";
}

/// Writes documents of these lengths, with an end token each, and returns them without it.
std::vector<Tokens> write_texts(const ds::test::TempFolder& folder,
                                const std::vector<int>& lengths) {
  ds::TokenWriter writer(folder / "a.bin", 60'000);
  std::vector<Tokens> texts;
  std::int32_t next = kFirstWord;
  for (const int length : lengths) {
    Tokens text;
    for (int i = 0; i < length; ++i) text.push_back(next++);
    texts.push_back(text);
    text.push_back(kEnd);
    ds::EncodedDocument document;
    document.add(text, true);
    writer.add(document);
  }
  writer.finish(folder / "a.idx");
  return texts;
}

ds::DataConfig span_config(const ds::test::TempFolder& folder, const std::string& tokenizer) {
  ds::DataConfig config;
  config.train = {folder / "a.bin"};
  config.format = "tokens";
  config.tokenizer = tokenizer;
  config.task = ds::DataTask::spans;
  config.rows = ds::RowKind::whole;
  config.longs = ds::LongDocuments::split;
  config.validation_fraction = 0;
  config.encoder_len = 64;
  config.seq_len = 24;
  return config;
}

/// The tokens of each document of a row.
std::map<std::int64_t, Tokens> documents_of(const ds::SampleRow& row, ds::Field tokens,
                                            ds::Field documents) {
  std::map<std::int64_t, Tokens> found;
  for (std::int64_t i = 0; i < row[tokens].count; ++i)
    if (row[documents][i] >= 0)
      found[row[documents][i]].push_back(static_cast<std::int32_t>(row[tokens][i]));
  return found;
}

bool is_sentinel(std::int32_t token) {
  return token >= kFirstSentinel && token < kFirstSentinel + kSentinels;
}

/// Puts the spans back into a text, and checks sentinels, ends and counts on the way.
Tokens restored(const Tokens& read, const Tokens& predicted) {
  REQUIRE(read.back() == kEnd);
  REQUIRE(predicted.back() == kEnd);
  Tokens text;
  std::size_t at = 0;
  std::int32_t spans = 0, hidden = 0;
  for (std::size_t i = 0; i + 1 < read.size(); ++i) {
    if (!is_sentinel(read[i])) {
      text.push_back(read[i]);
      continue;
    }
    CHECK(i > 0);
    CHECK(read[i] == kFirstSentinel + spans);
    REQUIRE(predicted[at] == read[i]);
    for (++at; at + 1 < predicted.size() && !is_sentinel(predicted[at]); ++at, ++hidden)
      text.push_back(predicted[at]);
    CHECK(predicted[at - 1] != read[i]);  // no span is empty
    ++spans;
  }
  CHECK(at + 1 == predicted.size());
  const auto wanted = ds::span_counts({}, std::ssize(text));
  CHECK(spans == wanted.spans);
  CHECK(hidden == wanted.hidden);
  return text;
}

/// Returns the texts of a sample.
std::vector<Tokens> texts_of(const ds::DataPart& part, ds::SamplePlace place) {
  const ds::SampleRow row = part.row(place);
  CHECK_FALSE(static_cast<bool>(row[ds::Field::tokens]));
  ds::check_row(row);
  const auto read = documents_of(row, ds::Field::encoder_tokens, ds::Field::encoder_documents);
  const auto predicted = documents_of(row, ds::Field::targets, ds::Field::documents);
  REQUIRE(read.size() == predicted.size());
  std::vector<Tokens> texts;
  for (const auto& [document, tokens] : read) {
    REQUIRE(predicted.contains(document));
    texts.push_back(restored(tokens, predicted.at(document)));
  }
  return texts;
}

std::string refusal_of(const ds::DataConfig& config) {
  try {
    ds::open_data(config);
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return {};
}

}  // namespace

TEST_CASE("spans: the counts of a text, and rows that they always fit") {
  CHECK(ds::span_counts({}, 0).spans == 0);
  CHECK(ds::span_counts({}, 1).spans == 0);
  for (const double share : {0.01, 0.15, 0.5, 0.9, 1.0})
    for (const double mean : {1.0, 3.0, 20.0})
      for (std::int64_t tokens = 2; tokens < 300; ++tokens) {
        const ds::SpanShape shape{share, mean};
        const auto [hidden, spans] = ds::span_counts(shape, tokens);
        CHECK((hidden >= 1 && hidden < tokens));
        CHECK((spans >= 1 && spans <= hidden && spans <= tokens - hidden));
        const ds::SpanColumns less = ds::span_columns(shape, tokens - 1);
        const ds::SpanColumns columns = ds::span_columns(shape, tokens);
        CHECK((less.encoder <= columns.encoder && less.decoder <= columns.decoder));
        CHECK(columns.encoder + columns.decoder == tokens + 2 * spans + 2);
        CHECK(ds::most_span_tokens(shape, columns) >= tokens);
      }
}

TEST_CASE("spans: every text comes back from its row, in every epoch") {
  const ds::test::TempFolder folder;
  std::vector<int> lengths;
  for (int i = 0; i < 300; ++i) lengths.push_back(i * 37 % 90);
  const std::vector<Tokens> written = write_texts(folder, lengths);
  const ds::DataConfig config = span_config(folder, span_tokenizer(folder));
  const ds::DataSet data = ds::open_data(config, 7);
  CHECK(data.fields.encoder_documents);
  // A long text is split into as many tokens as fit, and the rest; one token has no span.
  const std::int64_t most = ds::most_span_tokens({}, {64, 24});
  std::multiset<Tokens> wanted;
  for (const Tokens& text : written)
    for (std::int64_t at = 0; at + 1 < std::ssize(text); at += most)
      wanted.insert({text.begin() + at, text.begin() + std::min(at + most, std::ssize(text))});
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::multiset<Tokens> found;
    for (std::int64_t i = 0; i < data.train->epoch(); ++i) {
      const std::int64_t number = epoch * data.train->epoch() + i;
      for (Tokens& text : texts_of(*data.train, {data.train->place_of(number, 7), number}))
        found.insert(std::move(text));
    }
    CHECK(found == wanted);
  }
}

TEST_CASE("spans: draws depend on seed, sample and place alone") {
  const ds::test::TempFolder folder;
  write_texts(folder, std::vector<int>(40, 90));  // 5 spans; a single one would be at the end
  ds::DataConfig config = span_config(folder, span_tokenizer(folder));
  config.encoder_len = 200;
  config.seq_len = 60;
  const ds::DataSet data = ds::open_data(config, 7), again = ds::open_data(config, 7),
                    other = ds::open_data(config, 8);
  const auto read = [](const ds::DataSet& from, ds::SamplePlace place) {
    const ds::SampleRow row = from.train->row(place);
    return documents_of(row, ds::Field::encoder_tokens, ds::Field::encoder_documents);
  };
  const auto first = read(data, {0, 0});
  CHECK(first != read(data, {0, 1000}));  // another epoch
  CHECK(first == read(again, {0, 0}));
  CHECK(first == read(data, {0, 0}));
  CHECK(first != read(other, {0, 0}));
  // Texts of a row are cut in different places.
  REQUIRE(first.size() == 2);
  const auto sentinels = [](const Tokens& tokens) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (is_sentinel(tokens[i])) places.push_back(i);
    return places;
  };
  std::size_t different = 0;
  for (std::int64_t sample = 0; sample < 20; ++sample) {
    const auto row = read(data, {0, sample});
    different += sentinels(row.at(0)) != sentinels(row.at(1)) ? 1 : 0;
  }
  CHECK(different > 10);
}

TEST_CASE("spans: long texts are cut or dropped; what cannot be used is refused by name") {
  const ds::test::TempFolder folder;
  write_texts(folder, {200, 10, 1});
  ds::DataConfig config = span_config(folder, span_tokenizer(folder));
  config.longs = ds::LongDocuments::cut;
  CHECK(ds::open_data(config).train->note().find("1 longer than a row were cut") !=
        std::string::npos);
  CHECK(ds::open_data(config).train->note().find("1 have nothing to learn") != std::string::npos);
  config.longs = ds::LongDocuments::drop;
  CHECK(ds::open_data(config).train->size() == 1);
  const auto has = [](const std::string& text, const char* what) {
    CAPTURE(text);
    return text.find(what) != std::string::npos;
  };
  config.tokenizer = span_tokenizer(folder, 3);
  config.encoder_len = 200;
  config.seq_len = 100;
  CHECK(has(refusal_of(config), "has no token <extra_id_3>"));
  config.tokenizer = span_tokenizer(folder, 0);
  CHECK(has(refusal_of(config), "--kind t5"));
  config.encoder_len = 2;
  CHECK(has(refusal_of(config), "have no room for a span"));
  folder.file("tokenizer_config.json", "{}");
  CHECK(has(refusal_of(config), "has no end token"));
}
