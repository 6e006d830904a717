// The target nodes of pdsh: -w, -x, -g, -X, -a, -A, -i, WCOLL, and their order. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

struct PdshTarget {
  std::string name{};
  std::string user{};  // empty: that of -l
  std::string rcmd{};  // empty: that of -R
};

/// The options that choose targets.
struct PdshChoice {
  std::string_view program = "pdsh";    // for messages
  std::vector<std::string> targets{};   // -w, each a list
  std::vector<std::string> excluded{};  // -x
  std::vector<std::string> groups{};    // -g
  std::vector<std::string> without{};   // -X
  std::string genders_file{};           // -F
  bool all = false;                     // -A
  bool all_but_skipped = false;         // -a
  bool other_names = false;             // -i
};

/// Returns the targets in pdsh's order: as written, or sorted if they are those of groups.
/// Errors:  Error{usage} for no targets or malformed ones, Error{config} for files.
std::vector<PdshTarget> pdsh_targets(const PdshChoice& choice, const Surroundings& around);

}  // namespace ds::launcher
