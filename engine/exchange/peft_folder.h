// PeftFolder: an opened adapter folder of PEFT. Weights are read from the mapped file.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/data/mapped_file.h"
#include "engine/safetensors/safetensors.h"

namespace ds {

/// The shape of one of our adapters' tensors, (rows, columns).
struct AdapterShape {
  std::string name;
  std::int64_t rows = 0, columns = 0;
};

class PeftFolder {
 public:
  /// Maps adapter_model.safetensors and matches its tensors. Errors: Error{config}: no such file;
  /// all tensors that are missing, have another shape, or are not part of this model's adapters.
  PeftFolder(const std::string& folder, const ModelConfig& model,
             const std::vector<AdapterShape>& wanted);

  /// Reads elements [first, first + into.size()) of one of our tensors.
  void read(std::string_view ours, std::int64_t first, std::span<float> into) const;

 private:
  struct Part {
    std::int64_t rows = 0, columns = 0;  // of ours; theirs is the transpose
    DType dtype = DType::f32;
    const std::uint8_t* data = nullptr;
  };

  MappedFile file_;
  std::map<std::string, Part, std::less<>> parts_;  // by our name
};

/// Returns a hash of the folder's files as 16 hexadecimal digits, so that nodes can compare what
/// they see: adapter_config.json, and the size, first and last MiB of adapter_model.safetensors.
/// Errors: Error{config}: a file is missing.
std::string peft_identity(const std::string& folder);

}  // namespace ds
