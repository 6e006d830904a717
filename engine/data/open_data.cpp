// open_data(): opens the files of each format, and makes parts of them.
#include "engine/data/open_data.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/config/text_formats.h"
#include "engine/data/files.h"
#include "engine/data/mixture_part.h"
#include "engine/data/open_samples.h"
#include "engine/data/packed_part.h"
#include "engine/data/window_part.h"

namespace ds {
namespace {

constexpr const char* kTrainKey = "data.train";

/// Makes parts of token files.
class Parts {
 public:
  Parts(const DataConfig& config, std::uint64_t seed, const DocumentEncoder* encoder)
      : config_(config), seed_(seed), encoder_(encoder) {}

  /// `least`: the tokens that a stream must have.
  [[nodiscard]] std::unique_ptr<DataPart> part_of(TokenStream stream, const std::string& key,
                                                  std::int64_t least) const {
    if (config_.rows == RowKind::cut) {
      require_length(key, stream, least);
      return std::make_unique<WindowPart>(std::move(stream), config_.seq_len, apart(stream));
    }
    auto part = std::make_unique<PackedPart>(std::move(stream), shape(key), mask_rule(key));
    if (part->size() > 0) return part;
    throw Error(ErrorKind::config,
                fmt::format("{}: no row is left {}", key,
                            key == kTrainKey ? "to train on" : "that has a target"),
                part->note().empty() ? "give more data" : part->note());
  }

  [[nodiscard]] std::unique_ptr<DataPart> nothing() const {
    return std::make_unique<WindowPart>(TokenStream(), config_.seq_len, false);
  }

  [[nodiscard]] bool apart(const TokenStream& stream) const {
    return config_.rows == RowKind::whole || (stream.has_index() && !config_.join);
  }

 private:
  [[nodiscard]] RowShape shape(std::string_view key) const {
    const Task task = config_.task == DataTask::masked  ? Task::masked
                      : config_.task == DataTask::pairs ? Task::pairs
                      : config_.task == DataTask::spans ? Task::spans
                                                        : Task::next_token;
    return {.task = task,
            .length = config_.seq_len,
            .encoder_length = reads_two_texts(config_.task) ? config_.encoder_len : 0,
            .longs = config_.longs,
            .spans = span_rule(key)};
  }

  [[nodiscard]] std::uint64_t seed_of(std::string_view key) const {
    return key == kTrainKey ? seed_ : ~seed_;
  }

  [[nodiscard]] std::optional<SpanRule> span_rule(std::string_view key) const {
    if (config_.task != DataTask::spans) return std::nullopt;
    DS_ASSERT(encoder_ != nullptr);
    if (!encoder_->end())
      throw Error(ErrorKind::config,
                  fmt::format("data.tokenizer: {} has no end token", config_.tokenizer),
                  "data.task = \"spans\" ends both texts with it; name it with data.end");
    SpanRule rule{
        .shape = {config_.mask, config_.span}, .end = *encoder_->end(), .seed = seed_of(key)};
    rule.most = most_span_tokens(rule.shape, {config_.encoder_len, config_.seq_len});
    if (rule.most < 2)
      throw Error(ErrorKind::config,
                  fmt::format("data.encoder_len = {} and data.seq_len = {} have no room for a span",
                              config_.encoder_len, config_.seq_len),
                  "a span takes 3 tokens of each: itself, its sentinel, and the end token");
    add_sentinels(rule);
    return rule;
  }

  /// Finds as many sentinels as the longest text has spans.
  void add_sentinels(SpanRule& rule) const {
    const std::int64_t needed = span_counts(rule.shape, rule.most).spans;
    for (std::int64_t i = 0; i < needed; ++i) {
      const std::string name = fmt::format("<extra_id_{}>", i);
      const auto sentinel =
          encoder_->tokenizer() ? encoder_->tokenizer()->number_of(name) : std::nullopt;
      if (!sentinel)
        throw Error(ErrorKind::config,
                    fmt::format("data.tokenizer: {} has no token {}, but {} tokens of text have {} "
                                "spans",
                                config_.tokenizer, name, rule.most, needed),
                    i == 0 ? "use a tokenizer of T5, or one that dslaunch data train-tokenizer "
                             "--kind t5 makes"
                           : "lower data.encoder_len, or raise data.span");
      rule.sentinels.push_back(*sentinel);
    }
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
                    .seed = seed_of(key)};
  }

  void require_length(const std::string& key, const TokenStream& stream, std::int64_t least) const {
    if (stream.size() >= least) return;
    if (least < config_.seq_len)
      throw Error(
          ErrorKind::config,
          fmt::format("{}: {} has no target: a token needs one before it", key, stream.size_text()),
          "give more text");
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
      if (!made[i].empty()) files.push_back(TokenFile::open(made[i], chunks[i].name));
  }
  return files;
}

/// Opens streams of token files, and makes parts of them.
class TokenOpener {
 public:
  TokenOpener(const DataConfig& config, std::uint64_t seed, const PackShare& share)
      : config_(config),
        share_(share),
        encoder_(encoder_of(config)),
        parts_(config, seed, encoder_.get()) {}

  [[nodiscard]] DataSet open(const DataFiles& files) const {
    DataSet data;
    if (encoder_ && encoder_->tokenizer()) {
      data.tokenizer = encoder_->tokenizer();
      data.tokenizer_hash = data.tokenizer->hash();
    }
    const bool trains = !files.sources.empty();
    bool& apart = data.fields.documents;
    TokenStream validation;
    if (trains) data.train = train_part(files, validation, apart);
    for (const auto& file : open_files(config_, files.validation, encoder_.get(), share_))
      validation.add(file, 0, false);
    if (!trains) apart = apart || parts_.apart(validation);
    data.validation = files.validates() ? parts_.part_of(std::move(validation), key_of_set(""),
                                                         trains ? config_.seq_len + 1 : kLeast)
                                        : parts_.nothing();
    for (const auto& [name, paths] : files.validation_sets) {
      TokenStream set;
      for (const auto& file : open_files(config_, paths, encoder_.get(), share_))
        set.add(file, 0, false);
      if (!trains) apart = apart || parts_.apart(set);
      data.validation_sets.push_back(
          {name, parts_.part_of(std::move(set), key_of_set(name), kLeast)});
    }
    data.fields.encoder_documents = reads_two_texts(config_.task);
    data.fields.encoder_len = config_.encoder_len;
    return data;
  }

 private:
  static constexpr std::int64_t kLeast = 2;  // a token and its target

  static std::unique_ptr<DocumentEncoder> encoder_of(const DataConfig& config) {
    const bool has_one = config.tokenizer != "none" && !is_byte_stream(config);
    return has_one ? std::make_unique<DocumentEncoder>(config) : nullptr;
  }

  /// Opens the training files; the ends of them that are held out go to `validation`.
  std::unique_ptr<DataPart> train_part(const DataFiles& files, TokenStream& validation,
                                       bool& apart) const {
    std::vector<std::unique_ptr<DataPart>> sources;
    for (const FileList& paths : files.sources) {
      TokenStream train;
      for (const auto& file : open_files(config_, paths, encoder_.get(), share_)) {
        train.add(file, files.held_out, false);
        validation.add(file, files.held_out, true);
      }
      apart = apart || parts_.apart(train);
      sources.push_back(parts_.part_of(std::move(train), kTrainKey, config_.seq_len + 1));
    }
    return mixture_of(std::move(sources), config_.weights);
  }

  const DataConfig& config_;
  const PackShare& share_;
  std::unique_ptr<DocumentEncoder> encoder_;
  Parts parts_;
};

DataSet open_files_of(const DataConfig& config, const DataFiles& files, std::uint64_t seed,
                      const PackShare& share) {
  return config.format == "samples" ? open_samples(config, files)
                                    : TokenOpener(config, seed, share).open(files);
}

}  // namespace

std::vector<HeldOut> DataSet::held_out() const {
  std::vector<HeldOut> sets;
  if (validation->size() > 0) sets.push_back({"", validation.get()});
  for (const auto& [name, part] : validation_sets) sets.push_back({name, part.get()});
  return sets;
}

DataSet open_data(const DataConfig& config, std::uint64_t seed, const PackShare& share) {
  return open_files_of(config, find_files(config), seed, share);
}

DataSet open_validation(const DataConfig& config, std::uint64_t seed, const PackShare& share) {
  const DataFiles files = find_validation_files(config);
  const bool names_files = !files.validation.empty() || !files.validation_sets.empty();
  return names_files ? open_files_of(config, files, seed, share) : open_data(config, seed, share);
}

DataFields check_data(const DataConfig& config) {
  if (!has_texts(config) || is_byte_stream(config)) return open_data(config).fields;
  const DataFiles files = find_files(config);
  if (config.format == "parquet") {
    for (const FileList& paths : files.sources) chunks_of(paths, config);
    chunks_of(files.validation, config);
    for (const auto& [name, paths] : files.validation_sets) chunks_of(paths, config);
  }
  DocumentEncoder{config};
  return config.fields;
}

}  // namespace ds
