// Tests of as_error(): exceptions of any library become an Error with kind, message and hint.
#include "engine/base/error.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

using ds::as_error;
using ds::Error;
using ds::ErrorKind;

TEST_CASE("exceptions of libraries become an Error with a kind and a hint") {
  const std::system_error refused(std::make_error_code(std::errc::too_many_files_open), "pipe");
  CHECK(as_error(refused).kind() == ErrorKind::system);
  CHECK(as_error(refused).for_people().find("pipe: Too many open files\n  hint: ") !=
        std::string::npos);

  const std::filesystem::filesystem_error gone(
      "absolute", "data", std::make_error_code(std::errc::no_such_file_or_directory));
  CHECK(as_error(gone).kind() == ErrorKind::config);
  CHECK(std::string(as_error(gone).what()) == "cannot use data: No such file or directory");

  CHECK(as_error(std::bad_alloc()).kind() == ErrorKind::system);
  CHECK(as_error(std::length_error("vector")).kind() == ErrorKind::bug);
  CHECK(std::string(as_error(std::length_error("vector")).what()) == "bug: vector");
}

TEST_CASE("an Error is not changed") {
  const Error own(ErrorKind::deadline, "message", "hint");
  const Error told = as_error(own);
  CHECK(told.kind() == ErrorKind::deadline);
  CHECK(told.for_people() == "message\n  hint: hint");
}
