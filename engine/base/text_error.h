// Errors about a place in a text: `file:line:column: what`, then the line and a caret below it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace ds {

/// One line of a text without its line end, and its place.
struct SourceLine {
  std::string_view file;
  int number = 0;  // from 1; 0: the text is one line (an argument) that `file` names
  std::string_view text;
};

/// Returns `text` with '?' for control bytes except tabs, cut to `limit` bytes plus "...".
std::string printable_text(std::string_view text, std::size_t limit = std::string_view::npos);

/// Returns the column (from 1) of byte `offset` of `line`, counted in UTF-8 characters.
int text_column(std::string_view line, std::size_t offset);

/// Returns an Error{config} that points at byte `offset` of `line`. Control bytes of `what` and of
/// the line become '?'; only the part of a long line around the offset is shown.
Error text_error(const SourceLine& line, std::size_t offset, std::string_view what,
                 std::string hint);

}  // namespace ds
