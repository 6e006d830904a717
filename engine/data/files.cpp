// find_files(): searches the patterns of [data].
#include "engine/data/files.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/packing/file_format.h"

namespace ds {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Returns the files that match `pattern`; skips folders that a wildcard matches. As in shells, a
/// pattern that matches nothing stands for itself, because names may have brackets.
std::vector<std::string> matches(std::string_view key, const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_NOCHECK, nullptr, &found);
  std::vector<std::string> files;
  bool folder = false;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
    if (path == pattern && !exists(path)) continue;
    if (is_folder(path)) {
      folder = true;
    } else {
      files.push_back(path);
    }
  }
  ::globfree(&found);
  if (!files.empty()) return files;
  if (folder) {
    throw Error(ErrorKind::config, fmt::format("{}: {} is a folder", key, pattern),
                fmt::format("name the files inside it, for example {}/*.txt", pattern));
  }
  const bool failed = status != 0;
  throw Error(
      ErrorKind::config,
      fmt::format("{}: {} {}", key, pattern, failed ? "cannot be searched" : "matches no file"),
      "a relative path in a train.toml starts at the folder of that file, and one on the command "
      "line at the working directory; scripts/fetch_text.sh makes data/english.txt");
}

/// Checks that a file of data.format = "text" is not one of another format, whose bytes would train
/// as if they were text. Plain lines of JSON may be meant as they are.
void require_text(std::string_view key, const std::string& path, bool unpacks) {
  const auto format = format_of_ending(path);
  const bool is_packed = path.ends_with(".gz") || path.ends_with(".zst");
  const bool is_other =
      format && (*format == "parquet" || *format == "samples" || (*format == "jsonl" && is_packed));
  if (!is_other && (unpacks || !is_packed)) return;
  throw Error(ErrorKind::config,
              fmt::format("{}: {} is not plain text, but data.format is \"text\"", key, path),
              is_other ? fmt::format("set data.format = \"{}\"", *format) : "unpack the file first");
}

/// Returns all files of all patterns. Of Megatron's pairs, the index is found beside the tokens.
FileList list_files(std::string_view key, const std::vector<std::string>& patterns,
                    const DataConfig& config) {
  std::set<std::string> files;
  for (const std::string& pattern : patterns)
    for (const std::string& path : matches(key, pattern)) {
      if (config.format == "text") require_text(key, path, !is_byte_stream(config));
      const bool is_index = config.format == "tokens" && path.ends_with(".idx");
      files.insert(is_index ? path.substr(0, path.size() - 4) + ".bin" : path);
    }
  return {files.begin(), files.end()};
}

std::vector<FileList> list_sources(const DataConfig& config) {
  if (config.weights.empty()) return {list_files("data.train", config.train, config)};
  std::vector<FileList> sources;
  std::set<std::string> seen;
  for (const std::string& pattern : config.train) {
    sources.push_back(list_files("data.train", {pattern}, config));
    for (const std::string& path : sources.back())
      if (!seen.insert(path).second)
        throw Error(ErrorKind::config,
                    fmt::format("data.train: {} matches two patterns with weights", path),
                    "with data.weights, each file belongs to one pattern");
  }
  return sources;
}

/// Checks that no file of a validation set is also in a source of training.
void require_apart(const DataFiles& files, std::string_view name, const FileList& set) {
  for (const FileList& source : files.sources) {
    for (const std::string& path : set) {
      if (!std::ranges::binary_search(source, path)) continue;
      throw Error(
          ErrorKind::config, fmt::format("{}: {} is also in data.train", key_of_set(name), path),
          "name other files there, or set data.validation to a fraction to hold out the end "
          "of each file");
    }
  }
}

}  // namespace

std::string key_of_set(std::string_view name) {
  return name.empty() ? "data.validation" : fmt::format("data.validation.{}", name);
}

DataFiles find_validation_files(const DataConfig& config) {
  DataFiles files;
  for (const auto& [name, patterns] : config.validation_sets)
    files.validation_sets.push_back({name, list_files(key_of_set(name), patterns, config)});
  if (!config.validation.empty())
    files.validation = list_files(key_of_set(""), config.validation, config);
  return files;
}

DataFiles find_files(const DataConfig& config) {
  DataFiles files = find_validation_files(config);
  files.sources = list_sources(config);
  if (config.validation.empty() && config.validation_sets.empty())
    files.held_out = config.validation_fraction;
  require_apart(files, "", files.validation);
  for (const auto& [name, list] : files.validation_sets) require_apart(files, name, list);
  return files;
}

}  // namespace ds
