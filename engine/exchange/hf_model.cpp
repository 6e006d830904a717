// HfModel: reads config.json, the index and the headers; then copies elements out of the mapped
// files.
#include "engine/exchange/hf_model.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/config/folder_head.h"
#include "engine/config/hf_config.h"
#include "engine/config/llama_family.h"
#include "engine/exchange/hf_elements.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListed = 12;
constexpr const char* kIndex = "model.safetensors.index.json";

Error refuse(const std::string& place, const std::string& what, std::string hint = {}) {
  return {ErrorKind::config, fmt::format("{}: {}", place, what), std::move(hint)};
}

Error list_of(const std::string& folder, std::string what, const std::vector<std::string>& lines,
              std::string hint) {
  for (std::size_t i = 0; i < std::min(lines.size(), kListed); ++i)
    what += "\n  " + printable_text(lines[i], 500);
  if (lines.size() > kListed) what += fmt::format("\n  and {} more", lines.size() - kListed);
  return refuse(folder, what, std::move(hint));
}

std::string text_of(const std::string& path) {
  constexpr std::uintmax_t kMost = 1 << 26;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file)
    throw refuse(path, error ? error.message() : "cannot be read",
                 "set model.init to a folder with config.json and model.safetensors");
  if (bytes > kMost) throw refuse(path, "is too long (more than 64 MiB)");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the names of the files with tensors.
std::set<std::string> files_of(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder + "/" + kIndex, ignored)) {
    if (fs::exists(folder + "/model.safetensors", ignored)) return {"model.safetensors"};
    throw refuse(folder, fmt::format("has neither model.safetensors nor {}", kIndex),
                 "save it as safetensors: model.save_pretrained(DIR, safe_serialization=True)");
  }
  const auto json = nlohmann::json::parse(text_of(folder + "/" + kIndex), nullptr, false);
  std::set<std::string> names;
  if (json.is_object() && json.contains("weight_map") && json["weight_map"].is_object()) {
    for (const auto& [tensor, file] : json["weight_map"].items()) {
      const std::string name = file.is_string() ? file.get<std::string>() : "";
      if (name.empty() || name.find('/') != std::string::npos)
        throw refuse(folder + "/" + kIndex, "names no valid file for " + tensor);
      names.insert(name);
    }
  }
  if (names.empty()) throw refuse(folder + "/" + kIndex, "is not an index of safetensors");
  return names;
}

/// Returns how TensorFlow's first BERT named a norm's weight or bias; empty for other names.
std::string old_spelling(std::string_view name) {
  const std::size_t dot = name.rfind('.') + 1;
  const std::string_view last = name.substr(dot);
  if (last != "weight" && last != "bias") return {};
  return std::string(name.substr(0, dot)) + (last == "weight" ? "gamma" : "beta");
}

/// Returns why a tensor of the folder does not fit; empty when it does. It may have more rows of
/// learned positions.
std::string problem_of(const HfTensor& wanted, const SafetensorsEntry& given) {
  std::vector<std::int64_t> shape = given.shape;
  const bool is_longer =
      is_position_table(wanted.ours) && shape.size() == 2 && shape[0] > wanted.shape[0];
  if (is_longer) shape[0] = wanted.shape[0];
  if (shape == wanted.shape) return {};
  return fmt::format("{}: {} in the file, {} in this model", wanted.name,
                     nlohmann::json(given.shape).dump(), nlohmann::json(wanted.shape).dump());
}

}  // namespace

HfModel::HfModel(const std::string& folder, const HfWish& wish)
    : folder_(folder), config_(text_of(folder + "/config.json")) {
  const std::vector<std::string> mismatches =
      hf_config_mismatches(config_, wish.model, wish.positions);
  if (!mismatches.empty())
    throw list_of(folder, "its config.json is of another model:", mismatches,
                  "set the keys of [model] to the values of that config.json");
  GivenByName given;
  for (const std::string& name : files_of(folder)) open_file(folder + "/" + name, given);
  match(wish, std::move(given));
}

void HfModel::open_file(const std::string& path, GivenByName& given) {
  std::error_code error;
  static_cast<void>(fs::file_size(path, error));
  if (error) throw refuse(path, error.message(), "the folder is incomplete; copy it again");
  files_.emplace_back(path);
  const auto all = files_.back().bytes();
  try {
    const SafetensorsParts parts = split_safetensors(all);
    for (SafetensorsEntry& entry : parse_safetensors(parts.header, std::ssize(all) - parts.data)) {
      const std::uint8_t* const data = all.data() + parts.data + entry.from;
      std::string name = entry.name;
      given.insert_or_assign(std::move(name), Given{std::move(entry), data});
    }
  } catch (const Error& refused) {
    throw refused.with_context(path);
  }
}

void HfModel::match(const HfWish& wish, GivenByName given) {
  const std::string_view prefix = hf_prefix(wish.model);
  // Some files leave out the common prefix of all names, and old ones say gamma and beta.
  const auto find = [&](std::string_view name) {
    const std::string old = old_spelling(name);
    auto found = given.find(name);
    if (found == given.end() && !old.empty()) found = given.find(old);
    if (found != given.end() || !name.starts_with(prefix)) return found;
    found = given.find(name.substr(prefix.size()));
    return found != given.end() || old.empty() ? found : given.find(old.substr(prefix.size()));
  };
  const std::string table = hf_embedding(wish.model);
  const auto embedding = find(table);
  std::int64_t vocab = wish.model.vocab;
  if (embedding != given.end() && embedding->second.entry.shape.size() == 2)
    vocab = embedding->second.entry.shape[0];
  vocab_ = vocab;
  grown_vocab_ = std::clamp(wish.model.tokens, vocab, std::max(vocab, wish.model.vocab));
  std::vector<std::string> problems;
  if (vocab < wish.least_vocab || vocab > wish.model.vocab)
    problems.push_back(fmt::format("{}: {} rows; {} to {} (model.vocab) are expected", table, vocab,
                                   wish.least_vocab, wish.model.vocab));
  // Where a T5 is tied, its own head would be lost.
  if (wish.model.arch == "t5" && wish.model.tied && has_own_head(folder_))
    problems.emplace_back("lm_head.weight: differs from shared.weight; set model.tied=false");
  for (HfTensor& tensor : hf_tensors(wish.model, vocab, wish.positions)) {
    const auto found = find(tensor.name);
    if (found == given.end()) {
      problems.push_back(tensor.name + ": missing, or not F32, BF16 or F16");
      continue;
    }
    const std::string problem = problem_of(tensor, found->second.entry);
    if (!problem.empty()) problems.push_back(problem);
    const std::string ours = tensor.ours;
    parts_[ours].push_back({std::move(tensor), found->second.entry.dtype, found->second.data});
    given.erase(found);
  }
  for (const auto& [name, unused] : given) {
    if (!is_no_weight(name, wish.model))
      problems.push_back(name + ": this model has no such tensor");
  }
  if (!problems.empty())
    throw list_of(folder_, "its tensors do not match this model:", problems,
                  "compare [model] with the folder's config.json");
}

void HfModel::read(std::string_view ours, std::int64_t first, std::span<float> into) {
  const auto found = parts_.find(ours);
  DS_ASSERT(found != parts_.end(), "every tensor must have been matched");
  for (const Part& part : found->second) {
    if (part.tensor.transposed) {
      read_turned(part, first, into);
      continue;
    }
    const std::int64_t there =
        std::clamp<std::int64_t>(part.tensor.elements() - first, 0, std::ssize(into));
    with_loader(part.dtype, part.data, [&](const auto& load) {
      for (std::int64_t i = 0; i < there; ++i) into[static_cast<std::size_t>(i)] = load(first + i);
    });
    read_beyond(part, first + there, into.subspan(static_cast<std::size_t>(there)));
  }
  if (!all_finite(into)) find_non_finite(found->second, first, into);
}

/// Fills elements in rows that the folder lacks.
void HfModel::read_beyond(const Part& part, std::int64_t first, std::span<float> into) {
  const HfTensor& t = part.tensor;
  std::ranges::fill(into, 0.0F);
  const std::int64_t end = std::min(grown_vocab_ * t.columns - first, std::ssize(into));
  if (end <= 0 || t.rows != vocab_) return;
  const std::lock_guard lock(mutex_);
  auto mean = means_.find(t.ours);
  if (mean == means_.end()) {
    with_loader(part.dtype, part.data,
                [&](const auto& load) { mean = means_.emplace(t.ours, mean_row(t, load)).first; });
  }
  for (std::int64_t i = 0; i < end; ++i)
    into[static_cast<std::size_t>(i)] =
        mean->second[static_cast<std::size_t>((first + i) % t.columns)];
}

void HfModel::find_non_finite(const std::vector<Part>& parts, std::int64_t first,
                              std::span<const float> values) {
  const std::lock_guard lock(mutex_);
  for (const Part& part : parts) {
    const HfTensor& t = part.tensor;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      const float x = values[static_cast<std::size_t>(i)];
      const std::int64_t row = (first + i) / t.our_columns;
      const std::int64_t column = (first + i) % t.our_columns - t.first_column;
      if (std::isfinite(x) || column < 0 || column >= t.columns) continue;
      const std::string place = t.shape.size() == 1 ? fmt::format("[{}]", column)
                                : t.transposed      ? fmt::format("[{}, {}]", column, row)
                                                    : fmt::format("[{}, {}]", row, column);
      non_finite_.try_emplace(t.name, fmt::format("{} at {}", x, place));
      break;
    }
  }
}

void HfModel::require_finite() const {
  std::vector<std::string> lines;
  for (const auto& [name, what] : non_finite_) lines.push_back(fmt::format("{}: {}", name, what));
  if (!lines.empty())
    throw list_of(folder_, "it has weights that are not finite numbers:", lines,
                  "save the model again, from before its weights were spoiled");
}

std::string HfModel::note() const {
  if (grown_vocab_ == vocab_) return {};
  return fmt::format(
      "{} has {} tokens: rows {} to {} of the embedding{} begin as the mean of its rows", folder_,
      vocab_, vocab_, grown_vocab_ - 1,
      parts_.contains("lm_head.weight") ? " and of the head" : "");
}

/// Reads a transposed part: a column of ours is a row of theirs. Rows that `into` holds in part are
/// read element by element.
void HfModel::read_turned(const Part& part, std::int64_t first, std::span<float> into) {
  const HfTensor& t = part.tensor;
  const std::int64_t width = t.our_columns, end = first + std::ssize(into);
  const std::int64_t whole = (first + width - 1) / width, last = std::max(end / width, whole);
  with_loader(part.dtype, part.data, [&](const auto& load) {
    const auto read_row = [&](std::int64_t row) {
      for (std::int64_t column = 0; column < t.columns; ++column) {
        const std::int64_t element = row * width + t.first_column + column;
        if (element >= first && element < end)
          into[static_cast<std::size_t>(element - first)] = load(column * t.rows + row);
      }
    };
    if (whole * width > first) read_row(whole - 1);
    if (last > whole) turn(t, load, whole, last, into.data() + (whole * width - first));
    if (last * width < end) read_row(last);
  });
}

std::string HfModel::identity() const {
  constexpr std::size_t kEnd = 1 << 20;
  XXH64_hash_t hash = XXH3_64bits(config_.data(), config_.size());
  for (const MappedFile& file : files_) {
    const auto all = file.bytes();
    const std::size_t length = std::min(kEnd, all.size());
    hash = XXH3_64bits_withSeed(all.data(), length, hash + all.size());
    hash = XXH3_64bits_withSeed(all.data() + all.size() - length, length, hash);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace ds
