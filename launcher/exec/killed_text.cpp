#include "launcher/exec/killed_text.h"

#include <fmt/format.h>

#include "launcher/hosts/fold_names.h"

namespace ds::launcher::exec {

std::string killed_text(const std::vector<std::string>& names,
                        const std::vector<std::uint32_t>& killed) {
  std::uint64_t sum = 0;
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < killed.size(); ++i) {
    if (killed[i] == 0) continue;
    sum += killed[i];
    nodes.push_back(names[i]);
  }
  if (sum == 0) return {};
  return fmt::format("dslaunch: {} background process{} killed on {}; --leave lets them live", sum,
                     sum == 1 ? "" : "es", fold_names(nodes));
}

}  // namespace ds::launcher::exec
