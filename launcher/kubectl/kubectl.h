// Calls of kubectl: its own configuration and credentials are used as they are.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher {

struct KubectlResult {
  int code = 0;
  std::string out{};
  std::string err{};
};

/// Runs kubectl with these words and `input` on its standard input, and keeps its output. Each
/// request has a deadline of 60 s.   Errors:  Error{config} without kubectl, Error{system}.
KubectlResult kubectl(std::vector<std::string> words, const std::string& input = {});

/// Runs kubectl with this process's standard output and error. Returns its code.
/// Errors:  as above.
int kubectl_shown(std::vector<std::string> words);

/// Runs kubectl as for `logs -f`: copies its output to standard output until it ends, and calls
/// `meanwhile` every 10 s. An exception of `meanwhile` ends kubectl. Returns when the last output
/// came; nothing if there was none.   Errors:  as above.
std::optional<Clock::time_point> kubectl_relayed(std::vector<std::string> words,
                                                 const std::function<void()>& meanwhile);

}  // namespace ds::launcher
