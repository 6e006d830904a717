// Listening socket of a job: creates it, restores it, accepts clients and distributes output.
#include "launcher/control/control_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "engine/base/error.h"
#include "launcher/control/session.h"
#include "launcher/control/socket_folder.h"

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

class ControlServer::Impl : public std::enable_shared_from_this<ControlServer::Impl> {
 public:
  Impl(asio::io_context& io, std::string id, std::vector<std::string> folders, ControlHooks hooks)
      : io_(io),
        id_(std::move(id)),
        folders_(std::move(folders)),
        context_(std::make_shared<ControlContext>(std::move(hooks))),
        acceptor_(io),
        look_timer_(io),
        gather_timer_(io),
        accept_timer_(io),
        drain_timer_(io) {}

  std::string open();
  void output(OutputPiece piece, std::span<const std::byte> bytes);
  void answered(int rank);
  void saved(const CheckpointOutcome& outcome);
  void finish(int code, std::function<void()> on_drained);
  void abandon();

 private:
  void listen_in(SocketFolder folder);
  void remove_socket();
  void look();
  void accept();
  void on_client(ControlSession::Socket socket);
  void on_closed(const ControlSession* session);
  void drained();

  asio::io_context& io_;
  std::string id_;
  std::vector<std::string> folders_;
  std::shared_ptr<ControlContext> context_;
  std::optional<SocketFolder> folder_;
  Protocol::acceptor acceptor_;
  asio::steady_timer look_timer_, gather_timer_, accept_timer_, drain_timer_;
  std::vector<std::shared_ptr<ControlSession>> sessions_;
  std::function<void()> on_drained_;
  bool gathering_ = false;
};

std::string ControlServer::Impl::open() {
  std::string problem = "no usable folder for the socket";
  for (const std::string& path : folders_) {
    try {
      listen_in(SocketFolder::open_or_make(path));
      accept();
      look();
      return {};
    } catch (const Error& error) {
      problem = error.what();
    } catch (const std::system_error& error) {
      problem = fmt::format("{}: {}", path, error.what());
    }
  }
  return problem;
}

void ControlServer::Impl::listen_in(SocketFolder folder) {
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
  if (!error) acceptor_.listen(16, error);
  if (error || !folder.rename(fresh, socket_name(id_))) {
    const std::string reason = error ? error.message() : "the socket cannot be renamed";
    folder.remove(fresh);
    throw Error(ErrorKind::system, fmt::format("{}: {}", folder.path(), reason));
  }
  folder_ = std::move(folder);
}

void ControlServer::Impl::remove_socket() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  if (folder_) folder_->remove(socket_name(id_));
  folder_.reset();
}

void ControlServer::Impl::look() {
  look_timer_.expires_after(kLookEach);
  look_timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (error || self->context_->code) return;
    if (self->folder_ && self->folder_->contains(socket_name(self->id_))) return self->look();
    if (!self->open().empty()) self->look();
  });
}

void ControlServer::Impl::accept() {
  acceptor_.async_accept(
      [self = shared_from_this()](const asio::error_code& error, ControlSession::Socket socket) {
        if (error == asio::error::operation_aborted || !self->acceptor_.is_open()) return;
        if (!error) {
          self->on_client(std::move(socket));
          return self->accept();
        }
        self->accept_timer_.expires_after(kAcceptAgainAfter);  // probably out of descriptors
        self->accept_timer_.async_wait([self](const asio::error_code& aborted) {
          if (!aborted && self->acceptor_.is_open()) self->accept();
        });
      });
}

void ControlServer::Impl::on_client(ControlSession::Socket socket) {
  if (sessions_.size() >= kMaxClients) return;  // the client sees the connection closed
  socket.non_blocking(true);
  sessions_.push_back(std::make_shared<ControlSession>(
      std::move(socket), context_, [weak = weak_from_this()](const ControlSession* session) {
        if (const auto self = weak.lock()) self->on_closed(session);
      }));
  sessions_.back()->start();
}

void ControlServer::Impl::on_closed(const ControlSession* session) {
  // Erase later: this may run inside a member function of the session or a loop over the list.
  asio::post(io_, [self = shared_from_this(), session] {
    std::erase_if(self->sessions_, [&](const auto& known) { return known.get() == session; });
    if (self->context_->code && self->sessions_.empty()) self->drained();
  });
}

void ControlServer::Impl::output(OutputPiece piece, std::span<const std::byte> bytes) {
  context_->ring.append(piece, bytes);
  if (gathering_ || sessions_.empty()) return;
  gathering_ = true;
  gather_timer_.expires_after(kGather);
  gather_timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    self->gathering_ = false;
    if (error) return;
    const auto sessions = self->sessions_;
    for (const auto& session : sessions) session->pump();
  });
}

void ControlServer::Impl::answered(int rank) {
  const auto watched = context_->watched.find(rank);
  if (watched == context_->watched.end()) return;
  watched->second.answered = true;
  const auto sessions = sessions_;
  for (const auto& session : sessions) session->answered(rank);
}

void ControlServer::Impl::saved(const CheckpointOutcome& outcome) {
  const auto sessions = sessions_;
  for (const auto& session : sessions) session->saved(outcome);
}

void ControlServer::Impl::finish(int code, std::function<void()> on_drained) {
  context_->code = code;
  on_drained_ = std::move(on_drained);
  if (folder_) folder_->note_end(id_, code);
  remove_socket();
  look_timer_.cancel();
  accept_timer_.cancel();
  const auto sessions = sessions_;
  for (const auto& session : sessions) session->pump();
  drain_timer_.expires_after(sessions.empty() ? 0s : kDrainWithin);
  drain_timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->drained();
  });
}

void ControlServer::Impl::drained() {
  drain_timer_.cancel();
  const auto on_drained = std::exchange(on_drained_, {});
  if (on_drained) on_drained();
}

void ControlServer::Impl::abandon() {
  on_drained_ = {};
  remove_socket();
  for (asio::steady_timer* timer : {&look_timer_, &gather_timer_, &accept_timer_, &drain_timer_})
    timer->cancel();
  for (const auto& session : std::exchange(sessions_, {})) session->close();
  context_->hooks = {};
}

ControlServer::ControlServer(asio::io_context& io, std::string job_id,
                             std::vector<std::string> folders, ControlHooks hooks)
    : impl_(std::make_shared<Impl>(io, std::move(job_id), std::move(folders), std::move(hooks))) {}

ControlServer::~ControlServer() { impl_->abandon(); }

std::string ControlServer::open() { return impl_->open(); }

void ControlServer::output(const OutputPiece& piece, std::span<const std::byte> bytes) {
  impl_->output(piece, bytes);
}

void ControlServer::answered(int rank) { impl_->answered(rank); }

void ControlServer::saved(const CheckpointOutcome& outcome) { impl_->saved(outcome); }

void ControlServer::finish(int code, std::function<void()> on_drained) {
  impl_->finish(code, std::move(on_drained));
}

}  // namespace ds::launcher
