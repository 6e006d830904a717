// Sources of host lists: files, standard input, groups and variables with default hosts.
#pragma once

#include <vector>

#include "launcher/groups/host_list.h"
#include "launcher/groups/node_groups.h"
#include "launcher/hosts/host_selection.h"

namespace ds::launcher {

/// Returns the groups of this machine. A command of groups.conf gets 30 s.
NodeGroups system_groups();

/// Returns a reader for files and for these groups.
ListReader system_list_reader();

/// Adds the hosts of the list file that WCOLL names, else of the hostfile that DSLAUNCH_HOSTFILE
/// names. Returns whether one of these variables is set.
/// Errors:  Error{config} if the file cannot be read or is malformed.
bool add_default_hosts(HostListParser& parser);

/// Replaces the entries of --host that are groups or have set operators by their hosts.
/// Errors:  Error{usage} for an unknown group, or a host with a port.
void open_groups(std::vector<HostPick>& picks);

}  // namespace ds::launcher
