// Asks the job behind a socket for its JobInfo without a client's checks, as a stranger could.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstring>

#include "launcher/control/job_client.h"

int main(int argc, char** argv) {
  using namespace ds::launcher;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (argc != 2 || std::strlen(argv[1]) >= sizeof address.sun_path) return 64;
  std::strcpy(address.sun_path, argv[1]);
  ds::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connect");
    return 1;
  }
  JobClient client(std::move(socket));
  client.send(InfoRequest{});
  const auto answer = client.next(ds::Deadline::after(std::chrono::seconds(20)));
  if (answer && std::holds_alternative<JobInfo>(*answer)) std::puts("it tells about itself");
  if (answer && std::holds_alternative<Refused>(*answer))
    std::puts(std::get<Refused>(*answer).reason.c_str());
  if (!answer) std::puts("nothing");
  return 0;
}
