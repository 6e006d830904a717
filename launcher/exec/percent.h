// Expands %h, %n and %u in a command, as pdsh does. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher::exec {

/// Returns `text` with %h replaced by the host name, %n by the node number, %u by the user and %%
/// by a percent sign, in one pass. Other percent signs stay.
inline std::string fill_percents(std::string_view text, std::string_view host, int node,
                                 std::string_view user) {
  std::string filled;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '%' && at + 1 < text.size() ? text[at + 1] : '\0';
    if (next == 'h') {
      filled += host;
    } else if (next == 'n') {
      filled += std::to_string(node);
    } else if (next == 'u') {
      filled += user;
    } else if (next == '%') {
      filled += '%';
    } else {
      filled += text[at];
      continue;
    }
    ++at;
  }
  return filled;
}

}  // namespace ds::launcher::exec
