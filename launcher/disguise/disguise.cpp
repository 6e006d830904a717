// Table of the disguises: the names under which dslaunch acts as another launcher.
#include "launcher/disguise/disguise.h"

#include <fmt/format.h>

#include "launcher/disguise/deepspeed.h"
#include "launcher/disguise/mpirun.h"
#include "launcher/disguise/torchrun.h"

namespace ds::launcher {

namespace {

constexpr Disguise kDisguises[] = {
    {"torchrun", "PyTorch's launcher, one on every node", translate_torchrun, torchrun_options},
    {"deepspeed", "DeepSpeed's launcher", translate_deepspeed, deepspeed_options},
    {"mpirun", "the launcher of Open MPI and Intel MPI", translate_mpirun, mpirun_options},
    {"mpiexec", "as mpirun", translate_mpirun, mpirun_options},
    {"mpiexec.hydra", "the launcher of MPICH and Intel MPI", translate_hydra, mpirun_options},
};

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

std::string disguise_help(const Disguise& disguise) {
  return fmt::format(
      "dslaunch as {}: {}\n\nUsage: {} [options] PROGRAM [arguments]\n\n"
      "PROGRAM is what {} accepts, or a train.toml of dslaunch's own engine.\n"
      "`dslaunch as --print {} ...` prints the equivalent command line of "
      "dslaunch.\n\nOptions:\n{}",
      disguise.name, disguise.summary, disguise.name, disguise.name, disguise.name,
      foreign_help(disguise.options()));
}

}  // namespace ds::launcher
