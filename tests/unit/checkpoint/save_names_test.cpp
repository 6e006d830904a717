// Tests of checkpoint folder names and of the policy that removes checkpoints.
#include "engine/checkpoint/save_names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/checkpoint/save_folder.h"

namespace ds {
namespace {

using Steps = std::vector<std::int64_t>;

TEST_CASE("only names of complete checkpoints are parsed as steps") {
  for (const std::int64_t step :
       {std::int64_t{0}, std::int64_t{40}, std::int64_t{99999999}, std::int64_t{100000000},
        std::numeric_limits<std::int64_t>::max()}) {
    CHECK(step_of(step_name(step)) == step);
  }
  CHECK(step_name(40) == "step-00000040");
  for (const char* name :
       {"", "step-", "step-40", "step-0000004", "step-000000040", "step-0000004x", "Step-00000040",
        "step--0000040", "step-00000040 ", "step-00000040.tmp-1", "step-00000040.set-aside",
        "step-99999999999999999999", " step-00000040", "latest", "step-00000040.old"}) {
    CAPTURE(name);
    CHECK(!step_of(name));
  }
}

TEST_CASE("names of incomplete checkpoints give their kind") {
  using K = SaveKind;
  const auto kind = [](const std::string& name) { return parse_save_name(name); };
  CHECK(kind("step-00000040") == SaveName{40, K::complete});
  CHECK(kind(unfinished_name(40, 0xabc)) == SaveName{40, K::unfinished});
  CHECK(kind(replaced_name(40, 1)) == SaveName{40, K::replaced});
  CHECK(kind(removed_name(100000000, 1)) == SaveName{100000000, K::removed});
  CHECK(kind(set_aside_name(40, 1)) == SaveName{40, K::set_aside});
  CHECK(kind(set_aside_name(40, 2)) == SaveName{40, K::set_aside});
  CHECK(set_aside_name(40, 2) == "step-00000040.set-aside-2");
  CHECK(unfinished_name(40, 0xabc) == "step-00000040.tmp-abc");
  CHECK(!kind("step-00000040.other"));
  CHECK(!kind("step-00000040tmp-1"));
}

TEST_CASE("the newest are kept, and multiples of major_every forever") {
  CHECK(surplus({30, 10, 20}, {.keep = 1, .major_every = 0}) == Steps{10, 20});
  CHECK(surplus({10, 20, 30}, {.keep = 2, .major_every = 0}) == Steps{10});
  CHECK(surplus({10, 20, 30}, {.keep = 3, .major_every = 0}).empty());
  CHECK(surplus({10, 20, 30}, {.keep = 0, .major_every = 0}).empty());
  CHECK(surplus({10, 20, 30, 40, 50}, {.keep = 1, .major_every = 20}) == Steps{10, 30});
  CHECK(surplus({0, 7}, {.keep = 1, .major_every = 20}).empty());
  CHECK(surplus({}, {.keep = 1, .major_every = 0}).empty());
}

TEST_CASE("no policy removes the newest, or removes one twice") {
  for (std::int64_t keep = 0; keep < 6; ++keep) {
    for (std::int64_t major = 0; major < 4; ++major) {
      Steps steps{5, 1, 4, 2, 3};
      const Steps gone = surplus(steps, {keep, major});
      CAPTURE(keep);
      CAPTURE(major);
      for (const std::int64_t step : gone) CHECK(std::erase(steps, step) == 1);
      CHECK(std::count(steps.begin(), steps.end(), 5) == 1);
      CHECK(surplus(steps, {keep, major}).empty());
    }
  }
}

}  // namespace
}  // namespace ds
