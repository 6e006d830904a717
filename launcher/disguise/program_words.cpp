// Command of a Python launcher: adds the interpreter, and a shell for --local_rank.
#include "launcher/disguise/program_words.h"

#include <fmt/format.h>

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

std::string python(const Surroundings& around) {
  const std::optional<std::string> given = around.variable("PYTHON_EXEC");
  return given && !given->empty() ? *given : "python3";
}

/// Quotes a word in single quotes for a shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

bool is_train_form(std::span<const std::string> program) {
  return !program.empty() && program.front().ends_with(".toml");
}

std::vector<std::string> program_words(std::string_view launcher, const PythonForm& form,
                                       std::span<const std::string> program,
                                       const Surroundings& around) {
  if (program.empty() || program.front().empty())
    usage_error(fmt::format("{}: no program is given", launcher),
                fmt::format("for example: {} [options] train.py --epochs 3", launcher));
  if (form.module && form.no_python)
    usage_error(fmt::format("{}: --module and --no-python cannot be combined", launcher),
                "give only one of them");
  if (!form.module && !form.no_python && is_train_form(program))
    return {program.begin(), program.end()};
  std::vector<std::string> command;
  if (!form.no_python) command = {python(around), "-u"};
  if (form.module) command.emplace_back("-m");
  std::vector<std::string> words = {"--one-program", "--"};
  if (form.local_rank) {  // a shell inserts the number, which differs between ranks
    std::string start = "exec";
    for (const std::string& word : command) start += " " + quoted(word);
    command = {"/bin/sh", "-c", start + R"( "$0" "--local_rank=$LOCAL_RANK" "$@")"};
  }
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

}  // namespace ds::launcher
