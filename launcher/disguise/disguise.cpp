// Table of the disguises: the names under which dslaunch acts as another launcher. The command of a
// Python launcher: adds the interpreter, and a shell for --local_rank.
#include "launcher/disguise/disguise.h"

#include <fmt/format.h>

#include "launcher/cli/command.h"
#include "launcher/cli/option_table.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kProgram = "PROGRAM [arguments]";

constexpr Disguise kDisguises[] = {
    {"torchrun", "PyTorch's launcher, one on every node", kProgram, translate_torchrun,
     torchrun_options},
    {"deepspeed", "DeepSpeed's launcher", kProgram, translate_deepspeed, deepspeed_options},
    {"mpirun", "the launcher of Open MPI and Intel MPI", kProgram, translate_mpirun,
     mpirun_options},
    {"mpiexec", "as mpirun", kProgram, translate_mpirun, mpirun_options},
    {"pdsh", "one command on many hosts", "COMMAND ...", translate_pdsh, pdsh_options},
    {"pdcp", "files to many hosts", "SOURCE... TARGET", translate_pdcp, pdcp_options},
    {"rpdcp", "files from many hosts", "SOURCE... FOLDER", translate_pdcp, pdcp_options},
    {"dshbak", "the filter for the output of pdsh", "[FILE...]", nullptr, dshbak_options},
    {"mpiexec.hydra", "the launcher of MPICH and Intel MPI", kProgram, translate_mpirun,
     mpirun_options},
    // Debian's names
    {"mpirun.openmpi", "as mpirun", kProgram, translate_mpirun, mpirun_options},
    {"mpiexec.openmpi", "as mpirun", kProgram, translate_mpirun, mpirun_options},
    {"mpirun.mpich", "as mpiexec.hydra", kProgram, translate_mpirun, mpirun_options},
    {"mpiexec.mpich", "as mpiexec.hydra", kProgram, translate_mpirun, mpirun_options},
};

std::string python(const Surroundings& around) {
  const std::optional<std::string> given = around.variable("PYTHON_EXEC");
  return given && !given->empty() ? *given : "python3";
}

}  // namespace

std::span<const Disguise> disguises() { return kDisguises; }

const Disguise* find_disguise(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? program : program.substr(slash + 1);
  for (const Disguise& disguise : kDisguises)
    if (disguise.name == name) return &disguise;
  return nullptr;
}

Error in_words_of(const Disguise& disguise, bool linked, std::span<const std::string> words,
                  const Error& error) {
  const std::vector<ForeignOption> table = disguise.options();
  std::string message = in_typed_words(error.what(), table, words);
  if (error.kind() == ErrorKind::usage && !message.starts_with(disguise.name))
    message = fmt::format("{}: {}", disguise.name, message);
  std::string hint = in_typed_words(error.hint(), table, words);
  if (hint.starts_with("see dslaunch ") && hint.ends_with(" --help"))
    hint = fmt::format("see {}{} --help", linked ? "" : "dslaunch as ", disguise.name);
  return {error.kind(), message, std::move(hint)};
}

std::string disguise_version(std::string_view program) {
  std::string names;
  for (const Disguise& disguise : kDisguises) names.append(", ").append(disguise.name);
  return fmt::format("{}: {}dslaunch answers to the names {}\n", program, version_text(),
                     names.substr(2));
}

std::string disguise_help(const Disguise& disguise) {
  const std::string options = foreign_help(disguise.options());
  const std::string note =
      disguise.operands != kProgram
          ? ""
          : fmt::format(
                "PROGRAM is what {0} accepts, or a train.toml of dslaunch's own engine.\n"
                "`dslaunch as --print {0} ...` prints the equivalent command line of "
                "dslaunch.\n\n",
                disguise.name);
  return fmt::format("dslaunch as {0}: {1}\n\nUsage: {0} [options] {2}\n\n{3}Options:\n{4}",
                     disguise.name, disguise.summary, disguise.operands, note, options);
}

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

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
    for (const std::string& word : command) start += " " + shell_quoted(word);
    command = {"/bin/sh", "-c", start + R"( "$0" "--local_rank=$LOCAL_RANK" "$@")"};
  }
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

}  // namespace ds::launcher
