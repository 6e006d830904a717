// DataPart and DataSet: the samples of training and those held out, whatever files they come from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/config/train_config.h"
#include "engine/data/sampler.h"
#include "engine/tensor/batch_input.h"

namespace ds {

/// Samples of data.seq_len tokens, each at a place: a byte of a text, or a row of sample files.
class DataPart {
 public:
  virtual ~DataPart() = default;

  /// Returns the number of bytes or of rows; 0: there is nothing.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Returns the size for people, such as "1.2 GiB" or "1200 samples".
  [[nodiscard]] virtual std::string size_text() const = 0;
  /// Returns a text that is equal for equal content, wherever the files lie.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Returns the order of the places. Requires size() > 0.
  [[nodiscard]] virtual Sampler sampler(std::uint64_t seed) const = 0;
  /// Returns the place of sample `index` of `count` that a validation uses, evenly spaced.
  [[nodiscard]] virtual std::int64_t validation_place(std::int64_t index,
                                                      std::int64_t count) const = 0;
  /// Writes every input of a micro-batch that has memory, except samples, for the samples at
  /// `places` (B). Allocates nothing. Errors: Error{config} with file and place: a number that the
  /// input's limit excludes, with which kernels would read other memory; documents in pieces; an
  /// input that the data do not have.
  virtual void fill(std::span<const std::int64_t> places,
                    std::span<const BatchInput> inputs) const = 0;
};

struct DataSet {
  std::unique_ptr<DataPart> train, validation;  // validation: of size 0 where nothing is held out
  DataFields fields{};
};

/// Finds, maps and splits the files of [data].
/// Order: files by path, in byte order; what is held out is the tail of each file.
/// Errors: Error{config}: a pattern matches no file; a file is unreadable, empty, in both parts, or
/// not of data.format; a part is too short.
DataSet open_data(const DataConfig& config);

}  // namespace ds
