// data pack: texts to Megatron's pair of files. data show: the samples of one step, as a model
// reads them. data train-tokenizer has a file of its own.
#include "runner/data_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "engine/base/units.h"
#include "engine/config/load.h"
#include "engine/config/text_formats.h"
#include "engine/data/byte_tokens.h"
#include "engine/data/files.h"
#include "engine/data/merge_pairs.h"
#include "engine/data/open_data.h"
#include "engine/data/set_rows.h"
#include "engine/device/cpu/thread_pool.h"
#include "runner/tool_progress.h"
#include "runner/train_tokenizer_command.h"

namespace ds {
namespace {

using Json = nlohmann::json;

TrainConfig config_of(const ToolWords& read) {
  if (read.others.size() < 2)
    throw Error(ErrorKind::usage, "no train.toml is given",
                "dslaunch data pack|show train.toml [key=value ...]");
  return load_train_config({.path = read.others[1],
                            .overrides = {read.others.begin() + 2, read.others.end()},
                            .world_size = static_cast<int>(read.number("--ranks", 1))});
}

constexpr const char* kUnnamed = "validation";  // the set that has no name, for --set

/// Errors: Error{usage} listing the sets that exist.
[[noreturn]] void refuse_set(const std::string& name, std::string names) {
  throw Error(ErrorKind::usage, fmt::format("--set {}: data.validation has no such set", name),
              names.empty() ? "it names no files" : "it has " + std::move(names));
}

FileList files_of_set(const DataFiles& files, const std::string& name) {
  std::string names = files.validation.empty() ? "" : kUnnamed;
  if (name == kUnnamed && !files.validation.empty()) return files.validation;
  for (const auto& [own, list] : files.validation_sets) {
    if (own == name) return list;
    names += (names.empty() ? "" : ", ") + own;
  }
  refuse_set(name, std::move(names));
}

const HeldOut& set_of(const std::vector<HeldOut>& sets, const std::string& name) {
  std::string names;
  for (const HeldOut& set : sets) {
    const std::string own = set.name.empty() ? kUnnamed : std::string(set.name);
    if (own == name) return set;
    names += (names.empty() ? "" : ", ") + own;
  }
  refuse_set(name, std::move(names));
}

/// A pair that exists is replaced, because a job may pack again. Errors: Error{usage}: a file that
/// is not of a pair would be lost.
void require_replaceable(const std::string& out) {
  constexpr std::string_view kMark = "MMIDIDX";
  std::error_code status;
  std::string mark(kMark.size(), '\0');
  std::ifstream(out + ".idx", std::ios::binary).read(mark.data(), std::ssize(mark));
  for (const char* const ending : {".bin", ".idx"})
    if (std::filesystem::exists(out + ending, status) && mark != kMark)
      throw Error(ErrorKind::usage,
                  fmt::format("--out {}: {}{} exists and is not of a pair of token files", out, out,
                              ending),
                  "name other files, or remove this one first");
}

int pack(const ToolWords& read) {
  const TrainConfig config = config_of(read);
  const DataConfig& data = config.data;
  const std::string out = read.value("--out");
  if (out.empty())
    throw Error(ErrorKind::usage, "data pack needs --out NAME", "it writes NAME.bin and NAME.idx");
  if (!has_texts(data))
    throw Error(ErrorKind::config,
                fmt::format("data.format = \"{}\" has tokens already", data.format),
                "data pack makes tokens of \"text\", \"jsonl\" and \"parquet\"");
  require_replaceable(out);
  const DocumentEncoder encoder(data);
  const TokenCache cache(data, encoder);
  FileList files;
  const DataFiles found = find_files(data);
  if (read.has("--set")) {
    files = files_of_set(found, read.value("--set"));
  } else {
    for (const FileList& source : found.sources)
      files.insert(files.end(), source.begin(), source.end());
  }
  ToolProgress progress("tokenized");
  const PackShare share{
      .rank = 0,
      .ranks = 1,
      .threads = static_cast<int>(read.number("--threads", default_thread_count())),
      .tell = [&](std::int64_t done, std::int64_t all) { progress.show(done, all); }};
  const PairFacts made = merge_pairs(cache.fill(chunks_of(files, data), share), out);
  fmt::print("{} documents, {} tokens in {}.bin and {}.idx\n", made.documents, made.tokens, out,
             out);
  return 0;
}

/// The inputs of one sample, as numbers.
struct Shown {
  std::vector<std::pair<const char*, std::vector<std::int32_t>>> inputs;

  [[nodiscard]] const std::vector<std::int32_t>& of(std::string_view name) const {
    for (const auto& [input, numbers] : inputs)
      if (input == name) return numbers;
    throw Error(ErrorKind::bug, "an input that is always there");
  }
};

Shown shown_of(const DataPart& part, SamplePlace place, const TrainConfig& config,
               const DataFields& fields) {
  Shown shown;
  const auto add = [&](const char* name, std::int64_t count) {
    shown.inputs.emplace_back(name, std::vector<std::int32_t>(static_cast<std::size_t>(count)));
  };
  for (const char* const name :
       {input::kTokens, input::kTargets, input::kPositions, input::kDocuments})
    add(name, config.data.seq_len);
  if (fields.token_types) add(input::kTokenTypes, config.data.seq_len);
  if (fields.encoder_len > 0)
    for (const char* const name : {input::kEncoderTokens, input::kEncoderDocuments})
      add(name, fields.encoder_len);
  std::vector<BatchInput> inputs;
  for (auto& [name, numbers] : shown.inputs) {
    const bool is_number =
        std::string_view(name).ends_with("tokens") || std::string_view(name) == input::kTargets;
    inputs.push_back({name,
                      {numbers.data(), DType::i32, {std::ssize(numbers)}},
                      std::string_view(name) == input::kPositions ? config.model.first_position : 0,
                      is_number ? config.model.tokens : INT32_MAX});
  }
  part.fill(std::span(&place, 1), inputs);
  return shown;
}

/// Writes tokens as text; on a terminal, tokens that are predicted are green and documents are set
/// apart by a bar.
class TextWriter {
 public:
  TextWriter(const DataSet& data, bool colours) : data_(data), colours_(colours) {}

  void write(const Shown& shown) const {
    if (data_.fields.encoder_len > 0) write_source(shown);
    const auto &tokens = shown.of(input::kTokens), &targets = shown.of(input::kTargets);
    const auto& documents = shown.of(input::kDocuments);
    std::size_t i = 0;
    while (i < tokens.size() && documents[i] >= 0) {
      // A token is marked if the one before it predicts it.
      const auto is_learned = [&](std::size_t at) { return at > 0 && targets[at - 1] >= 0; };
      std::size_t end = i + 1;
      while (end < tokens.size() && documents[end] == documents[i] &&
             is_learned(end) == is_learned(i))
        ++end;
      if (i > 0 && documents[i] != documents[i - 1]) fmt::print("\n----\n");
      fmt::print("{}{}{}", colours_ && is_learned(i) ? "\033[32m" : "",
                 text_of(std::span(tokens).subspan(i, end - i)),
                 colours_ && is_learned(i) ? "\033[0m" : "");
      i = end;
    }
    fmt::print("\n");
  }

 private:
  /// Writes what the encoder reads, in gray on a terminal.
  void write_source(const Shown& shown) const {
    const auto& tokens = shown.of(input::kEncoderTokens);
    const auto& documents = shown.of(input::kEncoderDocuments);
    for (std::size_t i = 0, end = 0; i < tokens.size() && documents[i] >= 0; i = end) {
      while (end < tokens.size() && documents[end] == documents[i]) ++end;
      fmt::print("{}{}{}{}\n", i > 0 ? "----\n" : "", colours_ ? "\033[90m" : "",
                 text_of(std::span(tokens).subspan(i, end - i)), colours_ ? "\033[0m" : "");
    }
    fmt::print("====\n");
  }

  [[nodiscard]] std::string text_of(std::span<const std::int32_t> tokens) const {
    return data_.tokenizer ? data_.tokenizer->decode(tokens, true) : decode_bytes(tokens);
  }
  const DataSet& data_;
  bool colours_;
};

void write_text(const TrainConfig& config, const DataSet& data, SamplePlace place,
                const Shown& shown) {
  std::int64_t used = 0, learned = 0, documents = 0;
  const auto& numbers = shown.of(input::kDocuments);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    used += numbers[i] >= 0 ? 1 : 0;
    learned += shown.of(input::kTargets)[i] >= 0 ? 1 : 0;
    documents += numbers[i] >= 0 && (i == 0 || numbers[i] != numbers[i - 1]) ? 1 : 0;
  }
  fmt::print("sample {} at {}: {} of {}, {} learned\n", place.number, place.place,
             counted(used, "token"), counted(documents, "document"), learned);
  const bool has_text = data.tokenizer || config.data.tokenizer == "bytes";
  if (has_text) return TextWriter(data, ::isatty(STDOUT_FILENO) == 1).write(shown);
  fmt::print("{}\n", fmt::join(shown.of(input::kTokens), " "));
}

int show(const ToolWords& read) {
  const TrainConfig config = config_of(read);
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  const DataSet data = open_data(config.data, seed, {.threads = default_thread_count()});
  const std::int64_t step = read.number("--step", 1);
  const std::vector<HeldOut> sets = data.held_out();
  const HeldOut* const set = read.has("--set") ? &set_of(sets, read.value("--set")) : nullptr;
  const DataPart& part = set == nullptr ? *data.train : *set->part;
  const SetRows rows =
      set == nullptr ? SetRows{} : validation_rows(part, !set->name.empty(), config);
  Json samples = Json::array();
  for (std::int64_t i = 0; i < config.batch.global; ++i) {
    const std::int64_t number = (step - 1) * config.batch.global + i;
    if (set != nullptr && number >= rows.count) break;
    const SamplePlace place = set == nullptr ? SamplePlace{part.place_of(number, seed), number}
                                             : rows.row_of(part, number);
    const Shown shown = shown_of(part, place, config, data.fields);
    if (!read.has("--json")) {
      write_text(config, data, place, shown);
      continue;
    }
    Json sample = {{"sample", number}, {"place", place.place}};
    for (const auto& [name, numbers] : shown.inputs) sample[name] = numbers;
    samples.push_back(std::move(sample));
  }
  if (read.has("--json"))
    fmt::print("{}\n", Json{{"step", step}, {"samples", std::move(samples)}}.dump());
  return 0;
}

/// Errors: Error{usage}: an option of another task of this command.
void require_options_of(const std::string& task, const ToolWords& read) {
  for (const ToolOption& option : tool_options("data"))
    if (read.has(option.name) && option.section.find(task) == std::string_view::npos)
      throw Error(ErrorKind::usage,
                  fmt::format("{} does not apply to data {}", option.name, task),
                  fmt::format("it belongs to data {}", option.section));
}

}  // namespace

int run_data(const std::vector<std::string>& words) {
  const ToolWords read("data", words);
  const std::string what = read.others.empty() ? "" : read.others.front();
  if (what == "pack" || what == "show" || what == "train-tokenizer")
    require_options_of(what, read);
  if (what == "pack") return pack(read);
  if (what == "show") return show(read);
  if (what == "train-tokenizer") return train_tokenizer(read);
  throw Error(ErrorKind::usage,
              what.empty() ? "data needs pack, show or train-tokenizer"
                           : fmt::format("data {} is not one of its tasks", what),
              "dslaunch data pack|show train.toml, or data train-tokenizer FILE...");
}

}  // namespace ds
