// Tests of --show: which streams of which ranks are shown.
#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "launcher/logs/log_policy.h"

namespace {

using namespace ds::launcher;
using Shown = std::vector<std::uint8_t>;

std::string refusal(std::string_view text, int world_size = 4) {
  try {
    static_cast<void>(ShowChoice::parse(text).resolve(world_size));
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return std::string(error.what()) + "|" + error.hint();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("ranks, ranges, last, err, all, none") {
  const auto shown = [](std::string_view text) { return ShowChoice::parse(text).resolve(4); };
  CHECK(shown("all") == Shown{3, 3, 3, 3});
  CHECK(shown("none") == Shown{0, 0, 0, 0});
  CHECK(shown("0") == Shown{3, 0, 0, 0});
  CHECK(shown("0,2-3") == Shown{3, 0, 3, 3});
  CHECK(shown("err") == Shown{2, 2, 2, 2});
  CHECK(shown("0,last,err") == Shown{3, 2, 2, 3});
  CHECK(shown("2-last") == Shown{0, 0, 3, 3});
}

TEST_CASE("what makes no sense is named with the accepted form") {
  for (const std::string text : {"", "0,", "x", "1-", "-1", "3-1", "none,0", "1.5", "0 1"}) {
    CAPTURE(text);
    const std::string said = refusal(text);
    CHECK(said.find("--show '" + text + "'") == 0);
    CHECK(said.find("ranges (0-7)") != std::string::npos);
  }
  CHECK(refusal("0-4").find("there is no rank 4|this job has ranks 0 to 3") != std::string::npos);
}
