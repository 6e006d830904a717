// Errors about a place in a text: `file:line:column: what`, the line itself and a caret below it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace ds {

/// One line of a text, without its line end, and where it stands.
struct SourceLine {
  std::string_view file;
  int number = 0;  // from 1; 0: a text of one line (an argument), named by `file` alone
  std::string_view text;
};

/// `text` with '?' for control bytes (tabs stay), and "..." for what goes beyond `limit` bytes.
std::string printable_text(std::string_view text, std::size_t limit = std::string_view::npos);

/// The column (from 1) of byte `offset` of `line`, counted in characters of UTF-8.
int text_column(std::string_view line, std::size_t offset);

/// An Error{config} that points at byte `offset` of `line`. Control bytes of `what` and the line
/// are shown as
/// '?', and of a long line only the part around the place is shown.
Error text_error(const SourceLine& line, std::size_t offset, std::string_view what,
                 std::string hint);

}  // namespace ds
