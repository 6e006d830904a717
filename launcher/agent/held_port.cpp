// IPv6 and IPv4 by one socket where there is IPv6.
#include "launcher/agent/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace ds::launcher {
namespace {

HeldPort bind_with(int family, const sockaddr* any, socklen_t size) {
  HeldPort held{UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!held.socket) return {.socket = {}, .problem = errno};
  const int on = 1;
  const int off = 0;
  ::setsockopt(held.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6)
    ::setsockopt(held.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::bind(held.socket.get(), any, size) != 0 ||
      ::getsockname(held.socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    return {.socket = {}, .problem = errno};
  // The port lies at the same place in both families.
  held.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return held;
}

}  // namespace

HeldPort hold_port(std::uint16_t wanted) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(wanted);
  HeldPort held = bind_with(AF_INET6, reinterpret_cast<const sockaddr*>(&any6), sizeof any6);
  const bool without_v6 = held.problem == EAFNOSUPPORT || held.problem == EADDRNOTAVAIL;
  if (held.port != 0 || !without_v6) return held;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(wanted);
  return bind_with(AF_INET, reinterpret_cast<const sockaddr*>(&any4), sizeof any4);
}

UniqueFd listen_beside(const HeldPort& held) {
  if (held.port == 0) return {};
  HeldPort beside = hold_port(held.port);
  if (!beside.socket || ::listen(beside.socket.get(), SOMAXCONN) != 0) return {};
  return std::move(beside.socket);
}

}  // namespace ds::launcher
