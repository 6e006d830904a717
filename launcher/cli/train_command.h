// The train form of the command line -> the command that every rank runs.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/options.h"

namespace ds::launcher {

/// `DIR/dsrunner /abs/train.toml key=value ...`, where DIR is the folder of this dslaunch. On a
/// node that has no such file the agent looks for dsrunner on PATH. Errors:  Error{config} when the
/// file cannot be read here.
std::vector<std::string> train_command(const TrainForm& form);

/// The absolute path of the running dslaunch.
std::string own_path();

}  // namespace ds::launcher
