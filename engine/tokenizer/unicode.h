// Unicode for tokenizers: UTF-8 in and out, classes of characters, lower case, normal forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ds::unicode {

/// Returns the text with U+FFFD for each maximal part that is not UTF-8, as Python's
/// errors="replace" and Rust's from_utf8_lossy do (Unicode, section 3.9, U+FFFD Substitution).
std::string valid(std::string_view bytes);

/// Returns the code point at `at` of valid UTF-8, and moves `at` behind it.
char32_t next(std::string_view text, std::size_t& at);
/// Returns the length in bytes of the character that begins with this byte.
std::size_t length_of(char first);
void append(std::string& text, char32_t code_point);

bool is_white_space(char32_t c);  // White_Space
bool is_number(char32_t c);       // Nd, Nl, No
bool is_punctuation(char32_t c);  // of ASCII, or P*
bool is_mark(char32_t c);         // M*
bool is_nonspacing(char32_t c);   // Mn
bool is_other(char32_t c);        // Cc, Cf, Co, Cs
bool is_han(char32_t c);          // the blocks that BERT sets apart

/// Appends the full lower-case mapping of one character, without context.
void append_lower(std::string& text, char32_t c);

enum class Form { nfc, nfd, nfkc, nfkd };
/// Returns the normal form of valid UTF-8 (Unicode Annex 15).
std::string normalized(std::string_view text, Form form);

/// Returns the end of the grapheme that begins at `at` (Unicode Annex 29).
std::size_t end_of_grapheme(std::string_view text, std::size_t at);

}  // namespace ds::unicode
