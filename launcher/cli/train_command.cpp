// Command of the train form: finds dsrunner next to dslaunch and checks the configuration file.
#include "launcher/cli/train_command.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"

namespace ds::launcher {

namespace fs = std::filesystem;

std::string own_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error)
    throw_errno("cannot read /proc/self/exe", error.value(), "check that /proc is mounted");
  return path;
}

std::vector<std::string> train_command(const TrainForm& form) {
  const fs::path config = fs::absolute(form.config);
  const bool is_folder = fs::is_directory(config);
  if (is_folder || ::access(config.c_str(), R_OK) != 0) {
    const int error_number = is_folder ? EISDIR : errno;
    throw Error(ErrorKind::config,
                fmt::format("cannot read {}: {}", form.config,
                            std::generic_category().message(error_number)),
                "relative paths start at the current directory");
  }
  std::vector<std::string> command = {fs::path(own_path()).parent_path() / "dsrunner", config};
  command.insert(command.end(), form.overrides.begin(), form.overrides.end());
  return command;
}

}  // namespace ds::launcher
