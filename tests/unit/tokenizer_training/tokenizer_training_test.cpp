// Tests of the training of tokenizers: cuts that change no piece, counts for any threads and
// formats, the order of merges, and files that Tokenizer reads.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/tokenizer/named_tokens.h"
#include "engine/tokenizer_training/safe_cuts.h"
#include "engine/tokenizer_training/tokenizer_files.h"
#include "support/temp_folder.h"

namespace {

using Strings = std::vector<std::string>;

const char* const kPatterns[] = {"gpt2", "llama3", "qwen2", "o200k"};

Strings shown(const std::vector<ds::CountedPiece>& pieces) {
  Strings all;
  for (const auto& [text, count] : pieces) all.push_back(text + "=" + std::to_string(count));
  return all;
}

Strings counted(const Strings& files, const char* pattern = "gpt2", int threads = 1,
                const Strings& fields = {"text"}) {
  return shown(ds::count_pieces({files, fields}, ds::piece_pattern(pattern), {.threads = threads}));
}

/// Returns the tokens that merges make.
Strings made_of(const std::vector<ds::CountedPiece>& pieces, std::int64_t more,
                std::int64_t min_frequency = 1) {
  const ds::TrainedBpe bpe =
      ds::train_bpe(pieces, {.vocab = 256 + more, .min_frequency = min_frequency});
  REQUIRE(bpe.merges.size() >= bpe.tokens.size() - 256);
  return {bpe.tokens.begin() + 256, bpe.tokens.end()};
}

/// Writes the files of a tokenizer into a folder.
void write_tokenizer(const ds::test::TempFolder& folder, const char* kind_name,
                     const Strings& more) {
  const ds::TokenizerKind kind = ds::tokenizer_kind(kind_name);
  ds::BpeSettings settings{.vocab = 500, .min_frequency = 1, .special = kind.special};
  settings.special.insert(settings.special.end(), more.begin(), more.end());
  const std::vector<ds::CountedPiece> pieces{{"low", 5}, {" lower", 2}, {" newest", 6}};
  const ds::TrainedBpe bpe = ds::train_bpe(pieces, settings);
  const ds::TokenizerParts parts{kind, more, "llama3", bpe};
  folder.file("tokenizer.json", ds::tokenizer_json(parts));
  folder.file("tokenizer_config.json", ds::tokenizer_config_json(parts));
}

}  // namespace

TEST_CASE("Parts of a text join to it, and end at safe places") {
  const std::string text = "one\ntwo \n\nthree\n four\nfive\nsix";
  for (std::size_t size = 0; size < 40; ++size) {
    std::string joined;
    for (const std::string_view part : ds::safe_cuts(text, size)) {
      joined += part;
      CHECK((joined == text || joined.ends_with("one\n") || joined.ends_with("four\n") ||
             joined.ends_with("five\n")));
    }
    CHECK(joined == text);
  }
  CHECK(ds::safe_cuts(text, 0).size() == 4);
  CHECK(ds::safe_cuts("", 5).empty());
}

TEST_CASE("Cuts change no piece, and any number of threads counts the same") {
  const ds::test::TempFolder folder;
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i)
    text += "It's line " + std::to_string(i % 977) + ", isn't it?" +
            (i % 3 == 0   ? " \n\nSo\nThen"
             : i % 3 == 1 ? "\n  x y\nZ"
                          : "\r\nB");
  const Strings files{folder.file("a.txt", text), folder.file("b.txt", "Then \xff")};
  for (const char* const pattern : kPatterns) {
    CAPTURE(pattern);
    const Strings one = counted(files, pattern);
    CHECK(counted(files, pattern, 3) == one);
    // Another place of every cut.
    const Strings moved{folder.file("moved.txt", "aaaaaaaaa" + std::string(70'000, '\n') + text),
                        files[1]};
    Strings other = counted(moved, pattern, 2);
    std::erase_if(other, [](const std::string& piece) { return piece.starts_with("aaaaaaaaa"); });
    CHECK(other.size() >= one.size());
    for (const std::string& piece : one)
      if (piece[0] != '\n') CHECK(std::ranges::find(other, piece) != other.end());
  }
}

TEST_CASE("Pieces come from texts and from fields of lines of JSON") {
  const ds::test::TempFolder folder;
  const std::string lines = folder.file("a.jsonl", R"({"text": "a b", "more": "a"})"
                                                   "\n"
                                                   R"({"text": "a", "more": "\ud800"})"
                                                   "\n");
  CHECK(counted({lines}) == Strings{" b=1", "a=2"});
  CHECK(counted({lines}, "gpt2", 2, {"text", "more"}) == Strings{" b=1", "a=3", "\xef\xbf\xbd=1"});
  CHECK(counted({folder.file("a.txt", "a a\xff")}) == Strings{" a=1", "a=1", "\xef\xbf\xbd=1"});
  CHECK_THROWS_WITH_AS(counted({lines}, "gpt2", 2, {"txt"}),
                       doctest::Contains("a.jsonl:1:1: there is no field \"txt\""), ds::Error);
  CHECK_THROWS_AS(counted({folder / "none.txt"}), ds::Error);
  CHECK(ds::text_format_of("x.jsonl.zst") == "jsonl");
  CHECK(ds::text_format_of("x.json.gz") == "jsonl");
  CHECK(ds::text_format_of("x.parquet") == "parquet");
  CHECK(ds::text_format_of("x.txt.gz") == "text");
}

TEST_CASE("The most frequent pair is merged first; of equal ones that with the lowest numbers") {
  CHECK(made_of({{"ab", 2}, {"cd", 3}}, 2) == Strings{"cd", "ab"});
  CHECK(made_of({{"cd", 2}, {"ab", 2}}, 2) == Strings{"ab", "cd"});
  CHECK(made_of({{"aaaa", 1}}, 9) == Strings{"aa", "aaaa"});
  CHECK(made_of({{"aaa", 1}}, 9) == Strings{"aa", "aaa"});
  CHECK(made_of({{"ab", 2}, {"cd", 3}}, 9, 3) == Strings{"cd"});
  CHECK(made_of({{"ab", 2}}, 0).empty());
  // Counts above 32 bits.
  CHECK(made_of({{"ab", std::int64_t{3} << 31}, {"cd", 5}}, 1) == Strings{"ab"});
}

TEST_CASE("Tokenizer reads the files: special tokens, what stands around a text, names") {
  const ds::test::TempFolder folder;
  const auto tokens_of = [&](const char* kind, const Strings& more) {
    write_tokenizer(folder, kind, more);
    return ds::Tokenizer::open(folder / "tokenizer.json");
  };
  const auto number = [](const ds::Tokenizer& tokenizer, const char* token) {
    const auto found = tokenizer.number_of(token);
    REQUIRE(found);
    return *found;
  };
  for (const char* const kind : {"gpt2", "bert", "roberta", "t5"}) {
    const ds::Tokenizer tokenizer = tokens_of(kind, {"<|x|>"});
    const std::string text = "low newest \xe6\x97\xa5 <|x|> lower\n";
    const auto tokens = tokenizer.encode(text);
    CHECK(tokenizer.decode(tokenizer.encode(text, false), true) == text);
    CHECK(std::ranges::count(tokens, number(tokenizer, "<|x|>")) == 1);
    CHECK(ds::named_tokens(folder / "tokenizer.json", tokenizer).all.size() ==
          ds::tokenizer_kind(kind).special.size() + 1);
  }
  const ds::Tokenizer bert = tokens_of("bert", {});
  CHECK(bert.encode("low").front() == number(bert, "[CLS]"));
  CHECK(bert.encode("low").back() == number(bert, "[SEP]"));
  CHECK(ds::named_tokens(folder / "tokenizer.json", bert).mask == number(bert, "[MASK]"));
  const ds::Tokenizer t5 = tokens_of("t5", {});
  CHECK(t5.encode("low").size() == 2);
  CHECK(number(t5, "<pad>") == 0);
  CHECK(ds::named_tokens(folder / "tokenizer.json", t5).end == number(t5, "</s>"));
  const ds::Tokenizer gpt2 = tokens_of("gpt2", {});
  CHECK(ds::named_tokens(folder / "tokenizer.json", gpt2).end == number(gpt2, "<|endoftext|>"));
}
