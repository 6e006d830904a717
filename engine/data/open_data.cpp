// open_data(): opens the files of each format, and makes parts of them.
#include "engine/data/open_data.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/config/text_formats.h"
#include "engine/data/files.h"
#include "engine/data/mixture_part.h"
#include "engine/data/packed_part.h"
#include "engine/data/sample_part.h"
#include "engine/data/window_part.h"

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

DataSet open_samples(const DataConfig& config, const DataFiles& files) {
  auto train = std::make_unique<SamplePart>(), validation = std::make_unique<SamplePart>();
  for (const std::string& path : files.sources.front()) {
    const auto file = open_file(path, config);
    const std::int64_t cut = file->rows() - static_cast<std::int64_t>(
                                                static_cast<double>(file->rows()) * files.held_out);
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

/// Makes parts of token files.
class Parts {
 public:
  Parts(const DataConfig& config, std::uint64_t seed, const DocumentEncoder* encoder)
      : config_(config), seed_(seed), encoder_(encoder) {}

  [[nodiscard]] std::unique_ptr<DataPart> part_of(TokenStream stream, const char* key) const {
    if (config_.rows == RowKind::cut) {
      require_length(key, stream);
      return std::make_unique<WindowPart>(std::move(stream), config_.seq_len, apart(stream));
    }
    auto part = std::make_unique<PackedPart>(std::move(stream), shape(), mask_rule(key));
    if (part->size() > 0) return part;
    throw Error(ErrorKind::config, fmt::format("{}: no row is left to train on", key),
                part->note().empty() ? "give more data" : part->note());
  }

  [[nodiscard]] std::unique_ptr<DataPart> nothing() const {
    return std::make_unique<WindowPart>(TokenStream(), config_.seq_len, false);
  }

  [[nodiscard]] bool apart(const TokenStream& stream) const {
    return config_.rows == RowKind::whole || (stream.has_index() && !config_.join);
  }

 private:
  [[nodiscard]] RowShape shape() const {
    const Task task = config_.task == DataTask::masked  ? Task::masked
                      : config_.task == DataTask::pairs ? Task::pairs
                                                        : Task::next_token;
    return {.task = task,
            .length = config_.seq_len,
            .encoder_length = task == Task::pairs ? config_.encoder_len : 0,
            .longs = config_.longs};
  }

  [[nodiscard]] std::optional<MaskRule> mask_rule(std::string_view key) const {
    if (config_.task != DataTask::masked) return std::nullopt;
    DS_ASSERT(encoder_ != nullptr);
    const NamedTokens& special = encoder_->specials();
    if (!special.mask)
      throw Error(ErrorKind::config,
                  fmt::format("data.tokenizer: {} has no mask token", config_.tokenizer),
                  "tokenizer_config.json names it as mask_token");
    return MaskRule{.share = config_.mask,
                    .mask = *special.mask,
                    .tokens = encoder_->vocab(),
                    .keeps = special.all,
                    .seed = key == "data.train" ? seed_ : ~seed_};
  }

  void require_length(const char* key, const TokenStream& stream) const {
    if (stream.size() > config_.seq_len) return;
    throw Error(ErrorKind::config,
                fmt::format("{}: {} {} are too few for data.seq_len = {} and its target", key,
                            stream.size(), config_.tokenizer == "bytes" ? "bytes" : "tokens",
                            config_.seq_len),
                "give more text or lower data.seq_len");
  }

  const DataConfig& config_;
  std::uint64_t seed_;
  const DocumentEncoder* encoder_;
};

using TokenFiles = std::vector<std::shared_ptr<const TokenFile>>;

/// Opens the token files of `paths`, of texts after their tokens have been made.
TokenFiles open_files(const DataConfig& config, const FileList& paths,
                      const DocumentEncoder* encoder, const PackShare& share) {
  TokenFiles files;
  if (is_byte_stream(config)) {
    for (const std::string& path : paths) files.push_back(TokenFile::of_bytes(path));
  } else if (config.format == "tokens") {
    for (const std::string& path : paths) files.push_back(TokenFile::open(path));
  } else {
    const std::vector<RawChunk> chunks = chunks_of(paths, config);
    const std::vector<std::string> made = TokenCache(config, *encoder).fill(chunks, share);
    for (std::size_t i = 0; i < made.size(); ++i)
      files.push_back(TokenFile::open(made[i], chunks[i].name));
  }
  return files;
}

DataSet open_tokens(const DataConfig& config, const DataFiles& files, std::uint64_t seed,
                    const PackShare& share) {
  DataSet data;
  std::unique_ptr<DocumentEncoder> encoder;
  if (config.tokenizer != "none" && !is_byte_stream(config)) {
    encoder = std::make_unique<DocumentEncoder>(config);
    data.tokenizer = encoder->tokenizer();
    if (data.tokenizer) data.tokenizer_hash = data.tokenizer->hash();
  }
  const Parts parts(config, seed, encoder.get());
  std::vector<std::unique_ptr<DataPart>> sources;
  TokenStream validation;
  for (const FileList& paths : files.sources) {
    TokenStream train;
    for (const auto& file : open_files(config, paths, encoder.get(), share)) {
      train.add(file, files.held_out, false);
      validation.add(file, files.held_out, true);
    }
    data.fields.documents = data.fields.documents || parts.apart(train);
    sources.push_back(parts.part_of(std::move(train), "data.train"));
  }
  for (const auto& file : open_files(config, files.validation, encoder.get(), share))
    validation.add(file, 0, false);
  data.validation =
      files.validates() ? parts.part_of(std::move(validation), "data.validation") : parts.nothing();
  data.train = sources.size() == 1
                   ? std::move(sources.front())
                   : std::make_unique<MixturePart>(std::move(sources), config.weights);
  data.fields.encoder_documents = config.task == DataTask::pairs;
  data.fields.encoder_len = config.encoder_len;
  return data;
}

}  // namespace

DataSet open_data(const DataConfig& config, std::uint64_t seed, const PackShare& share) {
  const DataFiles files = find_files(config);
  return config.format == "samples" ? open_samples(config, files)
                                    : open_tokens(config, files, seed, share);
}

DataFields check_data(const DataConfig& config) {
  if (!has_texts(config) || is_byte_stream(config)) return open_data(config).fields;
  const DataFiles files = find_files(config);
  if (config.format == "parquet") {
    for (const FileList& paths : files.sources) chunks_of(paths, config);
    chunks_of(files.validation, config);
  }
  DocumentEncoder{config};
  return config.fields;
}

}  // namespace ds
