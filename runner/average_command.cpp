// Chooses the checkpoints and writes their mean.
#include "runner/average_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "engine/base/units.h"
#include "engine/checkpoint/tools/average.h"
#include "engine/checkpoint/tools/choose.h"
#include "runner/tool_progress.h"

namespace ds {
namespace {

std::vector<std::string> chosen(const ToolWords& words) {
  if (words.has("--last")) {
    if (words.others.size() != 1)
      throw Error(ErrorKind::usage, "--last needs exactly one folder of checkpoints",
                  "dslaunch average DIR --last 3 --out OUT");
    return last_checkpoints(words.others[0], static_cast<std::size_t>(words.number("--last")));
  }
  if (words.others.size() < 2)
    throw Error(ErrorKind::usage, "average needs at least 2 checkpoints",
                "give 2 or more checkpoints, or a folder of checkpoints with --last N");
  std::vector<std::string> folders;
  for (const std::string& path : words.others) folders.push_back(checkpoint_at(path));
  return folders;
}

}  // namespace

int run_average(const std::vector<std::string>& words) {
  const ToolWords read("average", words);
  if (read.value("--out").empty())
    throw Error(ErrorKind::usage, "--out DIR is missing", "DIR is the new folder for the result");
  const std::vector<std::string> folders = chosen(read);
  AverageResult result;
  {
    ToolProgress progress("averaged");
    result = average_checkpoints(
        folders, read.value("--out"),
        [&progress](std::int64_t done, std::int64_t bytes) { progress.show(done, bytes); });
  }
  fmt::print("{}: mean of {} checkpoints, {}, weights only; load it with checkpoint.load=weights\n",
             result.folder, folders.size(), format_bytes(result.bytes));
  return 0;
}

}  // namespace ds
