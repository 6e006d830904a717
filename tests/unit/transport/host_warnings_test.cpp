// Tests the folding of warnings about hosts, and the user that ssh_config gives a host.
#include "launcher/transport/host_warnings.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "launcher/transport/ssh/ssh_transport.h"

using namespace ds::launcher;

TEST_CASE("hosts with the same warning share a line; one host alone keeps its details") {
  HostWarnings warnings;
  for (const char* host : {"n1", "n2", "n3", "n2"})
    warnings.add(host, {std::string("new key of ") + host, "new keys"});
  warnings.add("gate", {"old key 17", "old keys"});
  CHECK(warnings.take() == std::vector<std::string>{"n[1-3]: new keys", "gate: old key 17"});
  CHECK(warnings.empty());
}

TEST_CASE("a host is named once for each warning") {
  HostWarnings warnings;
  warnings.add("n1", {"a", "a"});
  CHECK(warnings.take().size() == 1);
  warnings.add("n1", {"a", "a"});
  CHECK(warnings.empty());
  warnings.add("n1", {"b", "b"});
  CHECK(warnings.take() == std::vector<std::string>{"n1: b"});
}

TEST_CASE("the user of a host is that of ssh_config, unless the hostfile gives one") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("ds_user_of_" + std::to_string(::getpid())))
          .string();
  std::ofstream(path) << "Host node*\n  User worker\n";
  asio::io_context io;
  SshOptions options;
  options.config_file = path;
  const auto transport = make_ssh_transport(io, options);
  std::remove(path.c_str());
  Host host;
  host.name = "node3";
  CHECK(transport->user_of(host) == "worker");
  host.user = "admin";
  CHECK(transport->user_of(host) == "admin");
}
