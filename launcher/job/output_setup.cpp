// Terminals, colours, folders.
#include "launcher/job/output_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "engine/base/error.h"

namespace ds::launcher {

Screens look_at_screens(int out_fd, int err_fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return {.out_is_terminal = ::isatty(out_fd) == 1,
          .err_is_terminal = ::isatty(err_fd) == 1,
          .no_colour = (no_colour != nullptr && *no_colour != '\0') ||
                       (terminal != nullptr && std::string_view(terminal) == "dumb")};
}

void make_log_folders(const std::vector<std::string>& files) {
  std::string last;
  for (const std::string& file : files) {
    const std::string folder = std::filesystem::path(file).parent_path();
    if (file.empty() || folder == last) continue;
    last = folder;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0)
      error = std::error_code(errno, std::generic_category());
    if (error)
      throw Error(ErrorKind::config,
                  fmt::format("cannot write log files into {}: {}", folder, error.message()),
                  "--log-dir DIR is on this machine, --log-dir node:DIR on each node");
  }
}

}  // namespace ds::launcher
