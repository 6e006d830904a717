// Text of the protocol, made from the field lists: the version is its hash, docs/protocol.md
// repeats it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/wire/fields.h"

namespace ds::launcher {

/// Visits a field list and writes types and names as docs/protocol.md has them:
/// "u16 port, list of text addresses".
class FieldLister {
 public:
  explicit FieldLister(std::string& out) : out_(out) {}

  template <class T>
  void operator()(std::string_view name, T& field) {
    if (!out_.empty() && out_.back() != '{') out_ += ", ";
    const std::size_t at = out_.size();
    write_type(field);
    // "bytes" and "env" are types that fields are named after.
    if (std::string_view(out_).substr(at) != name) (out_ += ' ') += name;
  }

 private:
  template <class T>
  void write_type(T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += "bool";
    } else if constexpr (std::is_enum_v<T>) {
      out_ += "u8 up to " + std::to_string(static_cast<int>(last_value(field)));
    } else if constexpr (std::is_integral_v<T>) {
      (out_ += std::is_signed_v<T> ? 'i' : 'u') += std::to_string(8 * sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_ += "text";
    } else if constexpr (std::is_same_v<T, EnvList>) {
      out_ += "env";
    } else if constexpr (std::is_same_v<T, std::span<const std::byte>>) {
      out_ += "bytes";
    } else if constexpr (HasFields<T>) {
      std::string inside = "{";
      FieldLister lister(inside);
      fields(lister, field);
      out_ += inside + '}';
    } else {
      typename T::value_type item{};
      out_ += "list of ";
      write_type(item);
    }
  }

  std::string& out_;
};

/// Returns the fields of a message in one line; empty if it has none.
template <class Message>
std::string field_list() {
  std::string text;
  FieldLister lister(text);
  Message message{};
  fields(lister, message);
  return text;
}

/// Returns a line "TYPE NAME: FIELDS" for each message, in the order of docs/protocol.md.
std::string describe_frames();

/// Returns the version that belongs to a description: 32 bits of FNV-1a.
std::uint32_t version_of(std::string_view description);

}  // namespace ds::launcher
