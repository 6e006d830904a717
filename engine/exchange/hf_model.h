// HfModel: an opened Hugging Face folder of safetensors. Weights are read from the mapped files.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/data/mapped_file.h"
#include "engine/exchange/hf_tensors.h"
#include "engine/safetensors/safetensors.h"

namespace ds {

/// The model that the folder must contain.
struct HfWish {
  ModelConfig model{};
  // Rows of learned positions that training uses; the folder may have more.
  std::int64_t positions = 0;
  std::int64_t least_vocab = 1;  // least number of rows of the embedding
};

class HfModel {
 public:
  /// Reads config.json and the headers of the files, and maps them. Errors: Error{config}: not such
  /// a folder; all differences in config.json; all tensors that are missing, have another shape, or
  /// are not part of the model.
  HfModel(const std::string& folder, const HfWish& wish);

  /// Reads elements [first, first + into.size()) of one of our tensors. Rows of the embedding and
  /// of the head that the folder lacks are the mean of its rows up to model.tokens, then
  /// zeros. The mean is summed in double, row by row, so every rank has the same.
  /// Several threads may read at the same time.
  void read(std::string_view ours, std::int64_t first, std::span<float> into);
  /// Errors: Error{config} naming each tensor in which a read has found a NaN or an infinite
  /// number.
  void require_finite() const;

  /// Returns what the user should know of the weights, as a line; empty: nothing.
  [[nodiscard]] std::string note() const;

  /// Returns a hash of config.json and of the sizes, first and last MiB of the files (which include
  /// the headers), as 16 hexadecimal digits: equal on all nodes that see the same folder.
  [[nodiscard]] std::string identity() const;

 private:
  /// A part of our tensor, and where the folder's tensor begins.
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
  void read_beyond(const Part& part, std::int64_t first, std::span<float> into);
  void find_non_finite(const std::vector<Part>& parts, std::int64_t first,
                       std::span<const float> values);

  std::string folder_, config_;
  std::int64_t vocab_ = 0, grown_vocab_ = 0;  // rows of the folder, and with those that are a mean
  std::mutex mutex_;  // of the next two
  std::map<std::string, std::vector<float>, std::less<>> means_;  // of rows, by our name
  std::map<std::string, std::string> non_finite_;  // the first place, by the folder's name
  std::vector<MappedFile> files_;
  std::map<std::string, std::vector<Part>, std::less<>> parts_;  // by our name
};

}  // namespace ds
