// TokenFile: the tokens of a mapped file, and where its documents and their sequences begin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/data/mapped_file.h"
#include "engine/data/whole_numbers.h"

namespace ds {

/// Tokens [begin, end) of a file, which belong to one document.
struct TokenSequence {
  std::int64_t begin = 0, end = 0;
  bool is_trained = true;  // the model learns to predict these tokens
};

/// A document is one or more sequences that stand together, such as a prompt and its answer.
class TokenFile {
 public:
  /// Every byte of the file is a token; the file is one document.
  static std::shared_ptr<const TokenFile> of_bytes(const std::string& path);
  /// Opens Megatron's pair NAME.bin and NAME.idx, by either name, or a shard of llm.c, which is one
  /// document. Documents are what the index says, its modes say what is trained (0: not).
  /// Sources: megatron/core/datasets/indexed_dataset.py; llm.c, dev/data/data_common.py.
  /// `name`: what messages about its documents call it, where that is not the path.
  /// Errors: Error{config} with the file: neither; a torn file; floating-point tokens.
  static std::shared_ptr<const TokenFile> open(const std::string& path,
                                               const std::string& name = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const WholeNumbers& tokens() const { return tokens_; }
  /// Returns whether the file says where documents begin.
  [[nodiscard]] bool has_index() const { return index_.has_value(); }
  [[nodiscard]] bool has_modes() const { return index_ && index_->modes; }
  [[nodiscard]] std::int64_t documents() const;
  [[nodiscard]] std::int64_t sequences() const { return index_ ? index_->lengths.count : 1; }
  /// Returns the sequences [first, second) of a document.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> sequences_of(std::int64_t document) const;
  /// Errors: Error{config}: the index contradicts itself or the tokens.
  [[nodiscard]] TokenSequence sequence(std::int64_t number) const;
  /// Returns the number of the sequence that holds the token. Errors: as sequence().
  [[nodiscard]] std::int64_t sequence_at(std::int64_t token) const;
  /// Errors: as sequence().
  [[nodiscard]] std::int64_t document_of(std::int64_t sequence) const;

  [[nodiscard]] const std::shared_ptr<const MappedFile>& file() const { return file_; }
  [[nodiscard]] const std::shared_ptr<const MappedFile>& index_file() const { return index_file_; }
  /// Returns the byte of the file at which the token begins.
  [[nodiscard]] std::int64_t byte_of(std::int64_t token) const;

 private:
  struct Index {
    WholeNumbers lengths, pointers, documents, modes;
  };
  TokenFile() = default;
  void read_index();
  void read_shard();
  [[noreturn]] void refuse(const std::string& why, std::string hint) const;

  std::string name_;
  std::shared_ptr<const MappedFile> file_, index_file_;
  WholeNumbers tokens_;
  std::optional<Index> index_;
};

}  // namespace ds
