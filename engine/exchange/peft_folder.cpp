// Matches and transposes the tensors of adapter_model.safetensors.
#include "engine/exchange/peft_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/exchange/adapter_tensors.h"
#include "engine/tensor/widen.h"

namespace ds {
namespace {

constexpr std::size_t kMostListed = 12;
constexpr const char* kAdapterFile = "adapter_model.safetensors";

struct AdapterEntry {
  SafetensorsEntry entry;
  const std::uint8_t* data = nullptr;
};

/// Returns the tensors of a file by name.
std::map<std::string, AdapterEntry> entries_of(const MappedFile& file) {
  const auto all = file.bytes();
  try {
    const SafetensorsParts parts = split_safetensors(all);
    std::map<std::string, AdapterEntry> entries;
    for (SafetensorsEntry& entry : parse_safetensors(parts.header, std::ssize(all) - parts.data)) {
      const std::uint8_t* const data = all.data() + parts.data + entry.from;
      std::string name = entry.name;
      entries.insert_or_assign(std::move(name), AdapterEntry{std::move(entry), data});
    }
    return entries;
  } catch (const Error& refused) {
    throw refused.with_context(file.path());
  }
}

}  // namespace

PeftFolder::PeftFolder(const std::string& folder, const ModelConfig& model,
                       const std::vector<AdapterShape>& wanted)
    : file_(folder + "/" + kAdapterFile) {
  std::map<std::string, AdapterEntry> given = entries_of(file_);
  std::vector<std::string> problems;
  for (const AdapterShape& ours : wanted) {
    const std::string name = peft_name(model, ours.name);
    const auto found = given.find(name);
    if (found == given.end()) {
      problems.push_back(name + ": missing, or not F32, BF16 or F16");
      continue;
    }
    const std::vector<std::int64_t> shape{ours.columns, ours.rows};
    if (found->second.entry.shape != shape)
      problems.push_back(fmt::format("{}: [{}] in the file, [{}] in this model", name,
                                     fmt::join(found->second.entry.shape, ", "),
                                     fmt::join(shape, ", ")));
    parts_[ours.name] = {.rows = ours.rows,
                         .columns = ours.columns,
                         .dtype = found->second.entry.dtype,
                         .data = found->second.data};
    given.erase(found);
  }
  for (const auto& [name, entry] : given)
    problems.push_back(printable_text(name, 200) + ": this model has no such adapter");
  if (problems.empty()) return;
  const std::size_t count = problems.size();
  if (count > kMostListed) {
    problems.resize(kMostListed);
    problems.push_back(fmt::format("and {} more", count - kMostListed));
  }
  throw Error(ErrorKind::config,
              fmt::format("{}: its tensors do not match this model's adapters:\n  {}", file_.path(),
                          fmt::join(problems, "\n  ")),
              "the adapters must have been trained for this model");
}

// Ours is (rows, columns), theirs (columns, rows).
void PeftFolder::read(std::string_view ours, std::int64_t first, std::span<float> into) const {
  const auto found = parts_.find(ours);
  DS_ASSERT(found != parts_.end(), "every adapter must have been matched");
  const Part& part = found->second;
  for (float& value : into) {
    const std::int64_t row = first / part.columns, column = first % part.columns;
    const std::int64_t at = (column * part.rows + row) * size_of(part.dtype);
    widen(reinterpret_cast<const std::byte*>(part.data + at), part.dtype, {&value, 1});
    ++first;
  }
}

std::string peft_identity(const std::string& folder) {
  constexpr std::size_t kEnd = 1 << 20;
  XXH64_hash_t hash = 0;
  for (const char* const name : {"adapter_config.json", kAdapterFile}) {
    const MappedFile file(folder + "/" + name);
    const auto all = file.bytes();
    const std::size_t length = std::min(kEnd, all.size());
    hash = XXH3_64bits_withSeed(all.data(), length, hash + all.size());
    hash = XXH3_64bits_withSeed(all.data() + all.size() - length, length, hash);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace ds
