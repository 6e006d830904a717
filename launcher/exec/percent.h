// Expands %h, %n and %u in a command, as pdsh does. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher::exec {

struct PercentValues {
  std::string_view host;
  int node = 0;
  std::string_view user;
};

/// Returns `text` with %h replaced by the host name, %n by the node number, %u by the user and %%
/// by a percent sign, in one pass. Other percent signs stay.
std::string fill_percents(std::string_view text, const PercentValues& values);

}  // namespace ds::launcher::exec
