// Tests of texts that become tokens: lines in stretches, compression, fields, repaired JSON,
// special tokens, and a cache that several processes and threads fill.
#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "engine/base/error.h"
#include "engine/packing/document_encoder.h"
#include "engine/packing/line_reader.h"
#include "engine/packing/raw_reader.h"
#include "engine/packing/token_cache.h"
#include "support/temp_folder.h"

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

using Folder = ds::test::TempFolder;

Lines lines_of(const std::string& path, std::int64_t begin, std::int64_t end) {
  ds::LineReader reader(path, begin, end);
  Lines lines;
  std::string_view line;
  while (reader.next(line)) lines.emplace_back(line);
  return lines;
}

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ds::DataConfig config_of(const Folder& folder, ds::DataTask task, Lines fields) {
  ds::DataConfig config;
  config.format = "jsonl";
  config.task = task;
  config.json_fields = std::move(fields);
  config.cache = folder / "cache";
  return config;
}

/// Returns the texts of all documents, with '|' between fields.
Lines texts_of(const std::string& path, const ds::DataConfig& config) {
  Lines texts;
  for (const ds::RawChunk& chunk : ds::chunks_of({path}, config))
    ds::read_documents(chunk, config, [&](const ds::RawDocument& document, const auto&) {
      std::string all;
      for (const std::string& text : document.texts) all += (all.empty() ? "" : "|") + text;
      for (const ds::ChatMessage& message : document.messages)
        all += message.role + ":" + message.content + ";";
      texts.push_back(all);
    });
  return texts;
}

std::string message_of(const std::string& path, const ds::DataConfig& config) {
  try {
    texts_of(path, config);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each line belongs to one stretch, wherever the stretches are cut") {
  const Folder folder;
  const Lines all{"one", "", "three and more", "4", "last without an end"};
  std::string text;
  for (const std::string& line : all) text += (text.empty() ? "" : "\n") + line;
  for (const std::string& end : {std::string(), std::string("\n"), std::string("\r\n")}) {
    const std::string path = folder.file("lines", text + end);
    const std::int64_t size = std::ssize(text + end);
    CHECK(lines_of(path, 0, size) == all);
    for (std::int64_t cut = 0; cut <= size; ++cut) {
      Lines both = lines_of(path, 0, cut);
      const Lines rest = lines_of(path, cut, size);
      both.insert(both.end(), rest.begin(), rest.end());
      CHECK(both == all);
    }
  }
  const std::string path = folder.file("long", std::string(600'000, 'x') + "\ny");
  CHECK(lines_of(path, 0, 1).front().size() == 600'000);
  CHECK(lines_of(path, 1, 600'002) == Lines{"y"});
}

TEST_CASE("gzip and zstd, of several members, and cut off anywhere") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "{\"text\": \"line " + std::to_string(i * i) + "\"}\n";
  const ds::DataConfig config = config_of(folder, ds::DataTask::text, {"text"});
  const Lines wanted = texts_of(folder.file("plain.jsonl", text), config);
  CHECK(wanted.size() == 3000);

  for (const std::string& half : {text.substr(0, 20'000), text.substr(20'000)}) {
    gzFile out = ::gzopen((folder / "a.jsonl.gz").c_str(), "ab");
    ::gzwrite(out, half.data(), static_cast<unsigned>(half.size()));
    ::gzclose(out);
    std::string packed(::ZSTD_compressBound(half.size()), '\0');
    packed.resize(::ZSTD_compress(packed.data(), packed.size(), half.data(), half.size(), 3));
    std::ofstream(folder / "a.jsonl.zst", std::ios::binary | std::ios::app) << packed;
  }
  for (const char* const name : {"a.jsonl.gz", "a.jsonl.zst"}) {
    CHECK(texts_of(folder / name, config) == wanted);
    const std::string whole = read_bytes(folder / name);
    for (const std::size_t cut : {whole.size() - 1, whole.size() / 2, std::size_t{20}}) {
      const std::string path = folder.file(std::string("cut.") + name, whole.substr(0, cut));
      CHECK(has(message_of(path, config), path));
    }
  }
  CHECK(has(message_of(folder.file("b.zst", "no zstd at all"), config), "no zstd file"));
}

TEST_CASE("fields of lines: other spellings of messages, what is not UTF-8, lone surrogates") {
  const Folder folder;
  const std::string path =
      folder.file("a.jsonl",
                  "{\"a\": \"x\", \"b\": \"\\ud83d\\ude00\"}\n   \n"
                  "{\"a\": \"\\ud800 \\udc00 \\\\ud800 \\ud83d\\ude00\", \"b\": \"\"}\n"
                  "{\"b\": \"2\", \"a\": \"\xff\"}");
  CHECK(texts_of(path, config_of(folder, ds::DataTask::response, {"a", "b"})) ==
        Lines{"x|\xF0\x9F\x98\x80", "\xEF\xBF\xBD \xEF\xBF\xBD \\ud800 \xF0\x9F\x98\x80|",
              "\xEF\xBF\xBD|2"});
  const ds::DataConfig chat = config_of(folder, ds::DataTask::chat, {"m"});
  const std::string talk = folder.file("m.jsonl",
                                       "{\"m\": [{\"role\": \"user\", \"content\": \"u\"}, "
                                       "{\"role\": \"assistant\", \"content\": \"\"}]}\n"
                                       "{\"m\": [{\"from\": \"human\", \"value\": \"h\"}, "
                                       "{\"from\": \"gpt\", \"value\": \"g\"}]}\n");
  CHECK(texts_of(talk, chat) == Lines{"user:u;assistant:;", "user:h;assistant:g;"});
}

TEST_CASE("what is wrong with a line is said with its place") {
  const Folder folder;
  const ds::DataConfig config = config_of(folder, ds::DataTask::text, {"text"});
  const auto message = [&](const std::string& line) {
    const std::string path = folder.file("bad.jsonl", "{\"text\": \"ok\"}\n" + line + "\n");
    const std::string said = message_of(path, config);
    CHECK(has(said, path + ":2:"));
    return said;
  };
  CHECK(has(message("[1, 2]"), "the line is array, not an object"));
  CHECK(has(message("{\"text\": \"open"), "it is not JSON"));
  CHECK(has(message("{\"text\": null}"), "the field \"text\" is null, not a text"));
  CHECK(has(message("{\"Text\": \"\"}"), "there is no field \"text\""));
  const ds::DataConfig chat = config_of(folder, ds::DataTask::chat, {"m"});
  for (const char* const line :
       {"{\"m\": []}", "{\"m\": 3}", "{\"m\": [3]}", "{\"m\": [{}]}",
        "{\"m\": [{\"role\": \"user\"}]}", "{\"m\": {\"role\": \"user\"}}",
        "{\"m\": [{\"role\": 3, \"content\": \"\"}]}"})
    CHECK(has(message_of(folder.file("m.jsonl", line), chat), "m.jsonl:1:1:"));
  const std::string parts =
      folder.file("m.jsonl",
                  "{\"m\": [{\"role\": \"user\", \"content\": \"u\"}, "
                  "{\"role\": \"assistant\", \"content\": [{\"type\": \"text\"}]}]}");
  CHECK(has(message_of(parts, chat),
            "m.jsonl:1:1: message 2 of \"m\" has a content that is array, not a text"));
  CHECK(has(message_of(folder / "none.jsonl", config), "No such file"));
}

TEST_CASE("an end token follows each document once; prompts are not learned") {
  const Folder folder;
  // A tokenizer of single characters, which puts <b> before a text.
  const std::string tokenizer = folder.file("tokenizer.json", R"({
    "added_tokens": [{"id": 3, "content": "<b>", "special": true}, {"id": 4, "content": "<e>", "special": true}],
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [], "special_tokens": {"<b>": {"id": "<b>", "ids": [3], "tokens": ["<b>"]}}},
    "model": {"type": "BPE", "vocab": {"x": 0, "y": 1, "z": 2}, "merges": []}})");
  folder.file("tokenizer_config.json", R"({"eos_token": {"content": "<e>"}, "bos_token": "<b>"})");
  ds::DataConfig config = config_of(folder, ds::DataTask::text, {"text"});
  config.tokenizer = tokenizer;
  const auto encoded = [&](const ds::RawDocument& document) {
    ds::EncodedDocument out;
    ds::DocumentEncoder(config).encode(document, out);
    return out;
  };
  using Tokens = std::vector<std::int32_t>;
  CHECK(encoded({.texts = {"xyz"}, .messages = {}}).tokens == Tokens{3, 0, 1, 2, 4});
  CHECK(encoded({.texts = {"x<e>"}, .messages = {}}).tokens == Tokens{3, 0, 4});
  config.task = ds::DataTask::response;
  const ds::EncodedDocument answer = encoded({.texts = {"xy", "z"}, .messages = {}});
  CHECK(answer.tokens == Tokens{3, 0, 1, 2, 4});
  CHECK(answer.sequences.size() == 2);
  CHECK(answer.sequences[0].tokens == 3);
  CHECK_FALSE(answer.sequences[0].is_trained);
  config.end = "none";
  CHECK(encoded({.texts = {"xy", "z"}, .messages = {}}).tokens == Tokens{3, 0, 1, 2});
  config.end = "<other>";
  CHECK_THROWS_WITH_AS(ds::DocumentEncoder{config}, doctest::Contains("no token \"<other>\""),
                       ds::Error);
  CHECK(
      ds::DocumentEncoder(config_of(folder, ds::DataTask::text, {"text"})).specials().all.empty());
}

TEST_CASE("own chat templates that write other texts do not share their tokens") {
  const Folder folder;
  ds::DataConfig config = config_of(folder, ds::DataTask::chat, {"m"});
  config.tokenizer = folder.file("tokenizer.json", R"({
    "model": {"type": "BPE", "vocab": {"x": 0}, "merges": []}})");
  config.chat_template = "own";
  std::set<std::string> identities;
  std::size_t count = 0;
  const auto add = [&](const char* system, const char* user, const char* assistant) {
    config.chat_system = system;
    config.chat_user = user;
    config.chat_assistant = assistant;
    identities.insert(ds::DocumentEncoder(config).identity());
    ++count;
  };
  add("{content}", "<u>{content} <e>", "<a>{content}<e>");
  add("{content}", "<u> {content}<e>", "<a>{content}<e>");  // a blank on the other side
  add("{content}<s>", "<u>{content} <e>", "<a>{content}<e>");
  add("<s>{content}", "<u>{content} <e>", "<a>{content}<e>");
  add("{content}", "<u>{content}", "<e> <a>{content}<e>");
  CHECK(identities.size() == count);
}

TEST_CASE("documents of more tokens than 32 bits can count are refused, others have right places") {
  const Folder folder;
  constexpr std::int64_t kLong = (std::int64_t{1} << 31) - 1;
  {
    ds::TokenWriter writer(folder / "a.bin", 1 << 20);
    // The index alone is tested, so there are no tokens.
    writer.add({.tokens = {}, .sequences = {{kLong}, {1}}});
    CHECK_THROWS_WITH_AS(writer.add({.tokens = {}, .sequences = {{kLong + 1}}}),
                         doctest::Contains("2147483648 tokens"), ds::Error);
    writer.finish(folder / "a.idx");
  }
  const std::string index = read_bytes(folder / "a.idx");
  std::int64_t second = 0;
  std::memcpy(&second, index.data() + 34 + 2 * 4 + 8, sizeof second);
  CHECK(second == kLong * 4);
}

TEST_CASE("many threads and processes fill one cache, each chunk once, with equal bytes") {
  const Folder folder;
  Lines files;
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (int k = 0; k < 400; ++k)
      text += "{\"text\": \"" + std::string(static_cast<std::size_t>(i + k % 7), 'a') + "\"}\n";
    files.push_back(folder.file("f" + std::to_string(i), text));
  }
  ds::DataConfig config = config_of(folder, ds::DataTask::text, {"text"});
  const ds::DocumentEncoder encoder(config);
  std::vector<ds::RawChunk> chunks;
  for (const std::string& file : files) chunks.push_back(ds::chunks_of({file}, config).front());
  const Lines alone = ds::TokenCache(config, encoder).fill(chunks, {});
  std::vector<std::string> bytes;
  for (const std::string& name : alone) bytes.push_back(read_bytes(name));
  CHECK(std::set<std::string>(alone.begin(), alone.end()).size() == 12);

  ds::DataConfig shared = config;
  shared.cache = folder / "shared";
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&, rank] {
      const ds::TokenCache cache(shared, encoder);
      const Lines names = cache.fill(chunks, {.rank = rank, .ranks = 4, .threads = 3});
      for (std::size_t i = 0; i < names.size(); ++i) REQUIRE(read_bytes(names[i]) == bytes[i]);
    });
  ranks.clear();
  for (const auto& entry : fs::directory_iterator(shared.cache))
    CHECK_FALSE(has(entry.path(), "part"));

  // What a killed process left does not count.
  const std::string first = ds::TokenCache(config, encoder).fill(chunks, {}).front();
  fs::remove(first.substr(0, first.size() - 4) + ".idx");
  std::ofstream(first.substr(0, first.size() - 4) + ".part") << "half";
  CHECK(read_bytes(ds::TokenCache(config, encoder).fill(chunks, {}).front()) == bytes.front());

  // Nor does a pair that was cut off later.
  for (const char* const ending : {".bin", ".idx"}) {
    const std::string file = first.substr(0, first.size() - 4) + ending;
    const std::string whole = read_bytes(file);
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{20}}) {
      fs::resize_file(file, size);
      const Lines made = ds::TokenCache(config, encoder).fill(chunks, {});
      CHECK(made == alone);
      CHECK(read_bytes(made.front()) == bytes.front());
      CHECK(read_bytes(file) == whole);
    }
  }
}

TEST_CASE("a chunk without tokens has no file to train on") {
  const Folder folder;
  const ds::DataConfig config = config_of(folder, ds::DataTask::text, {"text"});
  const ds::DocumentEncoder encoder(config);
  for (const char* const text : {"\n  \n", "{\"text\": \"\"}\n{\"text\": \"\"}\n"}) {
    const auto chunks = ds::chunks_of({folder.file("a.jsonl", text)}, config);
    for (int start = 0; start < 2; ++start)
      CHECK(ds::TokenCache(config, encoder).fill(chunks, {}) == Lines{""});
  }
}
