// StoreClient: a rank's connection to the key-value store of rank 0.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/frame.h"
#include "engine/comm/mesh/visit.h"

namespace ds::comm {

/// Errors: every operation throws Error{comm} when the store is gone (it ends with rank 0) or does
/// not answer in time. Threads: any; one operation at a time.
class StoreClient {
 public:
  /// Connects. Errors: as visit().
  StoreClient(const Invitation& door, Deadline deadline);

  void set(const std::string& key, const std::string& value, Deadline deadline);
  /// Sets the key unless it is set; returns the value that is set now.
  std::string set_new(const std::string& key, const std::string& value, Deadline deadline);
  std::optional<std::string> get(const std::string& key, Deadline deadline);
  /// Returns the value once it is set; nothing when the deadline passes first.
  std::optional<std::string> wait(const std::string& key, Deadline deadline);
  /// Adds `step` and returns the new total; an unset key counts as zero.
  std::int64_t add(const std::string& key, std::int64_t step, Deadline deadline);

  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  std::optional<Frame> ask(Frame question, Deadline deadline);
  Frame must_ask(Frame question, Deadline deadline);

  const std::string where_;
  UniqueFd fd_;
  std::mutex mutex_;
  std::uint32_t last_id_ = 0;
};

}  // namespace ds::comm
