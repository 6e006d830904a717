// Deadlines, and what follows a failure.
#include "launcher/cli/options_failure.h"

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr OptionDef<FailureOptions> kOptions[] = {
    {{"--grace", "SECONDS",
      "between TERM and KILL of a stopping rank: 10, 10s, 500ms, 2m\n"
      "(default: 10s)"},
     [](FailureOptions& part, const GivenOption& given) { part.grace = duration_value(given); }},
    {{"--node-timeout", "SECONDS", "a node silent for longer is lost (default: 10s)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.node_timeout = positive_duration_value(given);
     }},
};

}  // namespace

std::span<const OptionDef<FailureOptions>> failure_options() { return kOptions; }

}  // namespace ds::launcher
