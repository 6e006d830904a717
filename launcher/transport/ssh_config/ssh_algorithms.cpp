// Changes to comma lists of algorithms.
#include "launcher/transport/ssh_config/ssh_algorithms.h"

#include <algorithm>
#include <vector>

#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

std::string change_algorithms(std::string_view known, std::string_view wanted) {
  if (wanted.empty()) return std::string(known);
  const char how = wanted.front();
  if (how != '+' && how != '-' && how != '^') return std::string(wanted);
  const std::vector<std::string> base = split_patterns(known);
  const std::vector<std::string> change = split_patterns(wanted.substr(1));
  std::string out;
  std::vector<std::string> done;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (std::ranges::find(done, name) != done.end()) continue;
      if (how == '-' && ssh_pattern_list_matches(change, name)) continue;
      done.push_back(name);
      out += (out.empty() ? "" : ",") + name;
    }
  };
  if (how == '^') add(change);
  add(base);
  if (how == '+') add(change);
  return out;
}

}  // namespace ds::launcher
