// Fetches a host's certificate over a connection of its own.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/unique_fd.h"
#include "launcher/transport/host_keys/known_hosts.h"

namespace ds::launcher {

struct FetchedCertificate {
  std::optional<HostKey> certificate;  // nothing if the host has none of the algorithms
  std::string problem;                 // why there is no answer; empty if there is one
  bool transient = false;              // the server hung up: worth another attempt
};

/// A request under way. Destroying it closes the connection and silences `done`.
class CertificateConnection {
 public:
  virtual ~CertificateConnection() = default;
};

/// `socket` is connected and non-blocking. `algorithms`: see CertificateRequest. `done` comes once,
/// never from inside the call, and may destroy the connection. Threads: the io_context's.
std::unique_ptr<CertificateConnection> fetch_certificate(
    asio::io_context& io, UniqueFd socket, std::string algorithms, std::chrono::milliseconds limit,
    std::function<void(FetchedCertificate)> done);

}  // namespace ds::launcher
