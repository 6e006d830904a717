// Option --detach, and the name of the file that receives the output of a detached job.
#include "launcher/cli/options_control.h"

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr OptionDef<ControlOptions> kControlOptions[] = {
    {{"--detach", "FILE",
      "Start the job in the background and print its id; its output goes to\n"
      "FILE (default: dslaunch-%j.log; %j is the id); see dslaunch ps, tail,\n"
      "attach and kill",
      false, "dslaunch-%j.log"},
     [](ControlOptions& part, const GivenOption& given) { part.detach = text_value(given); }},
};

}  // namespace

std::span<const OptionDef<ControlOptions>> control_options() { return kControlOptions; }

std::string log_file_name(std::string_view form, std::string_view job_id) {
  std::string name;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char next = form[i] == '%' && i + 1 < form.size() ? form[i + 1] : '\0';
    if (next == 'j') {
      name += job_id;
    } else if (next == '%') {
      name += '%';
    } else {
      name += form[i];
      continue;
    }
    ++i;
  }
  return name;
}

}  // namespace ds::launcher
