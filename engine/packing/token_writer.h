// TokenWriter: writes Megatron's pair NAME.bin and NAME.idx.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

/// An index begins with these bytes, its version (64 bits), the type of tokens (8), and the numbers
/// of sequences and of documents plus one (64 each).
/// Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
inline constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr std::int64_t kIndexHeader = 9 + 8 + 1 + 8 + 8;

/// Documents with their tokens.
struct EncodedDocument {
  struct Sequence {
    std::int64_t tokens = 0;
    bool is_trained = true;
  };
  std::vector<std::int32_t> tokens;
  std::vector<Sequence> sequences;  // their tokens follow each other
  void clear() {
    tokens.clear();
    sequences.clear();
  }
  void add(std::span<const std::int32_t> more, bool is_trained) {
    tokens.insert(tokens.end(), more.begin(), more.end());
    sequences.push_back({static_cast<std::int64_t>(more.size()), is_trained});
  }
};

/// Tokens are u16 if `vocab` <= 65,500 as Megatron does, else i32. The index has modes (1: trained,
/// 0: not) if some sequence is not trained, as Megatron's multimodal ones; readers without modes
/// pass over them. Source: megatron/core/datasets/indexed_dataset.py.
class TokenWriter {
 public:
  /// Begins an empty file. Errors, here and below: Error{system} with the path.
  TokenWriter(const std::string& tokens_path, std::int64_t vocab);
  /// Errors: Error{config}: a sequence has more tokens than 32 bits can count.
  void add(const EncodedDocument& document);
  /// Writes the index, and both files to disk.
  void finish(const std::string& index_path);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t documents() const { return std::ssize(first_sequences_) - 1; }

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  File open(const std::string& path) const;
  void put(std::FILE* file, const std::string& path, const void* data, std::size_t bytes) const;
  void close(File file, const std::string& path) const;

  std::string path_;
  bool is_short_;
  File file_;
  std::int64_t tokens_ = 0;
  bool has_untrained_ = false;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> first_sequences_{0};
  std::vector<std::int8_t> modes_;
  std::vector<std::uint16_t> narrow_;
};

/// Returns whether both files of a pair that TokenWriter made are there and as long as they were.
bool is_whole_pair(const std::string& tokens_path, const std::string& index_path);

}  // namespace ds
