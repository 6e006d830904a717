// Command of the train form: dsrunner with the configuration and its overrides.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/options.h"

namespace ds::launcher {

/// Returns `DIR/dsrunner /abs/train.toml key=value ...`, where DIR is the folder of this dslaunch.
/// On a node that has no such file the agent looks for dsrunner on PATH.
/// Errors:  Error{config} if the file cannot be read here.
std::vector<std::string> train_command(const TrainForm& form);

/// Returns the absolute path of the running dslaunch.
std::string own_path();

}  // namespace ds::launcher
