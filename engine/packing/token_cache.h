// TokenCache: the tokens of texts, kept in a folder under names made of their content.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/packing/document_encoder.h"
#include "engine/packing/raw_chunk.h"

namespace ds {

/// Which part of the work a process begins with. All of it is done in the end, by whoever comes
/// first: ranks that share a folder share the work, others do all of it.
struct PackShare {
  int rank = 0, ranks = 1;
  int threads = 1;
  /// Called at times with the bytes of text that have tokens, and all bytes; may be empty.
  std::function<void(std::int64_t done, std::int64_t all)> tell{};
};

class TokenCache {
 public:
  /// Errors: Error{config} if there is no folder for it.
  TokenCache(const DataConfig& config, const DocumentEncoder& encoder);

  /// Makes the token files of all chunks that are not there or are cut off, and returns their paths
  /// (.bin), in the order of the chunks; empty where a chunk has no tokens. Equal bytes for any
  /// number of processes and threads, and after a kill at any moment: a file appears whole. Errors:
  /// as read_documents() and TokenWriter.
  std::vector<std::string> fill(const std::vector<RawChunk>& chunks, const PackShare& share) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  [[nodiscard]] std::string name_of(const RawChunk& chunk) const;
  bool make(const RawChunk& chunk, const std::string& name, bool waits) const;
  void write(const RawChunk& chunk, const std::string& part, const std::string& name) const;

  const DataConfig& config_;
  const DocumentEncoder& encoder_;
  std::string folder_;
};

}  // namespace ds
