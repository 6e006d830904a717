// Tests that ssh looks a name up again when the address found for it no longer answers.
#include <doctest/doctest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <optional>

#include "launcher/transport/ssh/ssh_connection.h"

using namespace ds::launcher;
using asio::ip::tcp;

namespace {

Reached reached(const SshSettings& settings) {
  asio::io_context io(1);
  const auto exchange = std::make_shared<SshExchange>(io, SshOptions{});
  std::optional<Reached> result;
  const auto connection =
      open_connection(*exchange, settings, {}, [&](Reached end) { result = std::move(end); });
  while (!result) io.run_one();
  return std::move(*result);
}

}  // namespace

TEST_CASE(
    "the name of an address that does not answer is looked up again; a given address is not") {
  asio::io_context io(1);
  tcp::acceptor here(io, {asio::ip::make_address("127.0.0.1"), 0});
  SshSettings settings;
  settings.host_name = "localhost";
  settings.port = here.local_endpoint().port();
  settings.address = "127.0.0.79";
  const Reached given = reached(settings);
  CHECK_FALSE(given.socket);
  CHECK(given.problem.find("127.0.0.79: Connection refused") != std::string::npos);

  settings.found_by = "localhost";
  const Reached found = reached(settings);
  CHECK(found.socket);
  CHECK(found.address == "127.0.0.1");

  settings.found_by = "127.0.0.78";
  const Reached neither = reached(settings);
  CHECK_FALSE(neither.socket);
  CHECK(neither.problem.find("127.0.0.78: Connection refused") != std::string::npos);
}

TEST_CASE("a host that says where it is now is dialed there at once, also while it is dialed") {
  asio::io_context io(1);
  tcp::acceptor here(io, {asio::ip::make_address("127.0.0.1"), 0});
  SshSettings settings;
  settings.host_name = settings.found_by = "w-1.gpt.invalid";
  settings.port = here.local_endpoint().port();
  SshOptions options;
  options.moved = std::make_shared<NewAddresses>();
  const auto exchange = std::make_shared<SshExchange>(io, options);
  for (const char* old : {"127.0.0.79", "127.0.0.78"}) {  // it is told during the first attempt
    settings.address = old;
    std::optional<Reached> result;
    const auto connection =
        open_connection(*exchange, settings, {}, [&](Reached end) { result = std::move(end); });
    options.moved->set("w-1", "127.0.0.1");
    while (!result) io.run_one();
    CHECK(result->address == "127.0.0.1");
  }
}
