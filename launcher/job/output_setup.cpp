// Uses ioctl, environment variables and the file system.
#include "launcher/job/output_setup.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"

namespace ds::launcher {

Screens look_at_screens(int out_fd, int err_fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* variable = std::getenv("TERM");
  const std::string terminal = variable == nullptr ? "" : variable;
  const Window window = terminal_size(out_fd, err_fd).value_or(Window{24, 80});
  return {.out_is_terminal = ::isatty(out_fd) == 1,
          .err_is_terminal = ::isatty(err_fd) == 1,
          .no_colour = (no_colour != nullptr && *no_colour != '\0') || terminal == "dumb",
          .rows = window.rows,
          .columns = window.columns,
          .terminal = terminal.empty() ? "xterm" : terminal};
}

std::optional<Window> terminal_size(int fd, int other_fd) {
  for (const int each : {fd, other_fd}) {
    winsize size{};
    if (::ioctl(each, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
      return Window{size.ws_row, size.ws_col};
  }
  return std::nullopt;
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
