// What the launchers of Python programs run for a script. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

struct PythonForm {
  bool module = false;      // -m
  bool no_python = false;   // the program itself
  bool local_rank = false;  // --local_rank=N right after the script
};

/// The last words of a command line of dslaunch: `-- python3 -u script.py ...` (or $PYTHON_EXEC),
/// or `train.toml key=value ...`. `program` is the script and its arguments.
/// Errors:  Error{usage}: no program, or both -m and --no-python.
std::vector<std::string> program_words(std::string_view launcher, const PythonForm& form,
                                       std::span<const std::string> program,
                                       const Surroundings& around);

/// A train.toml of dslaunch's own engine.
bool is_train_form(std::span<const std::string> program);

}  // namespace ds::launcher
