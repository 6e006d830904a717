// Command of a Python launcher: turns a script, module, program or train.toml into words. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

struct PythonForm {
  bool module = false;      // -m
  bool no_python = false;   // run the program itself
  bool local_rank = false;  // add --local_rank=N after the script
};

/// Returns the last words of a command line of dslaunch: `-- python3 -u script.py ...` (or
/// $PYTHON_EXEC), or `train.toml key=value ...`. `program` is the script with its arguments.
/// Errors:  Error{usage} without a program, or with both -m and --no-python.
std::vector<std::string> program_words(std::string_view launcher, const PythonForm& form,
                                       std::span<const std::string> program,
                                       const Surroundings& around);

/// Returns whether the program is a train.toml of dslaunch's own engine.
bool is_train_form(std::span<const std::string> program);

}  // namespace ds::launcher
