// Tests of parse_memory_status() and read_memory_status().
#include "engine/monitor/memory_status.h"

#include <doctest/doctest.h>

TEST_CASE("fields are found by whole names and counted in KiB") {
  const ds::MemoryStatus status = ds::parse_memory_status(
      "Name:\tVmHWM: 1\nVmPeak:\t  999 kB\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\nRssAnon:\t  100 kB\n"
      "RssFile:\t 7 kB\n");
  CHECK(status.anonymous_bytes == 100 * 1024);
  CHECK(status.resident_bytes == 200 * 1024);
  CHECK(status.peak_bytes == 300 * 1024);
  CHECK(ds::parse_memory_status("").peak_bytes == 0);
}

TEST_CASE("this process uses memory, and not more than at its peak") {
  const ds::MemoryStatus status = ds::read_memory_status();
  CHECK(status.anonymous_bytes > 0);
  CHECK(status.anonymous_bytes <= status.resident_bytes);
  CHECK(status.peak_bytes > 0);
}
