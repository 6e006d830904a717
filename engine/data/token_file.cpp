// TokenFile: reads the headers of Megatron's index and of llm.c's shards, and finds sequences.
#include "engine/data/token_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/packing/token_writer.h"

namespace ds {
namespace {

constexpr std::int64_t kShardHeader = 256 * 4;

struct Shard {
  std::int32_t magic, version;
  WholeType type;
};
constexpr std::array<Shard, 2> kShards{
    {{20240520, 1, WholeType::u16}, {20240801, 7, WholeType::u32}}};

template <class T>
T read_number(std::span<const std::uint8_t> bytes, std::int64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// Returns the type of the index's code; nothing for floating point (6, 7) and unknown codes.
std::optional<WholeType> type_of_code(std::uint8_t code) {
  constexpr std::array<std::optional<WholeType>, 9> kCodes{
      std::nullopt,   WholeType::u8, WholeType::i8, WholeType::i16, WholeType::i32,
      WholeType::i64, std::nullopt,  std::nullopt,  WholeType::u16};
  return code < kCodes.size() ? kCodes[code] : std::nullopt;
}

/// Returns the smallest index in [0, count] whose number is greater than `value`; numbers rise.
std::int64_t first_above(const WholeNumbers& numbers, std::int64_t value) {
  std::int64_t low = 0, high = numbers.count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (numbers[middle] > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

WholeNumbers numbers_at(const MappedFile& file, std::int64_t byte, WholeType type,
                        std::int64_t count) {
  return {reinterpret_cast<const std::byte*>(file.bytes().data()) + byte, type, count};
}

}  // namespace

void TokenFile::refuse(const std::string& why, std::string hint) const {
  throw Error(ErrorKind::config, why, std::move(hint));
}

std::shared_ptr<const TokenFile> TokenFile::of_bytes(const std::string& path) {
  std::shared_ptr<TokenFile> made(new TokenFile);
  made->name_ = path;
  made->file_ = std::make_shared<const MappedFile>(path);
  made->tokens_ = numbers_at(*made->file_, 0, WholeType::u8, std::ssize(made->file_->bytes()));
  return made;
}

std::shared_ptr<const TokenFile> TokenFile::open(const std::string& path, const std::string& name) {
  std::shared_ptr<TokenFile> made(new TokenFile);
  const std::filesystem::path given(path);
  const std::filesystem::path tokens = std::filesystem::path(given).replace_extension(".bin");
  const std::filesystem::path index = std::filesystem::path(given).replace_extension(".idx");
  std::error_code ignored;
  const bool is_pair = (given.extension() == ".bin" || given.extension() == ".idx") &&
                       std::filesystem::exists(index, ignored);
  made->name_ = name.empty() ? path : name;
  made->file_ = std::make_shared<const MappedFile>(is_pair ? tokens.string() : path);
  if (is_pair) {
    made->index_file_ = std::make_shared<const MappedFile>(index.string());
    made->read_index();
  } else {
    made->read_shard();
  }
  return made;
}

void TokenFile::read_shard() {
  const std::span<const std::uint8_t> bytes = file_->bytes();
  const std::int64_t size = std::ssize(bytes);
  const auto header = [&](std::int64_t i) { return read_number<std::int32_t>(bytes, i * 4); };
  for (const Shard& shard : kShards) {
    if (size < kShardHeader || header(0) != shard.magic || header(1) != shard.version) continue;
    const std::int64_t count = header(2), held = (size - kShardHeader) / size_of(shard.type);
    if (count < 1 || count > held)
      refuse(fmt::format("data file {}: its header promises {} tokens, it holds {}", name_, count,
                         held),
             "the file is cut off or damaged; copy it again");
    tokens_ = numbers_at(*file_, kShardHeader, shard.type, count);
    return;
  }
  refuse(fmt::format("data file {}: it has no .idx beside it and is no shard of llm.c", name_),
         "data.format = \"tokens\" reads Megatron's NAME.bin with NAME.idx, and llm.c's shards");
}

void TokenFile::read_index() {
  const std::span<const std::uint8_t> bytes = index_file_->bytes();
  const std::string& path = index_file_->path();
  const std::int64_t size = std::ssize(bytes);
  const bool begins = size >= kIndexHeader &&
                      std::memcmp(bytes.data(), kIndexMagic.data(), kIndexMagic.size()) == 0;
  if (!begins || read_number<std::uint64_t>(bytes, 9) != 1)
    refuse(fmt::format("data file {}: it is not an index of Megatron, version 1", path),
           "make both files again");
  const std::optional<WholeType> type = type_of_code(bytes[17]);
  if (!type)
    refuse(fmt::format("data file {}: tokens of the type {} are no whole numbers", path, bytes[17]),
           "the types are 1 to 5 and 8 (uint8, int8, int16, int32, int64, uint16)");
  const auto sequences = read_number<std::int64_t>(bytes, 18);
  const auto documents = read_number<std::int64_t>(bytes, 26);
  // Bounds first, so that the products below cannot overflow.
  const bool fits = sequences >= 0 && sequences <= size && documents >= 0 && documents <= size &&
                    kIndexHeader + sequences * 12 + documents * 8 <= size;
  if (!fits)
    refuse(fmt::format("data file {}: its header promises {} sequences and {} documents, which "
                       "{} bytes cannot hold",
                       path, sequences, documents, size),
           "the index is cut off or damaged; make both files again");
  Index index;
  std::int64_t at = kIndexHeader;
  const auto take = [&](WholeType kind, std::int64_t count) {
    const WholeNumbers numbers = numbers_at(*index_file_, at, kind, count);
    at += count * size_of(kind);
    return numbers;
  };
  index.lengths = take(WholeType::i32, sequences);
  index.pointers = take(WholeType::i64, sequences);
  index.documents = take(WholeType::i64, documents);
  if (size - at == sequences && sequences > 0) index.modes = take(WholeType::i8, sequences);
  index_ = index;
  tokens_ = numbers_at(*file_, 0, *type, std::ssize(file_->bytes()) / size_of(*type));
  if (sequences == 0 || documents < 2)
    refuse(fmt::format("data file {}: it has no documents", path), "leave it out");
  const TokenSequence last = sequence(sequences - 1);
  if (index.documents[0] != 0 || index.documents[documents - 1] != sequences || last.end < 1)
    refuse(fmt::format("data file {}: its documents are not those of its {} sequences", path,
                       sequences),
           "make both files again");
  tokens_.count = last.end;
}

std::int64_t TokenFile::documents() const { return index_ ? index_->documents.count - 1 : 1; }

std::int64_t TokenFile::byte_of(std::int64_t token) const {
  const auto* const first = reinterpret_cast<const std::byte*>(file_->bytes().data());
  return tokens_.data - first + token * size_of(tokens_.type);
}

std::pair<std::int64_t, std::int64_t> TokenFile::sequences_of(std::int64_t document) const {
  DS_ASSERT(document >= 0 && document < documents());
  if (!index_) return {0, 1};
  const std::int64_t first = index_->documents[document], last = index_->documents[document + 1];
  if (first >= 0 && first <= last && last <= sequences()) return {first, last};
  refuse(fmt::format("data file {}: document {} has the sequences {} to {} of {}",
                     index_file_->path(), document, first, last, sequences()),
         "the index is damaged; make both files again");
}

std::int64_t TokenFile::document_of(std::int64_t sequence) const {
  if (!index_) return 0;
  const WholeNumbers& first = index_->documents;
  if (sequence < documents() && first[sequence] == sequence && first[sequence + 1] == sequence + 1)
    return sequence;  // as in most files: a document is one sequence
  const std::int64_t document = first_above(first, sequence) - 1;
  if (document >= 0 && document < documents()) {
    const auto [begin, end] = sequences_of(document);
    if (sequence >= begin && sequence < end) return document;
  }
  refuse(fmt::format("data file {}: sequence {} is in no document", index_file_->path(), sequence),
         "the index is damaged; make both files again");
}

TokenSequence TokenFile::sequence(std::int64_t number) const {
  DS_ASSERT(number >= 0 && number < sequences());
  if (!index_) return {.begin = 0, .end = tokens_.count};
  const std::int64_t size = size_of(tokens_.type);
  const std::int64_t pointer = index_->pointers[number], length = index_->lengths[number];
  const bool is_inside = pointer >= 0 && pointer % size == 0 && pointer / size <= tokens_.count &&
                         length >= 0 && length <= tokens_.count - pointer / size;
  // Sequences follow each other in every index that Megatron writes; windows rely on it.
  const std::int64_t length_before = number == 0 ? 0 : index_->lengths[number - 1];
  const std::int64_t begin_before = number == 0 ? 0 : index_->pointers[number - 1];
  if (!is_inside || pointer - length_before * size != begin_before)
    refuse(fmt::format("data file {}: sequence {} is {} tokens at byte {}, which does not fit {}",
                       index_file_->path(), number, length, pointer, file_->path()),
           "one of the two files is cut off or damaged; make both again");
  return {.begin = pointer / size,
          .end = pointer / size + length,
          .is_trained = !index_->modes || index_->modes[number] != 0};
}

std::int64_t TokenFile::sequence_at(std::int64_t token) const {
  DS_ASSERT(token >= 0 && token < tokens_.count);
  if (!index_) return 0;
  // Empty sequences share their byte with the next one: the last one that begins there holds it.
  const std::int64_t number = first_above(index_->pointers, token * size_of(tokens_.type)) - 1;
  const TokenSequence found = number < 0 ? TokenSequence() : sequence(number);
  if (found.begin <= token && token < found.end) return number;
  refuse(fmt::format("data file {}: token {} is in no sequence", index_file_->path(), token),
         "the index is damaged; make both files again");
}

}  // namespace ds
