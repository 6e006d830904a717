// The ssh-agent protocol (draft-ietf-sshm-ssh-agent): a client with deadlines, a server for libssh.
#include "launcher/transport/ssh/agent_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

namespace {

constexpr char kFailure = 5;
constexpr char kRequestIdentities = 11;
constexpr char kIdentitiesAnswer = 12;
constexpr char kSignRequest = 13;
constexpr std::uint32_t kMaxMessage = 256 * 1024;  // as OpenSSH

std::string u32(std::size_t value) {
  const auto n = static_cast<std::uint32_t>(value);
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
          static_cast<char>(n)};
}

std::uint32_t read_u32(const char* bytes) {
  const auto* b = reinterpret_cast<const unsigned char*>(bytes);
  return (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) |
         b[3];
}

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  int rc = 0;
  do {
    rc = ::poll(&entry, 1, static_cast<int>(deadline.remaining().count()));
  } while (rc < 0 && errno == EINTR);
  return rc > 0;
}

bool write_all(int fd, const std::string& bytes, const Deadline& deadline) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait_for(fd, POLLOUT, deadline)) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool read_exactly(int fd, char* out, std::size_t count, const Deadline& deadline) {
  while (count > 0) {
    if (!wait_for(fd, POLLIN, deadline)) return false;
    const ssize_t n = ::recv(fd, out, count, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n < 0) continue;
    out += n;
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

/// Reads one message without its length; returns nothing at the end, on an error and at the
/// deadline.
std::optional<std::string> read_message(int fd, const Deadline& deadline) {
  char head[4];
  if (!read_exactly(fd, head, sizeof head, deadline)) return std::nullopt;
  const std::uint32_t length = read_u32(head);
  if (length == 0 || length > kMaxMessage) return std::nullopt;
  std::string body(length, '\0');
  if (!read_exactly(fd, body.data(), length, deadline)) return std::nullopt;
  return body;
}

bool write_message(int fd, const std::string& body, const Deadline& deadline) {
  return write_all(fd, u32(body.size()) + body, deadline);
}

UniqueFd connect_agent(const std::string& path, std::string& problem) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    problem = "the agent's socket path is too long";
    return UniqueFd();
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    problem = "the agent at " + path + " cannot be reached (" + std::strerror(errno) + ")";
    return UniqueFd();
  }
  return fd;
}

std::vector<AgentKey> parse_identities(const std::string& body) {
  std::vector<AgentKey> keys;
  std::size_t at = 5;
  const auto take = [&]() -> std::optional<std::string> {
    if (at + 4 > body.size()) return std::nullopt;
    const std::uint32_t length = read_u32(body.data() + at);
    if (length > body.size() - at - 4) return std::nullopt;
    std::string out = body.substr(at + 4, length);
    at += 4 + length;
    return out;
  };
  if (body.size() < 5 || body[0] != kIdentitiesAnswer) return keys;
  for (std::uint32_t left = read_u32(body.data() + 1); left > 0; --left) {
    const auto blob = take();
    const auto comment = take();
    if (!blob || !comment) break;
    keys.push_back({*blob, *comment});
  }
  return keys;
}

}  // namespace

/// Owns the thread, its clients and the connection to the real agent.
class AgentRelay::Server {
 public:
  Server(UniqueFd agent, std::chrono::milliseconds limit)
      : agent_(std::move(agent)),
        limit_(limit),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { serve(); }) {}

  ~Server() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    ring();
    thread_.join();  // ends within one `limit`
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void add(UniqueFd client, std::string identities) {
    {
      const std::lock_guard lock(mutex_);
      fresh_.push_back({std::move(client), std::move(identities)});
    }
    ring();
  }

 private:
  struct Client {
    UniqueFd fd;
    std::string identities;  // the answer to a request for the list
  };

  void ring() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

  void serve() {
    std::vector<Client> clients;
    while (true) {
      std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}};
      for (const Client& client : clients) entries.push_back({client.fd.get(), POLLIN, 0});
      if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR)
        return;  // ended by ring()
      for (std::size_t i = clients.size(); i > 0; --i) {
        if (entries[i].revents != 0 && !answer(clients[i - 1]))
          clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i) - 1);
      }
      std::uint64_t count = 0;
      (void)!::read(wake_.get(), &count, sizeof count);
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      for (Client& client : fresh_) clients.push_back(std::move(client));
      fresh_.clear();
    }
  }

  /// Returns false when the client has gone.
  bool answer(const Client& client) {
    const Deadline deadline = Deadline::after(limit_);
    const auto request = read_message(client.fd.get(), deadline);
    if (!request) return false;
    std::string reply(1, kFailure);
    if (request->front() == kRequestIdentities) {
      reply = client.identities;
    } else if (request->front() == kSignRequest && agent_) {
      const bool sent = write_message(agent_.get(), *request, deadline);
      const auto signature = sent ? read_message(agent_.get(), deadline) : std::nullopt;
      if (signature)
        reply = *signature;
      else
        agent_.reset();  // it hangs or has gone; a late answer would be read as the next one
    }
    return write_message(client.fd.get(), reply, deadline);
  }

  UniqueFd agent_;
  std::chrono::milliseconds limit_;
  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<Client> fresh_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

AgentRelay::AgentRelay(const std::string& socket_path, std::chrono::milliseconds limit) {
  UniqueFd agent = connect_agent(socket_path, problem_);
  if (!agent) return;
  const Deadline deadline = Deadline::after(limit);
  const bool sent = write_message(agent.get(), std::string(1, kRequestIdentities), deadline);
  const auto reply = sent ? read_message(agent.get(), deadline) : std::nullopt;
  if (!reply) {
    problem_ = "the agent at " + socket_path + " did not answer";
    return;
  }
  keys_ = parse_identities(*reply);
  if (!keys_.empty()) server_ = std::make_unique<Server>(std::move(agent), limit);
}

AgentRelay::~AgentRelay() = default;

int AgentRelay::open_session(const std::vector<AgentKey>& keys) {
  int pair[2];
  if (!server_ || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return -1;
  std::string identities(1, kIdentitiesAnswer);
  identities += u32(keys.size());
  for (const AgentKey& key : keys)
    identities += u32(key.blob.size()) + key.blob + u32(key.comment.size()) + key.comment;
  server_->add(UniqueFd(pair[1]), std::move(identities));
  return pair[0];
}

}  // namespace ds::launcher
