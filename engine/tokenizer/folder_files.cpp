#include "engine/tokenizer/folder_files.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"

namespace ds {
namespace {

std::string hash_of(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

[[noreturn]] void refuse_file(const std::string& path) {
  throw Error(ErrorKind::config, fmt::format("{}: cannot be read as a tokenizer's file", path),
              "see docs/tokenizers.md for the files that a folder needs");
}

std::string on_disk(const std::string& path) {
  constexpr std::uintmax_t kMost = 256 << 20;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || size > kMost || !file.is_open()) refuse_file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string FolderFiles::path_of(const std::string& name) const {
  return folder_.empty() ? name : folder_ + "/" + name;
}

bool FolderFiles::has(const std::string& name) const {
  std::error_code ignored;
  return is_given_ ? given_.contains(name) : std::filesystem::exists(path_of(name), ignored);
}

std::string FolderFiles::text(const std::string& name) {
  if (!is_given_) return read_.emplace_back(name, on_disk(path_of(name))).second;
  const auto found = given_.find(name);
  if (found == given_.end()) refuse_file(path_of(name));
  return read_.emplace_back(*found).second;
}

nlohmann::json FolderFiles::object(const std::string& name) {
  if (!has(name)) return nlohmann::json::object();
  return json_object(text(name), path_of(name));
}

std::string FolderFiles::hash() const {
  if (read_.size() == 1) return hash_of(read_[0].second);
  std::string all;
  for (const auto& [name, bytes] : read_) all += fmt::format("{} {}\n", name, bytes.size()) + bytes;
  return hash_of(all);
}

nlohmann::json json_object(const std::string& text, const std::string& path) {
  auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    throw Error(ErrorKind::config, path + ": is not JSON", "copy the file again");
  if (!parsed.is_object())
    throw Error(ErrorKind::config, path + ": is not an object", "copy the file again");
  return parsed;
}

}  // namespace ds
