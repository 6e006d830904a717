// Tests the prompts of `sample`: where they come from, and what they are checked against.
#include "runner/sample_prompts.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

namespace ds {
namespace {

using Words = std::vector<std::string>;

std::vector<Prompt> prompts(const Words& words) { return prompts_of(ToolWords("sample", words)); }

std::string refusal(const std::vector<Prompt>& given, const PromptLimits& limits) {
  try {
    static_cast<void>(tokens_of(given, limits));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST_CASE("prompts come from numbers, then from text, in order") {
  const auto given =
      prompts({"--prompt=b", "--tokens", "3,4 5", "FOLDER", "--tokens=6", "--prompt=a"});
  REQUIRE(given.size() == 4);
  const std::unique_ptr<TextCodec> bytes = codec_of({.is_bytes = true});
  const auto tokens =
      tokens_of(given, {.tokens = 256, .positions = 10, .length = 7, .codec = bytes.get()});
  CHECK(tokens == std::vector<std::vector<std::int32_t>>{{3, 4, 5}, {6}, {'b'}, {'a'}});
  CHECK(longest_of(given) == 1025);  // of a text, with what may stand around it
  CHECK(longest_of(prompts({"--tokens=1,2,3", "--tokens=4"})) == 3);
}

TEST_CASE("prompts that the model cannot continue are refused, by number") {
  CHECK_THROWS_AS(prompts({"FOLDER"}), Error);
  const auto numbers = prompts({"--tokens=1", "--tokens=2,9"});
  CHECK(refusal(numbers, {.tokens = 9, .positions = 9, .length = 1}) ==
        "prompt 2: token 9 is beyond the model's 9 tokens");
  CHECK(refusal(numbers, {.tokens = 10, .positions = 9, .length = 8}) ==
        "prompt 2: 2 tokens and --length 8 are more than the model's 9 positions");
  CHECK(refusal(prompts({"--prompt=hi"}), {.tokens = 300, .positions = 9, .length = 1})
            .find("prompt 1 is text, but this model has no tokenizer") == 0);
  CHECK(refusal(numbers, {.tokens = 10, .positions = 9, .length = 7}).empty());
}

}  // namespace
}  // namespace ds
