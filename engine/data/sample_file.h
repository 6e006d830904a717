// SampleFile: a safetensors file whose tensors are the fields of samples, mapped and not converted.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/config/train_config.h"
#include "engine/data/mapped_file.h"
#include "engine/data/sample_row.h"

namespace ds {

class SampleFile {
 public:
  /// Errors: Error{config} with the file: unreadable, not a safetensors file, no tokens, a tensor
  /// that is not a field, of another type than whole numbers or of another shape than (N, T) or
  /// (N, S), T other than `seq_len`.
  SampleFile(const std::string& path, std::int64_t seq_len);

  [[nodiscard]] const std::string& path() const { return file_->path(); }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] bool has(Field field) const { return static_cast<bool>(all_[field]); }
  /// Returns the tokens of the encoder's sequences; 0: the file has none.
  [[nodiscard]] std::int64_t encoder_len() const;
  [[nodiscard]] SampleRow row(std::int64_t index) const;
  /// Returns the names of the fields, such as "tokens, documents".
  [[nodiscard]] std::string field_names() const;

  [[nodiscard]] const std::shared_ptr<const MappedFile>& file() const { return file_; }
  /// Returns the bytes [first, second) of the file that hold a field's rows [begin, end).
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> bytes_of(Field field, std::int64_t begin,
                                                               std::int64_t end) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  SampleRow all_{};  // the first row of each field
  std::int64_t rows_ = 0;
};

}  // namespace ds
