// Small network partner for tests: `silent ADDRESS PORT` listens and never answers; `hang-up
// ADDRESS PORT` closes every connection, as a server with too many logins does; `meet` is a rank
// that connects to all other ranks at MASTER_ADDR:MASTER_PORT, as a training framework would, and
// prints a line.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kMeetSeconds = 30;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(3);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set\n", name);
    std::exit(4);
  }
  return value;
}

int listen_at(const std::string& address, int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) die("address");
  if (::bind(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) die("bind");
  if (::listen(fd, 64) != 0) die("listen");
  return fd;
}

int connect_to(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &list) != 0) die("MASTER_ADDR");
  for (int tries = 0; tries < kMeetSeconds * 20; ++tries) {
    const int fd = ::socket(list->ai_family, SOCK_STREAM, 0);
    if (::connect(fd, list->ai_addr, list->ai_addrlen) == 0) return fd;
    ::close(fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  die("connect");
}

int meet() {
  ::alarm(kMeetSeconds);
  const std::string rank = variable("RANK");
  const int world = std::stoi(variable("WORLD_SIZE"));
  const std::string address = variable("MASTER_ADDR");
  const std::string port = variable("MASTER_PORT");
  if (rank == "0") {
    const int listener = listen_at("0.0.0.0", std::stoi(port));
    std::vector<int> others;
    for (int i = 1; i < world; ++i) others.push_back(::accept(listener, nullptr, nullptr));
    for (const int fd : others)
      if (::write(fd, "k", 1) != 1) die("write");
  } else {
    char word = 0;
    if (::read(connect_to(address, port), &word, 1) != 1 || word != 'k') die("read");
  }
  char name[64] = {};
  ::gethostname(name, sizeof name - 1);
  std::printf("rank %s of %d met at %s on %s\n", rank.c_str(), world, address.c_str(), name);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "meet") == 0) return meet();
  if (count == 4 && std::strcmp(words[1], "silent") == 0) {
    listen_at(words[2], std::stoi(words[3]));
    ::alarm(300);
    while (true) ::pause();
  }
  if (count == 4 && std::strcmp(words[1], "hang-up") == 0) {
    const int listener = listen_at(words[2], std::stoi(words[3]));
    ::alarm(300);
    while (true) ::close(::accept(listener, nullptr, nullptr));
  }
  std::fputs("usage: net_helper meet | silent ADDRESS PORT | hang-up ADDRESS PORT\n", stderr);
  return 64;
}
