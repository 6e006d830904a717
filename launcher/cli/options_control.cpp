// Detaching, and the name of the file that takes the place of the terminal.
#include "launcher/cli/options_control.h"

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr OptionDef<ControlOptions> kControlOptions[] = {
    {{"--detach", "FILE",
      "start the job, print its id and leave it running in the background;\n"
      "its output goes to FILE (default: dslaunch-%j.log; %j is the id);\n"
      "see dslaunch ps, tail, attach and kill",
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
