// Parser for host lists of other launchers, and the default number of slots. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

/// Parses like parse_hostfile, also included files. Ignores keys of other launchers such as `gpu=`.
std::vector<Host> parse_host_list(const World& world, const std::string& text,
                                  const std::string& name);

/// Returns the slots of a host without a number in its list, if one of these variables is set:
/// OMPI_MCA_orte_set_default_slots, PRTE_MCA_prte_set_default_slots, I_MPI_PERHOST (an integer, or
/// `all` for kAutoSlots).
/// Errors:  Error{config} for other values.
std::optional<int> default_slots(const World& world);
/// Applies default_slots to the bare hosts.
void set_default_slots(const World& world, std::vector<Host>& hosts);

}  // namespace ds::launcher
