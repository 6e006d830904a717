#include "runner/sample_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "engine/base/error.h"

namespace ds {
namespace {

void read_file(const std::string& path, std::vector<Prompt>& prompts) {
  constexpr std::size_t kMost = std::size_t{1} << 26;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::size_t bytes = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    bytes += line.size();
    if (line.ends_with('\r')) line.pop_back();
    const std::string place = fmt::format("{}, line {}", path, number);
    if (line.empty()) throw Error(ErrorKind::config, place + ": has no prompt", "remove the line");
    if (bytes > kMost)
      throw Error(ErrorKind::config, fmt::format("--prompts {}: is longer than 64 MiB", path));
    prompts.push_back({.place = place, .text = line, .from_file = true});
  }
  if (!file.is_open() || file.bad() || bytes == 0)
    throw Error(ErrorKind::config, fmt::format("--prompts {}: cannot be read, or is empty", path),
                "name a file with a prompt on each line");
}

std::vector<std::int32_t> numbers_of(const Prompt& prompt, const PromptLimits& limits) {
  const bool is_text = prompt.is_text || (prompt.from_file && limits.codec != nullptr);
  if (!is_text && !prompt.from_file) return prompt.tokens;
  if (!is_text) return given_tokens(prompt.place, prompt.text);
  if (limits.codec == nullptr)
    throw Error(ErrorKind::usage,
                fmt::format("{} is text, but this model has no tokenizer, and its tokens are "
                            "not bytes",
                            prompt.place),
                fmt::format("give numbers below {}: --tokens 1,2,3", limits.tokens));
  std::vector<std::int32_t> tokens = limits.codec->encode(prompt.text);
  if (tokens.empty())
    throw Error(ErrorKind::usage, prompt.place + ": the tokenizer makes no tokens of it",
                "give another text");
  return tokens;
}

}  // namespace

std::vector<Prompt> prompts_of(const ToolWords& words) {
  std::vector<Prompt> prompts;
  const auto place = [&] { return fmt::format("prompt {}", prompts.size() + 1); };
  for (const std::string& numbers : words.values("--tokens"))
    prompts.push_back({.place = place(), .tokens = given_tokens("--tokens", numbers)});
  for (const std::string& text : words.values("--prompt"))
    prompts.push_back({.place = place(), .text = text, .is_text = true});
  if (words.has("--prompts")) read_file(words.value("--prompts"), prompts);
  if (prompts.empty())
    throw Error(ErrorKind::usage, "no prompt is given",
                "give --prompt TEXT, or --tokens 1,2,3 for a model without a tokenizer");
  return prompts;
}

std::int64_t together_of(const ToolWords& words, std::size_t prompts) {
  constexpr std::int64_t kMost = 8;
  return std::min(words.number("--batch", kMost), static_cast<std::int64_t>(prompts));
}

DType sampled_type(const ToolWords& words) {
  const std::string& name = words.value("--dtype");
  return name == "bf16" ? DType::bf16 : name == "fp16" ? DType::f16 : DType::f32;
}

bool may_have_text(const std::vector<Prompt>& prompts) {
  return std::ranges::any_of(
      prompts, [](const Prompt& prompt) { return prompt.is_text || prompt.from_file; });
}

std::int64_t longest_of(const std::vector<Prompt>& prompts) {
  constexpr std::int64_t kAround = 1024;  // what a tokenizer or a chat template puts around a text
  std::int64_t longest = 0;
  for (const Prompt& prompt : prompts) {
    const std::int64_t text = prompt.text.empty() ? 0 : std::ssize(prompt.text) + kAround;
    longest = std::max({longest, text, std::ssize(prompt.tokens)});
  }
  return longest;
}

std::vector<std::vector<std::int32_t>> tokens_of(const std::vector<Prompt>& prompts,
                                                 const PromptLimits& limits) {
  std::vector<std::vector<std::int32_t>> all;
  for (const Prompt& prompt : prompts) {
    all.push_back(numbers_of(prompt, limits));
    const auto beyond = std::ranges::find_if(
        all.back(), [&](std::int32_t token) { return token >= limits.tokens; });
    if (beyond != all.back().end())
      throw Error(ErrorKind::usage,
                  fmt::format("{}: token {} is beyond the model's {} tokens", prompt.place, *beyond,
                              limits.tokens),
                  fmt::format("use numbers from 0 to {}", limits.tokens - 1));
    const std::int64_t size = std::ssize(all.back());
    if (size + limits.length <= limits.positions) continue;
    if (limits.length == 0)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} tokens are more than the model's {} positions", prompt.place,
                              size, limits.positions),
                  "shorten the prompt");
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} tokens and --length {} are more than the model's {} positions",
                            prompt.place, size, limits.length, limits.positions),
                size < limits.positions
                    ? fmt::format("give --length {} or less", limits.positions - size)
                    : "shorten the prompt");
  }
  return all;
}

}  // namespace ds
