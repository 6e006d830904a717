// Finds out whether a command line runs Python code that imports mpi4py.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// What a Python interpreter is told to run: one of the members is set, or none for stdin.
struct PythonCode {
  std::string file{};
  std::string module{};  // -m
  std::string text{};    // -c
  friend bool operator==(const PythonCode&, const PythonCode&) = default;
};

/// Returns what a command line makes Python run; nothing if its program is not named as Python is.
/// Pure.
std::optional<PythonCode> python_code(const std::vector<std::string>& argv);

/// Returns whether a statement of the text imports mpi4py, or a part of it. Pure.
bool imports_mpi4py(std::string_view text);

/// Returns whether the command line runs Python code that imports mpi4py, as far as the text of the
/// script itself shows: not for modules that it imports. Files are found from `folder`; one that
/// cannot be read counts as one that does not.
bool runs_mpi4py(const std::vector<std::string>& argv, const std::string& folder);

}  // namespace ds::launcher
