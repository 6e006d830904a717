// Error text for users, conversion of library exceptions, and the report of a failed assertion.
#include "engine/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>

namespace ds {

std::string Error::for_people() const {
  return hint_.empty() ? std::string(what()) : fmt::format("{}\n  hint: {}", what(), hint_);
}

Error as_error(const std::exception& caught) {
  if (const auto* own = dynamic_cast<const Error*>(&caught)) return *own;
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&caught))
    return {ErrorKind::config,
            fmt::format("cannot use {}: {}", file->path1().string(), file->code().message()),
            file->path1().is_absolute() ? ""
                                        : "the path is relative to the current folder; does that "
                                          "still exist?"};
  if (dynamic_cast<const std::system_error*>(&caught) != nullptr)
    return {ErrorKind::system, fmt::format("a system call failed: {}", caught.what()),
            "a limit of this user or of the machine may be reached; `ulimit -a` shows the user's "
            "limits"};
  if (dynamic_cast<const std::bad_alloc*>(&caught) != nullptr)
    return {ErrorKind::system, "out of memory on this machine, or over this user's limit",
            "`ulimit -v` shows the user's limit"};
  return {ErrorKind::bug, fmt::format("bug: {}", caught.what())};
}

void throw_errno(std::string_view what, int error_number, std::string hint) {
  throw Error(ErrorKind::system,
              fmt::format("{}: {}", what, std::generic_category().message(error_number)),
              std::move(hint));
}

void assertion_failed(const char* condition, const char* note, const char* file, int line) {
  fmt::print(stderr, "bug: {}:{}: {} does not hold{}{}\n", file, line, condition,
             *note != '\0' ? ": " : "", note);
  std::fflush(stderr);
  std::abort();
}

}  // namespace ds
