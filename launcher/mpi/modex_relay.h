// Requests for the data of one rank at the root (direct modex): passes them between nodes, and
// answers for nodes whose ranks have ended. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Promise: every request gets one answer while its job runs, unless the node that is asked lives
///          and waits for its rank. The server of a node ends with the ranks of the node, so their
///          data can then no longer be read: PMIX_ERR_NOT_FOUND.
/// Cost:    one entry for each open request.
/// Threads: one.   Errors: none.
class ModexRelay {
 public:
  struct Out {
    int node = 0;  // that gets the message
    Message message{};
  };

  /// Begins an epoch; `ranks` has the ranks of each node.
  void begin(const std::vector<std::vector<int>>& ranks);
  /// Take a message of `node`. Answers that nobody waits for go nowhere.
  std::vector<Out> take(int node, const ModexAsk& ask);
  std::vector<Out> take(int node, ModexAnswer&& answer);
  /// All ranks of the node have ended.
  std::vector<Out> ended(int node);

 private:
  using Request = std::pair<int, std::uint64_t>;  // the node that asks, and its number there

  std::map<int, int> node_of_;             // of each rank
  std::map<int, std::set<Request>> open_;  // by the node that is asked
  std::set<int> ended_;
};

}  // namespace ds::launcher
