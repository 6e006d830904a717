// Calls of kubectl: its own configuration and credentials are used as they are.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ds::launcher {

struct KubectlResult {
  int code = 0;
  std::string out{};
  std::string err{};
};

/// Runs kubectl with these words and `input` on its standard input, and keeps its output. Each
/// request has a deadline of 60 s.   Errors:  Error{config} without kubectl, Error{system}.
KubectlResult kubectl(std::vector<std::string> words, const std::string& input = {});

/// Runs kubectl with this process's standard output and error, as for `logs -f`. Returns its code.
/// Calls `meanwhile` every 10 s while it runs.   Errors:  as above.
int kubectl_shown(std::vector<std::string> words, const std::function<void()>& meanwhile = {});

}  // namespace ds::launcher
