#include "runner/eval_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <memory>

#include "engine/base/error.h"
#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/tools/choose.h"
#include "engine/config/bert_family.h"
#include "engine/config/keys.h"
#include "engine/config/load.h"
#include "engine/config/toml_reader.h"
#include "engine/plugin/choose_backend.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/train/resume.h"
#include "runner/eval_words.h"

namespace ds {
namespace {

constexpr std::int64_t kMicro = 8, kLongest = 1024, kLongestPair = 512;

bool is_folder_of_hf(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(path) / "config.json", error);
}

/// Returns the longest row that a model reads.
std::int64_t longest_row(const SampledModel& model) {
  // Positions that are turned, not looked up, have no end; a folder's files still give one.
  const bool has_table = model.model.arch == "gpt2" || bert_family(model.model.arch) != nullptr;
  return model.is_checkpoint && !has_table ? INT64_MAX : model.positions;
}

/// Returns whether a key of a checkpoint's config counts: those of the model, whose folder may be
/// gone, and of its data.
bool is_kept(const Entry& entry) {
  constexpr std::array<std::string_view, 5> kOthers{"batch.micro", "precision.dtype", "train.seed",
                                                    "train.validate_batches",
                                                    "determinism.virtual_ranks"};
  constexpr std::array<std::string_view, 4> kOfTraining{"model.from", "model.preset", "model.init",
                                                        "model.dropout"};
  if (find_key(entry.key) == nullptr) return false;  // of another version
  if (std::ranges::find(kOfTraining, entry.key) != kOfTraining.end()) return false;
  return entry.key.starts_with("model.") || entry.key.starts_with("data.") ||
         std::ranges::find(kOthers, entry.key) != kOthers.end();
}

class Setup {
 public:
  explicit Setup(const ToolWords& words) : words_(words), read_(eval_words(words)) {
    is_folder_ = is_folder_of_hf(read_.model);
    if (!is_folder_) checkpoint_ = Checkpoint::open(checkpoint_at(read_.model));
    // --dtype counts as an override, the last one.
    if (words.has("--dtype"))
      read_.overrides.push_back("precision.dtype=" + words.value("--dtype"));
  }

  EvalSetup made() {
    EvalSetup setup;
    require_data(!read_.sets.empty() || !is_folder_ || words_.has("--config"));
    setup.config = words_.has("--config") ? given_config() : own_config();
    DataConfig& data = setup.config.data;
    if (!read_.sets.empty()) {
      data.validation.clear();
      data.validation_sets = read_.sets;
      setup.most = INT64_MAX;
    }
    require_data(!data.validation.empty() || !data.validation_sets.empty() ||
                 data.validation_fraction > 0);
    if (words_.has("--rows"))
      setup.most = words_.number("--rows") == 0 ? INT64_MAX : words_.number("--rows");
    setup.micro = words_.number("--batch", setup.config.batch.micro);
    DeviceConfig& device = setup.config.device;
    if (words_.has("--device")) device.backend = words_.value("--device");
    if (words_.has("--threads")) device.threads = words_.number("--threads");
    device.backend = choose_backend(device).backend;
    setup.model = open_model(read_.model, data.seq_len);
    if (checkpoint_) setup.step = checkpoint_->manifest().state.step;
    require_rows(setup.model, data.seq_len);
    require_tokenizer(setup);
    return setup;
  }

 private:
  [[nodiscard]] bool overrides(std::string_view key) const {
    return std::ranges::any_of(read_.overrides, [key](const std::string& word) {
      return word.starts_with(key) && word.substr(key.size()).starts_with("=");
    });
  }

  [[nodiscard]] TrainConfig given_config() const {
    LoadRequest request{.path = words_.value("--config"), .overrides = read_.overrides};
    const auto add = [&](std::string_view key, const std::string& value) {
      if (!gives_key(request, key)) request.overrides.push_back(fmt::format("{}={}", key, value));
    };
    if (checkpoint_) {
      const auto ranks =
          arithmetic_value(checkpoint_->manifest().arithmetic, "determinism.virtual_ranks");
      if (ranks) add("determinism.virtual_ranks", *ranks);
    } else if (Tokenizer::exists(read_.model)) {
      add("data.tokenizer", to_toml(ConfigValue{read_.model}));
    }
    if (!read_.sets.empty() && !gives_key(request, "data.format"))
      add("data.format", format_of(read_.sets));
    return load_train_config(request);
  }

  /// Returns the config that the model itself has, or that is made for it.
  [[nodiscard]] TrainConfig own_config() const {
    std::vector<Entry> entries;
    std::string source = "the checkpoint's config";
    if (checkpoint_) {
      entries = read_toml(checkpoint_->manifest().config, source, "");
      std::erase_if(entries, [](const Entry& entry) { return !is_kept(entry); });
    } else {
      source = read_.model;
      entries = read_toml(folder_toml(), source, "");
    }
    if (overrides("data.task") || overrides("data.format"))
      forget(entries, {"data.fields", "data.rows", "data.long"});
    if (overrides("data.tokenizer")) forget(entries, {"model.tokens"});
    if (overrides("data.chat_template"))
      forget(entries, {"data.chat_begin", "data.chat_system", "data.chat_user",
                       "data.chat_assistant"});
    if (!read_.sets.empty() && !overrides("data.format")) set_format(entries, source);
    for (const Entry& more : read_toml("batch.accum = 1\ntrain.steps = 1", source, ""))
      entries.push_back(more);
    int number = 0;
    for (const std::string& word : read_.overrides)
      entries.push_back(read_override(word, ++number, ""));
    return make_train_config(entries, source, 1);
  }

  /// Removes what depends on a key that is overridden.
  static void forget(std::vector<Entry>& entries, std::initializer_list<std::string_view> keys) {
    std::erase_if(entries, [&](const Entry& entry) {
      return std::ranges::find(keys, entry.key) != keys.end();
    });
  }

  /// Sets the format of the files, and forgets what the config says of another one.
  void set_format(std::vector<Entry>& entries, const std::string& source) const {
    const ConfigValue format{format_of(read_.sets)};
    const auto had = std::ranges::find(entries, "data.format", &Entry::key);
    if (had != entries.end() && had->value == format) return;
    forget(entries, {"data.fields", "data.format"});
    entries.push_back({"data.format", format, {source, 0, "", 0, 0}, ""});
  }

  static void require_data(bool has_some) {
    if (!has_some)
      throw Error(ErrorKind::usage, "there are no data to evaluate on",
                  "name files: dslaunch eval MODEL data.txt, or --config train.toml");
  }

  [[nodiscard]] std::string folder_toml() const {
    const SampledModel model = open_model(read_.model, 1);
    const bool is_pair = model.has_encoder();
    require_rows(model, given_rows());
    const std::string format = overrides("data.format") ? "" : format_of(read_.sets);
    const bool needs_tokens = model.tokenizer.empty() && !model.is_bytes;
    if (needs_tokens && (format == "text" || format == "jsonl" || format == "parquet") && !overrides("data.tokenizer"))
      throw Error(ErrorKind::config,
                  fmt::format("{} has no tokenizer, and its tokens are not bytes", read_.model),
                  "add data.tokenizer=FOLDER, or evaluate on token numbers");
    std::string text = fmt::format(
        "model.from = {}\ndata.train = \"unused\"\ndata.seq_len = {}\nbatch.micro = {}\n",
        to_toml(ConfigValue{read_.model}),
        std::min(is_pair ? kLongestPair : kLongest, model.positions), kMicro);
    if (is_pair) text += fmt::format("data.encoder_len = {}\n", kLongestPair);
    return text;
  }

  /// Returns data.seq_len of the overrides; 0 without one.
  [[nodiscard]] std::int64_t given_rows() const {
    std::int64_t rows = 0;
    for (const std::string& word : read_.overrides) {
      const Entry entry = read_override(word, 1, "");
      const auto* number = std::get_if<std::int64_t>(&entry.value.held);
      if (entry.key == "data.seq_len" && number != nullptr) rows = *number;
    }
    return rows;
  }

  void require_rows(const SampledModel& model, std::int64_t rows) const {
    const std::int64_t longest = longest_row(model);
    if (rows <= longest) return;
    throw Error(ErrorKind::config,
                fmt::format("data.seq_len = {} is more than the {} positions of {}", rows, longest,
                            read_.model),
                fmt::format("add data.seq_len={}", longest));
  }

  /// Returns the hash of the model's tokenizer; "bytes"; empty if it is not known.
  [[nodiscard]] std::string tokenizer_of_model(const SampledModel& model) const {
    if (model.is_bytes) return "bytes";
    if (!checkpoint_)
      return model.tokenizer.empty() ? "" : Tokenizer::shared(model.tokenizer)->hash();
    return arithmetic_value(checkpoint_->manifest().arithmetic, "tokenizer").value_or("");
  }

  void require_tokenizer(const EvalSetup& setup) const {
    const std::string& given = setup.config.data.tokenizer;
    if (given == "none") return;
    const std::string own = tokenizer_of_model(setup.model);
    const std::string name =
        given == "bytes" ? "the tokenizer \"bytes\"" : "the tokenizer " + given;
    const std::string hint =
        setup.model.tokenizer.empty()
            ? "set data.tokenizer to the folder that the model was trained with"
            : fmt::format("add data.tokenizer={}", setup.model.tokenizer);
    if (given == "bytes") {
      if (own == "bytes") return;
      throw Error(ErrorKind::config,
                  fmt::format("{} does not have {}: its tokens are not bytes", read_.model, name),
                  hint);
    }
    const auto tokenizer = Tokenizer::shared(given);
    if (!own.empty() && own != tokenizer->hash())
      throw Error(ErrorKind::config, fmt::format("{} is not the one of {}", name, read_.model),
                  own == "bytes" ? "add data.tokenizer=bytes" : hint);
    if (tokenizer->size() <= setup.model.tokens) return;
    throw Error(ErrorKind::config,
                fmt::format("{} has {} tokens, but {} only {}", name, tokenizer->size(), read_.model,
                            setup.model.tokens),
                hint);
  }

  const ToolWords& words_;
  EvalWords read_;
  bool is_folder_ = false;
  std::shared_ptr<const Checkpoint> checkpoint_{};
};

}  // namespace

EvalSetup eval_setup(const ToolWords& words) { return Setup(words).made(); }

}  // namespace ds
