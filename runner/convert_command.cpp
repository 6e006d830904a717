// Converts the file and prints it.
#include "runner/convert_command.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "engine/config/deepspeed_file.h"

namespace ds {

int run_convert(const std::vector<std::string>& words) {
  const ToolWords read("convert", words);
  if (read.others.size() != 1) {
    throw Error(
        ErrorKind::usage,
        read.others.empty() ? "no DeepSpeed configuration given" : "more than one file given",
        "dslaunch convert ds_config.json");
  }
  const DeepSpeedFile file =
      read_deepspeed(read.others[0], {.hidden = read.number("--hidden"), .dtype = {}});
  fmt::print("{}", read.has("--json") ? deepspeed_json(file) : deepspeed_toml(file));
  return 0;
}

}  // namespace ds
