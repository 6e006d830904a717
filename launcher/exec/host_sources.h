// Files, standard input and groups that lists of hosts name.
#pragma once

#include "launcher/exec/host_list.h"

namespace ds::launcher::exec {

/// Groups are looked for in the folders of DSHGROUP_PATH, ~/.dsh/group, /etc/dsh/group, then in
/// /etc/genders (or the file that PDSH_GENDERS names), then in clustershell's groups files.
ListReader system_list_reader();

}  // namespace ds::launcher::exec
