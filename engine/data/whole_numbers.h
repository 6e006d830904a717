// WholeNumbers: whole numbers of any type in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace ds {

/// The types of whole numbers in files.
enum class WholeType : std::uint8_t { u8, i8, u16, i16, u32, i32, i64 };
/// Returns the type with that name in a safetensors file, of those that fields may have; nothing
/// for another type.
std::optional<WholeType> whole_type(std::string_view word);
std::int64_t size_of(WholeType type);

/// Whole numbers in a file, at any address.
class WholeNumbers {
 public:
  const std::byte* data = nullptr;  // null: there are none
  WholeType type = WholeType::i32;
  std::int64_t count = 0;

  explicit operator bool() const { return data != nullptr; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const {
    switch (type) {
      case WholeType::u8:
        return at<std::uint8_t>(i);
      case WholeType::i8:
        return at<std::int8_t>(i);
      case WholeType::u16:
        return at<std::uint16_t>(i);
      case WholeType::i16:
        return at<std::int16_t>(i);
      case WholeType::u32:
        return at<std::uint32_t>(i);
      case WholeType::i32:
        return at<std::int32_t>(i);
      case WholeType::i64:
        return at<std::int64_t>(i);
    }
    return 0;
  }

 private:
  template <class T>
  [[nodiscard]] std::int64_t at(std::int64_t i) const {
    T value;
    std::memcpy(&value, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return static_cast<std::int64_t>(value);
  }
};

}  // namespace ds
