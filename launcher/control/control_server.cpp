// Listening socket of a job: creates it, restores it, accepts clients and distributes output.
#include "launcher/control/control_server.h"

#include <sys/stat.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "engine/base/error.h"
#include "launcher/control/session.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;
using Protocol = asio::local::stream_protocol;

constexpr std::size_t kMaxClients = 64;
/// Delay that collects new output into one write per client.
constexpr auto kGather = 5ms;
/// Time for clients to read the rest after the end of the job.
constexpr auto kDrainWithin = 1s;
/// Interval of checks for the socket. The end of a login session or a cleaner of /tmp may remove
/// it; it is then created again.
constexpr auto kLookEach = 5s;
constexpr auto kAcceptAgainAfter = 1s;

}  // namespace

ControlServer::ControlServer(asio::io_context& io, std::string job_id,
                             std::vector<std::string> folders, ControlHooks hooks)
    : io_(io),
      id_(std::move(job_id)),
      folders_(std::move(folders)),
      context_(std::make_shared<ControlContext>(ControlContext{std::move(hooks)})),
      self_(std::make_shared<ControlServer*>(this)),
      acceptor_(io),
      look_timer_(io),
      gather_timer_(io),
      accept_timer_(io),
      drain_timer_(io) {}

ControlServer::~ControlServer() {
  on_drained_ = {};
  self_.reset();
  remove_socket();
  for (const auto& session : std::exchange(sessions_, {})) session->close();
  context_->hooks = {};
}

void ControlServer::after(asio::steady_timer& timer, std::chrono::milliseconds span,
                          void (ControlServer::*handler)()) {
  timer.expires_after(span);
  timer.async_wait([self = std::weak_ptr(self_), handler](const asio::error_code& error) {
    if (const auto server = self.lock(); server && !error) ((*server)->*handler)();
  });
}

std::string ControlServer::open() {
  std::string problem = "no usable folder for the socket";
  for (const std::string& path : folders_) {
    try {
      listen_in(SocketFolder::open_or_make(path));
      accept();
      after(look_timer_, kLookEach, &ControlServer::look);
      return {};
    } catch (const Error& error) {
      problem = error.what();
    } catch (const std::system_error& error) {
      problem = fmt::format("{}: {}", path, error.what());
    }
  }
  return problem;
}

void ControlServer::listen_in(SocketFolder folder) {
  // The socket gets its own name only once it listens: a socket that refuses belongs to a dead job.
  const std::string fresh = fmt::format("{}.new", id_);
  folder.remove(fresh);
  acceptor_ = Protocol::acceptor(io_);
  acceptor_.open();
  asio::error_code error;
  const std::string address = folder.address_of(fresh);
  acceptor_.bind(Protocol::endpoint(address), error);
  // chmod, not umask(2): the umask belongs to the whole process, and other threads create log
  // files. The folder has mode 0700, and nobody can connect before listen().
  if (!error && ::chmod(address.c_str(), 0600) != 0)
    error = asio::error_code(errno, asio::error::get_system_category());
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error || !folder.rename(fresh, socket_name(id_))) {
    const std::string reason = error ? error.message() : "the socket cannot be renamed";
    folder.remove(fresh);
    throw Error(ErrorKind::system, fmt::format("{}: {}", folder.path(), reason));
  }
  folder_ = std::move(folder);
}

void ControlServer::remove_socket() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  if (folder_) folder_->remove(socket_name(id_));
  folder_.reset();
}

void ControlServer::look() {
  if (context_->code) return;
  const bool stands = folder_ && folder_->contains(socket_name(id_));
  if (stands || !open().empty()) after(look_timer_, kLookEach, &ControlServer::look);
}

void ControlServer::accept() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept(
      [self = std::weak_ptr(self_)](const asio::error_code& error, Protocol::socket socket) {
        const auto server = self.lock();
        if (!server || error == asio::error::operation_aborted) return;
        ControlServer& me = **server;
        if (!me.acceptor_.is_open()) return;
        if (error)  // probably out of descriptors
          return me.after(me.accept_timer_, kAcceptAgainAfter, &ControlServer::accept);
        me.on_client(std::move(socket));
        me.accept();
      });
}

void ControlServer::on_client(Protocol::socket socket) {
  if (sessions_.size() >= kMaxClients) return;  // the client sees the connection closed
  socket.non_blocking(true);
  sessions_.push_back(std::make_shared<ControlSession>(
      std::move(socket), context_, [self = std::weak_ptr(self_)](const ControlSession* session) {
        if (const auto server = self.lock()) (*server)->on_closed(session);
      }));
  sessions_.back()->start();
}

void ControlServer::on_closed(const ControlSession* session) {
  // Erase later: this may run inside a member function of the session or a loop over the list.
  asio::post(io_, [self = std::weak_ptr(self_), session] {
    const auto server = self.lock();
    if (!server) return;
    ControlServer& me = **server;
    std::erase_if(me.sessions_, [&](const auto& known) { return known.get() == session; });
    if (me.context_->code && me.sessions_.empty()) me.drained();
  });
}

void ControlServer::output(const OutputPiece& piece, std::span<const std::byte> bytes) {
  context_->ring.append(piece, bytes);
  if (sessions_.empty() || std::exchange(gathering_, true)) return;
  after(gather_timer_, kGather, &ControlServer::pump);
}

void ControlServer::pump() {
  gathering_ = false;
  const auto sessions = sessions_;
  for (const auto& session : sessions) session->pump();
}

void ControlServer::answered(int rank) {
  const auto watched = context_->watched.find(rank);
  if (watched == context_->watched.end()) return;
  watched->second.answered = true;
  const auto sessions = sessions_;
  for (const auto& session : sessions) session->answered(rank);
}

void ControlServer::saved(const CheckpointOutcome& outcome) {
  const auto sessions = sessions_;
  for (const auto& session : sessions) session->saved(outcome);
}

void ControlServer::finish(int code, std::function<void()> on_drained) {
  context_->code = code;
  on_drained_ = std::move(on_drained);
  if (folder_) folder_->note_end(id_, code);
  remove_socket();
  look_timer_.cancel();
  accept_timer_.cancel();
  pump();
  after(drain_timer_, sessions_.empty() ? 0s : kDrainWithin, &ControlServer::drained);
}

void ControlServer::drained() {
  drain_timer_.cancel();
  if (const auto on_drained = std::exchange(on_drained_, {})) on_drained();
}

}  // namespace ds::launcher
