// Tests of the formatters and parsers of units, at the borders between units.
#include "engine/base/units.h"

#include <doctest/doctest.h>

#include <limits>

TEST_CASE("bytes") {
  CHECK(ds::format_bytes(0) == "0 B");
  CHECK(ds::format_bytes(1023) == "1023 B");
  CHECK(ds::format_bytes(1024) == "1.0 KiB");
  CHECK(ds::format_bytes(1536LL << 20) == "1.5 GiB");
  CHECK(ds::format_bytes((1LL << 20) - 1) == "1.0 MiB");  // not 1024.0 KiB
  CHECK(ds::format_bytes(std::numeric_limits<std::int64_t>::max()) == "8.0 EiB");
  CHECK(ds::format_bytes(-2048) == "-2.0 KiB");
}

TEST_CASE("a number of things") {
  CHECK(ds::counted(0, "row") == "0 rows");
  CHECK(ds::counted(1, "row") == "1 row");
  CHECK(ds::counted(2, "row") == "2 rows");
}

TEST_CASE("counts") {
  CHECK(ds::format_count(0) == "0");
  CHECK(ds::format_count(987.4) == "987");
  CHECK(ds::format_count(999.6) == "1.0 k");
  CHECK(ds::format_count(10'788'864) == "10.8 M");
  CHECK(ds::format_count(999'960) == "1.0 M");
}

TEST_CASE("durations") {
  CHECK(ds::format_duration(0.44) == "0.4 s");
  CHECK(ds::format_duration(9.97) == "10 s");
  CHECK(ds::format_duration(59.6) == "1:00");
  CHECK(ds::format_duration(3723.2) == "1:02:03");
  CHECK(ds::format_duration(-1) == "?");
  CHECK(ds::format_duration(std::numeric_limits<double>::infinity()) == "?");
  CHECK(ds::format_duration(std::numeric_limits<double>::quiet_NaN()) == "?");
}

TEST_CASE("sizes are read with binary prefixes") {
  CHECK(ds::parse_bytes("80G") == std::int64_t{80} << 30);
  CHECK(ds::parse_bytes("1.5TiB") == std::int64_t{3} << 39);
  CHECK(ds::parse_bytes("512 M") == std::int64_t{512} << 20);
  CHECK(ds::parse_bytes("2k") == 2048);
  CHECK(ds::parse_bytes("4096") == 4096);
  for (const char* text :
       {"", "G", "80Q", "80GG", "-1G", "0", "0.1", "nan", "inf", "1e30G", "8iB", "8GB"}) {
    CAPTURE(text);
    CHECK_FALSE(ds::parse_bytes(text).has_value());
  }
}
