// Tests how the environment decides the way to ask for a pass phrase.
#include "launcher/transport/ssh/ask_pass.h"

#include <doctest/doctest.h>

#include <map>

using namespace ds::launcher;

namespace {

AskWay way(const std::map<std::string, std::string>& environment, bool terminal) {
  return choose_ask_way(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
      },
      terminal);
}

}  // namespace

TEST_CASE("the terminal first, a program where there is none but a display") {
  CHECK(way({}, true) == AskWay::terminal);
  CHECK(way({}, false) == AskWay::none);
  CHECK(way({{"SSH_ASKPASS", "a"}}, true) == AskWay::terminal);
  CHECK(way({{"SSH_ASKPASS", "a"}}, false) == AskWay::none);
  CHECK(way({{"SSH_ASKPASS", "a"}, {"DISPLAY", ":0"}}, false) == AskWay::program);
  CHECK(way({{"SSH_ASKPASS", "a"}, {"WAYLAND_DISPLAY", "w"}}, false) == AskWay::program);
  CHECK(way({{"DISPLAY", ":0"}}, false) == AskWay::none);
}

TEST_CASE("SSH_ASKPASS_REQUIRE: never, prefer, force") {
  const auto required = [](const char* how, bool display, bool terminal) {
    return way(
        {{"SSH_ASKPASS", "a"}, {"DISPLAY", display ? ":0" : ""}, {"SSH_ASKPASS_REQUIRE", how}},
        terminal);
  };
  CHECK(required("never", true, true) == AskWay::terminal);
  CHECK(required("never", true, false) == AskWay::none);
  CHECK(required("prefer", true, true) == AskWay::program);
  CHECK(required("prefer", false, true) == AskWay::terminal);
  CHECK(required("Force", false, true) == AskWay::program);
  CHECK(way({{"SSH_ASKPASS_REQUIRE", "force"}}, true) == AskWay::none);
}
