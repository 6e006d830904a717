// Tests of waiting for nodes: the line that names missing ones with their stages, the last call.
#include <doctest/doctest.h>

#include "launcher/commands/start/gather.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

TEST_CASE("missing nodes of one stage stand together") {
  const std::vector<std::string> missing = {"gpt-1.gpt", "gpt-2.gpt", "gpt-5.gpt"};
  const auto stage_of = [](const std::string& place) {
    return std::string(place == "gpt-5.gpt" ? "has a DNS record, but has not joined"
                                            : "no DNS record (NXDOMAIN from 10.96.0.10)");
  };
  CHECK(waiting_line(8, missing, 20s, stage_of) ==
        "5 of 8 nodes are here after 20 s; missing: gpt-5.gpt: has a DNS record, but has not "
        "joined; gpt-[1-2].gpt: no DNS record (NXDOMAIN from 10.96.0.10)");
}

TEST_CASE("without stages, names alone") {
  CHECK(waiting_line(2, {"b"}, 10s, {}) == "1 of 2 nodes are here after 10 s; missing: b");
}

TEST_CASE("the last call for further nodes begins again when there were too few meanwhile") {
  LastCall call(30s);
  const ds::Clock::time_point begin{};
  CHECK(!call.is_over(false, begin));
  CHECK(!call.is_over(true, begin + 10s));
  CHECK(!call.is_over(true, begin + 39s));
  CHECK(call.is_over(true, begin + 40s));
  CHECK(!call.is_over(false, begin + 41s));  // a guest has gone
  CHECK(!call.is_over(true, begin + 81s));
  CHECK(call.is_over(true, begin + 111s));
  LastCall none(0s);
  CHECK(!none.is_over(false, begin));
  CHECK(none.is_over(true, begin));
}
