#include "launcher/job/mpir_symbols.h"

extern "C" {

MPIR_PROCDESC* MPIR_proctable = nullptr;
int MPIR_proctable_size = 0;
volatile int MPIR_debug_state = kMpirNull;
char* MPIR_debug_abort_string = nullptr;
volatile int MPIR_being_debugged = 0;
int MPIR_i_am_starter = 1;
int MPIR_acquired_pre_main = 1;
int MPIR_partial_attach_ok = 1;

// A call that a compiler can see to do nothing would be removed.
[[gnu::noinline]] void MPIR_Breakpoint() { asm volatile("" ::: "memory"); }
}
