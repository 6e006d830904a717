// Tests of open_data(): order, split, pieces, and one clear message for each unusable file or
// pattern.
#include "engine/data/corpus.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/data/byte_tokens.h"
#include "engine/data/open_data.h"
#include "engine/data/set_rows.h"
#include "support/temp_folder.h"

namespace {

namespace fs = std::filesystem;

using Folder = ds::test::TempFolder;

/// Returns the text of a part, whose windows are 4 bytes and a target.
std::string all_of(const std::unique_ptr<ds::DataPart>& part) {
  std::string text;
  for (std::int64_t place = 0; place + 5 <= part->size(); ++place) {
    const ds::SampleRow row = part->row({place, 0});
    const ds::FieldRow &tokens = row[ds::Field::tokens], &targets = row[ds::Field::targets];
    text += static_cast<char>(tokens[0]);
    if (place + 5 < part->size()) continue;
    for (std::int64_t i = 0; i < 4; ++i) text += static_cast<char>(targets[i]);
  }
  return text;
}

std::string message_of(const ds::DataConfig& config) {
  try {
    (void)ds::open_data(config);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "no error";
}

ds::DataConfig config_of(std::vector<std::string> train, double fraction = 0.0) {
  ds::DataConfig config;
  config.train = std::move(train);
  config.validation_fraction = fraction;
  config.seq_len = 4;
  return config;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("files are joined in order of their paths, each once, in any order of patterns") {
  const Folder folder;
  folder.file("b.txt", "bbbbbb");
  folder.file("a.txt", "aaaaaa");
  fs::create_directory(folder / "c.txt");  // the wildcard matches this folder, which is skipped
  const ds::DataSet set = ds::open_data(config_of({folder / "b*", folder / "*.txt"}));
  CHECK(all_of(set.train) == "aaaaaabbbbbb");
  CHECK(set.validation->size() == 0);
}

TEST_CASE("a fraction holds out the tail of each file") {
  const Folder folder;
  folder.file("a", "0123456789");
  folder.file("b", "abcdefghij");
  const ds::DataSet set = ds::open_data(config_of({folder / "*"}, 0.3));
  CHECK(all_of(set.train) == "0123456abcdefg");
  CHECK(all_of(set.validation) == "789hij");
}

TEST_CASE("separate files are held out whole, and must not be training files") {
  const Folder folder;
  ds::DataConfig config = config_of({folder.file("a", "aaaaaa")}, 0.5);
  config.validation = {folder.file("v", "vvvvvv")};
  CHECK(all_of(ds::open_data(config).train) == "aaaaaa");
  CHECK(all_of(ds::open_data(config).validation) == "vvvvvv");
  config.validation = {folder / "*"};
  CHECK(has(message_of(config), "is also in data.train"));
}

TEST_CASE("sets with names are held out whole, one beside the other") {
  const Folder folder;
  ds::DataConfig config = config_of({folder.file("a", "aaaaaa")}, 0.5);
  config.validation_sets = {{"code", {folder.file("c", "cccccc")}},
                            {"web", {folder.file("v", "vv"), folder / "c"}}};
  const ds::DataSet data = ds::open_data(config);
  CHECK(all_of(data.train) == "aaaaaa");
  CHECK(data.validation->size() == 0);
  CHECK(all_of(data.validation_sets.at(0).part) == "cccccc");
  CHECK(all_of(data.validation_sets.at(1).part) == "ccccccvv");
  const std::vector<ds::HeldOut> sets = data.held_out();
  CHECK((sets.size() == 2 && sets[0].name == "code" && sets[1].name == "web"));
  CHECK(ds::open_validation(config, 0, {}).train == nullptr);
  config.validation_sets = {{"web", {folder / "a"}}};
  CHECK(has(message_of(config), "data.validation.web: " + folder / "a" + " is also in data.train"));
  config.validation_sets = {{"web", {folder / "none"}}};
  CHECK(has(message_of(config), "data.validation.web: " + folder / "none" + " matches no file"));
  config.validation_sets = {{"web", {folder.file("one", "x")}}};
  CHECK(has(message_of(config), "data.validation.web: 1 B has no target"));
}

TEST_CASE("the rows of a stream have every target once; the last row ends in padding") {
  const Folder folder;
  for (std::size_t length = 2; length < 12; ++length) {
    ds::DataConfig config = config_of({folder.file("a", "aaaaaa")});
    const std::string text = std::string("0123456789abcdef").substr(0, length);
    config.validation_sets = {{"v", {folder.file("v", text)}}};
    const ds::DataSet data = ds::open_data(config);
    const ds::DataPart& part = *data.validation_sets[0].part;
    std::string targets;
    for (std::int64_t i = 0; i < part.rows(); ++i) {
      const ds::SampleRow row = part.row({part.row_place(i), i});
      for (std::int64_t t = 0; t < 4; ++t)
        if (row[ds::Field::targets][t] >= 0)
          targets += static_cast<char>(row[ds::Field::targets][t]);
    }
    CHECK(targets == text.substr(1));
  }
}

TEST_CASE("a small set with a name is read once; without a name, its rows are read again") {
  const Folder folder;
  const ds::DataSet data = ds::open_data(config_of({folder.file("a", "0123456789abc")}));
  ds::TrainConfig config;
  config.train.validate_batches = 2;
  config.determinism.virtual_ranks = 2;
  config.batch.micro = 1;
  const ds::SetRows named = ds::validation_rows(*data.train, true, config);
  CHECK((named.count == 3 && named.is_whole));
  CHECK(named.row_of(*data.train, 2).place == 8);
  const ds::SetRows unnamed = ds::validation_rows(*data.train, false, config);
  CHECK((unnamed.count == 4 && !unnamed.is_whole));
  CHECK(unnamed.row_of(*data.train, 3).place == 8);
  CHECK(unnamed.row_of(*data.train, 1).place == 2);
  const ds::SetRows two = ds::rows_of_set(*data.train, 2);
  CHECK((two.count == 2 && !two.is_whole && two.row_of(*data.train, 1).place == 8));
}

TEST_CASE("batches cross file borders; targets are shifted by one") {
  const Folder folder;
  folder.file("a", "abc");
  folder.file("b", "defgh");
  const ds::DataSet set = ds::open_data(config_of({folder / "*"}));
  const ds::SamplePlace offsets[] = {{1, 0}, {3, 0}};
  std::vector<std::int32_t> tokens(8), targets(8), positions(8);
  const auto fill = [&](std::int64_t limit) {
    const auto memory = [](std::vector<std::int32_t>& numbers) {
      return ds::Tensor{numbers.data(), ds::DType::i32, {8}};
    };
    set.train->fill(
        offsets, std::vector<ds::BatchInput>{{ds::input::kTokens, memory(tokens), 0, limit},
                                             {ds::input::kTargets, memory(targets), 0, limit},
                                             {ds::input::kPositions, memory(positions), 2, 100}});
  };
  fill(256);
  CHECK(ds::decode_bytes(tokens) == "bcdedefg");
  CHECK(ds::decode_bytes(targets) == "cdefefgh");
  CHECK(positions == std::vector<std::int32_t>{2, 3, 4, 5, 2, 3, 4, 5});
  const auto refused = [&](std::int64_t limit) -> std::string {
    try {
      fill(limit);
    } catch (const ds::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused('h' + 1).empty());
  CHECK(has(refused('h'), folder / "b" + ", byte 4: target 104"));
  CHECK(has(refused('d'), "is out of range (0 to 99)"));
  CHECK(has(refused('d'), folder / "b" + ", byte 0: token 100"));
}

TEST_CASE("every byte is a token and comes back; padding tokens are shown as ?") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const std::vector<std::int32_t> tokens = ds::encode_bytes(bytes);
  CHECK(tokens[255] == 255);
  CHECK(ds::decode_bytes(tokens) == bytes);
  const std::int32_t padding[] = {256, -1};
  CHECK(ds::decode_bytes(padding) == "??");
}

TEST_CASE("the identity follows content, not paths or file borders") {
  const Folder folder;
  const std::string one = folder.file("one", "hello world"),
                    two = folder.file("two", "hello worle");
  folder.file("p1", "hello ");
  folder.file("p2", "world");
  const auto identity = [](const std::string& pattern) {
    return ds::open_data(config_of({pattern})).train->identity();
  };
  CHECK(identity(one) == identity(folder / "p*"));
  CHECK(identity(one) != identity(two));
  CHECK(has(identity(one), "11 bytes"));
}

TEST_CASE("a name with brackets is found, unless it matches other files") {
  const Folder folder;
  const std::string name = folder.file("a[bc].txt", "0123456789");
  CHECK(ds::open_data(config_of({name})).train->size() == 10);
  folder.file("ab.txt", "01234567");
  CHECK(ds::open_data(config_of({name})).train->size() == 8);
  fs::create_directory(folder / "run[1]");
  CHECK(ds::open_data(config_of({folder.file("run[1]/a.txt", "012345678")})).train->size() == 9);
  CHECK(has(message_of(config_of({folder / "b[c].txt"})), "b[c].txt matches no file"));
}

TEST_CASE("each unusable file or pattern gives its own message") {
  const Folder folder;
  CHECK(has(message_of(config_of({folder / "none*.txt"})), "none*.txt matches no file"));
  CHECK(has(message_of(config_of({folder / ""})), "is a folder"));
  CHECK(has(message_of(config_of({folder.file("empty", "")})), "empty: is empty"));
  CHECK(has(message_of(config_of({folder.file("short", "1234")})),
            "data.train: 4 bytes are too few for data.seq_len = 4"));
  CHECK(has(message_of(config_of({folder.file("tail", "0123456789")}, 0.2)),
            "data.validation: 2 bytes are too few"));
  CHECK(has(message_of(config_of({"/dev/null"})), "is not a regular file"));
  if (::geteuid() != 0) {  // root may read everything
    const std::string secret = folder.file("secret", "text");
    fs::permissions(secret, fs::perms::none);
    CHECK(has(message_of(config_of({secret})), "Permission denied"));
  }
}
