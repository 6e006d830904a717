#include "engine/data/open_samples.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/data/mixture_part.h"
#include "engine/data/sample_part.h"

namespace ds {
namespace {

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

std::unique_ptr<SamplePart> whole_part(const DataConfig& config, const FileList& paths,
                                       std::string_view name) {
  auto part = std::make_unique<SamplePart>();
  for (const std::string& path : paths) {
    const auto file = open_file(path, config);
    part->add(file, 0, file->rows());
  }
  if (part->size() == 0 && !paths.empty())
    throw Error(ErrorKind::config, fmt::format("{}: there is no sample", key_of_set(name)),
                "name files with rows");
  return part;
}

/// Opens files of training; the ends of them that are held out go to `validation`.
std::unique_ptr<SamplePart> train_part(const DataConfig& config, const FileList& paths,
                                       double held_out, SamplePart& validation) {
  auto train = std::make_unique<SamplePart>();
  for (const std::string& path : paths) {
    const auto file = open_file(path, config);
    const std::int64_t cut =
        file->rows() - static_cast<std::int64_t>(static_cast<double>(file->rows()) * held_out);
    train->add(file, 0, cut);
    validation.add(file, cut, file->rows());
  }
  if (train->size() == 0)
    throw Error(ErrorKind::config, "data.train: every sample is held out",
                "lower data.validation, or name files there");
  return train;
}

}  // namespace

DataSet open_samples(const DataConfig& config, const DataFiles& files) {
  DataSet data;
  auto validation = whole_part(config, files.validation, "");
  const SampleFile* first = nullptr;
  const auto compare = [&](const SamplePart& part) {
    if (part.size() == 0) return;
    if (first == nullptr) first = part.first_file();
    require_alike(*first, *part.first_file());
  };
  std::vector<std::unique_ptr<DataPart>> sources;
  for (const FileList& paths : files.sources) {
    auto train = train_part(config, paths, files.held_out, *validation);
    compare(*train);
    sources.push_back(std::move(train));
  }
  if (!sources.empty()) data.train = mixture_of(std::move(sources), config.weights);
  if (data.train && files.held_out > 0 && validation->size() == 0)
    throw Error(ErrorKind::config,
                fmt::format("data.validation: {} of {} samples is none", config.validation_fraction,
                            data.train->size()),
                "raise data.validation, or set it to 0");
  compare(*validation);
  data.validation = std::move(validation);
  for (const auto& [name, paths] : files.validation_sets) {
    auto part = whole_part(config, paths, name);
    compare(*part);
    data.validation_sets.push_back({name, std::move(part)});
  }
  data.fields = fields_of(*first);
  return data;
}

}  // namespace ds
