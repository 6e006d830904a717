// DataPart: the samples of training and those held out, whatever files they come from.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/data/sample_row.h"
#include "engine/tensor/batch_input.h"

namespace ds {

/// A sample: where it lies, and its number, from which tasks draw: of training, counted from its
/// start over all epochs; of validation, counted over the samples that a validation uses.
struct SamplePlace {
  std::int64_t place = 0, number = 0;
};

/// Samples of data.seq_len tokens, each at a place: a token of a stream, or a row.
class DataPart {
 public:
  virtual ~DataPart() = default;

  /// Returns the number of tokens or of rows; 0: there is nothing.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Returns the size for people, such as "1.2 GiB" or "1200 samples".
  [[nodiscard]] virtual std::string size_text() const = 0;
  /// Returns what was left out or cut, for people; empty if nothing was.
  [[nodiscard]] virtual std::string note() const { return {}; }
  /// Returns a text that is equal for equal content, wherever the files lie.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Returns the samples of an epoch. Requires size() > 0, as the next two.
  [[nodiscard]] virtual std::int64_t epoch() const = 0;
  /// Returns the place of a sample of training, from its number and the seed alone.
  [[nodiscard]] virtual std::int64_t place_of(std::int64_t sample, std::uint64_t seed) const = 0;
  /// Returns the place of sample `index` of `count` that a validation uses, evenly spaced.
  [[nodiscard]] virtual std::int64_t validation_place(std::int64_t index,
                                                      std::int64_t count) const = 0;

  /// Returns the number of rows in which every target occurs once, and the place of each of them;
  /// of a stream, the last row may end in padding.
  [[nodiscard]] virtual std::int64_t rows() const { return size(); }
  [[nodiscard]] virtual std::int64_t row_place(std::int64_t index) const { return index; }

  /// Writes every input of a micro-batch that has memory, except samples, for B samples. Allocates
  /// nothing. One thread at a time. Errors: Error{config} with file and place: a number that the
  /// input's limit excludes, with which kernels would read other memory; documents in pieces; an
  /// input that the data do not have.
  void fill(std::span<const SamplePlace> samples, std::span<const BatchInput> inputs) const;
  /// Asks the kernel to read what row() will use of files, as far as that is known without reading
  /// them, and does not wait. So the reads of several samples overlap.
  virtual void will_need(SamplePlace sample) const = 0;
  /// Returns the fields of a sample, which hold until the next call. Errors: Error{config}, or
  /// RowError, which fill() turns into an Error.
  [[nodiscard]] virtual SampleRow row(SamplePlace sample) const = 0;
  /// Returns where a wrong number of a sample lies, or the sample, for messages.
  [[nodiscard]] virtual std::string describe(SamplePlace sample, const RowError& error) const = 0;
};

}  // namespace ds
