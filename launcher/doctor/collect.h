// Collector of facts about the machine on which it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

struct CollectRequest {
  std::vector<std::string> folders;        // working directory, /tmp, then the paths of --path
  std::optional<std::string> check{};      // configuration for `dsrunner --check`
  std::vector<std::string> check_words{};  // overrides key=value
};

/// Calls `tell` with the lines that parse_facts reads, each as soon as it is known. Checks that may
/// hang come last, each after a line that names it.
void collect_facts(const CollectRequest& request,
                   const std::function<void(const std::string& line)>& tell);

}  // namespace ds::launcher::doctor
