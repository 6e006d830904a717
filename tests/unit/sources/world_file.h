// Worlds as text: the environment of a launcher, and the expected hosts and peers.
#pragma once

#include <string>
#include <vector>

#include "launcher/sources/world.h"

namespace ds::test {

/// One `peers ...` or `hosts` line with the lines below it.
struct WorldCheck {
  std::string what;                // "peers", "hosts", "own"
  std::vector<std::string> words;  // behind it
  std::string expected;            // lines, each with its newline
  int line = 0;
};

struct WorldFile {
  std::string name;
  ds::launcher::World world;
  std::vector<WorldCheck> checks;
};

/// Reads a file of tests/unit/sources/worlds; its README.md has the form.
WorldFile load_world(const std::string& path);
std::vector<std::string> world_paths();

}  // namespace ds::test
