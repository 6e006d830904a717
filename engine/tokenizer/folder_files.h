// FolderFiles: the files of a tokenizer's folder, read whole, and the hash of all that were read.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ds {

class FolderFiles {
 public:
  explicit FolderFiles(std::string folder) : folder_(std::move(folder)) {}
  /// Has files that are in memory, by name, and none of a disk.
  FolderFiles(std::string folder, std::map<std::string, std::string> given)
      : folder_(std::move(folder)), given_(std::move(given)), is_given_(true) {}

  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Returns a file's bytes. Errors: Error{config}: it cannot be read, or is longer than 256 MiB.
  std::string text(const std::string& name);
  /// Returns an object; an empty one if there is no such file. Errors: Error{config}: not JSON.
  nlohmann::json object(const std::string& name);

  /// Returns the XXH3-128 of what was read, as 32 digits: of the bytes of one file, or of the
  /// names, sizes, and bytes of several.
  [[nodiscard]] std::string hash() const;

 private:
  std::string folder_;
  std::map<std::string, std::string> given_{};
  bool is_given_ = false;
  std::vector<std::pair<std::string, std::string>> read_{};  // name and bytes
};

/// Returns the object that a text is. Errors: Error{config} naming `path`: it is not JSON, or not
/// an object.
nlohmann::json json_object(const std::string& text, const std::string& path);

}  // namespace ds
