// Any bytes as an ssh_config file: settings that can be used, the same when the file is read twice,
// or an error with a place.
#include <cstdint>
#include <string>

#include "fuzz/check_text.h"
#include "launcher/transport/ssh_config/ssh_config.h"

using namespace ds::launcher;

namespace {

LocalUser me() {
  return {.name = "me",
          .home = "/home/me",
          .uid = 1000,
          .host_name = "login1.example",
          .environment = [](const std::string& name) -> std::optional<std::string> {
            return name == "CLUSTER" ? std::optional<std::string>("blue") : std::nullopt;
          }};
}

SshConfig::Sources sources() {
  return {.read = [](const std::string&) { return "User included\nPort 23\n"; },
          .glob =
              [](const std::string& pattern) {
                return std::vector{pattern, pattern + "2"};
              },
          .include_base = "/home/me/.ssh",
          .home = "/home/me"};
}

void check_settings(const SshSettings& settings, const Host& host) {
  DS_ASSERT(settings.alias == host.name);
  DS_ASSERT(settings.port >= 1 && settings.port <= 65535);
  DS_ASSERT(host.port == 0 || settings.port == host.port, "the hostfile's own port wins");
  DS_ASSERT(host.user.empty() || settings.user == host.user, "the hostfile's own user wins");
  if (settings.connect_timeout) {
    DS_ASSERT(*settings.connect_timeout > std::chrono::seconds(0));
    DS_ASSERT(*settings.connect_timeout <= std::chrono::hours(24 * 365),
              "it can be counted in milliseconds and added to a clock");
  }
  for (const std::string& note : settings.notes) ds::test::check_for_terminal(note);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Host& host :
       {Host{.name = "node1", .user = {}, .port = 0, .slots = 1, .place = {}},
        Host{.name = "10.0.0.7", .user = "you", .port = 2222, .slots = 1, .place = {}}}) {
    try {
      SshConfig config;
      config.add(text, "config", sources());
      const SshSettings settings = config.resolve(host, me());
      check_settings(settings, host);
      config.add(text, "config", sources());
      const SshSettings again = config.resolve(host, me());
      DS_ASSERT(again.host_name == settings.host_name && again.port == settings.port &&
                    again.user == settings.user &&
                    again.identity_files == settings.identity_files &&
                    again.known_hosts_files == settings.known_hosts_files &&
                    again.host_key_checking == settings.host_key_checking,
                "the first value wins");
    } catch (const ds::Error& error) {
      const bool in_included = std::string_view(error.what()).starts_with("/");
      ds::test::check_config_error(error, in_included ? "/" : "config:");
    }
  }
  return 0;
}
