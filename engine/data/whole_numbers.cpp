// WholeNumbers: reads numbers that need not be aligned.
#include "engine/data/whole_numbers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ds {
namespace {

struct TypeRow {
  std::string_view word;  // empty: not a type of fields
  WholeType type;
  std::int64_t size;
};
constexpr std::array<TypeRow, 7> kTypes{{{"U8", WholeType::u8, 1},
                                         {"", WholeType::i8, 1},
                                         {"U16", WholeType::u16, 2},
                                         {"", WholeType::i16, 2},
                                         {"U32", WholeType::u32, 4},
                                         {"I32", WholeType::i32, 4},
                                         {"I64", WholeType::i64, 8}}};

template <class T>
std::int64_t read_at(const std::byte* data, std::int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::optional<WholeType> whole_type(std::string_view word) {
  const auto* const found = std::ranges::find(kTypes, word, &TypeRow::word);
  if (word.empty() || found == kTypes.end()) return std::nullopt;
  return found->type;
}

std::int64_t size_of(WholeType type) { return kTypes[static_cast<std::size_t>(type)].size; }

std::int64_t WholeNumbers::operator[](std::int64_t i) const {
  switch (type) {
    case WholeType::u8:
      return read_at<std::uint8_t>(data, i);
    case WholeType::i8:
      return read_at<std::int8_t>(data, i);
    case WholeType::u16:
      return read_at<std::uint16_t>(data, i);
    case WholeType::i16:
      return read_at<std::int16_t>(data, i);
    case WholeType::u32:
      return read_at<std::uint32_t>(data, i);
    case WholeType::i32:
      return read_at<std::int32_t>(data, i);
    case WholeType::i64:
      return read_at<std::int64_t>(data, i);
  }
  return 0;
}

}  // namespace ds
