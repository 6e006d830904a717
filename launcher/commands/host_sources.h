// Sources of host lists: files, standard input, groups and variables with default hosts.
#pragma once

#include "launcher/exec/host_list.h"

namespace ds::launcher::exec {

/// Returns a reader for files and groups. It looks for a group in the folders of DSHGROUP_PATH,
/// ~/.dsh/group, /etc/dsh/group, then in /etc/genders (or the file in PDSH_GENDERS), then in
/// clustershell's group files.
ListReader system_list_reader();

/// Adds the hosts of the list file that WCOLL names, else of the hostfile that DSLAUNCH_HOSTFILE
/// names. Returns whether one of these variables is set.
/// Errors:  Error{config} if the file cannot be read or is malformed.
bool add_default_hosts(HostListParser& parser);

}  // namespace ds::launcher::exec
