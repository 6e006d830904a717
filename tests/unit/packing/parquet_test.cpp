// Tests of Parquet files: every layout of strings, compressions, conversations, chunks of row
// groups, and files that are wrong or damaged anywhere.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/packing/document_encoder.h"
#include "engine/packing/raw_reader.h"
#include "engine/packing/token_cache.h"
#include "support/temp_folder.h"

namespace {

using Texts = std::vector<std::string>;

/// Chooses the library of this build; returns false if there is none.
bool has_parquet() {
  const std::string path = DS_PARQUET_PATH;
  if (path.empty()) MESSAGE("skipped: Apache Arrow was not found when this was built");
  setenv("DSLAUNCH_PARQUET_PLUGIN", path.c_str(), 1);
  return !path.empty();
}

std::string fixture(const std::string& name) { return std::string(DS_FIXTURES) + "/" + name; }

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ds::DataConfig reading(const std::string& format, Texts names,
                       ds::DataTask task = ds::DataTask::text) {
  ds::DataConfig config;
  config.format = format;
  config.task = task;
  config.json_fields = std::move(names);
  return config;
}

/// Returns the texts of all documents, with '|' behind each.
Texts read_all_of(const std::string& path, const ds::DataConfig& config,
                  std::int64_t chunk_bytes = ds::kChunkBytes) {
  Texts all;
  for (const ds::RawChunk& chunk : ds::chunks_of({path}, config, chunk_bytes))
    ds::read_documents(chunk, config, [&](const ds::RawDocument& document, const auto&) {
      std::string& text = all.emplace_back();
      for (const std::string& each : document.texts) text += each + "|";
      for (const ds::ChatMessage& each : document.messages)
        text += each.role + ":" + each.content + "|";
    });
  return all;
}

Texts lines_of_fixture(const std::string& name, Texts names,
                       ds::DataTask task = ds::DataTask::text) {
  return read_all_of(fixture(name), reading("jsonl", std::move(names), task));
}

std::string why_not(const std::string& path, const ds::DataConfig& config) {
  try {
    read_all_of(path, config);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "read";
}

}  // namespace

TEST_CASE("a machine without the reader of Parquet: what is missing and what to do") {
  setenv("DSLAUNCH_PARQUET_PLUGIN", "/nonexistent/libdsengine_parquet.so", 1);
  const std::string said = why_not(fixture("types.parquet"), reading("parquet", {"string"}));
  CHECK(said.starts_with("the reader of Parquet (libdsengine_parquet.so) cannot be opened:"));
  CHECK(said.find("cannot open shared object file") != std::string::npos);
  CHECK(said.find("scripts/install_packages.sh parquet") != std::string::npos);
}

TEST_CASE("strings of every type are the texts of the lines of JSON") {
  if (!has_parquet()) return;
  for (const char* const name : {"string", "large", "view", "bytes", "bytes_view", "dictionary"}) {
    CAPTURE(name);
    CHECK(read_all_of(fixture("types.parquet"), reading("parquet", {name})) ==
          lines_of_fixture("types.jsonl", {name}));
  }
  const Texts fields{"dictionary", "string"};
  CHECK(read_all_of(fixture("types.parquet"), reading("parquet", fields, ds::DataTask::response)) ==
        lines_of_fixture("types.jsonl", fields, ds::DataTask::response));
}

TEST_CASE("every compression") {
  if (!has_parquet()) return;
  const Texts wanted = lines_of_fixture("compressed.jsonl", {"text"});
  REQUIRE(wanted.size() == 6);
  for (const char* const name : {"snappy", "gzip", "zstd", "lz4", "brotli"}) {
    CAPTURE(name);
    CHECK(read_all_of(fixture(std::string(name) + ".parquet"), reading("parquet", {"text"})) ==
          wanted);
  }
}

TEST_CASE("conversations in both spellings, with other fields between") {
  if (!has_parquet()) return;
  for (const auto& [name, field] :
       {std::pair{"chat", "messages"}, std::pair{"sharegpt", "conversations"}}) {
    CAPTURE(name);
    const Texts read = read_all_of(fixture(std::string(name) + ".parquet"),
                                   reading("parquet", {field}, ds::DataTask::chat));
    CHECK(read == lines_of_fixture(std::string(name) + ".jsonl", {field}, ds::DataTask::chat));
    CHECK(read ==
          Texts{"system:S|user:Hi|assistant:Hello!|", "user:A|assistant:B|user:C|assistant:|"});
  }
}

TEST_CASE("row groups are joined to chunks, and every cut gives the same documents") {
  if (!has_parquet()) return;
  const std::string path = fixture("tasks.parquet");
  const ds::DataConfig config = reading("parquet", {"text"});
  const Texts wanted = lines_of_fixture("tasks.jsonl", {"text"});
  REQUIRE(wanted.size() == 24);
  std::vector<std::size_t> counts;
  for (const std::int64_t bytes : {1, 1500, 1 << 20}) {
    CHECK(read_all_of(path, config, bytes) == wanted);
    counts.push_back(ds::chunks_of({path}, config, bytes).size());
  }
  CHECK(counts.front() == 5);  // a row group each
  CHECK(counts[1] > 1);
  CHECK(counts[1] < 5);
  const std::vector<ds::RawChunk> both = ds::chunks_of({path, fixture("zstd.parquet")}, config);
  REQUIRE(both.size() == 1);
  CHECK(both.front().ranges.size() == 2);
  CHECK(both.front().ranges.front().end == 5);
  CHECK(both.front().name == path + " and files behind it");
  CHECK(ds::chunks_of({path}, config, 1)[2].name == path + " from row group 2 on");
}

TEST_CASE("tokens are those of the lines of JSON, with any number of threads") {
  if (!has_parquet()) return;
  const ds::test::TempFolder folder;
  const auto tokens = [&](const std::string& path, ds::DataConfig config, int threads) {
    config.cache = folder / (config.format + std::to_string(threads));
    const ds::DocumentEncoder encoder(config);
    std::string all;
    for (const std::string& name :
         ds::TokenCache(config, encoder)
             .fill(ds::chunks_of({path}, config, 1), {.threads = threads}))
      all += bytes_of(name);
    return all;
  };
  const ds::DataConfig config = reading("parquet", {"text"});
  const std::string alone = tokens(fixture("tasks.parquet"), config, 1);
  CHECK(alone == tokens(fixture("tasks.parquet"), config, 4));
  ds::DataConfig lines = reading("jsonl", {"text"});
  lines.cache = folder / "lines";
  const ds::DocumentEncoder encoder(lines);
  CHECK(alone == bytes_of(ds::TokenCache(lines, encoder)
                              .fill(ds::chunks_of({fixture("tasks.jsonl")}, lines), {})
                              .front()));
}

TEST_CASE("what is wrong with a column or a row is said with its place") {
  if (!has_parquet()) return;
  const std::string types = fixture("types.parquet"), chat = fixture("bad_chat.parquet");
  const auto says = [](const std::string& said, const std::string& part) {
    CHECK_MESSAGE(said.find(part) != std::string::npos, said);
  };
  says(why_not(types, reading("parquet", {"hole"})),
       types + ", row 4 (row group 1): the column \"hole\" is null, not a text");
  says(why_not(types, reading("parquet", {"broken"})),
       types + ", row 5 (row group 1): the column \"broken\" has bytes that are not UTF-8");
  says(why_not(types, reading("parquet", {"number"})),
       types + ": the column \"number\" is int64, not text");
  says(why_not(types, reading("parquet", {"strin"})), "did you mean \"string\"?");
  says(why_not(types, reading("parquet", {"qqqqqq"})), "the file has string, large, view");
  says(why_not(types, reading("parquet", {"string"}, ds::DataTask::chat)),
       "is string, not a list of messages with role and content");
  says(why_not(chat, reading("parquet", {"messages"})), "not text");
  says(why_not(chat, reading("parquet", {"messages"}, ds::DataTask::chat)),
       chat + ", row 1 (row group 0): the column \"messages\" has no messages");
  says(why_not(fixture("empty.parquet"), reading("parquet", {"text"})), "it has no rows");
  says(why_not(fixture("types.jsonl"), reading("parquet", {"text"})),
       "data file " + fixture("types.jsonl") + ": it cannot be read: ");
}

TEST_CASE("a file that is cut off or changed anywhere is read or refused, never more") {
  if (!has_parquet()) return;
  const ds::test::TempFolder folder;
  for (const char* const name : {"zstd.parquet", "gzip.parquet"}) {
    const std::string whole = bytes_of(fixture(name));
    const ds::DataConfig config = reading("parquet", {"text"});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string path = folder.file("cut.parquet", whole.substr(0, size));
      CHECK(why_not(path, config).find(path) != std::string::npos);
    }
    std::size_t refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const int flip : {0x01, 0x80, 0xff}) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ flip);
        const std::string path = folder.file("changed.parquet", changed);
        const std::string said = why_not(path, config);
        if (said == "read") continue;
        ++refused;
        CHECK(said.find(path) != std::string::npos);
      }
    CHECK(refused > whole.size() / 2);
  }
  const std::string talk = bytes_of(fixture("sharegpt.parquet"));
  const ds::DataConfig config = reading("parquet", {"conversations"}, ds::DataTask::chat);
  for (std::size_t i = 0; i < talk.size(); ++i) {
    std::string changed = talk;
    changed[i] = static_cast<char>(~changed[i]);
    why_not(folder.file("changed.parquet", changed), config);
  }
}
