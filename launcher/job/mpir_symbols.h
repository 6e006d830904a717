// Symbols of the MPIR Process Acquisition Interface 1.1: parallel debuggers find them in the
// process dslaunch by their names (docs/mpi.md).
#pragma once

extern "C" {

/// One rank. A debugger reads this type, so that names and order of the members are fixed.
struct MPIR_PROCDESC {
  char* host_name;
  char* executable_name;
  int pid;
};

enum : int { kMpirNull = 0, kMpirSpawned = 1, kMpirAborting = 2 };  // MPIR_debug_state

extern MPIR_PROCDESC* MPIR_proctable;
extern int MPIR_proctable_size;
extern volatile int MPIR_debug_state;
extern char* MPIR_debug_abort_string;
/// The debugger sets it: before main, if it holds the ranks at their start, else when it attaches.
extern volatile int MPIR_being_debugged;

// The presence of these says something, and their values say nothing.
extern int MPIR_i_am_starter;       // dslaunch is not one of the ranks
extern int MPIR_acquired_pre_main;  // ranks are held before their main function
extern int MPIR_partial_attach_ok;  // ranks to which no debugger attaches go on, too

/// A debugger stops here, reads MPIR_debug_state, and lets dslaunch go on.
void MPIR_Breakpoint();
}
