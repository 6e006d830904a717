// Reader of a whole file of the source tree, for tests of committed files.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace ds::test {

/// The text of `path`, which is relative to the top of the source tree. Fails the test when it is
/// missing.
inline std::string read_source(const std::string& path) {
  std::ifstream file(std::string(DS_SOURCE_DIR) + "/" + path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace ds::test
