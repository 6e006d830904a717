// find_files(): the files of [data], by the sources and parts that they belong to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

/// Files in byte order of their paths, each once: the same in every locale.
using FileList = std::vector<std::string>;

struct NamedFileList {
  std::string name;
  FileList files;
};

struct DataFiles {
  std::vector<FileList> sources;  // of training: one, or with weights one for each pattern
  FileList validation;
  std::vector<NamedFileList> validation_sets;  // by name
  double held_out = 0;                         // fraction of the end of each training file

  /// Returns whether there is a set without a name.
  [[nodiscard]] bool validates() const { return held_out > 0 || !validation.empty(); }
};

/// Errors: Error{config}: a pattern matches no file; a file is in both parts or in two sources.
DataFiles find_files(const DataConfig& config);
/// Returns the files of data.validation, without those of training. Errors: a pattern matches no
/// file.
DataFiles find_validation_files(const DataConfig& config);
/// Returns the key of a set in messages: "data.validation.web", or "data.validation" without a
/// name.
std::string key_of_set(std::string_view name);

}  // namespace ds
