// Parsed options of mpirun. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/disguise/disguise.h"
#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

/// Variable of `-x NAME` or `-x NAME=value`.
struct MpiVariable {
  std::string name;
  std::optional<std::string> value{};
};

/// Options that belong to one program.
struct MpiProgramWords {
  std::optional<std::string> ranks{}, wdir{}, per_host{};
  std::vector<std::string> hosts{};
  std::vector<MpiVariable> variables{};
};

/// Options before one program, and those of the whole job that stand before it or an earlier one.
struct MpiWords : MpiProgramWords {
  std::string_view program = "mpirun";  // the name by which it was started, for messages
  std::vector<MpiVariable> common{};  // -genv and -genvlist
  std::optional<std::string> hostfile{}, map_by{}, rank_by{}, iface{}, rsh_agent{};
  std::optional<std::string> timeout{}, max_restarts{}, input{}, log_dir{}, env_policy{}, prefix{};
  std::optional<std::string> bind{}, cores_per_rank{};
  bool report_bindings = false, display_map = false;
  bool no_local = false, oversubscribe = false, timestamps = false, dry_run = false;
  bool version = false;
  bool hydra = false;                  // an option was given that only Hydra has
  std::vector<std::string> modules{};  // names of --mca for a launcher
  std::vector<std::string> notes{};
};

std::span<const ForeignDef<MpiWords>> mpi_table();

// Functions of the table.

template <std::optional<std::string> MpiWords::*member>
void set(MpiWords& part, const ForeignGiven& given) {
  part.*member = given.values[0];
}

/// Takes the program that reaches other hosts; dslaunch has an ssh of its own.
void take_agent(MpiWords& part, const std::string& program);
/// Reads --mca NAME VALUE: takes hosts, transport and policies, gives the ranks
/// the parameters of their MPI library, and notes those of another launcher.
void take_module(MpiWords& part, const ForeignGiven& given);

/// Applies the variables of Open MPI (OMPI_MCA_...) or Hydra that stand for options.
void take_variables(MpiWords& job, bool hydra, const Surroundings& around);

/// Returns the parts of a list that are not empty.
std::vector<std::string> split_list(const std::string& text, char at);

/// Reads slot, node, ppr:8:node:PE=4, core:OVERSUBSCRIBE, ... dslaunch has the same words; what it
/// lacks is noted or refused here.
void set_map(MpiWords& part, const ForeignGiven& given);
/// Reads core, socket:overload-allowed, none, Hydra's core:2, and qualifiers alone, such as
/// :overload-allowed, which leave the choice to the rule for jobs without -bind-to.
/// Errors:  Error{usage} for other words.
void set_bind(MpiWords& part, const ForeignGiven& given);
/// Reads slot, node, fill. Objects are those of Open MPI 4: the ranks already go round larger
/// ones in the order of --map-by, and `core` fills them one after the other.
/// Errors:  Error{usage} for other words.
void set_rank(MpiWords& part, const ForeignGiven& given);
/// Reads Open MPI 5's --display map,bind,allocation.
void set_display(MpiWords& part, const ForeignGiven& given);

}  // namespace ds::launcher
