// Reads JSON as people write it by hand, with comments and trailing commas, and keeps the place of
// every name and value for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace ds {

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t { null, flag, integer, number, text, list, object };
  Kind kind = Kind::null;
  bool flag = false;
  std::int64_t integer = 0;  // of Kind::integer
  double number = 0;         // of Kind::integer and Kind::number
  std::string text{};
  std::vector<JsonValue> list;
  std::vector<JsonMember> members;     // in the order of the file; names are unique
  std::size_t offset = 0, length = 0;  // bytes in the file

  [[nodiscard]] bool is(Kind other) const { return kind == other; }
  /// Returns the member of an object with that name, or null.
  [[nodiscard]] const JsonMember* find(std::string_view name) const;
};

struct JsonMember {
  std::string name;
  std::size_t name_offset = 0;
  JsonValue value{};
};

/// The file that a value was read from, for messages.
struct JsonFile {
  std::string_view text;
  std::string_view name;
};

/// Returns the object in the file. Comments (`//`, `#`, `/* */`), a comma behind the last element
/// and a byte order mark are accepted. Errors: Error{config} with the place: anything else that is
/// not JSON, a name that an object has twice (as in DeepSpeed), nesting deeper than 64, text that
/// is not UTF-8, a number beyond the range of double, a file that is not one object.
JsonValue read_json_object(const JsonFile& file);

/// A line of the file and an offset in it.
struct JsonSpot {
  int line = 0;  // from 1
  std::string_view text;
  std::size_t offset = 0;
};

/// Returns the line that contains byte `offset` of the file.
JsonSpot spot_of(const JsonFile& file, std::size_t offset);

/// Returns an Error{config} that points at byte `offset` of the file.
Error json_error(const JsonFile& file, std::size_t offset, std::string_view what,
                 std::string hint = {});

/// Returns the value as it stands in the file, without its line ends, cut to 60 bytes.
std::string shown_value(const JsonFile& file, const JsonValue& value);

}  // namespace ds
