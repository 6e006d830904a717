// Tests of token files, and of rows made of them: windows, whole documents, pairs, masks, mixtures.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/data/document_packer.h"
#include "engine/data/mask_tokens.h"
#include "engine/data/merge_pairs.h"
#include "engine/data/open_data.h"
#include "engine/data/sampler.h"
#include "engine/data/weighted_order.h"
#include "engine/packing/token_writer.h"
#include "support/temp_folder.h"

namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<std::int64_t>;

using Folder = ds::test::TempFolder;

struct Piece {
  std::vector<std::int32_t> tokens;
  bool is_trained = true;
};
using Document = std::vector<Piece>;

std::string write(const Folder& folder, const std::string& name,
                  const std::vector<Document>& documents, std::int64_t vocab = 1000) {
  ds::TokenWriter writer(folder / (name + ".bin"), vocab);
  for (const Document& document : documents) {
    ds::EncodedDocument encoded;
    for (const Piece& piece : document) encoded.add(piece.tokens, piece.is_trained);
    writer.add(encoded);
  }
  writer.finish(folder / (name + ".idx"));
  return folder / (name + ".bin");
}

ds::DataConfig config_of(const std::string& file, std::int64_t seq_len) {
  ds::DataConfig config;
  config.train = {file};
  config.format = "tokens";
  config.tokenizer = "none";
  config.validation_fraction = 0;
  config.seq_len = seq_len;
  return config;
}

Numbers numbers_of(const ds::SampleRow& row, ds::Field field) {
  Numbers numbers;
  for (std::int64_t i = 0; i < row[field].count; ++i) numbers.push_back(row[field][i]);
  return numbers;
}

std::string message_of(const ds::DataConfig& config) {
  try {
    const ds::DataSet data = ds::open_data(config);
    for (std::int64_t i = 0; i < data.train->epoch(); ++i)
      (void)data.train->row({data.train->place_of(i, 0), i});
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void overwrite(const std::string& path, std::int64_t at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << bytes;
}

/// Returns every (token before, token) that the rows of an epoch teach.
std::multiset<std::pair<std::int64_t, std::int64_t>> taught(const ds::DataPart& part) {
  std::multiset<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t i = 0; i < part.epoch(); ++i) {
    const ds::SampleRow row = part.row({part.place_of(i, 3), i});
    const Numbers tokens = numbers_of(row, ds::Field::tokens);
    const Numbers targets = numbers_of(row, ds::Field::targets);
    for (std::size_t k = 0; k < tokens.size(); ++k)
      if (targets[k] >= 0) pairs.insert({tokens[k], targets[k]});
  }
  return pairs;
}

}  // namespace

TEST_CASE("windows of documents: no target across a border, documents numbered in the row") {
  const Folder folder;
  const std::string file =
      write(folder, "a", {{{{1, 2, 3}}}, {{{4}}}, {}, {{{5, 6}}}, {{{7, 8, 9}}}});
  const ds::DataSet data = ds::open_data(config_of(file, 5));
  CHECK(data.fields.documents);
  CHECK(data.train->size() == 9);
  const ds::SampleRow row = data.train->row({1, 0});
  CHECK(numbers_of(row, ds::Field::tokens) == Numbers{2, 3, 4, 5, 6});
  CHECK(numbers_of(row, ds::Field::targets) == Numbers{3, -1, -1, 6, -1});
  CHECK(numbers_of(row, ds::Field::documents) == Numbers{0, 0, 1, 2, 2});
  ds::DataConfig joined = config_of(file, 5);
  joined.join = true;
  const ds::DataSet one = ds::open_data(joined);
  CHECK_FALSE(one.fields.documents);
  const ds::SampleRow all = one.train->row({1, 0});
  CHECK(numbers_of(all, ds::Field::targets) == Numbers{3, 4, 5, 6, 7});
  CHECK_FALSE(static_cast<bool>(all[ds::Field::documents]));
}

TEST_CASE("shards of llm.c: one document of 16 or 32 bits") {
  const Folder folder;
  for (const bool is_wide : {false, true}) {
    std::ofstream out(folder / "shard.bin", std::ios::binary);
    std::vector<std::int32_t> header(256);
    header[0] = is_wide ? 20240801 : 20240520;
    header[1] = is_wide ? 7 : 1;
    header[2] = 6;
    out.write(reinterpret_cast<const char*>(header.data()), 1024);
    for (int i = 0; i < 6; ++i) {
      const std::int32_t token = (is_wide ? 100000 : 50000) + i;
      out.write(reinterpret_cast<const char*>(&token), is_wide ? 4 : 2);
    }
    out.close();
    const ds::DataSet data = ds::open_data(config_of(folder / "shard.bin", 4));
    CHECK_FALSE(data.fields.documents);
    CHECK(data.train->size() == 6);
    const std::int64_t first = is_wide ? 100001 : 50001;
    CHECK(numbers_of(data.train->row({1, 0}), ds::Field::tokens) ==
          Numbers{first, first + 1, first + 2, first + 3});
  }
  fs::resize_file(folder / "shard.bin", 1024 + 8);
  CHECK(has(message_of(config_of(folder / "shard.bin", 4)), "promises 6 tokens, it holds 2"));
}

TEST_CASE("damaged pairs are refused with their place") {
  const Folder folder;
  const std::string file = write(folder, "a", {{{{1, 2, 3}}}, {{{4, 5, 6, 7}}}});
  const std::string index = folder / "a.idx";
  const auto size = static_cast<std::int64_t>(fs::file_size(index));
  for (std::int64_t cut = 1; cut < size; ++cut) {
    write(folder, "a", {{{{1, 2, 3}}}, {{{4, 5, 6, 7}}}});
    fs::resize_file(index, static_cast<std::uintmax_t>(cut));
    CHECK(has(message_of(config_of(file, 2)), index));
  }
  write(folder, "a", {{{{1, 2, 3}}}, {{{4, 5, 6, 7}}}});
  fs::resize_file(file, 10);
  CHECK(has(message_of(config_of(file, 2)), "sequence 1 is 4 tokens at byte 6"));
  write(folder, "a", {{{{1, 2, 3}}}, {{{4, 5, 6, 7}}}});
  overwrite(index, 17, "\x07");
  CHECK(has(message_of(config_of(file, 2)), "tokens of the type 7"));
  // Any byte of the index may be wrong: an error or rows, never a crash.
  for (std::int64_t at = 0; at < size; ++at)
    for (const char* const byte : {"\xff", "\x7f", "\x01"}) {
      write(folder, "a", {{{{1, 2, 3}}}, {{{4, 5, 6, 7}}}});
      overwrite(index, at, byte);
      CHECK_FALSE(message_of(config_of(file, 2)).empty());
    }
}

TEST_CASE("whole documents side by side: every one is learned once, whatever the lengths") {
  const Folder folder;
  std::vector<Document> documents;
  std::multiset<std::pair<std::int64_t, std::int64_t>> expected;
  std::uint64_t state = 11;
  std::int32_t token = 0;
  for (int i = 0; i < 700; ++i) {
    state = ds::mix_bits(state);
    Piece piece;
    for (std::uint64_t k = 0; k < state % 50; ++k) piece.tokens.push_back(token++);
    for (std::size_t k = 1; k < piece.tokens.size(); ++k)
      expected.insert({piece.tokens[k - 1], piece.tokens[k]});
    documents.push_back({piece});
  }
  const std::string file = write(folder, "a", documents, 1 << 20);
  for (const std::int64_t seq_len : {16, 33, 49, 200}) {
    ds::DataConfig config = config_of(file, seq_len);
    config.rows = ds::RowKind::whole;
    const ds::DataSet data = ds::open_data(config);
    CHECK(taught(*data.train) == expected);
    std::set<std::int64_t> places;
    for (std::int64_t i = 0; i < data.train->epoch(); ++i)
      places.insert(data.train->place_of(data.train->epoch() + i, 5));
    CHECK(std::ssize(places) == data.train->size());
    const double filled =
        static_cast<double>(expected.size()) / static_cast<double>(data.train->size() * seq_len);
    CHECK(filled > (seq_len < 49 ? 0.8 : 0.95));
  }
}

TEST_CASE("long documents are split, cut, or dropped, and counted") {
  const Folder folder;
  const std::string file = write(folder, "a", {{{{1, 2, 3, 4, 5, 6, 7, 8}}}, {{{11, 12}}}});
  ds::DataConfig config = config_of(file, 3);
  config.rows = ds::RowKind::whole;
  CHECK(taught(*ds::open_data(config).train).size() == 8);
  CHECK(has(ds::open_data(config).train->note(), "1 longer than a row were split"));
  config.longs = ds::LongDocuments::cut;
  CHECK(taught(*ds::open_data(config).train).size() == 4);
  CHECK(has(ds::open_data(config).train->note(), "1 longer than a row were cut"));
  config.longs = ds::LongDocuments::drop;
  CHECK(taught(*ds::open_data(config).train).size() == 1);
  CHECK(has(ds::open_data(config).train->note(), "1 longer than a row were dropped"));
}

TEST_CASE("answers alone are learned; a document without an answer in the row is named") {
  const Folder folder;
  const std::string file =
      write(folder, "a",
            {{{{1, 2}, false}, {{3, 4}, true}}, {{{5, 6, 7, 8, 9, 10}, false}, {{11}, true}}});
  ds::DataConfig config = config_of(file, 4);
  config.rows = ds::RowKind::whole;
  config.longs = ds::LongDocuments::cut;
  const ds::DataSet data = ds::open_data(config);
  CHECK(data.train->size() == 1);
  CHECK(numbers_of(data.train->row({0, 0}), ds::Field::targets) == Numbers{-1, 3, 4, -1});
  CHECK(has(data.train->note(), "1 have nothing to learn, the first is " + file + ", document 1"));
  config.rows = ds::RowKind::cut;
  CHECK(taught(*ds::open_data(config).train).count({2, 3}) == 1);
}

TEST_CASE("pairs: the encoder's sequence and the one to predict, several in a row") {
  const Folder folder;
  const std::string file = write(
      folder, "a",
      {{{{1, 2, 9}}, {{3, 9}}}, {{{4, 9}}, {{5, 6, 9}}}, {{{1, 1, 1, 1, 1, 1, 9}}, {{2, 9}}}});
  ds::DataConfig config = config_of(file, 5);
  config.encoder_len = 5;
  config.task = ds::DataTask::pairs;
  config.rows = ds::RowKind::whole;
  config.longs = ds::LongDocuments::cut;
  const ds::DataSet data = ds::open_data(config);
  CHECK(data.train->size() == 2);
  CHECK(data.fields.encoder_documents);
  std::set<Numbers> sources;
  for (std::int64_t i = 0; i < 2; ++i) {
    const ds::SampleRow row = data.train->row({i, 0});
    sources.insert(numbers_of(row, ds::Field::encoder_tokens));
    CHECK_FALSE(static_cast<bool>(row[ds::Field::tokens]));
    if (numbers_of(row, ds::Field::encoder_tokens) != Numbers{1, 2, 9, 4, 9}) continue;
    CHECK(numbers_of(row, ds::Field::targets) == Numbers{3, 9, 5, 6, 9});
    CHECK(numbers_of(row, ds::Field::documents) == Numbers{0, 0, 1, 1, 1});
    CHECK(numbers_of(row, ds::Field::encoder_documents) == Numbers{0, 0, 0, 1, 1});
  }
  CHECK(sources == std::set<Numbers>{{1, 2, 9, 4, 9}, {1, 1, 1, 1, 9}});
  config.train = {write(folder, "b", {{{{1}}}})};
  CHECK(has(message_of(config), "document 0: 1 sequences are no pair"));
}

TEST_CASE("masks: 15 % of the tokens, 80/10/10, never special ones, new in each epoch") {
  ds::DataConfig unused;
  const Folder folder;
  Piece piece;
  for (int i = 0; i < 200; ++i) piece.tokens.push_back(i % 50 == 0 ? 1 : 10 + i % 80);
  const auto file = ds::TokenFile::open(write(folder, "a", {{piece}}));
  const ds::MaskRule rule{.share = 0.15, .mask = 2, .tokens = 100, .keeps = {0, 1, 2}, .seed = 9};
  std::map<std::string, int> kinds;
  int chosen = 0;
  std::set<Numbers> rows;
  for (int sample = 0; sample < 500; ++sample) {
    ds::RowBuffer row(ds::Task::masked, 220, 0);
    row.begin_document();
    row.append(*file, 0, 200, true);
    ds::hide_tokens(rule, sample, row);
    const Numbers targets = numbers_of(row.row(true), ds::Field::targets);
    rows.insert(targets);
    for (std::size_t i = 0; i < 220; ++i) {
      if (targets[i] < 0) {
        if (i < 200) CHECK(row.tokens()[i] == piece.tokens[i]);
        continue;
      }
      REQUIRE(i < 200);
      CHECK(targets[i] == piece.tokens[i]);
      CHECK(targets[i] != 1);
      CHECK(row.tokens()[i] != 0);
      CHECK(row.tokens()[i] != 1);
      ++chosen;
      ++kinds[row.tokens()[i] == 2                 ? "mask"
              : row.tokens()[i] == piece.tokens[i] ? "same"
                                                   : "other"];
    }
  }
  const double free = 500 * 196;
  CHECK(chosen / free == doctest::Approx(0.15).epsilon(0.05));
  CHECK(kinds["mask"] / static_cast<double>(chosen) == doctest::Approx(0.8).epsilon(0.03));
  CHECK(kinds["other"] / static_cast<double>(chosen) == doctest::Approx(0.1).epsilon(0.1));
  CHECK(rows.size() == 500);
}

TEST_CASE("documents without a sequence can stand anywhere, also where files are cut") {
  const Folder folder;
  const Document one{{{1, 2, 3}}}, two{{{4, 5, 6, 7}}};
  for (const std::vector<Document>& documents :
       {std::vector<Document>{one, two, {}, {}}, {{}, {}, one, two}, {one, {}, {}, two}}) {
    ds::DataConfig config = config_of(write(folder, "a", documents), 2);
    for (const ds::RowKind rows : {ds::RowKind::cut, ds::RowKind::whole}) {
      config.rows = rows;
      for (const double share : {0.0, 0.25, 0.5, 0.75}) {
        config.validation_fraction = share;
        try {
          const ds::DataSet data = ds::open_data(config);
          std::set<std::int64_t> seen;
          for (const ds::DataPart* part : {data.train.get(), data.validation.get()}) {
            for (std::int64_t i = 0; i < part->rows(); ++i)
              for (const std::int64_t target :
                   numbers_of(part->row({part->row_place(i), i}), ds::Field::targets))
                seen.insert(target);
          }
          for (const std::int64_t target : {2, 3, 5, 6, 7}) CHECK(seen.contains(target));
        } catch (const ds::Error& error) {  // one part may have no tokens
          CHECK(error.kind() == ds::ErrorKind::config);
        }
      }
    }
  }
}

TEST_CASE("mixtures stay within one sample of their weights, in any order of calls") {
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {1, 1}, {0.7, 0.2, 0.1}, {5, 3, 1, 0.001}, {1, 1, 1, 1, 1, 1, 1}}) {
    ds::WeightedOrder order(weights);
    double sum = 0;
    for (const double weight : weights) sum += weight;
    Numbers counts(weights.size());
    std::vector<std::size_t> turns;
    for (std::int64_t i = 0; i < 20000; ++i) {
      const ds::WeightedOrder::Turn turn = order.at(i);
      turns.push_back(turn.source);
      CHECK(turn.number == counts[turn.source]);
      ++counts[turn.source];
      for (std::size_t k = 0; k < weights.size(); ++k) {
        const double share = static_cast<double>(i + 1) * weights[k] / sum;
        REQUIRE(std::abs(static_cast<double>(counts[k]) - share) < 1);
      }
    }
    ds::WeightedOrder again(weights);
    CHECK(again.at(19000).source == turns[19000]);
    CHECK(again.at(3).source == turns[3]);
  }
}

TEST_CASE("a mixture reads each source by its own order") {
  const Folder folder;
  write(folder, "a", {{{{1, 2, 3, 4, 5}}}});
  write(folder, "b", {{{{11, 12, 13, 14, 15, 16, 17, 18, 19}}}});
  ds::DataConfig config = config_of(folder / "a.bin", 2);
  config.train.push_back(folder / "b.bin");
  config.weights = {1, 3};
  const ds::DataSet data = ds::open_data(config);
  int of_first = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const ds::SampleRow row = data.train->row({data.train->place_of(i, 5), i});
    of_first += row[ds::Field::tokens][0] < 10 ? 1 : 0;
  }
  CHECK(of_first == 10);
}

TEST_CASE("pairs are joined; documents, sequences and modes stay") {
  const Folder folder;
  const std::string a = write(folder, "a", {{{{1, 2}, false}, {{3}, true}}, {{{4}}}});
  const std::string b = write(folder, "b", {{{{70000, 6}}}}, 1 << 20);
  const ds::PairFacts made = ds::merge_pairs({a, b}, folder / "all");
  CHECK(made.documents == 3);
  CHECK(made.tokens == 6);
  const auto all = ds::TokenFile::open(folder / "all.bin");
  CHECK(all->documents() == 3);
  CHECK(all->sequences() == 4);
  CHECK_FALSE(all->sequence(0).is_trained);
  CHECK(all->tokens()[4] == 70000);
  CHECK(fs::directory_iterator(folder / "").operator->()->exists());
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 6);
}
