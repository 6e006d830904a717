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
#include <optional>

#include "engine/base/deadline.h"
#include "launcher/transport/host_keys/wire_reader.h"

namespace ds::launcher {

namespace {

constexpr char kFailure = 5;
constexpr char kRequestIdentities = 11;
constexpr char kIdentitiesAnswer = 12;
constexpr char kSignRequest = 13;
constexpr std::size_t kMaxMessage = 256 * 1024;  // as OpenSSH

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
  const std::size_t length = WireReader({head, sizeof head}).number(4);
  if (length == 0 || length > kMaxMessage) return std::nullopt;
  std::string body(length, '\0');
  if (!read_exactly(fd, body.data(), length, deadline)) return std::nullopt;
  return body;
}

/// Writes a message and reads the answer to it.
std::optional<std::string> ask(int fd, const std::string& message, const Deadline& deadline) {
  if (!write_all(fd, wire_string(message), deadline)) return std::nullopt;
  return read_message(fd, deadline);
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

std::vector<AgentKey> parse_identities(std::string_view answer) {
  std::vector<AgentKey> keys;
  WireReader reader(answer);
  if (reader.number(1) != kIdentitiesAnswer) return keys;
  for (std::uint64_t left = reader.number(4); left > 0; --left) {
    AgentKey key{std::string(reader.string()), std::string(reader.string())};
    if (!reader.ok()) break;
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

AgentRelay::AgentRelay(const std::string& socket_path, std::chrono::milliseconds limit)
    : limit_(limit), agent_(connect_agent(socket_path, problem_)) {
  if (!agent_) return;
  const auto reply = ask(agent_.get(), std::string(1, kRequestIdentities), Deadline::after(limit));
  if (!reply) {
    problem_ = "the agent at " + socket_path + " did not answer";
    return;
  }
  keys_ = parse_identities(*reply);
  if (keys_.empty()) return;
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { serve(); });
}

AgentRelay::~AgentRelay() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ring();
  thread_.join();  // ends within one `limit`
}

int AgentRelay::open_session(const std::vector<AgentKey>& keys) {
  int pair[2];
  if (!thread_.joinable() || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return -1;
  std::string identities = kIdentitiesAnswer + wire_number(keys.size());
  for (const AgentKey& key : keys) identities += wire_string(key.blob) + wire_string(key.comment);
  {
    const std::lock_guard lock(mutex_);
    fresh_.push_back({UniqueFd(pair[1]), std::move(identities)});
  }
  ring();
  return pair[0];
}

void AgentRelay::ring() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void AgentRelay::serve() {
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
bool AgentRelay::answer(const Client& client) {
  const Deadline deadline = Deadline::after(limit_);
  const auto request = read_message(client.fd.get(), deadline);
  if (!request) return false;
  std::string reply(1, kFailure);
  if (request->front() == kRequestIdentities) {
    reply = client.identities;
  } else if (request->front() == kSignRequest && agent_) {
    if (auto signature = ask(agent_.get(), *request, deadline))
      reply = std::move(*signature);
    else
      agent_.reset();  // it hangs or has gone; a late answer would be read as the next one
  }
  return write_all(client.fd.get(), wire_string(reply), deadline);
}

}  // namespace ds::launcher
