// %h, %n and %u in a command, as pdsh has them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher::exec {

struct PercentValues {
  std::string_view host;
  int node = 0;
  std::string_view user;
};

/// %h becomes the host's name, %n the node's number, %u the user, %% one percent sign; any other
/// percent sign stays as it is.
std::string fill_percents(std::string_view text, const PercentValues& values);

}  // namespace ds::launcher::exec
