// When a static libssh may write: it would send one packet, and keep the next until a poll has told
// it that it may.
#include <libssh/libssh.h>

#include <cstdint>

#include "launcher/transport/libssh/socket_turn.h"

extern "C" {
// As libssh declares them: include/libssh/socket.h, which is not installed.
int __real_ssh_socket_write(void* socket, const void* bytes, std::uint32_t size);
void ssh_socket_set_write_wontblock(void* socket);

int __wrap_ssh_socket_write(void* socket, const void* bytes, std::uint32_t size) {
  if (ds::launcher::libssh::SocketTurn::under_way()) ssh_socket_set_write_wontblock(socket);
  return __real_ssh_socket_write(socket, bytes, size);
}
}

namespace ds::launcher::libssh {

bool SessionSocket::wants_write(ssh_session_struct* /*session*/) const { return full_; }

bool SessionSocket::owes(ssh_session_struct* session) {
  if (full_ || (ssh_get_status(session) & SSH_WRITE_PENDING) == 0) return false;
  tell_writable_ = true;
  return true;
}

}  // namespace ds::launcher::libssh
