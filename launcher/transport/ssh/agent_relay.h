// Stands between libssh and the ssh-agent: one cached list of keys, a deadline on every answer.
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

/// libssh talks to an agent with blocking reads that have no deadline; an agent that hangs would
/// hang all hosts. So it gets one end of a socket pair, and a thread here answers: the list from
/// memory, signatures from the real agent, and "failure" once that has not answered within the
/// limit.
class AgentRelay {
 public:
  /// Connects and reads the list of keys, at most for `limit`; trouble leaves no keys and a text in
  /// problem().
  AgentRelay(const std::string& socket_path, std::chrono::milliseconds limit);
  ~AgentRelay();
  AgentRelay(const AgentRelay&) = delete;
  AgentRelay& operator=(const AgentRelay&) = delete;

  [[nodiscard]] const std::vector<AgentKey>& keys() const { return keys_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// A descriptor that offers exactly `keys`, in this order; the caller closes it. -1 if the system
  /// refuses.
  int open_session(const std::vector<AgentKey>& keys);

 private:
  class Server;
  std::vector<AgentKey> keys_;
  std::string problem_;
  std::unique_ptr<Server> server_;
};

}  // namespace ds::launcher
