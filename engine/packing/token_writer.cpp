// TokenWriter: tokens are written at once, the index at the end.
#include "engine/packing/token_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "engine/base/error.h"

namespace ds {
namespace {

constexpr std::int64_t kLargestShortVocab = 65500;

[[noreturn]] void fail(const std::string& path) {
  throw Error(ErrorKind::system, fmt::format("{}: {}", path, std::strerror(errno)),
              errno == ENOSPC ? "free space, or set data.cache to a folder on another disk"
                              : "the tokens of texts are kept there (data.cache)");
}

}  // namespace

TokenWriter::TokenWriter(const std::string& tokens_path, std::int64_t vocab)
    : path_(tokens_path), is_short_(vocab <= kLargestShortVocab), file_(open(tokens_path)) {}

TokenWriter::File TokenWriter::open(const std::string& path) const {
  File file(std::fopen(path.c_str(), "wbe"), std::fclose);
  if (!file) fail(path);
  return file;
}

void TokenWriter::put(std::FILE* file, const std::string& path, const void* data,
                      std::size_t bytes) const {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file) != bytes) fail(path);
}

void TokenWriter::close(File file, const std::string& path) const {
  if (std::fflush(file.get()) != 0 || ::fsync(::fileno(file.get())) != 0) fail(path);
  if (std::fclose(file.release()) != 0) fail(path);
}

void TokenWriter::add(const EncodedDocument& document) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const EncodedDocument::Sequence& sequence : document.sequences) {
    if (sequence.tokens > kMost)
      throw Error(ErrorKind::config,
                  fmt::format("{} tokens are more than the {} of one document", sequence.tokens,
                              kMost),
                  "cut the text into several files, or into lines of JSON");
    lengths_.push_back(static_cast<std::int32_t>(sequence.tokens));
    modes_.push_back(sequence.is_trained ? 1 : 0);
    has_untrained_ = has_untrained_ || !sequence.is_trained;
  }
  first_sequences_.push_back(std::ssize(lengths_));
  tokens_ += std::ssize(document.tokens);
  if (!is_short_)
    return put(file_.get(), path_, document.tokens.data(), document.tokens.size() * 4);
  narrow_.assign(document.tokens.begin(), document.tokens.end());
  put(file_.get(), path_, narrow_.data(), narrow_.size() * 2);
}

void TokenWriter::finish(const std::string& index_path) {
  close(std::move(file_), path_);
  File index = open(index_path);
  const auto number = [&](auto value) { put(index.get(), index_path, &value, sizeof value); };
  put(index.get(), index_path, kIndexMagic.data(), kIndexMagic.size());
  number(std::uint64_t{1});
  number(static_cast<std::uint8_t>(is_short_ ? 8 : 4));
  number(static_cast<std::uint64_t>(lengths_.size()));
  number(static_cast<std::uint64_t>(first_sequences_.size()));
  put(index.get(), index_path, lengths_.data(), lengths_.size() * 4);
  std::int64_t pointer = 0;
  for (const std::int32_t length : lengths_) {
    number(pointer);
    pointer += std::int64_t{length} * (is_short_ ? 2 : 4);
  }
  put(index.get(), index_path, first_sequences_.data(), first_sequences_.size() * 8);
  if (has_untrained_) put(index.get(), index_path, modes_.data(), modes_.size());
  close(std::move(index), index_path);
}

bool is_whole_pair(const std::string& tokens_path, const std::string& index_path) {
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(tokens_path, error));
  if (error) return false;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(index_path, error));
  std::ifstream index(index_path, std::ios::binary);
  const auto number_at = [&](std::int64_t at, auto number) {
    index.seekg(at);
    index.read(reinterpret_cast<char*>(&number), sizeof number);
    return std::int64_t{number};
  };
  std::string magic(kIndexMagic.size(), '\0');
  index.read(magic.data(), std::ssize(magic));
  const std::int64_t width = number_at(17, std::uint8_t{0}) == 8 ? 2 : 4;
  const std::int64_t sequences = number_at(18, std::int64_t{0});
  const std::int64_t documents = number_at(26, std::int64_t{0});
  if (error || !index || magic != kIndexMagic || sequences < 0 || sequences > size ||
      documents < 0 || documents > size)
    return false;
  const std::int64_t without_modes = kIndexHeader + 12 * sequences + 8 * documents;
  if (size != without_modes && size != without_modes + sequences) return false;
  if (sequences == 0) return bytes == 0;
  const std::int64_t length = number_at(kIndexHeader + 4 * (sequences - 1), std::int32_t{0});
  const std::int64_t begin =
      number_at(kIndexHeader + 4 * sequences + 8 * (sequences - 1), std::int64_t{0});
  return index.good() && bytes == begin + length * width;
}

}  // namespace ds
