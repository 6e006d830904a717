#include "launcher/control/job_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

/// A launcher that takes no bytes for this time is treated as suspended.
constexpr std::chrono::seconds kSendWithin{2};

ucred peer_of(int socket) {
  ucred peer{};
  peer.uid = static_cast<uid_t>(-1);
  socklen_t size = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

/// Connects to a job's socket. Returns nothing if no process listens there. If the connection queue
/// is full, the launcher does not answer: the socket is returned unconnected and is over at first
/// use.
std::optional<UniqueFd> connect_to(const SocketFolder& folder, const std::string& name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw_errno("cannot create a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.address_of(name);
  DS_ASSERT(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      (errno == ECONNREFUSED || errno == ENOENT))
    return std::nullopt;
  return socket;
}

JobInfo describe_silent(const LiveJob& job) {
  JobInfo info;
  info.id = job.id;
  const pid_t pid = job.client.pid();
  info.state = is_suspended(pid) ? "suspended" : "no answer";
  info.pid = static_cast<std::uint32_t>(pid);
  struct stat facts {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0)
    info.started_ms = static_cast<std::uint64_t>(facts.st_ctim.tv_sec) * 1000;
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) info.command.push_back(word);
  return info;
}

}  // namespace

bool JobClient::send(const ControlMessage& message) {
  Bytes bytes;
  encode_control(message, bytes);
  const Deadline deadline = Deadline::after(kSendWithin);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN && !deadline.passed()) {
      pollfd wait{socket_.get(), POLLOUT, 0};
      ::poll(&wait, 1, static_cast<int>(deadline.remaining().count()));
    } else if (errno != EINTR) {
      return false;  // messages sent before the job closed its end can still be read
    }
  }
  return true;
}

std::optional<ControlMessage> JobClient::next(const Deadline& deadline) {
  while (true) {
    if (auto message = decoder_.next()) return message;
    over_ = over_ || decoder_.broken();
    if (over_) return std::nullopt;
    pollfd wait{socket_.get(), POLLIN, 0};
    // EINTR lets the caller handle its signals.
    if (::poll(&wait, 1, static_cast<int>(deadline.remaining().count())) <= 0) return std::nullopt;
    std::array<std::byte, 64 * 1024> buffer;
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) decoder_.feed(std::span(buffer).first(static_cast<std::size_t>(count)));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) over_ = true;
  }
}

pid_t JobClient::pid() const { return peer_of(socket_.get()).pid; }
uid_t JobClient::uid() const { return peer_of(socket_.get()).uid; }

std::vector<LiveJob> live_jobs(const std::vector<std::string>& folders,
                               const std::function<void(const std::string&)>& warn) {
  std::vector<LiveJob> jobs;
  for (const std::string& path : folders) {
    try {
      const std::optional<SocketFolder> folder = SocketFolder::open(path);
      if (!folder) continue;
      for (const std::string& id : folder->ids()) {
        if (auto socket = connect_to(*folder, socket_name(id))) {
          jobs.push_back({id, JobClient(std::move(*socket))});
        } else {
          folder->remove(socket_name(id));
        }
      }
    } catch (const Error& error) {
      warn(error.for_people());
    }
  }
  return jobs;
}

std::vector<JobInfo> describe_jobs(std::vector<LiveJob>& jobs, const Deadline& deadline) {
  for (LiveJob& job : jobs) job.client.send(InfoRequest{});
  std::vector<JobInfo> infos;
  for (LiveJob& job : jobs) {
    std::optional<ControlMessage> answer = job.client.next(deadline);
    if (answer && std::holds_alternative<JobInfo>(*answer)) {
      infos.push_back(std::move(std::get<JobInfo>(*answer)));
    } else if (!job.client.over()) {
      infos.push_back(describe_silent(job));
    }  // otherwise the job has just ended
  }
  return infos;
}

bool is_suspended(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t after_name = text.rfind(')');
  return after_name != std::string::npos && after_name + 2 < text.size() &&
         (text[after_name + 2] == 'T' || text[after_name + 2] == 't');
}

}  // namespace ds::launcher
