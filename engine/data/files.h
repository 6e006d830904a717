// find_files(): the files of [data], by the sources and parts that they belong to.
#pragma once

#include <string>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

/// Files in byte order of their paths, each once: the same in every locale.
using FileList = std::vector<std::string>;

struct DataFiles {
  std::vector<FileList> sources;  // of training: one, or with weights one for each pattern
  FileList validation;
  double held_out = 0;  // fraction of the end of each training file

  [[nodiscard]] bool validates() const { return held_out > 0 || !validation.empty(); }
};

/// Errors: Error{config}: a pattern matches no file; a file is in both parts or in two sources.
DataFiles find_files(const DataConfig& config);

}  // namespace ds
