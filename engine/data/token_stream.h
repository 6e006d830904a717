// TokenStream: stretches of token files, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/corpus.h"
#include "engine/data/token_file.h"

namespace ds {

/// Tokens [begin, begin + count) of a file that belong to one sequence.
struct TokenRun {
  const TokenFile* file = nullptr;
  std::int64_t begin = 0, count = 0;
  std::int64_t document = 0;  // number in the stream
  bool is_trained = true;
};

/// A document of the stream: some sequences of a file.
struct StreamDocument {
  const TokenFile* file = nullptr;
  std::int64_t first_sequence = 0, end_sequence = 0;
  std::int64_t begin = 0, end = 0;  // tokens of the file
};

class TokenStream {
 public:
  /// Adds all but a fraction `held_out` of a file's end, or, if `tail`, that end alone. Files with
  /// several documents are cut between two of them. A part without tokens adds nothing.
  void add(const std::shared_ptr<const TokenFile>& file, double held_out, bool tail);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t documents() const { return documents_; }
  /// Returns whether some file says where documents begin.
  [[nodiscard]] bool has_index() const { return has_index_; }
  [[nodiscard]] bool has_modes() const { return has_modes_; }
  /// Returns the tokens from `offset` on that lie in one sequence, at most `count`. Requires
  /// offset < size(). Errors: as TokenFile::sequence().
  [[nodiscard]] TokenRun run_at(std::int64_t offset, std::int64_t count) const;
  /// Asks the kernel to read the tokens from `offset` on that lie in one file, at most `count`.
  void will_need(std::int64_t offset, std::int64_t count) const;
  [[nodiscard]] StreamDocument document(std::int64_t number) const;
  /// Returns the size for people: bytes of text, or tokens.
  [[nodiscard]] std::string size_text() const;
  /// Returns where a token lies, for messages: "text/a.txt, byte 17", or "a.bin, token 17".
  [[nodiscard]] std::string place_of(std::int64_t offset) const;
  /// Returns where a document begins, for messages: "a.bin, document 17".
  [[nodiscard]] std::string place_of_document(std::int64_t number) const;
  /// As Corpus::identity(), of tokens and indices.
  [[nodiscard]] std::string identity() const;

 private:
  struct Piece {
    std::shared_ptr<const TokenFile> file;
    std::int64_t token, first_document;               // of the file
    std::int64_t begin, end, document, document_end;  // in the stream
  };
  [[nodiscard]] static bool is_text(const TokenFile& file);
  [[nodiscard]] const Piece& piece_at(std::int64_t offset) const;
  [[nodiscard]] const Piece& piece_of_document(std::int64_t number) const;

  std::vector<Piece> pieces_;
  Corpus bytes_;
  std::int64_t size_ = 0, documents_ = 0;
  bool has_index_ = false, has_modes_ = false;
};

}  // namespace ds
