// Looks at the machine it runs on, and tells what it sees.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

struct CollectRequest {
  std::vector<std::string> folders;        // working directory, /tmp, then those asked for
  std::optional<std::string> check{};      // a config for `dsrunner --check`
  std::vector<std::string> check_words{};  // key=value
};

/// Calls `tell` with lines as parse_facts reads them, each as soon as it is known: what may hang
/// comes last, after a line that says so.
void collect_facts(const CollectRequest& request,
                   const std::function<void(const std::string& line)>& tell);

}  // namespace ds::launcher::doctor
