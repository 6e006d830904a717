// Which checkpoints, then their mean.
#include "runner/average_command.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/checkpoint/tools/average.h"
#include "engine/checkpoint/tools/choose.h"
#include "runner/tool_words.h"

namespace ds {
namespace {

constexpr ToolOption kAverageOptions[] = {{"--out", true}, {"--last", true}};
constexpr int kMost = 1000;

std::size_t count_of(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end && value >= 2 && value <= kMost)
    return static_cast<std::size_t>(value);
  throw Error(ErrorKind::usage,
              fmt::format("--last takes a whole number from 2 to {}, not '{}'", kMost, text));
}

std::vector<std::string> chosen(const ToolWords& words) {
  if (words.has("--last")) {
    if (words.others.size() != 1)
      throw Error(ErrorKind::usage, "--last is for one folder of checkpoints",
                  "dslaunch average DIR --last 3 --out OUT");
    return last_checkpoints(words.others[0], count_of(words.value("--last")));
  }
  if (words.others.size() < 2)
    throw Error(ErrorKind::usage, "a mean needs at least two checkpoints",
                "name them, or a folder of them with --last N");
  std::vector<std::string> folders;
  for (const std::string& path : words.others) folders.push_back(checkpoint_at(path));
  return folders;
}

}  // namespace

int run_average(const std::vector<std::string>& words) {
  const ToolWords read = read_tool_words("average", words, kAverageOptions);
  if (read.value("--out").empty())
    throw Error(ErrorKind::usage, "--out DIR is missing", "the folder that is made for the mean");
  const std::vector<std::string> folders = chosen(read);
  AverageResult result;
  {
    ToolProgress progress("averaged");
    result = average_checkpoints(
        folders, read.value("--out"),
        [&progress](std::int64_t done, std::int64_t bytes) { progress.show(done, bytes); });
  }
  fmt::print("{}: mean of {} checkpoints, {}, weights alone: checkpoint.load=weights takes it\n",
             result.folder, folders.size(), format_bytes(result.bytes));
  return 0;
}

}  // namespace ds
