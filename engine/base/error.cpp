// Printing of errors and failed assertions.
#include "engine/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace ds {

std::string Error::for_people() const {
  return hint_.empty() ? std::string(what()) : fmt::format("{}\n  hint: {}", what(), hint_);
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
