// A rank that speaks PMI-1 itself, well or badly, for e2e_mpi_pmi. Needs no MPI library.
//
//   pmi_probe fence [ROUNDS]   all ranks put a pair, meet and get all pairs, some rounds
//   pmi_probe many COUNT       so many pairs in all
//   pmi_probe longest          the longest key and value; longer ones are refused
//   pmi_probe spawn            asks for another process, is refused, and goes on
//   pmi_probe DEED RANK        that rank does it, the others wait in a fence:
//     garbage, half, long (a key of 1 MB), unread (requests, whose replies it does not read),
//     early (exits with 0), idle (never comes), abort (with code 7)
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int number_of(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) {
    std::printf("no %s: not started with PMI-1\n", name);
    std::exit(3);
  }
  return std::atoi(text);
}

class Client {
 public:
  Client() : fd_(number_of("PMI_FD")), rank(number_of("PMI_RANK")), size(number_of("PMI_SIZE")) {}

  void send(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t sent = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) {  // the connection was closed; wait to be stopped
        ::pause();
        std::exit(4);
      }
      at += static_cast<std::size_t>(sent);
    }
  }
  std::string reply() {
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      char bytes[4096];
      const ssize_t got = ::read(fd_, bytes, sizeof bytes);
      if (got <= 0) {
        ::pause();
        std::exit(4);
      }
      buffer_.append(bytes, static_cast<std::size_t>(got));
    }
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  std::string ask(const std::string& request) {
    send(request + "\n");
    return reply();
  }
  void expect(const std::string& request, const std::string& start) {
    const std::string answer = ask(request);
    if (answer.compare(0, start.size(), start) == 0) return;
    std::printf("rank %d: '%s' instead of '%s'\n", rank, answer.c_str(), start.c_str());
    std::exit(5);
  }

  void init() {
    expect("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init");
    expect("cmd=get_universe_size", "cmd=universe_size size=" + std::to_string(size));
    const std::string name = ask("cmd=get_my_kvsname");
    space_ = name.substr(name.rfind('=') + 1);
  }
  void put(const std::string& key, const std::string& value, int rc = 0) {
    expect("cmd=put kvsname=" + space_ + " key=" + key + " value=" + value,
           "cmd=put_result rc=" + std::to_string(rc));
  }
  void get(const std::string& key, const std::string& value) {
    expect("cmd=get kvsname=" + space_ + " key=" + key,
           "cmd=get_result rc=0 msg=success value=" + value);
  }
  void meet() { expect("cmd=barrier_in", "cmd=barrier_out"); }
  void finalize() { expect("cmd=finalize", "cmd=finalize_ack"); }

 private:
  int fd_;
  std::string space_;
  std::string buffer_;

 public:
  const int rank;
  const int size;
};

std::string key_of(int rank, int round) {
  return "key-" + std::to_string(rank) + "-" + std::to_string(round);
}

void fence(Client& client, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::string value = std::to_string(1000 * round);
    client.put(key_of(client.rank, round), value + std::to_string(client.rank));
    client.meet();
    for (int rank = 0; rank < client.size; ++rank)
      client.get(key_of(rank, round), value + std::to_string(rank));
  }
}

void many(Client& client, int count) {
  const std::string pad(80, 'x');
  for (int i = client.rank; i < count; i += client.size)
    client.put("many-" + std::to_string(i), pad + std::to_string(i));
  client.meet();
  for (int i = 0; i < count; i += 97)
    client.get("many-" + std::to_string(i), pad + std::to_string(i));
}

void longest(Client& client) {
  const std::string own = std::to_string(client.rank % 10);
  client.put(std::string(63, 'k') + own, std::string(1024, 'v'));
  client.put(std::string(65, 'k'), "v", -1);
  client.put("k" + own, std::string(1025, 'v'), -1);
  client.meet();
  client.get(std::string(63, 'k') + "0", std::string(1024, 'v'));
}

void spawn(Client& client) {
  client.expect("mcmd=spawn\nnprocs=1\nexecname=./a\ntotspawns=1\nspawnssofar=1\nendcmd",
                "cmd=spawn_result rc=-1 msg=not_supported_by_dslaunch");
  client.meet();
}

void misbehave(Client& client, const std::string& deed) {
  if (deed == "garbage") client.send("GET / HTTP/1.1\r\n\r\n");
  if (deed == "half") {
    client.send("cmd=barr");
    ::shutdown(number_of("PMI_FD"), SHUT_WR);
  }
  if (deed == "long") client.send("cmd=put kvsname=k key=" + std::string(1 << 20, 'k') + "\n");
  if (deed == "unread")
    for (int i = 0; i < 1'000'000; ++i) client.send("cmd=get_maxes\n");
  if (deed == "early") std::exit(0);
  if (deed == "abort") client.send("cmd=abort exitcode=7\n");
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string deed = argc > 1 ? argv[1] : "fence";
  const int number = argc > 2 ? std::atoi(argv[2]) : 1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Client client;
  client.init();
  if (deed == "fence") {
    fence(client, number);
  } else if (deed == "many") {
    many(client, number);
  } else if (deed == "longest") {
    longest(client);
  } else if (deed == "spawn") {
    spawn(client);
  } else {
    std::printf("up %d\n", ::getpid());
    if (client.rank == number) misbehave(client, deed);
    client.meet();
  }
  client.finalize();
  std::printf("rank %d of %d is done\n", client.rank, client.size);
  return 0;
}
