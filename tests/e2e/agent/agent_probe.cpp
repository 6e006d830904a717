// agent_probe DSLAUNCH [OPTION...] [-- COMMAND...]: acts as launcher for one `dslaunch agent` and
// prints each frame that comes back as a line; output of the ranks as it is.
//   -n RANKS           ranks of the node               --isolate if_free|required
//   --limit NAME=SOFT  a limit for Spec                --sweep JOB   send a Sweep and no Spec
//   --env NAME=VALUE   for all ranks                   --job ID      cookie of the job
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "launcher/wire/frame.h"

namespace {

using namespace ds::launcher;

constexpr Envelope kEnvelope{.job = 7, .epoch = 0, .incarnation = 1};

struct Wish {
  std::string dslaunch;
  Spec spec;
  std::string sweep;
};

std::pair<std::string, std::string> split(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw std::invalid_argument("no '=' in " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Wish read_args(const std::vector<std::string>& args) {
  Wish wish{.dslaunch = args.at(1), .spec = {}, .sweep = {}};
  wish.spec.programs.resize(1);
  wish.spec.job_cookie = "probe";
  wish.spec.grace_ms = 1000;
  wish.spec.node_timeout_ms = 0;  // this program sends no heartbeats
  int ranks = 1;
  for (std::size_t i = 2; i < args.size(); ++i) {
    const std::string& name = args[i];
    if (name == "--") {
      wish.spec.programs[0].argv.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                        args.end());
      break;
    }
    const std::string& value = args.at(++i);
    if (name == "-n") ranks = std::stoi(value);
    if (name == "--isolate")
      wish.spec.isolate = value == "required" ? Isolate::required : Isolate::if_free;
    if (name == "--limit")
      wish.spec.limits.push_back({split(value).first, std::stoull(split(value).second)});
    if (name == "--env") wish.spec.env.push_back(split(value));
    if (name == "--job") wish.spec.job_cookie = value;
    if (name == "--sweep") wish.sweep = value;
  }
  for (int rank = 0; rank < ranks; ++rank)
    wish.spec.ranks.push_back(
        {.rank = rank, .local_rank = rank, .env = {{"RANK", std::to_string(rank)}}});
  return wish;
}

void send(int socket, const Message& message) {
  const Bytes bytes = encode(kEnvelope, message);
  (void)!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void answer(int socket, const Wish& wish, const Message& message) {
  if (std::holds_alternative<Hello>(message)) {
    if (wish.sweep.empty()) return send(socket, wish.spec);
    return send(socket, Sweep{wish.sweep, {}});
  }
  if (std::holds_alternative<Ready>(message)) return send(socket, Go{});
  if (const auto* swept = std::get_if<Swept>(&message)) {
    fmt::print("Swept {}\n", swept->killed);
    if (!wish.sweep.empty()) send(socket, Kill{});
  }
  if (const auto* output = std::get_if<Output>(&message))
    fmt::print("{}", std::string_view(reinterpret_cast<const char*>(output->bytes.data()),
                                      output->bytes.size()));
  if (const auto* started = std::get_if<Started>(&message))
    fmt::print("Started {} {}\n", started->rank, started->pid);
  if (const auto* file = std::get_if<ErrorFile>(&message))
    fmt::print("ErrorFile {} {} bytes: {:.60}\n", file->rank, file->text.size(), file->text);
  if (const auto* exited = std::get_if<Exited>(&message))
    fmt::print("Exited {} status {} stage {} errno {} detail: {}\n", exited->rank,
               exited->wait_status, static_cast<int>(exited->stage), exited->spawn_errno,
               exited->detail);
  if (const auto* problem = std::get_if<Problem>(&message))
    fmt::print("Problem {}\n", problem->text);
  if (std::holds_alternative<Bye>(message)) fmt::print("Bye\n");
  std::fflush(stdout);
}

/// Returns the agent's process id.
pid_t start_agent(const std::string& dslaunch, int ends[2]) {
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("socketpair");
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::close(ends[1]);
    return pid;
  }
  ::dup2(ends[1], 0);
  ::dup2(ends[1], 1);
  ::execl(dslaunch.c_str(), "dslaunch", "agent", nullptr);
  ::_exit(127);
}

}  // namespace

int main(int argc, char** argv) try {
  const Wish wish = read_args({argv, argv + argc});
  int ends[2] = {-1, -1};
  const pid_t agent = start_agent(wish.dslaunch, ends);
  Decoder decoder(Decoder::Start::preamble);
  std::array<std::byte, 65536> buffer;
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    decoder.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    while (const auto frame = decoder.next()) answer(ends[0], wish, frame->message);
  }
  if (decoder.error()) fmt::print("{}\n", *decoder.error());
  int status = 0;
  ::waitpid(agent, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "agent_probe: {}\n", error.what());
  return 64;
}
