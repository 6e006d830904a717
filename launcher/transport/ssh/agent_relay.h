// Relay between libssh and the ssh-agent: caches the list of keys, gives every answer a deadline.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/unique_fd.h"

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
  /// Waits for an answer under way.
  ~AgentRelay();

  [[nodiscard]] const std::vector<AgentKey>& keys() const { return keys_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Returns a descriptor that offers exactly `keys`, in this order; the caller closes it. Returns
  /// -1 if the system refuses.
  int open_session(const std::vector<AgentKey>& keys);

 private:
  struct Client {
    UniqueFd fd;
    std::string identities;  // the answer to a request for the list
  };
  void serve();
  bool answer(const Client& client);
  void ring() const;

  std::vector<AgentKey> keys_;
  std::string problem_;
  std::chrono::milliseconds limit_;
  UniqueFd agent_;  // the thread's, once that runs
  UniqueFd wake_;
  std::mutex mutex_;  // of the two below
  std::vector<Client> fresh_;
  bool stop_ = false;
  std::thread thread_;  // runs if there are keys
};

}  // namespace ds::launcher
