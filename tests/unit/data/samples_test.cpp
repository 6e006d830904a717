// Tests of sample files: what a model reads of each field, the order of rows, and one clear message
// for each thing that can be wrong.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "engine/data/open_data.h"
#include "support/sample_file.h"

namespace {

namespace fs = std::filesystem;
using ds::test::SampleField;
using Numbers = std::vector<std::int32_t>;

/// A folder of sample files of four tokens.
class Samples {
 public:
  Samples() {
    std::string name = fs::temp_directory_path() / "samplesXXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;
  ~Samples() { fs::remove_all(path_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = path_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string add(const std::string& name, const std::vector<SampleField>& fields) const {
    return write(name, ds::test::sample_file(fields));
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

ds::DataConfig samples_of(std::vector<std::string> train, double fraction = 0.0) {
  ds::DataConfig config;
  config.train = std::move(train);
  config.validation_fraction = fraction;
  config.format = "samples";
  config.seq_len = 4;
  return config;
}

struct Wanted {
  std::string name;
  std::int64_t first = 0, limit = 100, columns = 4;
};

/// Returns one input of the samples at `places`.
Numbers filled(const ds::DataPart& part, const std::vector<std::int64_t>& places,
               const Wanted& wanted) {
  Numbers numbers(places.size() * static_cast<std::size_t>(wanted.columns), -7);
  const std::vector<ds::BatchInput> inputs{
      {wanted.name,
       {numbers.data(), ds::DType::i32, {static_cast<std::int64_t>(numbers.size())}},
       wanted.first,
       wanted.limit}};
  std::vector<ds::SamplePlace> samples;
  for (const std::int64_t place : places) samples.push_back({place, 0});
  part.fill(samples, inputs);
  return numbers;
}

template <class Work>
std::string message_from(const Work& work) {
  try {
    work();
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

}  // namespace

TEST_CASE("all types of whole numbers give the same tokens, also at odd addresses") {
  const Samples folder;
  for (const char* type : {"U8", "U16", "U32", "I32", "I64"}) {
    const std::string path = folder.add(
        type, {{"token_types", "U8", 4, {0, 1, 1, 0}}, {"tokens", type, 4, {1, 2, 99, 0}}});
    const ds::DataSet set = ds::open_data(samples_of({path}));
    CHECK(filled(*set.train, {0}, {"tokens"}) == Numbers{1, 2, 99, 0});
    CHECK(filled(*set.train, {0}, {"targets"}) == Numbers{2, 99, 0, -1});
    CHECK(filled(*set.train, {0}, {"token_types", 0, 2}) == Numbers{0, 1, 1, 0});
    CHECK(filled(*set.train, {0}, {"documents"}) == Numbers{0, 0, 0, 0});
    CHECK(filled(*set.train, {0}, {"positions", 2}) == Numbers{2, 3, 4, 5});
    CHECK(set.fields == ds::DataFields{.token_types = true});
    CHECK(set.validation->size() == 0);
  }
}

TEST_CASE("targets and positions begin again with each document; padding has neither") {
  const Samples folder;
  const std::string path =
      folder.add("packed", {{"tokens", "U16", 4, {5, 6, 7, 8, 1, 2, 3, 4}},
                            {"documents", "I32", 4, {3, 3, 9, 9, 0, 7, -1, -2}}});
  const ds::DataSet set = ds::open_data(samples_of({path}));
  CHECK(set.fields == ds::DataFields{.documents = true});
  const ds::DataPart& train = *set.train;
  CHECK(filled(train, {0, 1}, {"targets"}) == Numbers{6, -1, 8, -1, -1, -1, -1, -1});
  CHECK(filled(train, {0, 1}, {"positions"}) == Numbers{0, 1, 0, 1, 0, 0, 0, 0});
  CHECK(filled(train, {1, 0}, {"positions", 2}) == Numbers{2, 2, 2, 2, 2, 3, 2, 3});
  CHECK(filled(train, {0, 1}, {"documents"}) == Numbers{3, 3, 9, 9, 0, 7, -1, -1});
  CHECK(filled(train, {0, 1}, {"token_types", 0, 1}) == Numbers(8, 0));
}

TEST_CASE("fields of the file are read as they are") {
  const Samples folder;
  const std::string path = folder.add("all", {{"tokens", "I64", 4, {5, 6, 7, 8}},
                                              {"targets", "I64", 4, {-100, 50, -100, 0}},
                                              {"documents", "I64", 4, {0, 0, 0, -1}},
                                              {"positions", "I64", 4, {4, 3, 2, -1}},
                                              {"token_types", "I64", 4, {0, 1, 2, 9}},
                                              {"encoder_tokens", "I64", 3, {9, 8, 7}},
                                              {"encoder_documents", "I64", 3, {0, 0, -1}}});
  CHECK(contains(
      message_from([&] { filled(*ds::open_data(samples_of({path})).train, {0}, {"targets"}); }),
      "row 0, column 3 of targets: target 0 belongs to padding"));
  const std::string good = folder.add("good", {{"tokens", "I64", 4, {5, 6, 7, 8}},
                                               {"targets", "I64", 4, {-100, 50, -100, -100}},
                                               {"documents", "I64", 4, {0, 0, 0, -1}},
                                               {"positions", "I64", 4, {4, 3, 2, -1}},
                                               {"token_types", "I64", 4, {0, 1, 2, 9}},
                                               {"encoder_tokens", "I64", 3, {9, 8, 7}},
                                               {"encoder_documents", "I64", 3, {0, 0, -1}}});
  const ds::DataSet set = ds::open_data(samples_of({good}));
  CHECK(set.fields == ds::DataFields{.documents = true,
                                     .positions = true,
                                     .token_types = true,
                                     .encoder_documents = true,
                                     .encoder_len = 3});
  CHECK(filled(*set.train, {0}, {"targets"}) == Numbers{-1, 50, -1, -1});
  CHECK(filled(*set.train, {0}, {"positions", 0, 5}) == Numbers{4, 3, 2, 0});
  CHECK(filled(*set.train, {0}, {"token_types", 0, 3}) == Numbers{0, 1, 2, 0});
  CHECK(filled(*set.train, {0}, {"encoder_tokens", 0, 10, 3}) == Numbers{9, 8, 7});
  CHECK(filled(*set.train, {0}, {"encoder_documents", 0, 10, 3}) == Numbers{0, 0, -1});
}

TEST_CASE("a decoder's inputs are made of the targets: shifted right from 0 in each document") {
  const Samples folder;
  const std::string path = folder.add("pairs", {{"targets", "I64", 4, {5, 6, 7, 8, 5, -100, 7, -1}},
                                                {"documents", "I32", 4, {3, 3, 9, 9, 0, 0, 0, -1}},
                                                {"encoder_tokens", "U8", 2, {1, 2, 3, 4}}});
  ds::DataConfig config = samples_of({path});
  config.encoder_len = 2;
  const ds::DataSet set = ds::open_data(config);
  CHECK(set.train->size() == 2);
  CHECK(filled(*set.train, {0, 1}, {"tokens"}) == Numbers{0, 5, 0, 7, 0, 5, 0, 0});
  CHECK(filled(*set.train, {0, 1}, {"targets"}) == Numbers{5, 6, 7, 8, 5, -1, 7, -1});
  CHECK(filled(*set.train, {0, 1}, {"encoder_tokens", 0, 10, 2}) == Numbers{1, 2, 3, 4});
  CHECK(filled(*set.train, {0, 1}, {"encoder_documents", 0, 10, 2}) == Numbers{0, 0, 0, 0});
  config.encoder_len = 3;
  CHECK(contains(message_from([&] { (void)ds::open_data(config); }),
                 "encoder_tokens has 2 tokens in a sample, but data.encoder_len = 3"));
  const std::string plain = folder.add("plain", {{"tokens", "U8", 4, {1, 2, 3, 4}}});
  config.train = {plain};
  CHECK(contains(message_from([&] { (void)ds::open_data(config); }),
                 "it has no tensor \"encoder_tokens\""));
  const std::string alone = folder.add("alone", {{"targets", "U8", 4, {1, 2, 3, 4}}});
  CHECK(contains(message_from([&] { (void)ds::open_data(samples_of({alone})); }),
                 "it has no tensor \"tokens\""));
}

TEST_CASE("a wrong number is named with file, row and column, also where no op reads its field") {
  const Samples folder;
  const std::string path = folder.add(
      "wrong", {{"tokens", "I64", 4, {1, 2, 3, 4, 1, 2, 3, 1000, 1, 2, 3, 4, 5, 6, 7, -1}},
                {"documents", "I64", 4, {0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1}},
                {"positions", "I64", 4, {0, 1, 0, 1, 0, 1, 7, 1, 0, 1, 0, 1, 0, 1, 0, 1}}});
  const ds::DataSet set = ds::open_data(samples_of({path}));
  const auto refused = [&](std::int64_t row, const Wanted& wanted) {
    return message_from([&] { filled(*set.train, {0, row}, wanted); });
  };
  CHECK(refused(0, {"tokens"}) == "no error");
  CHECK(contains(refused(1, {"tokens"}), "data file " + path +
                                             ", row 1, column 3 of tokens: token 1000 is out of "
                                             "range (0 to 99)"));
  CHECK(contains(refused(1, {"targets", 0, 1000}), "column 2 of targets: target 1000"));
  CHECK(contains(refused(3, {"tokens"}), "row 3, column 3 of tokens: token -1 is out of range"));
  CHECK(contains(refused(1, {"positions", 0, 7}), "column 2 of positions: position 7"));
  CHECK(contains(refused(2, {"tokens"}), "column 3 of documents: document 1 begins again"));
  CHECK(contains(refused(0, {"encoder_tokens"}), "the samples have no encoder_tokens"));
  const std::string large = folder.add(
      "large", {{"tokens", "I64", 4, {1, 2, 3, 4}}, {"documents", "I64", 4, {0, 0, 1LL << 31, 1}}});
  const ds::DataSet other = ds::open_data(samples_of({large}));
  CHECK(contains(message_from([&] { filled(*other.train, {0}, {"tokens"}); }),
                 "column 2 of documents: document 2147483648 does not fit"));
}

TEST_CASE("each unusable sample file gives its own message") {
  const Samples folder;
  int made = 0;
  const auto refused = [&](const std::vector<SampleField>& fields) {
    const std::string path = folder.add(fmt::format("f{}", made++), fields);
    return message_from([&] { ds::open_data(samples_of({path})); });
  };
  const SampleField tokens{"tokens", "I32", 4, {1, 2, 3, 4}};
  CHECK(contains(refused({{"documents", "I32", 4, {0, 0, 0, 0}}}), "no tensor \"tokens\""));
  CHECK(contains(refused({{"tokens", "I32", 5, {1, 2, 3, 4, 5}}}),
                 "tokens has 5 tokens in a sample, but data.seq_len = 4"));
  CHECK(contains(refused({{"tokens", "F32", 4, {1, 2, 3, 4}}}), "tokens has the type F32"));
  CHECK(contains(refused({tokens, {"documents", "I32", 2, {0, 0}}}),
                 "documents has 2 tokens in a sample"));
  CHECK(contains(refused({tokens, {"documents", "I32", 4, {0, 0, 0, 0, 0, 0, 0, 0}}}),
                 "documents has 2 samples, but tokens has 1"));
  CHECK(contains(refused({tokens, {"target", "I32", 4, {0, 0, 0, 0}}}),
                 "\"target\" is not a field of samples; did you mean \"targets\"?"));
  CHECK(contains(refused({tokens, {"encoder_documents", "I32", 3, {0, 0, 0}}}),
                 "encoder_documents without encoder_tokens"));
  CHECK(contains(refused({tokens,
                          {"encoder_tokens", "I32", 3, {0, 0, 0}},
                          {"encoder_documents", "I32", 2, {0, 0}}}),
                 "encoder_documents has 2 tokens in a sample, but encoder_tokens = 3"));
  CHECK(contains(refused({{"tokens", "I32", 4, {}}}), "tokens has the shape (0, 4)"));

  const std::string whole = ds::test::sample_file({tokens});
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    const std::string path = folder.write("cut", whole.substr(0, bytes));
    CHECK(contains(message_from([&] { ds::open_data(samples_of({path})); }), "data file " + path));
  }
  const std::string text = folder.write("text", "A text of more than eight bytes.");
  CHECK(
      contains(message_from([&] { ds::open_data(samples_of({text})); }), "not a safetensors file"));
  folder.add("x1", {tokens});
  folder.add("x2", {tokens, {"positions", "I32", 4, {0, 1, 2, 3}}});
  CHECK(contains(message_from([&] { ds::open_data(samples_of({folder / "x*"})); }),
                 "has the fields tokens, positions, but " + folder / "x1" + " has tokens"));
  folder.add("y1", {tokens, {"encoder_tokens", "I32", 3, {0, 1, 2}}});
  folder.add("y2", {tokens, {"encoder_tokens", "I32", 2, {0, 1}}});
  CHECK(contains(message_from([&] { ds::open_data(samples_of({folder / "y*"})); }),
                 "encoder_tokens has 2 tokens in a sample, but"));
}

TEST_CASE("weights mix the samples of all patterns") {
  const Samples samples;
  const std::string few = samples.add("few", {{"tokens", "I32", 4, {1, 1, 1, 1, 2, 2, 2, 2}}});
  const std::string many = samples.add("many", {{"tokens", "I32", 4, {9, 9, 9, 9, 8, 8, 8, 8}}});
  ds::DataConfig config = samples_of({few, many});
  config.weights = {1, 3};
  const ds::DataSet data = ds::open_data(config);
  CHECK(data.train->size() == 4);
  std::set<std::int64_t> seen;
  int of_few = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const ds::SampleRow row = data.train->row({data.train->place_of(i, 5), i});
    seen.insert(row[ds::Field::tokens][0]);
    of_few += row[ds::Field::tokens][0] < 5 ? 1 : 0;
  }
  CHECK(seen == std::set<std::int64_t>{1, 2, 8, 9});
  CHECK(of_few == 10);
}

TEST_CASE("rows of all files: each once per epoch, the tail held out, the same identity") {
  const Samples folder;
  const auto rows = [](std::int64_t first, std::int64_t count) {
    SampleField field{"tokens", "U16", 4, {}};
    for (std::int64_t i = 0; i < 4 * count; ++i) field.numbers.push_back(first * 4 + i);
    return std::vector<SampleField>{field};
  };
  folder.add("a", rows(0, 10));
  folder.add("b", rows(10, 5));
  const ds::DataSet set = ds::open_data(samples_of({folder / "*"}, 0.25));
  CHECK(set.train->size() == 12);  // 8 and 4
  CHECK(set.validation->size() == 3);
  CHECK(set.train->size_text() == "12 samples");
  const auto first_token = [](const ds::DataPart& part, std::int64_t place) {
    return filled(part, {place}, {"tokens", 0, 1000})[0];
  };
  CHECK(first_token(*set.train, 7) == 28);
  CHECK(first_token(*set.train, 8) == 40);
  CHECK(first_token(*set.validation, 2) == 56);
  CHECK(set.validation->validation_place(0, 4) == 0);
  CHECK(set.validation->validation_place(3, 4) == 2);

  const auto place_of = [&](std::int64_t sample) { return set.train->place_of(sample, 7); };
  for (const std::int64_t epoch : {0, 1, 5}) {
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < 12; ++i) seen.insert(place_of(epoch * 12 + i));
    CHECK(seen.size() == 12);
    CHECK(*seen.rbegin() == 11);
  }
  CHECK(place_of(3) == set.train->place_of(3, 7));

  const std::string identity = ds::open_data(samples_of({folder / "a"})).train->identity();
  CHECK(contains(identity, "10 samples of tokens, 80 bytes, xxh3"));
  folder.add("c1", rows(0, 3));
  folder.add("c2", rows(3, 7));
  CHECK(ds::open_data(samples_of({folder / "c*"})).train->identity() == identity);
  folder.add("d", rows(1, 10));
  CHECK(ds::open_data(samples_of({folder / "d"})).train->identity() != identity);
  CHECK(contains(message_from([&] { ds::open_data(samples_of({folder / "c1"}, 0.25)); }),
                 "data.validation: 0.25 of 3 samples is none"));
  ds::DataConfig separate = samples_of({folder / "a"});
  separate.validation = {folder / "b"};
  CHECK(ds::open_data(separate).validation->size() == 5);
}
