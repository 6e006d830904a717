// Tests of the words of `eval`: files, sets, overrides and endings.
#include "runner/eval_words.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

namespace {

ds::EvalWords read_words(const std::vector<std::string>& words) {
  return ds::eval_words(ds::ToolWords("eval", words));
}

std::string words_error(const std::vector<std::string>& words) {
  try {
    const ds::EvalWords read = read_words(words);
    static_cast<void>(ds::format_of(read.sets));
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.for_people();
  }
  return "no error";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("files without a name are one set; key=value are overrides") {
  const ds::EvalWords read =
      read_words({"model", "a.txt", "data.seq_len=8", "--data", "b.txt", "c.txt"});
  CHECK(read.model == "model");
  CHECK(read.sets == std::vector<ds::NamedFiles>{{"", {"a.txt", "c.txt", "b.txt"}}});
  CHECK(read.overrides == std::vector<std::string>{"data.seq_len=8"});
  CHECK(read_words({"model"}).sets.empty());
}

TEST_CASE("NAME=FILES are sets, by name; a path with = is no name") {
  const ds::EvalWords read =
      read_words({"m", "--data=web=w.jsonl", "--data", "code=c.jsonl", "--data=web=v.jsonl.gz"});
  CHECK(read.sets ==
        std::vector<ds::NamedFiles>{{"code", {"c.jsonl"}}, {"web", {"w.jsonl", "v.jsonl.gz"}}});
  CHECK(read_words({"m", "--data=d/a=b.txt"}).sets ==
        std::vector<ds::NamedFiles>{{"", {"d/a=b.txt"}}});
}

TEST_CASE("endings say the format") {
  CHECK(ds::format_of({{"", {"a.jsonl", "b.jsonl.gz", "c.jsonl.zst"}}}) == "jsonl");
  CHECK(ds::format_of({{"a", {"a.bin"}}, {"b", {"b.idx"}}}) == "tokens");
  CHECK(ds::format_of({{"", {"a.safetensors"}}}) == "samples");
  CHECK(ds::format_of({{"", {"text/*.txt"}}}) == "text");
}

TEST_CASE("words that do not go together are refused") {
  CHECK(says(words_error({}), "eval needs a checkpoint or a Hugging Face folder"));
  CHECK(says(words_error({"m", "a.txt", "--data", "web=b.txt"}), "a.txt is in no set"));
  CHECK(says(words_error({"m", "--data", "web="}), "--data web= names no file"));
  CHECK(says(words_error({"m", "a.csv"}), "a.csv: its ending does not say its data.format"));
  for (const char* const word :
       {"optimizer.lr=1", "train.steps = 3", "zero.stage=3", "log.csv=true"})
    CHECK(says(words_error({"m", "a.txt", word}), "has no effect on an evaluation"));
  CHECK(words_error({"m", "a.txt", "train.steps=3", "--config", "train.toml"}) == "no error");
  CHECK(words_error({"m", "a.txt", "train.validate_batches=3", "batch.micro=2"}) == "no error");
  CHECK(says(words_error({"m", "a.txt", "b.jsonl"}), "a.txt has the data.format \"text\""));
}
