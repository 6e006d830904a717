// Lists of hosts that others wrote, in any launcher's form, and how many slots a bare line has.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

/// As parse_hostfile; `gpu=` and the like of other launchers are ignored. Included files are read
/// too.
std::vector<Host> parse_host_list(const World& world, const std::string& text,
                                  const std::string& name);

/// The slots of a host that has none in its list, where the environment says so:
/// OMPI_MCA_orte_set_default_slots, PRTE_MCA_prte_set_default_slots, I_MPI_PERHOST (a number, or
/// `all`: as many as the host has).
/// Errors:  Error{config} for something else.
std::optional<int> default_slots(const World& world);
/// Gives them to the bare hosts.
void set_default_slots(const World& world, std::vector<Host>& hosts);

}  // namespace ds::launcher
