// Translators of the disguises, and the command that Python launchers share. Private to this
// folder. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// Translates the options of PyTorch 1.13 to 2.10 and the variables PET_* that replace them. The
/// ranks of this node start here, numbered within the whole job. This is torchrun's static
/// rendezvous; no rendezvous is needed because the node rank is known.
Disguised translate_torchrun(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> torchrun_options();

/// Translates the options of DeepSpeed 0.5 to 0.18. Scripts get `--local_rank=N` unless
/// --no_local_rank is given.
Disguised translate_deepspeed(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> deepspeed_options();

/// Translates mpirun's words. Ranks get the variables of Open MPI and MPICH beside dslaunch's own;
/// lines have no prefix by default; rank 0 reads standard input. Without named hosts, dslaunch
/// finds them. ` : ` separates programs.
Disguised translate_mpirun(std::span<const std::string> words, const Surroundings& around);
/// Does the same with Hydra's defaults: all variables are forwarded, and hosts take more ranks than
/// slots.
Disguised translate_hydra(std::span<const std::string> words, const Surroundings& around);
std::vector<ForeignOption> mpirun_options();

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
