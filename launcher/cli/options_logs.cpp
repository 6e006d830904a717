// Output of the ranks and of dslaunch itself.
#include "launcher/cli/options_logs.h"

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr OptionDef<LogOptions> kOptions[] = {
    {{"--log-level", "LEVEL", "of dslaunch itself: error, warn, info (default) or debug"},
     [](LogOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 4> kNames = {"error", "warn", "info", "debug"};
       part.log_level = choice_value<LogLevel>(given, kNames);
     }},
};

}  // namespace

std::span<const OptionDef<LogOptions>> log_options() { return kOptions; }

}  // namespace ds::launcher
