// Reads the knobs, and starts and ends the runtime.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime.h"

namespace emulation {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*end != '\0') {
    std::fprintf(stderr, "cuda_emulation: %s=%s is not a number\n", name, text);
    std::abort();
  }
  return value;
}

Knobs knobs_of_environment() {
  Knobs knobs;
  knobs.seed = number_of("DS_EMULATION_SEED", knobs.seed);
  knobs.devices = static_cast<int>(number_of("DS_EMULATION_DEVICES", 1));
  knobs.memory = number_of("DS_EMULATION_MEMORY", knobs.memory);
  knobs.fail_launch = number_of("DS_EMULATION_FAIL_LAUNCH", 0);
  knobs.fail_kernel = number_of("DS_EMULATION_FAIL_KERNEL", 0);
  knobs.hide = number_of("DS_EMULATION_HIDE", 0) != 0;
  if (number_of("DSLAUNCH_EPOCH", 0) > 0)
    knobs.freed_late = number_of("DS_EMULATION_FREED_LATE", 0);
  const char* const driver = std::getenv("DS_EMULATION_DRIVER");
  knobs.driver = driver == nullptr || std::strcmp(driver, "none") != 0;
  if (const char* const compute = std::getenv("DS_EMULATION_COMPUTE"); compute != nullptr) {
    if (std::sscanf(compute, "%d.%d", &knobs.major, &knobs.minor) != 2) {
      std::fprintf(stderr, "cuda_emulation: DS_EMULATION_COMPUTE=%s: expected a value like 9.0\n",
                   compute);
      std::abort();
    }
  }
  return knobs;
}

// Detects writes around allocations that were never freed.
void check_at_exit() {
  Runtime& runtime = Runtime::get();
  const Held held(runtime.lock);
  const std::string complaint = runtime.memory.check_guards();
  if (complaint.empty()) return;
  std::fprintf(stderr, "cuda_emulation: at exit: %s\n", complaint.c_str());
  std::abort();
}

}  // namespace

Runtime::Runtime() {
  make_stream();
  set_knobs(knobs_of_environment());
  std::atexit(&check_at_exit);
}

}  // namespace emulation
