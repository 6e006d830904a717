// A rank that speaks PMI itself, well or badly, for e2e_mpi_pmi and e2e_mpi_faults. Needs no MPI
// library. Speaks PMI-2 if PROBE_PMI is 2, otherwise PMI-1.
//
//   pmi_probe fence [ROUNDS]   all ranks put a pair, meet and get all pairs, some rounds
//   pmi_probe many COUNT       so many pairs in all
//   pmi_probe longest          the longest key and value; longer ones are refused
//   pmi_probe spawn            asks for another process, is refused, and goes on
//   pmi_probe attributes       PMI-2: the first rank of a node puts an attribute, others wait
//   pmi_probe flood            rank 1 puts two million keys; prints how many were refused, and the
//                              agent's memory
//   pmi_probe DEED RANK        that rank does it, the others wait in a fence:
//     garbage, half, long (a key of 1 MB), unread (requests, whose replies it does not read),
//     early (exits with 0), idle (never comes), abort (with code 7), close (its descriptor, and
//     lives on), twice (init after finalize), hopeless (PMI-2: an attribute that nobody puts)
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
    while ((end = buffer_.find('\n')) == std::string::npos) read_some();
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  std::string ask(const std::string& request) {
    send(request + "\n");
    return reply();
  }
  void expect(const std::string& request, const std::string& start) { check(ask(request), start); }
  void check(const std::string& answer, const std::string& start) const {
    if (answer.compare(0, start.size(), start) == 0) return;
    std::printf("rank %d: '%s' instead of '%s'\n", rank, answer.c_str(), start.c_str());
    std::exit(5);
  }

  std::string ask_2(const std::string& body) {
    char length[8];
    std::snprintf(length, sizeof length, "%6zu", body.size());
    send(length + body);
    return reply_2();
  }
  std::string reply_2() {
    while (buffer_.size() < 6 || buffer_.size() < 6 + std::stoul(buffer_.substr(0, 6))) read_some();
    const std::size_t length = std::stoul(buffer_.substr(0, 6));
    const std::string body = buffer_.substr(6, length);
    buffer_.erase(0, 6 + length);
    return body;
  }
  void expect_2(const std::string& request, const std::string& reply) {
    check(ask_2("cmd=" + request + ";"),
          "cmd=" + request.substr(0, request.find(';')) + "-response;" + reply);
  }

  void init() {
    if (two) {
      expect("cmd=init pmi_version=2 pmi_subversion=0", "cmd=response_to_init pmi_version=2");
      expect_2("fullinit;pmirank=0;threaded=FALSE",
               "rc=0;pmi-version=2;pmi-subversion=0;rank=" + std::to_string(rank) +
                   ";size=" + std::to_string(size));
      const std::string id = ask_2("cmd=job-getid;");
      space_ = id.substr(id.rfind('=') + 1);
      space_.pop_back();
      return expect_2("info-getjobattr;key=universeSize",
                      "rc=0;found=TRUE;value=" + std::to_string(size) + ";");
    }
    expect("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init");
    expect("cmd=get_universe_size", "cmd=universe_size size=" + std::to_string(size));
    const std::string name = ask("cmd=get_my_kvsname");
    space_ = name.substr(name.rfind('=') + 1);
  }
  std::string put_request(const std::string& key, const std::string& value) const {
    return "cmd=put kvsname=" + space_ + " key=" + key + " value=" + value;
  }
  void put(const std::string& key, const std::string& value, int rc = 0) {
    if (two) return expect_2("kvs-put;key=" + key + ";value=" + value, "rc=" + std::to_string(rc));
    expect(put_request(key, value), "cmd=put_result rc=" + std::to_string(rc));
  }
  void get(const std::string& key, const std::string& value) {
    if (two)
      return expect_2("kvs-get;jobid=" + space_ + ";srcid=-1;key=" + key,
                      "rc=0;found=TRUE;value=" + value + ";");
    expect("cmd=get kvsname=" + space_ + " key=" + key,
           "cmd=get_result rc=0 msg=success value=" + value);
  }
  void meet() {
    two ? expect_2("kvs-fence", "rc=0;") : expect("cmd=barrier_in", "cmd=barrier_out");
  }
  void finalize() {
    two ? expect_2("finalize", "rc=0;") : expect("cmd=finalize", "cmd=finalize_ack");
  }

 private:
  void read_some() {
    char bytes[65536];
    const ssize_t got = ::read(fd_, bytes, sizeof bytes);
    if (got <= 0) {
      ::pause();
      std::exit(4);
    }
    buffer_.append(bytes, static_cast<std::size_t>(got));
  }

  int fd_;
  std::string space_;
  std::string buffer_;

 public:
  const int rank;
  const int size;
  const bool two = std::getenv("PROBE_PMI") != nullptr && *std::getenv("PROBE_PMI") == '2';
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

void attributes(Client& client) {
  if (number_of("LOCAL_RANK") == 0) {
    ::usleep(200'000);  // the others come first
    client.expect_2("info-putnodeattr;key=segment;value=of-" + std::to_string(client.rank),
                    "rc=0;");
  }
  const int first = client.rank - number_of("LOCAL_RANK");
  client.expect_2("info-getnodeattr;key=segment;wait=TRUE",
                  "rc=0;found=TRUE;value=of-" + std::to_string(first) + ";");
  client.expect_2("info-getnodeattr;key=other;wait=FALSE", "rc=0;found=FALSE;");
  client.meet();
}

/// Returns the field of /proc/PID/status.
long status_of(long pid, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, field.size(), field) == 0) return std::atol(line.c_str() + field.size());
  return -1;
}

void flood(Client& client) {
  constexpr int kPiece = 500;  // requests before the first reply is read
  int refused = 0;
  for (int i = 0; client.rank == 1 && i < 2'000'000; i += kPiece) {
    std::string requests;
    for (int k = i; k < i + kPiece; ++k)
      requests += client.put_request("flood-" + std::to_string(k), "value") + "\n";
    client.send(requests);
    for (int k = 0; k < kPiece; ++k) refused += client.reply() != "cmd=put_result rc=0 msg=success";
  }
  client.meet();
  const long agent = status_of(::getppid(), "PPid:");
  if (client.rank == 1)
    std::printf("refused %d, agent %ld MB\n", refused, status_of(agent, "VmHWM:") / 1024);
}

void spawn(Client& client) {
  if (client.two) {
    client.expect_2("spawn;ncmds=1;preputcount=0;subcmd=./a;maxprocs=1;argc=0;infokeycount=0",
                    "rc=-1;errmsg=not_supported_by_dslaunch;");
    return client.meet();
  }
  client.expect("mcmd=spawn\nnprocs=1\nexecname=./a\ntotspawns=1\nspawnssofar=1\nendcmd",
                "cmd=spawn_result rc=-1 msg=not_supported_by_dslaunch");
  client.meet();
}

void misbehave(Client& client, const std::string& deed) {
  if (deed == "garbage")
    client.send(client.two ? "    xxcmd=kvs-fence;" : "GET / HTTP/1.1\r\n\r\n");
  if (deed == "half") {
    client.send(client.two ? "    14cmd=kvs" : "cmd=barr");
    ::shutdown(number_of("PMI_FD"), SHUT_WR);
  }
  if (deed == "long") {
    const std::string key(1 << 20, 'k');
    client.send(client.two ? "999999cmd=kvs-put;key=" + key
                           : "cmd=put kvsname=k key=" + key + "\n");
  }
  if (deed == "unread")
    for (int i = 0; i < 1'000'000; ++i) client.send("cmd=get_maxes\n");
  if (deed == "early") std::exit(0);
  if (deed == "abort")
    client.send(client.two ? "    38cmd=abort;msg=MPI_Abort(COMM, 7) - me;"
                           : "cmd=abort exitcode=7\n");
  if (deed == "close") ::close(number_of("PMI_FD"));
  if (deed == "twice") {
    client.finalize();
    client.send("cmd=init pmi_version=1 pmi_subversion=1\n");
  }
  if (deed == "hopeless") client.ask_2("cmd=info-getnodeattr;key=absent;wait=TRUE;");
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
  } else if (deed == "attributes") {
    attributes(client);
  } else if (deed == "flood") {
    flood(client);
  } else {
    std::printf("up %d\n", ::getpid());
    if (client.rank == number) misbehave(client, deed);
    client.meet();
  }
  client.finalize();
  std::printf("rank %d of %d is done\n", client.rank, client.size);
  return 0;
}
