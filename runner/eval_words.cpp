#include "runner/eval_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/config/keys.h"
#include "engine/config/toml_reader.h"
#include "engine/packing/file_format.h"

namespace ds {
namespace {

constexpr const char* kUsage = "usage: dslaunch eval CHECKPOINT|FOLDER [FILES...] [key=value...]";

/// Returns the name before the "=" of NAME=FILES; empty if there is none.
std::string name_in(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {};
  const std::string name = word.substr(0, equals);
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  return std::ranges::all_of(name, fits) ? name : std::string();
}

void add(std::vector<NamedFiles>& sets, const std::string& name, std::string files) {
  const auto found = std::ranges::find(sets, name, &NamedFiles::name);
  NamedFiles& set = found == sets.end() ? sets.emplace_back(NamedFiles{name, {}}) : *found;
  set.files.push_back(std::move(files));
}

/// Refuses a key that an evaluation does not read. With a train.toml it may be one that the file
/// lacks. `before`: the overrides before this one.
void require_effect(const std::string& word, std::size_t before) {
  constexpr std::array<std::string_view, 16> kWithout{
      "checkpoint.", "comm.",     "debug.",       "elastic.",     "log.",
      "lora.",       "offload.",  "optimizer.",   "recompute.",   "sample.",
      "schedule.",   "zero.",     "train.epochs", "train.freeze", "train.steps",
      "train.validate_every"};
  const std::string key = read_override(word, static_cast<int>(before) + 1, "").key;
  const bool is_read = std::ranges::none_of(
      kWithout, [&](std::string_view without) { return key.starts_with(without); });
  if (is_read || find_key(key) == nullptr) return;
  throw Error(ErrorKind::usage, fmt::format("{} has no effect on an evaluation", key),
              "leave it out; eval reads the keys of [data], batch.micro and precision.dtype");
}

std::string ending_format(const std::string& path) {
  if (const auto format = format_of_ending(path)) return std::string(*format);
  throw Error(ErrorKind::usage, fmt::format("{}: its ending does not say its data.format", path),
              "add for example data.format=text; known are .txt, .jsonl, .jsonl.gz, .jsonl.zst, "
              ".parquet, .bin, .idx and .safetensors");
}

}  // namespace

EvalWords eval_words(const ToolWords& words) {
  if (words.others.empty())
    throw Error(ErrorKind::usage, "eval needs a checkpoint or a Hugging Face folder", kUsage);
  EvalWords read{.model = words.others.front()};
  for (std::size_t i = 1; i < words.others.size(); ++i) {
    const std::string& word = words.others[i];
    if (word.find('=') == std::string::npos) {
      add(read.sets, "", word);
    } else {
      if (!words.has("--config")) require_effect(word, read.overrides.size());
      read.overrides.push_back(word);
    }
  }
  for (const std::string& word : words.values("--data")) {
    const std::string name = name_in(word);
    const std::string files = name.empty() ? word : word.substr(name.size() + 1);
    if (files.empty())
      throw Error(ErrorKind::usage, fmt::format("--data {} names no file", word),
                  "write --data FILES or --data NAME=FILES");
    add(read.sets, name, files);
  }
  std::ranges::sort(read.sets, {}, &NamedFiles::name);
  if (read.sets.size() > 1 && read.sets.front().name.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("{} is in no set, but other files are", read.sets.front().files.front()),
        "give every set a name: --data web=web.jsonl --data code=code.jsonl");
  return read;
}

std::string format_of(const std::vector<NamedFiles>& sets) {
  std::string format, first;
  for (const NamedFiles& set : sets)
    for (const std::string& path : set.files) {
      const std::string own = ending_format(path);
      if (!format.empty() && own != format)
        throw Error(
            ErrorKind::usage,
            fmt::format("{} has the data.format \"{}\", {} has \"{}\"", first, format, path, own),
            "evaluate them one after the other");
      format = own;
      if (first.empty()) first = path;
    }
  return format;
}

}  // namespace ds
