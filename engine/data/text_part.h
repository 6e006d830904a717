// TextPart: samples of a text, whose tokens are bytes.
#pragma once

#include "engine/data/corpus.h"
#include "engine/data/data_part.h"

namespace ds {

class TextPart : public DataPart {
 public:
  TextPart(Corpus corpus, std::int64_t seq_len) : corpus_(std::move(corpus)), seq_len_(seq_len) {}

  [[nodiscard]] std::int64_t size() const override { return corpus_.size(); }
  [[nodiscard]] std::string size_text() const override;
  [[nodiscard]] std::string identity() const override { return corpus_.identity(); }
  [[nodiscard]] Sampler sampler(std::uint64_t seed) const override {
    return {corpus_.size(), seq_len_, seed};
  }
  [[nodiscard]] std::int64_t validation_place(std::int64_t index,
                                              std::int64_t count) const override {
    return validation_offset(corpus_.size(), seq_len_, index, count);
  }
  /// A place is the offset of the first byte. Targets are the tokens shifted by one, positions
  /// count from the beginning of the sequence, which is one document; token types are 0.
  void fill(std::span<const std::int64_t> places,
            std::span<const BatchInput> inputs) const override;

  [[nodiscard]] const Corpus& corpus() const { return corpus_; }

 private:
  Corpus corpus_;
  std::int64_t seq_len_;
};

}  // namespace ds
