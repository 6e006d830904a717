// LinkContext: Gloo's TCP transport over connections that this project has made and proven.
//
// A Gloo pair listens on its own port and takes the first connection: one from another program
// spoils the mesh, and garbage from it ends the process. So these pairs never connect. Each closes
// its listener at once (it was on 127.0.0.1) and adopts a link that the Door has proven. Errors on
// Gloo's thread become errors of the pair instead of ending the process.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::comm {

/// Called when a connection ended, on any thread, with the pair locked: it must not call back into
/// pairs.
using LinkEnded = std::function<void(int peer)>;

class LinkContext final : public ::gloo::transport::tcp::Context {
 public:
  /// `traffic` counts up when bytes pass. Errors: Error{comm} when Gloo does not take a link.
  LinkContext(std::shared_ptr<::gloo::transport::tcp::Device> device, int rank,
              std::vector<UniqueFd> links, LinkEnded link_ended,
              std::atomic<std::uint64_t>& traffic);
  /// Tells all peers that nothing follows. Gloo needs milliseconds to close each link: without this
  /// call the last peer would learn of the end from the first peer and blame that one. Any thread.
  void say_goodbye();
  /// Ends all links at once; peers notice. Any thread.
  void close_all();
  std::unique_ptr<::gloo::transport::Pair>& createPair(int peer) override;

 private:
  LinkEnded link_ended_;
  std::atomic<std::uint64_t>& traffic_;
};

/// Starts Gloo's I/O thread, which takes no signals. One serves all groups of a process. Ignores
/// SIGPIPE in this process from now on, unless it is handled already.
std::shared_ptr<::gloo::transport::tcp::Device> make_link_device();

}  // namespace ds::comm
