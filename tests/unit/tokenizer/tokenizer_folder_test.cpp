// Tests folders without tokenizer.json: which file is read, the hash, and files that are refused.
// The golden fixtures compare their tokens.
#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<std::int32_t>;

class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  void remove(const std::string& name) const { fs::remove(path_ / name); }
  [[nodiscard]] std::string path(const std::string& name = {}) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  [[nodiscard]] Tokenizer opened() const { return Tokenizer::open(path()); }
  /// Returns the error's text without the folder's path.
  [[nodiscard]] std::string error(const std::string& name = {}) const {
    try {
      static_cast<void>(Tokenizer::open(path(name)));
      return "no error";
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::config);
      std::string text = error.what();
      if (text.starts_with(path() + "/")) text.erase(0, path().size() + 1);
      return text;
    }
  }

 private:
  fs::path path_ = fs::temp_directory_path() / ("ds_tokenizer_" + std::to_string(::getpid()));
};

void put_bpe(const Folder& folder) {
  folder.put("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4})");
  folder.put("merges.txt", "#version: 0.2\na b\nĠ ab\n");
}

// Protobuf's encoding of fields that are shorter than 128 bytes.
std::string text_field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string number_field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string piece(const std::string& text, float score, int kind = 1) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  std::string bytes = text_field(1, text) + static_cast<char>(2 << 3 | 5);
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(bits >> shift & 0xFFU);
  return text_field(1, bytes + number_field(3, kind));
}
std::string settings(int algorithm) {
  return text_field(2, number_field(3, algorithm)) + text_field(3, text_field(1, "identity"));
}
std::string unigram_pieces() {
  return piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2) + piece("\u2581a", -1) +
         piece("b", -2);
}

TEST_CASE("tokenizer.json wins, then the class that tokenizer_config.json names") {
  const Folder folder;
  CHECK(!Tokenizer::exists(folder.path()));
  CHECK(folder.error().find("tokenizer.json: there is no such file") == 0);
  folder.put("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nab\n");
  CHECK(folder.opened().encode("AB") == Tokens{1, 5, 2});
  CHECK(Tokenizer::exists(folder.path()));
  put_bpe(folder);
  CHECK(folder.opened().encode(" ab") == Tokens{4});  // as GPT-2
  folder.put("config.json", R"({"model_type": "roberta"})");
  CHECK(folder.opened().encode(" ab") == Tokens{5, 4, 6});
  folder.put("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizerFast"})");
  CHECK(folder.opened().encode("AB") == Tokens{1, 5, 2});
  folder.put("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 7}, "merges": []}})");
  CHECK(folder.opened().encode("a") == Tokens{7});
  CHECK(Tokenizer::open(folder.path("vocab.txt")).encode("AB") == Tokens{1, 5, 2});
}

TEST_CASE("a SentencePiece model is of T5 or Llama by its algorithm") {
  const Folder folder;
  folder.put("tokenizer.model", unigram_pieces() + settings(1));
  CHECK(folder.opened().encode("ab <extra_id_0>") == Tokens{3, 4, 104, 1});
  folder.put("tokenizer.model", piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) +
                                    piece("\u2581a", -1) + piece("\u2581", -2) + piece("a", -3) +
                                    settings(2));
  CHECK(folder.opened().encode("aa") == Tokens{3, 5});
  folder.put("tokenizer_config.json", R"({"add_bos_token": true, "add_eos_token": true})");
  CHECK(folder.opened().encode("aa") == Tokens{1, 3, 5, 2});
  folder.put("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  CHECK(folder.error() ==
        "tokenizer.model: is a BPE model, but this class of tokenizers needs a Unigram model");
}

TEST_CASE("the hash changes with every file that was read, and with no other") {
  const Folder folder;
  put_bpe(folder);
  std::string before = folder.opened().hash();
  const auto changes = [&] {
    const std::string now = folder.opened().hash();
    const bool is_other = now != before;
    before = now;
    return is_other;
  };
  CHECK(!changes());
  folder.put("merges.txt", "#version: 0.2\na b\n");
  CHECK(changes());
  folder.put("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "c": 3})");
  CHECK(changes());
  folder.put("added_tokens.json", R"({"x": 4})");
  CHECK(changes());
  folder.put("special_tokens_map.json", R"({"pad_token": "a"})");
  CHECK(changes());
  folder.put("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  CHECK(changes());
  folder.put("generation_config.json", "{}");
  CHECK(!changes());
  folder.put("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 7}, "merges": []}})");
  CHECK(changes());
  folder.remove("vocab.json");
  CHECK(!changes());
}

TEST_CASE("vocab.json and merges.txt are refused with file and line") {
  const Folder folder;
  put_bpe(folder);
  folder.remove("merges.txt");
  CHECK(folder.error() == "merges.txt: cannot be read as a tokenizer's file");
  CHECK(folder.error("vocab.json") == "merges.txt: cannot be read as a tokenizer's file");
  folder.put("merges.txt", "#version: 0.2\na b\nab c\n");
  CHECK(folder.error() ==
        "merges.txt:3: merges \"ab\" and \"c\", but vocab.json does not have \"c\"");
  folder.put("merges.txt", "#version: 0.2\nb a\n");
  CHECK(folder.error() ==
        "merges.txt:2: merges \"b\" and \"a\", but vocab.json does not have \"ba\"");
  folder.put("merges.txt", "a b b\n");
  CHECK(folder.error() == "merges.txt:1: expected two tokens, found \"a b b\"");
  folder.put("merges.txt", "a b\n\xFF b\n");
  CHECK(folder.error() == "merges.txt:2: is not UTF-8");
  folder.put("vocab.json", R"({"a": 0, "b": -1})");
  CHECK(folder.error() == "vocab.json: the token \"b\" has no number");
  folder.put("vocab.json", "[]");
  CHECK(folder.error() == "vocab.json: is not an object");
  folder.remove("vocab.json");
  CHECK(folder.error() == "vocab.json: cannot be read as a tokenizer's file");
}

TEST_CASE("vocab.txt and settings are refused with file and line") {
  const Folder folder;
  folder.put("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nab\nc\nab  \n");
  CHECK(folder.error() == "vocab.txt:6: the token \"ab\" is also in line 4");
  folder.put("vocab.txt", "[UNK]\na\xFF\n");
  CHECK(folder.error() == "vocab.txt:2: is not UTF-8");
  folder.put("vocab.txt", "[CLS]\n");
  CHECK(folder.error() == "vocab.txt: has no line \"[UNK]\", the token of unknown words");
  folder.put("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  const auto error_with = [&](const char* config) {
    folder.put("tokenizer_config.json", config);
    return folder.error();
  };
  CHECK(error_with("{") == "tokenizer_config.json: is not JSON");
  CHECK(error_with(R"({"do_lower_case": 1})") ==
        "tokenizer_config.json: \"do_lower_case\" is not true or false");
  CHECK(error_with(R"({"cls_token": null})") == "tokenizer_config.json: \"cls_token\" is null");
  CHECK(error_with(R"({"sep_token": 3})") == "tokenizer_config.json: \"sep_token\" is not a token");
  CHECK(error_with(R"({"added_tokens_decoder": {"x": {"content": "a"}}})") ==
        "tokenizer_config.json: \"added_tokens_decoder\" has the key \"x\", which is not a number");
  CHECK(error_with(R"({"tokenizer_class": "XLNetTokenizer"})") ==
        "tokenizer_config.json: the tokenizer_class \"XLNetTokenizer\" is not supported without a "
        "tokenizer.json");
}

TEST_CASE("a damaged SentencePiece model is refused with the byte or the piece") {
  const Folder folder;
  const auto error_of = [&](const std::string& bytes) {
    folder.put("spiece.model", bytes);
    return folder.error();
  };
  const std::string pieces = unigram_pieces(), whole = pieces + settings(1);
  CHECK(error_of(whole) == "no error");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(
        error_of(whole.substr(0, size)).find("spiece.model: is not a SentencePiece model, or is") ==
        0);
  }
  CHECK(error_of(pieces) ==
        "spiece.model: is not a SentencePiece model, or is cut: it ends at byte 74 without "
        "trainer_spec and normalizer_spec");
  CHECK(error_of("IQ== 0\nIg== 1\n") ==  // tiktoken's
        "spiece.model: is not a SentencePiece model, or is cut: it ends at byte 14 without pieces");
  CHECK(error_of(pieces + piece("b", 0) + settings(1)) ==
        "spiece.model: piece 5: \"b\" is there for the second time");
  CHECK(error_of(pieces + piece("", 0) + settings(1)) == "spiece.model: piece 5: is empty");
  CHECK(error_of(pieces + piece("\xFF", 0) + settings(1)) == "spiece.model: piece 5: is not UTF-8");
  CHECK(error_of(pieces + piece("c", 0, 9) + settings(1)) ==
        "spiece.model: piece 5: has the unknown type 9");
  CHECK(error_of(pieces + piece("c", std::bit_cast<float>(0x7FC00000U)) + settings(1)) ==
        "spiece.model: piece 5: has a score that is not a number");
  CHECK(error_of(pieces + settings(3)) ==
        "spiece.model: is a word model, but this class of tokenizers needs a BPE model");
}

}  // namespace
}  // namespace ds
