// PmiServer: the descriptors of the ranks' PMI connections; PmiNode decides.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/mpi/pmi_node.h"

namespace ds::launcher {

/// Descriptor of the connection in a rank, for PMI_FD.
inline constexpr int kPmiFd = 3;

struct PmiPair {
  UniqueFd ours;  // non-blocking
  UniqueFd theirs;
};
/// Errors:  Error{system} if the system refuses.
PmiPair make_pmi_pair();

/// Never blocks. A rank that does not read its replies is not read from until it does.
/// Threads: one.   Errors: none.
class PmiServer {
 public:
  PmiServer() = default;  // the ranks have no connection
  /// `space` names the key-value space; `ends` are the connections, in the order of Spec::ranks.
  PmiServer(const Spec& spec, const std::string& space, std::vector<UniqueFd> ends);

  void add_polls(std::vector<pollfd>& polled);
  /// Reads and writes what is ready in `polled`, and performs what is due.
  void turn(const std::vector<pollfd>& polled, Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const {
    return node_ ? node_->wake_at() : Clock::time_point::max();
  }
  void take(FenceOut&& message);
  void take(const NameAnswer& message);
  /// The main process of a rank has ended. What it sent before is read first.
  void ended(std::int32_t rank, int wait_status, Clock::time_point now);

  /// Return frames for the root, and lines for the user.
  std::vector<Message> take_messages() {
    return node_ ? node_->take_messages() : std::vector<Message>();
  }
  std::vector<std::string> take_lines() {
    return node_ ? node_->take_lines() : std::vector<std::string>();
  }

 private:
  struct End {
    UniqueFd fd;
    std::string unsent{};
    bool closing = false;  // after what is unsent
  };
  bool read_some(std::size_t index, Clock::time_point now);
  void pass_answers();
  static void write_some(End& end);

  std::optional<PmiNode> node_;
  std::vector<End> ends_;
  std::size_t first_poll_ = 0;
  bool polled_ = false;  // add_polls() was called since the last turn()
};

}  // namespace ds::launcher
