// Stops the launcher itself, as Ctrl-Z asks for.
#pragma once

namespace ds::launcher {

/// Stops this process until SIGCONT. `asked`: a client of the private socket has asked for it.
/// Otherwise, in the foreground of a terminal, the kernel decides as for every other program: a
/// process group that no shell could continue, such as that of `ssh -t node dslaunch ...` or of a
/// container, is not stopped, and the function returns at once.
void suspend_this_process(bool asked);

}  // namespace ds::launcher
