// What lies between libssh and a session's socket. libssh asks the kernel for every byte whether it
// may read or write it and sends each packet by itself; with a static libssh its calls come here:
// most questions are answered from what the event loop knows, and packets of one turn travel
// together. Elsewhere (no_socket_turn.cpp) libssh has the socket to itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

struct ssh_session_struct;  // libssh's

namespace ds::launcher::libssh {

/// One session's socket. Threads: the event loop's.
class SessionSocket {
 public:
  void assign(int descriptor) { descriptor_ = descriptor; }
  void now_readable() { may_read_ = true; }
  /// The event loop has read this, and there may be more. The bytes stay until the next turn ends.
  void arrived(std::string_view bytes, bool more);
  /// Until then the loop alone reads: what is read here now would overtake it.
  void leave_to_loop() { may_read_ = false; }
  /// Reading failed so.
  void broke(int error) { error_ = error; }
  void now_writable();
  /// Keeps what libssh sends until the server has said something or speak() is called: its greeting
  /// and ours then need one packet of ours instead of two.
  void let_server_begin() { listening_ = true; }
  void speak();
  /// Whether to call now_writable() when the socket can be written again.
  [[nodiscard]] bool wants_write(ssh_session_struct* session) const;
  /// Whether libssh keeps bytes that it could hand over now: call it again.
  [[nodiscard]] bool owes(ssh_session_struct* session);
  /// Nothing that libssh sends from here on goes out: the socket is about to be closed, which says
  /// the same as the ends of its channels would.
  void farewell();

  // libssh's calls.
  [[nodiscard]] int poll(short events, short& shown);
  [[nodiscard]] std::ptrdiff_t receive(void* where, std::size_t size);
  [[nodiscard]] std::ptrdiff_t send(const void* bytes, std::size_t size);
  [[nodiscard]] bool is(int descriptor) const { return descriptor == descriptor_; }
  void flush();
  void closing();

 private:
  friend class SocketTurn;

  bool fetch();
  void keep_given();

  int descriptor_ = -1;
  bool may_read_ = false;
  bool full_ = false;          // the kernel takes no more for now
  bool tell_writable_ = true;  // libssh waits to hear that it may write: at first, and when refused
  bool listening_ = false;
  bool silent_ = false;
  int error_ = 0;  // of a send: libssh hears of it
  bool ended_ = false;
  std::string kept_;         // sent by libssh, not yet by us
  std::string_view given_;   // received, not yet taken by libssh: in a buffer of all sessions,
  std::string given_later_;  // or, beyond a turn, here
};

/// While it lives, libssh's calls about that socket come here; then what was sent goes out.
/// Every call into libssh that may use the socket is made within one.
class SocketTurn {
 public:
  explicit SocketTurn(SessionSocket& socket);
  ~SocketTurn();
  SocketTurn(const SocketTurn&) = delete;
  SocketTurn& operator=(const SocketTurn&) = delete;
  [[nodiscard]] static bool under_way();
  /// Whether bytes that were read may be handed to SessionSocket::arrived().
  [[nodiscard]] static bool reads_ahead();

 private:
  SessionSocket& socket_;
  SessionSocket* outer_;  // of another session, whose event ended this one
};

}  // namespace ds::launcher::libssh
