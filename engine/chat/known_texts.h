// known_chat_texts(): the Jinja texts that are recognized, as hashes.
#pragma once

#include <span>
#include <string_view>

namespace ds {

struct KnownChatText {
  std::string_view hash;  // as hash_of_jinja() returns it
  std::string_view name;  // of the template that writes the same
};

std::span<const KnownChatText> known_chat_texts();

/// Returns the name of the template that an unknown text is likely to be; empty if it has no marks
/// of one.
std::string_view likely_chat_template(std::string_view jinja);

}  // namespace ds
