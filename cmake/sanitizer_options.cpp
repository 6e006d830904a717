// Options of the sanitizers, compiled into every program: variables do not reach programs that
// tests start over ssh, srun or in pods. A finding ends the process with an exit code that no test
// expects. Many tests kill ranks, and memory that a killed process has not freed is not a leak, so
// leaks are not reported. Some tests preload libraries, which then come before the runtime of ASan;
// the CUDA plugin brings its own copy of some folders.
extern "C" {
const char* __asan_default_options();
const char* __ubsan_default_options();
const char* __tsan_default_options();

const char* __asan_default_options() {
  return "detect_leaks=0:exitcode=99:abort_on_error=0:disable_coredump=0:"
         "verify_asan_link_order=0:detect_odr_violation=0";
}
const char* __ubsan_default_options() { return "print_stacktrace=1:exitcode=99"; }
const char* __tsan_default_options() { return "exitcode=99:report_signal_unsafe=0:disable_coredump=0"; }
}
