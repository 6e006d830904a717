// Tests the relay to the ssh-agent: its cached list, a missing agent, an agent that never answers.
#include "launcher/transport/ssh/agent_relay.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

/// A listening socket that accepts (in the kernel) and never answers.
class SilentAgent {
 public:
  SilentAgent() {
    std::string name = (std::filesystem::temp_directory_path() / "agent_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    fd_.reset(::socket(AF_UNIX, SOCK_STREAM, 0));
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd_.get(), 4) == 0);
  }
  ~SilentAgent() { std::filesystem::remove_all(folder_); }
  SilentAgent(const SilentAgent&) = delete;
  SilentAgent& operator=(const SilentAgent&) = delete;
  [[nodiscard]] std::string path() const { return (folder_ / "s").string(); }

 private:
  std::filesystem::path folder_;
  ds::UniqueFd fd_;
};

}  // namespace

TEST_CASE("a missing agent leaves no keys and says why") {
  AgentRelay relay("/no/such/agent", 1s);
  CHECK(relay.keys().empty());
  CHECK(relay.problem().find("/no/such/agent cannot be reached") != std::string::npos);
  CHECK(relay.open_session({}) == -1);
}

TEST_CASE("an agent that never answers is given up at the limit") {
  const SilentAgent agent;
  AgentRelay relay(agent.path(), 50ms);
  CHECK(relay.keys().empty());
  CHECK(relay.problem().find("did not answer") != std::string::npos);
}

TEST_CASE("a socket path that does not fit is a problem, not an overflow") {
  AgentRelay relay("/" + std::string(300, 'x'), 50ms);
  CHECK(relay.problem().find("too long") != std::string::npos);
}
