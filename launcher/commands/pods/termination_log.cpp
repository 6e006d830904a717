// Writer of the termination log: one padded write, then truncation to the new length.
#include "launcher/commands/pods/termination_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

namespace {

std::string why(const std::string& path, int error) {
  return fmt::format("cannot write the termination log {}: {}", path,
                     std::generic_category().message(error));
}

bool is_regular(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

TerminationLog::TerminationLog(const std::optional<std::string>& path) {
  if (!path && !is_regular(kTerminationLog)) return;
  path_ = path.value_or(kTerminationLog);
  const int create = path ? O_CREAT : 0;
  const UniqueFd file(
      ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | create, 0666));
  if (file) return;
  if (path) throw Error(ErrorKind::config, why(path_, errno), "check --termination-log");
  path_.clear();  // the default file is optional
}

std::optional<std::string> TerminationLog::write(const std::string& text) {
  if (path_.empty()) return std::nullopt;
  const UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return why(path_, errno);
  // Trailing blanks mean nothing to a reader of JSON; the rest of a longer old text would.
  std::string padded = text;
  padded.resize(std::max(text.size(), size_), ' ');
  const ssize_t wrote = ::pwrite(file.get(), padded.data(), padded.size(), 0);
  if (wrote < 0) return why(path_, errno);
  size_ = text.size();
  const bool whole = static_cast<std::size_t>(wrote) == padded.size();
  if (!whole || ::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0)
    return why(path_, whole ? errno : ENOSPC);
  return std::nullopt;
}

}  // namespace ds::launcher
