// Tests how the environment decides the method to ask for a pass phrase.
#include "launcher/transport/ssh/ask_pass.h"

#include <doctest/doctest.h>

#include <map>

using namespace ds::launcher;

namespace {

AskMethod method(const std::map<std::string, std::string>& environment, bool terminal) {
  return choose_ask_method(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
      },
      terminal);
}

}  // namespace

TEST_CASE("the terminal first, a program where there is none but a display") {
  CHECK(method({}, true) == AskMethod::terminal);
  CHECK(method({}, false) == AskMethod::none);
  CHECK(method({{"SSH_ASKPASS", "a"}}, true) == AskMethod::terminal);
  CHECK(method({{"SSH_ASKPASS", "a"}}, false) == AskMethod::none);
  CHECK(method({{"SSH_ASKPASS", "a"}, {"DISPLAY", ":0"}}, false) == AskMethod::program);
  CHECK(method({{"SSH_ASKPASS", "a"}, {"WAYLAND_DISPLAY", "w"}}, false) == AskMethod::program);
  CHECK(method({{"DISPLAY", ":0"}}, false) == AskMethod::none);
}

TEST_CASE("SSH_ASKPASS_REQUIRE: never, prefer, force") {
  const auto required = [](const char* how, bool display, bool terminal) {
    return method(
        {{"SSH_ASKPASS", "a"}, {"DISPLAY", display ? ":0" : ""}, {"SSH_ASKPASS_REQUIRE", how}},
        terminal);
  };
  CHECK(required("never", true, true) == AskMethod::terminal);
  CHECK(required("never", true, false) == AskMethod::none);
  CHECK(required("prefer", true, true) == AskMethod::program);
  CHECK(required("prefer", false, true) == AskMethod::terminal);
  CHECK(required("Force", false, true) == AskMethod::program);
  CHECK(method({{"SSH_ASKPASS_REQUIRE", "force"}}, true) == AskMethod::none);
}
