// A Hugging Face folder of safetensors, opened: every weight of a model that this program trains,
// read where it lies.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/data/mapped_file.h"
#include "engine/exchange/hf_tensors.h"
#include "engine/exchange/safetensors.h"

namespace ds {

/// What the folder's model is to be.
struct HfWish {
  ModelConfig model{};
  std::int64_t positions = 0;    // that training uses: rows of learned ones beyond are left out
  std::int64_t least_vocab = 1;  // rows of the embedding that there must be
};

class HfModel {
 public:
  /// Reads config.json and the headers of the files, and maps them. Errors: Error{config}: not such
  /// a folder; what config.json says otherwise (all of it); tensors that are missing, of another
  /// shape or too many (all of them).
  HfModel(const std::string& folder, const HfWish& wish);

  /// Elements [first, first + into.size()) of one of our tensors; rows of the embedding that theirs
  /// has not are zeros.
  void read(std::string_view ours, std::int64_t first, std::span<float> into) const;

  /// Of config.json, and of sizes, first and last MiB of the files (headers are in it): equal
  /// on all nodes that see the same folder, as 16 hexadecimal digits.
  [[nodiscard]] std::string identity() const;

 private:
  /// A part of ours, and where theirs begins.
  struct Part {
    HfTensor tensor{};
    DType dtype = DType::f32;
    const std::uint8_t* data = nullptr;
  };
  struct Given {
    SafetensorsEntry entry{};
    const std::uint8_t* data = nullptr;
  };
  using GivenByName = std::map<std::string, Given, std::less<>>;

  void open_file(const std::string& path, GivenByName& given);
  void match(const HfWish& wish, GivenByName given);
  static void read_turned(const Part& part, std::int64_t first, std::span<float> into);

  std::string folder_, config_;
  std::vector<MappedFile> files_;
  std::map<std::string, std::vector<Part>, std::less<>> parts_;  // by our name
};

}  // namespace ds
