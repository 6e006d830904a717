// Disguises: translate the command line of another launcher into dslaunch's. Pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

class NodeGroups;

/// Facts of this machine that affect the meaning of a foreign command line.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<int()> cores;  // cores of this process
  std::function<int()> gpus;
  std::string user{};  // of this process
  int uid = 0;
  /// Returns the text of a file ("-": standard input).   Errors:  Error{config}.
  std::function<std::string(const std::string& path)> file{};
  std::function<std::shared_ptr<NodeGroups>()> groups{};
};

/// Place of a value that other users must not see: index of the word and first byte.
struct SecretPlace {
  std::size_t word = 0;
  std::size_t offset = 0;
  friend bool operator==(const SecretPlace&, const SecretPlace&) = default;
};

struct Disguised {
  std::vector<std::string> words{};    // arguments of `dslaunch`
  std::vector<std::string> notes{};    // lines about options without effect
  std::vector<SecretPlace> secrets{};  // places in the foreign words
  std::optional<std::string> text{};   // is printed, and nothing is run
  std::string prompt{};                // if not empty: each line of standard input is a command

  void add(const std::string& option, const std::string& value) {
    words.insert(words.end(), {option, value});
  }
};

struct Disguise {
  std::string_view name;
  std::string_view summary;
  std::string_view operands;  // after the options, for --help
  /// `program` is the name. Null: it is a filter that as_command runs.
  /// Errors:  Error{usage} for words that the launcher does not know or that are not supported;
  ///          Error{config} for values that do not fit this machine.
  Disguised (*translate)(std::string_view program, std::span<const std::string> words,
                         const Surroundings& around);
  std::vector<ForeignOption> (*options)();  // all options, with what becomes of each
};

std::span<const Disguise> disguises();
/// Finds a disguise by the last part of a path ("/usr/bin/torchrun"). Null if there is none.
const Disguise* find_disguise(std::string_view program);

/// Quotes a word in single quotes for a shell.
std::string shell_quoted(const std::string& word);

/// Returns an error in the words of the user of a disguise, who has typed `words`: with its name,
/// options as they were typed, and its own help. `linked`: the user typed its name, not `dslaunch
/// as`.
Error in_words_of(const Disguise& disguise, bool linked, std::span<const std::string> words,
                  const Error& error);

/// Returns what `program --version` prints: the program, the version of dslaunch, and all names.
std::string disguise_version(std::string_view program);

/// Returns the complete --help of a disguise.
std::string disguise_help(const Disguise& disguise);

// Translators, and the command that Python launchers share. Private to this folder.

/// Translates the options of PyTorch 1.13 to 2.10 and the variables PET_* that replace them. The
/// ranks of this node start here, numbered within the whole job. This is torchrun's static
/// rendezvous; no rendezvous is needed because the node rank is known.
Disguised translate_torchrun(std::string_view program, std::span<const std::string> words,
                             const Surroundings& around);
std::vector<ForeignOption> torchrun_options();

/// Translates the options of DeepSpeed 0.5 to 0.18. Scripts get `--local_rank=N` unless
/// --no_local_rank is given.
Disguised translate_deepspeed(std::string_view program, std::span<const std::string> words,
                              const Surroundings& around);
std::vector<ForeignOption> deepspeed_options();

/// Translates mpirun's words. Ranks get the variables of Open MPI and MPICH beside dslaunch's own;
/// lines have no prefix by default; rank 0 reads standard input. Without named hosts, dslaunch
/// finds them. ` : ` separates programs. As mpiexec.hydra or mpirun.mpich, with Hydra's defaults:
/// all variables are forwarded, and hosts take more ranks than slots.
Disguised translate_mpirun(std::string_view program, std::span<const std::string> words,
                           const Surroundings& around);
std::vector<ForeignOption> mpirun_options();

/// Translates the options of pdsh 2.34 and the variables that replace them to `dslaunch exec`.
Disguised translate_pdsh(std::string_view program, std::span<const std::string> words,
                         const Surroundings& around);
std::vector<ForeignOption> pdsh_options();

/// Translates the options of pdcp and rpdcp 2.34 to `dslaunch copy` and `dslaunch rcopy`.
Disguised translate_pdcp(std::string_view program, std::span<const std::string> words,
                         const Surroundings& around);
std::vector<ForeignOption> pdcp_options();

std::vector<ForeignOption> dshbak_options();

struct PythonForm {
  bool module = false;      // -m
  bool no_python = false;   // run the program itself
  bool local_rank = false;  // add --local_rank=N after the script
};

/// Returns the last words of a command line of dslaunch: `-- python3 -u script.py ...` (or
/// $PYTHON_EXEC), or `train.toml key=value ...`. `program` is the script with its arguments.
/// Errors:  Error{usage} without a program, or with both -m and --no-python.
std::vector<std::string> program_words(std::string_view launcher, const PythonForm& form,
                                       std::span<const std::string> program,
                                       const Surroundings& around);

/// Returns whether the program is a train.toml of dslaunch's own engine.
bool is_train_form(std::span<const std::string> program);

}  // namespace ds::launcher
