// has_own_head(): finds both tensors in the headers and compares their bytes.
#include "engine/config/folder_head.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/safetensors/safetensors.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

/// Where a tensor lies.
struct Found {
  std::string path;
  SafetensorsTensor tensor;
  std::int64_t data = 0;  // where the file's tensors begin
};

/// Returns the file's tensors; none if it is not a file of safetensors.
std::vector<Found> tensors_of(const std::string& path) {
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(kSafetensorsLength), '\0');
  if (error || !file.read(text.data(), kSafetensorsLength)) return {};
  std::vector<Found> all;
  try {
    const std::int64_t header = safetensors_header_bytes(text), data = kSafetensorsLength + header;
    if (data > bytes) return {};
    text.resize(static_cast<std::size_t>(header));
    if (!file.read(text.data(), header)) return {};
    for (SafetensorsTensor& tensor : parse_safetensors_tensors(text, bytes - data))
      all.push_back({path, std::move(tensor), data});
  } catch (const Error&) {
    return {};
  }
  return all;
}

bool are_equal(const Found& a, const Found& b) {
  constexpr std::int64_t kPiece = 1 << 20;
  if (a.tensor.type != b.tensor.type || a.tensor.shape != b.tensor.shape) return false;
  std::ifstream first(a.path, std::ios::binary), second(b.path, std::ios::binary);
  first.seekg(a.data + a.tensor.from);
  second.seekg(b.data + b.tensor.from);
  std::vector<char> x(kPiece), y(kPiece);
  for (std::int64_t left = a.tensor.to - a.tensor.from; left > 0; left -= kPiece) {
    const std::int64_t now = std::min(left, kPiece);
    if (!first.read(x.data(), now) || !second.read(y.data(), now)) return true;
    if (std::memcmp(x.data(), y.data(), static_cast<std::size_t>(now)) != 0) return false;
  }
  return true;
}

}  // namespace

bool has_own_head(const std::string& folder) {
  std::optional<Found> head, embedding;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".safetensors") continue;
    for (Found& found : tensors_of(entry.path().string())) {
      if (found.tensor.name == "lm_head.weight")
        head = std::move(found);
      else if (found.tensor.name == "shared.weight")
        embedding = std::move(found);
    }
  }
  return head && embedding && !are_equal(*head, *embedding);
}

}  // namespace ds
