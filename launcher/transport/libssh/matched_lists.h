// Comma lists of algorithms that libssh has compared before: every host is offered the same and
// shows mostly the same.
#pragma once

namespace ds::launcher::libssh {

/// As libssh's ssh_find_all_matching: the names of `preferred` that `available` has, malloc'ed;
/// null if there is none. Threads: libssh's.
char* all_matching(const char* available, const char* preferred);

}  // namespace ds::launcher::libssh
