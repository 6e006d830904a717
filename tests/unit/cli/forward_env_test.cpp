// Forwarded variables: given values stay, missing ones are looked up, unset ones are an error.
#include "launcher/cli/forward_env.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

using namespace ds::launcher;

TEST_CASE("values are taken from the command line, or else from the environment") {
  const EnvLookup lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "B") return "from here";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  CHECK(resolve_forwards({{"A", "1"}, {"B", std::nullopt}, {"EMPTY", std::nullopt}, {"C", ""}},
                         lookup) ==
        EnvList{{"A", "1"}, {"B", "from here"}, {"EMPTY", ""}, {"C", ""}});
  try {
    resolve_forwards({{"GONE", std::nullopt}}, lookup);
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    CHECK(error.for_people() ==
          "-x GONE: GONE is not set here\n  hint: write -x GONE=value, or export it first");
  }
}

TEST_CASE("this process's environment") {
  CHECK(own_variable("PATH"));
  CHECK_FALSE(own_variable("DSLAUNCH_NO_SUCH_VARIABLE"));
}
