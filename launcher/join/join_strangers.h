// Bounded list of connections that have not sent their hello yet.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "launcher/join/join_connection.h"

namespace ds::launcher {

/// Threads: one.
class JoinStrangers {
 public:
  /// Keeps at most `limit` connections; a new one replaces the oldest.
  explicit JoinStrangers(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {}
  ~JoinStrangers() { abandon(); }
  JoinStrangers(const JoinStrangers&) = delete;
  JoinStrangers& operator=(const JoinStrangers&) = delete;

  void add(std::shared_ptr<JoinConnection> connection) {
    if (all_.size() >= limit_) {
      all_.front()->abandon();
      all_.erase(all_.begin());
    }
    all_.push_back(std::move(connection));
  }
  /// Returns false if the connection is not in the list.
  bool remove(const std::shared_ptr<JoinConnection>& connection) {
    return std::erase(all_, connection) > 0;
  }
  [[nodiscard]] bool has(const std::shared_ptr<JoinConnection>& connection) const {
    return std::find(all_.begin(), all_.end(), connection) != all_.end();
  }
  [[nodiscard]] const std::vector<std::shared_ptr<JoinConnection>>& all() const { return all_; }
  void abandon() {
    for (const auto& connection : all_) connection->abandon();
    all_.clear();
  }

 private:
  std::size_t limit_;
  std::vector<std::shared_ptr<JoinConnection>> all_;
};

}  // namespace ds::launcher
