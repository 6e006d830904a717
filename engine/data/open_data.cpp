// open_data(): finds and checks the files of [data] and splits them into two corpora.
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/data/corpus.h"

namespace ds {
namespace {

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Returns the files that match `pattern`; skips folders that a wildcard matches.
std::vector<std::string> matches(std::string_view key, const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> files;
  bool folder = false;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
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
  const bool failed = status != 0 && status != GLOB_NOMATCH;
  throw Error(
      ErrorKind::config,
      fmt::format("{}: {} {}", key, pattern, failed ? "cannot be searched" : "matches no file"),
      "paths are relative to the folder of the train.toml; scripts/fetch_text.sh makes "
      "data/english.txt");
}

/// Returns all files of all patterns, each once, sorted by bytes: the same in every locale.
std::set<std::string> list_files(std::string_view key, const std::vector<std::string>& patterns) {
  std::set<std::string> files;
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> found = matches(key, pattern);
    files.insert(found.begin(), found.end());
  }
  return files;
}

void check_length(std::string_view key, const Corpus& corpus, std::int64_t seq_len) {
  if (corpus.size() > seq_len) return;
  throw Error(ErrorKind::config,
              fmt::format("{}: {} bytes are too few for data.seq_len = {} and its target", key,
                          corpus.size(), seq_len),
              "give more text or lower data.seq_len");
}

}  // namespace

DataSet open_data(const DataConfig& config) {
  DataSet set;
  const std::set<std::string> train = list_files("data.train", config.train);
  const bool separate = !config.validation.empty();
  const double held_out = separate ? 0.0 : config.validation_fraction;
  for (const std::string& path : train) {
    auto file = std::make_shared<const MappedFile>(path);
    const auto size = static_cast<std::int64_t>(file->bytes().size());
    const std::int64_t cut = size - static_cast<std::int64_t>(static_cast<double>(size) * held_out);
    set.train.add(file, 0, cut);
    set.validation.add(file, cut, size);
  }
  if (separate) {
    for (const std::string& path : list_files("data.validation", config.validation)) {
      if (train.contains(path)) {
        throw Error(ErrorKind::config,
                    fmt::format("data.validation: {} is also in data.train", path),
                    "name other text there, or set data.validation to a fraction to hold out the "
                    "end of each file");
      }
      auto file = std::make_shared<const MappedFile>(path);
      const auto size = static_cast<std::int64_t>(file->bytes().size());
      set.validation.add(std::move(file), 0, size);
    }
  }
  check_length("data.train", set.train, config.seq_len);
  if (separate || held_out > 0) check_length("data.validation", set.validation, config.seq_len);
  return set;
}

}  // namespace ds
