// Tests of every world of worlds/: hosts and peers that are found must be those of the file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/error.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/sources/node_sources.h"
#include "launcher/sources/own_names.h"
#include "launcher/sources/peers.h"
#include "unit/sources/world_file.h"

using namespace ds::launcher;

namespace {

PeerRequest read_request(const std::vector<std::string>& words) {
  PeerRequest request;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--nnodes") request.nodes = parse_node_count("--nnodes", words[i + 1]);
    if (words[i] == "--nodes") request.range = parse_node_count("--nodes", words[i + 1]);
    if (words[i] == "--peers") request.peers = words[i + 1];
    if (words[i] == "--node-rank") request.node_rank = std::stoi(words[i + 1]);
    if (words[i] == "--launcher") request.only_launches = words[i + 1] == "yes";
    if (words[i] == "--root") request.root = words[i + 1];
  }
  return request;
}

std::string show_peers(const World& world, const std::vector<std::string>& words) {
  const Peers peers = find_peers(world, read_request(words));
  std::string text = peers.line + "\n";
  text += fmt::format("job {}\n", peers.job);
  text += fmt::format("dial {}\n", fold_names(peers.dial));
  CHECK(peers.names.size() == peers.dial.size());
  if (peers.port != 0) text += fmt::format("port {}\n", peers.port);
  if (peers.least != static_cast<int>(peers.names.size()))
    text += fmt::format("least {}\n", peers.least);
  return text;
}

std::string show_hosts(const World& world) {
  const auto list = find_node_list(world);
  if (!list) return "this machine alone\n";
  std::string text = describe(*list) + "\n";
  for (const Host& host : list->hosts)
    text += fmt::format("{} slots={}\n", host.name,
                        host.slots == kAutoSlots ? "auto" : std::to_string(host.slots));
  return text;
}

std::string show_own(const World& world, const std::vector<std::string>& words) {
  Host host;
  host.name = words.front();
  return is_own_host(host, own_names(world)) ? "local\n" : "remote\n";
}

std::string show(const World& world, const ds::test::WorldCheck& check) {
  try {
    if (check.what == "own") return show_own(world, check.words);
    return check.what == "peers" ? show_peers(world, check.words) : show_hosts(world);
  } catch (const ds::Error& error) {
    const char* kind = error.kind() == ds::ErrorKind::usage    ? "usage"
                       : error.kind() == ds::ErrorKind::config ? "config"
                                                               : "other";
    return fmt::format("error ({}): {}\n", kind, error.for_people());
  }
}

}  // namespace

TEST_CASE("what is found in each world is what its file says") {
  const std::vector<std::string> paths = ds::test::world_paths();
  CHECK(paths.size() >= 20);
  std::size_t checks = 0;
  for (const std::string& path : paths) {
    const ds::test::WorldFile file = ds::test::load_world(path);
    CHECK_MESSAGE(!file.checks.empty(), path);
    for (const ds::test::WorldCheck& check : file.checks) {
      ++checks;
      const std::string seen = show(file.world, check);
      CHECK_MESSAGE(seen == check.expected, file.name, ".txt:", check.line, ": ", check.what,
                    " gives\n", seen);
    }
  }
  CHECK(checks >= 60);
}
