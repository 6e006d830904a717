// Relay between libssh and the ssh-agent: caches the list of keys, gives every answer a deadline.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace ds::launcher {

struct AgentKey {
  std::string blob;  // the public key, binary
  std::string comment;
};

/// libssh reads from an agent without a deadline, so an agent that hangs would hang all hosts.
/// libssh gets one end of a socket pair instead, and a thread of this class answers: the list from
/// memory, signatures from the real agent, and "failure" once the agent has exceeded the limit.
class AgentRelay {
 public:
  /// Connects and reads the list of keys, for `limit` at most. After an error there are no keys,
  /// and problem() says why.
  AgentRelay(const std::string& socket_path, std::chrono::milliseconds limit);
  ~AgentRelay();
  AgentRelay(const AgentRelay&) = delete;
  AgentRelay& operator=(const AgentRelay&) = delete;

  [[nodiscard]] const std::vector<AgentKey>& keys() const { return keys_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Returns a descriptor that offers exactly `keys`, in this order; the caller closes it. Returns
  /// -1 if the system refuses.
  int open_session(const std::vector<AgentKey>& keys);

 private:
  class Server;
  std::vector<AgentKey> keys_;
  std::string problem_;
  std::unique_ptr<Server> server_;
};

}  // namespace ds::launcher
