// Passing files on from node to node: the sender of a node's children, and the link to its parent.
//
// All connections are TLS 1.3 with the key of this copy, which nodes get through their own channels
// from the root. A node listens at the address by which the root knows it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/unique_fd.h"
#include "launcher/copy/copy_target.h"
#include "launcher/join/join_key.h"

namespace ds::launcher::copy {

/// What a sender needs of the node that it runs on. Threads: any.
class RelayFiles {
 public:
  virtual ~RelayFiles() = default;
  /// Waits until a file has more than `from` bytes, is done or has failed, or until `limit`.
  virtual std::optional<CopyTarget::Progress> wait(std::uint32_t id, std::uint64_t from,
                                                   std::chrono::milliseconds limit) = 0;
  /// Opens a file, or its temporary file, for reading.
  virtual UniqueFd open(const std::string& path, bool part) = 0;
  /// Returns the digest of a file that was equal already.
  virtual Digest digest(const CopyTarget::Progress& file) = 0;
};

/// Listens at `address` and sends files to whoever proves the key, to a few nodes at most. Runs on
/// threads of its own until the process ends. Returns the port; 0: it cannot listen there.
std::uint16_t serve_children(const std::string& address, const JoinKey& key, RelayFiles& files);

/// The connection to the parent. Runs on a thread of its own until the process ends.
class ParentLink {
 public:
  struct Events {
    std::function<void(const CopyMessage&)> on_message;
    std::function<void()> on_idle;  // after some messages
    std::function<void(const std::string& why)> on_lost;
  };
  ParentLink(std::string address, std::uint16_t port, const JoinKey& key, Events events);
  /// Queues a message. Threads: any.
  void send(const CopyMessage& message);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ds::launcher::copy
