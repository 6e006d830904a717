// A shared libssh has its socket to itself.
#include <libssh/libssh.h>

#include "launcher/transport/libssh/socket_turn.h"

namespace ds::launcher::libssh {

void SessionSocket::now_writable() {}

void SessionSocket::arrived(std::string_view, bool) {}

void SessionSocket::speak() {}

bool SessionSocket::wants_write(ssh_session_struct* session) const {
  return (ssh_get_poll_flags(session) & SSH_WRITE_PENDING) != 0;
}

bool SessionSocket::owes(ssh_session_struct* /*session*/) { return false; }

void SessionSocket::farewell() {}

SocketTurn::SocketTurn(SessionSocket& socket) : socket_(socket), outer_(nullptr) {}

SocketTurn::~SocketTurn() {}

bool SocketTurn::reads_ahead() { return false; }

}  // namespace ds::launcher::libssh
