#include "engine/base/rank_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/rank_message.h"

namespace ds {
namespace {

/// Room for one descriptor. The kernel closes those that do not fit.
union RightsSpace {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

/// Takes the first descriptor and closes the others: alignment leaves room for a second one.
UniqueFd take_rights(msghdr& message) {
  UniqueFd first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      UniqueFd taken(fd);
      if (!first) first = std::move(taken);
    }
  }
  return first;
}

}  // namespace

Sent send_datagram(int socket, std::string_view text, int fd) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  RightsSpace space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    space.header.cmsg_len = CMSG_LEN(sizeof fd);
    space.header.cmsg_level = SOL_SOCKET;
    space.header.cmsg_type = SCM_RIGHTS;
    std::memcpy(CMSG_DATA(&space.header), &fd, sizeof fd);
    message.msg_control = &space;
    message.msg_controllen = sizeof space;
  }
  ssize_t sent = 0;
  while ((sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) {
  }
  if (sent >= 0) return Sent::yes;
  // ETOOMANYREFS: the user has as many descriptors in flight as RLIMIT_NOFILE allows.
  const bool full = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS;
  return full ? Sent::not_now : Sent::never;
}

Datagram receive_datagram(int socket) {
  std::array<char, kMaxRankMessage> bytes;
  iovec part{bytes.data(), bytes.size()};
  RightsSpace space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = sizeof space;
  ssize_t got = 0;
  while ((got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 &&
         errno == EINTR) {
  }
  Datagram datagram;
  if (got < 0) {
    datagram.ended = errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM;
    return datagram;
  }
  datagram.fd = take_rights(message);
  datagram.ended = got == 0;
  if (datagram.ended) return datagram;
  const bool cut = (message.msg_flags & MSG_TRUNC) != 0;
  datagram.kind = cut ? Datagram::Kind::too_long : Datagram::Kind::whole;
  if (!cut) datagram.text.assign(bytes.data(), static_cast<std::size_t>(got));
  return datagram;
}

}  // namespace ds
