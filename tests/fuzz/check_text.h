// What every message to a person must be, whatever bytes led to it.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace ds::test {

/// Nothing that moves a terminal's cursor or changes its colours.
inline void check_for_terminal(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    DS_ASSERT((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t',
              "no control bytes reach the terminal");
  }
}

/// A config error that names its place first.
inline void check_config_error(const Error& error, std::string_view source) {
  const std::string text = error.for_people();
  DS_ASSERT(error.kind() == ErrorKind::config);
  DS_ASSERT(std::string_view(error.what()).starts_with(source));
  DS_ASSERT(text.size() < 2048, "long lines and values are cut");
  check_for_terminal(text);
}

}  // namespace ds::test
