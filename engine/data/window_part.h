// WindowPart: windows of a fixed number of tokens, cut out of a stream.
#pragma once

#include "engine/data/data_part.h"
#include "engine/data/row_buffer.h"
#include "engine/data/token_stream.h"

namespace ds {

/// A place is the offset of the first token in the stream. Each epoch begins at another token.
class WindowPart : public DataPart {
 public:
  /// `apart`: documents do not see each other, and the last token of one has no target.
  WindowPart(TokenStream stream, std::int64_t seq_len, bool apart);

  [[nodiscard]] std::int64_t size() const override { return stream_.size(); }
  [[nodiscard]] std::string size_text() const override;
  [[nodiscard]] std::string identity() const override { return stream_.identity(); }
  [[nodiscard]] std::int64_t epoch() const override;
  [[nodiscard]] std::int64_t place_of(std::int64_t sample, std::uint64_t seed) const override;
  [[nodiscard]] std::int64_t validation_place(std::int64_t index,
                                              std::int64_t count) const override;
  void will_need(SamplePlace sample) const override;
  [[nodiscard]] std::int64_t rows() const override {
    return size() < 2 ? 0 : (size() - 2) / seq_len_ + 1;
  }
  [[nodiscard]] std::int64_t row_place(std::int64_t index) const override {
    return index * seq_len_;
  }
  [[nodiscard]] SampleRow row(SamplePlace sample) const override;
  [[nodiscard]] std::string describe(SamplePlace sample, const RowError& error) const override;

 private:
  TokenStream stream_;
  std::int64_t seq_len_;
  bool apart_;
  mutable RowBuffer buffer_;
};

}  // namespace ds
