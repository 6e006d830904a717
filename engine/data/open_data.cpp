// open_data(): finds and checks the files of [data] and splits them into two parts.
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/data/sample_part.h"
#include "engine/data/text_part.h"

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

/// The files of [data], and what part of each training file is held out.
struct Files {
  std::set<std::string> train, validation;
  double held_out = 0;

  /// Returns where the held-out tail of a training file of `size` bytes or rows begins.
  [[nodiscard]] std::int64_t cut(std::int64_t size) const {
    return size - static_cast<std::int64_t>(static_cast<double>(size) * held_out);
  }
  [[nodiscard]] bool validates() const { return held_out > 0 || !validation.empty(); }
};

Files find_files(const DataConfig& config) {
  Files files;
  files.train = list_files("data.train", config.train);
  if (config.validation.empty()) {
    files.held_out = config.validation_fraction;
    return files;
  }
  files.validation = list_files("data.validation", config.validation);
  for (const std::string& path : files.validation) {
    if (!files.train.contains(path)) continue;
    throw Error(ErrorKind::config, fmt::format("data.validation: {} is also in data.train", path),
                "name other files there, or set data.validation to a fraction to hold out the end "
                "of each file");
  }
  return files;
}

DataSet open_text(const DataConfig& config, const Files& files) {
  Corpus train, validation;
  for (const std::string& path : files.train) {
    auto file = std::make_shared<const MappedFile>(path);
    const auto size = static_cast<std::int64_t>(file->bytes().size());
    train.add(file, 0, files.cut(size));
    validation.add(file, files.cut(size), size);
  }
  for (const std::string& path : files.validation) {
    auto file = std::make_shared<const MappedFile>(path);
    const auto size = static_cast<std::int64_t>(file->bytes().size());
    validation.add(std::move(file), 0, size);
  }
  check_length("data.train", train, config.seq_len);
  if (files.validates()) check_length("data.validation", validation, config.seq_len);
  return {.train = std::make_unique<TextPart>(std::move(train), config.seq_len),
          .validation = std::make_unique<TextPart>(std::move(validation), config.seq_len)};
}

DataFields fields_of(const SampleFile& file) {
  return {.documents = file.has(Field::documents),
          .positions = file.has(Field::positions),
          .token_types = file.has(Field::token_types),
          .encoder_documents = file.has(Field::encoder_documents),
          .encoder_len = file.encoder_len()};
}

/// Opens a file, whose sequences of the encoder must have the length that the model reads.
std::shared_ptr<const SampleFile> open_file(const std::string& path, const DataConfig& config) {
  auto file = std::make_shared<const SampleFile>(path, config.seq_len);
  const std::int64_t length = file->encoder_len();
  if (config.encoder_len == 0 || length == config.encoder_len) return file;
  if (length == 0)
    throw Error(ErrorKind::config,
                fmt::format("data file {}: it has no tensor \"encoder_tokens\"", path),
                "this model reads encoder_tokens (N, S) too (docs/data.md)");
  throw Error(ErrorKind::config,
              fmt::format("data file {}: encoder_tokens has {} tokens in a sample, but "
                          "data.encoder_len = {}",
                          path, length, config.encoder_len),
              fmt::format("set data.encoder_len={}, or cut the samples", length));
}

DataSet open_samples(const DataConfig& config, const Files& files) {
  auto train = std::make_unique<SamplePart>(), validation = std::make_unique<SamplePart>();
  for (const std::string& path : files.train) {
    const auto file = open_file(path, config);
    const std::int64_t cut = files.cut(file->rows());
    train->add(file, 0, cut);
    validation->add(file, cut, file->rows());
  }
  for (const std::string& path : files.validation) {
    const auto file = open_file(path, config);
    validation->add(file, 0, file->rows());
  }
  if (train->size() == 0)
    throw Error(ErrorKind::config, "data.train: every sample is held out",
                "lower data.validation, or name files there");
  if (files.validates() && validation->size() == 0)
    throw Error(ErrorKind::config,
                fmt::format("data.validation: {} of {} samples is none", config.validation_fraction,
                            train->size()),
                "raise data.validation, or set it to 0");
  if (validation->size() > 0) require_alike(*train->first_file(), *validation->first_file());
  const DataFields fields = fields_of(*train->first_file());
  return {.train = std::move(train), .validation = std::move(validation), .fields = fields};
}

}  // namespace

DataSet open_data(const DataConfig& config) {
  const Files files = find_files(config);
  return config.format == "samples" ? open_samples(config, files) : open_text(config, files);
}

}  // namespace ds
