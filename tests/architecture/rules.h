// The house rules that can be checked by reading the sources. ARCHITECTURE.md explains them.
#pragma once

#include <string>
#include <vector>

#include "architecture/source_tree.h"

namespace ds::test {

struct Violation {
  std::string path;
  int line = 0;
  std::string rule;     // one word, as in tests/architecture/bad/EXPECTED
  std::string message;  // for people
};

/// include-direction: launcher -> engine/base; runner -> engine; nothing the other way.
/// include-missing:   "quoted" includes are paths from the top of the tree that exist.
/// include-library:   each third-party library only where the table in rules.cpp allows it.
/// include-plugin:    the folders of the CUDA plugin are included by themselves and its entry
/// alone. folder-cycle:      no two folders include each other, directly or through others
/// (main.cpp stands above all).
std::vector<Violation> check_includes(const std::vector<SourceFile>& files);

/// purpose:        the first line (of scripts: the second, after #!) is a comment that says what
/// the file is for. backend-ifdef:  DS_WITH_... is for CMake; C++ chooses a backend by files.
/// pragma-once:    every header has it. symbol-wrap: no CMake file lets the linker put one function
/// in the place of another (its option --wrap), and no source defines such a function.
/// pass-names-op:  passes (engine/program without ops/) name only ops of the step, none of a model.
std::vector<Violation> check_text(const std::vector<SourceFile>& files);

/// not-built: every .cpp and .cu file, and every script of tests/e2e, is named in the
/// CMakeLists.txt nearest above it.
std::vector<Violation> check_lists(const std::vector<SourceFile>& files);

/// defined-twice: no two headers of the programs define types of the same name in one namespace.
std::vector<Violation> check_names(const std::vector<SourceFile>& files);

std::vector<Violation> check_all(const std::vector<SourceFile>& files);

}  // namespace ds::test
