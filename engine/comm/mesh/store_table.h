// StoreTable: the key-value table of the store and its waiting clients. Pure: requests in, answers
// out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/comm/mesh/frame.h"

namespace ds::comm {

class StoreTable {
 public:
  using Client = std::uint64_t;
  struct Outgoing {
    Client to = 0;
    Frame frame;
  };

  /// Returns the answers that the request makes due: to its sender, and to clients that wait for
  /// its key. A client has one open request; a new one replaces a wait that timed out at the
  /// client. Returns nothing when the frame is not a request or the table is full (kMaxBytes): drop
  /// the client.
  std::optional<std::vector<Outgoing>> on(Client client, const Frame& question);
  void forget(Client client) { waiting_.erase(client); }

  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

 private:
  struct Waiting {
    std::uint32_t id = 0;
    std::string key;
  };
  void put(const std::string& key, const std::string& value);
  void wake(const std::string& key, std::vector<Outgoing>& due);

  std::unordered_map<std::string, std::string> values_;
  std::map<Client, Waiting> waiting_;  // ordered, so that answers go out in a fixed order
  std::size_t bytes_ = 0;
};

}  // namespace ds::comm
