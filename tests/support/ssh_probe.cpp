// Runs one command on many hosts through the ssh transport: `ssh_probe [options] host...`. Prints a
// line per failed host, then totals; exits with 0 if all succeeded, else 69.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "launcher/transport/exec/exec_template.h"
#include "launcher/transport/exec/exec_transport.h"
#include "launcher/transport/ssh/ssh_transport.h"

using namespace ds::launcher;

namespace {

struct Arguments {
  SshOptions ssh;
  int port = 0;
  std::vector<std::string> exec;  // -x: this program carries the bytes, not ssh
  bool relay_stdin = false;
  std::size_t pump_bytes = 0;  // sent to each host, for `cat`; what comes back is counted
  std::vector<std::string> hosts;
};

Arguments parse(int count, char** words) {
  Arguments arguments;
  arguments.ssh.remote_command = "true";
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return std::string(i + 1 < count ? words[++i] : ""); };
    if (word == "-F")
      arguments.ssh.config_file = value();
    else if (word == "-p")
      arguments.port = std::stoi(value());
    else if (word == "-c")
      arguments.ssh.remote_command = value();
    else if (word == "-f")
      arguments.ssh.fallback_command = value();
    else if (word == "-a")
      arguments.ssh.answer = value();
    else if (word == "-w")
      arguments.ssh.window = std::stoi(value());
    else if (word == "-t")
      arguments.ssh.connect_limit = std::chrono::milliseconds(std::stol(value()));
    else if (word == "-k")
      arguments.ssh.limits.handshake = std::chrono::milliseconds(std::stol(value()));
    else if (word == "-j")
      arguments.ssh.jump_room = std::stoul(value());
    else if (word == "-x")
      arguments.exec = parse_exec_template(value());
    else if (word == "-i")
      arguments.relay_stdin = true;
    else if (word == "-b")
      arguments.pump_bytes = std::stoul(value());
    else
      arguments.hosts.push_back(word);
  }
  return arguments;
}

int open_sockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry, gone).string().starts_with("socket:") ? 1 : 0;
  }
  return count;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Bytes bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

int run(const Arguments& arguments) {
  asio::io_context io;
  SshOptions options = arguments.ssh;
  options.warn = [](const std::string& text) {
    std::cerr << "dslaunch: warning: " << text << '\n';
  };
  const auto transport = arguments.exec.empty()
                             ? make_ssh_transport(io, options)
                             : make_exec_transport(io, {.words = arguments.exec,
                                                        .remote_command = options.remote_command,
                                                        .start_limit = options.connect_limit,
                                                        .window = options.window});
  std::vector<std::unique_ptr<Channel>> channels;
  int bad = 0;
  std::size_t received = 0;
  std::string input;
  if (arguments.relay_stdin) input.assign(std::istreambuf_iterator<char>(std::cin), {});
  if (arguments.pump_bytes > 0) input.assign(arguments.pump_bytes, 'x');
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& name : arguments.hosts) {
    Host host;
    host.name = name;
    host.port = arguments.port;
    ChannelEvents events;
    events.on_bytes = [&](std::span<const std::byte> bytes) {
      received += bytes.size();
      if (arguments.pump_bytes == 0)
        std::cout.write(reinterpret_cast<const char*>(bytes.data()),
                        static_cast<std::streamsize>(bytes.size()));
    };
    events.on_noise = [](std::string_view text) { std::cerr << text; };
    events.on_end = [&](const ChannelEnd& end) {
      static constexpr const char* kNames[] = {"closed", "unreachable", "no_agent", "lost"};
      if (end.kind == ChannelEnd::Kind::closed) return;
      ++bad;
      std::cerr << fmt::format("{}: [{}] {}\n", kNames[static_cast<int>(end.kind)], end.stage,
                               end.reason);
    };
    channels.push_back(transport->open(host, std::move(events)));
    if (!input.empty()) channels.back()->send(bytes_of(input));
    channels.back()->close();
  }
  io.run();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  std::cerr << fmt::format(
      "hosts={} bad={} wall_s={:.3f} cpu_ms_per_host={:.3f} received={} peak_kib={} "
      "sockets={}\n",
      arguments.hosts.size(), bad, wall,
      1e3 * cpu / static_cast<double>(std::max<std::size_t>(1, arguments.hosts.size())), received,
      usage.ru_maxrss, open_sockets());
  return bad == 0 ? 0 : 69;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(parse(count, words));
  } catch (const ds::Error& error) {
    std::cerr << error.for_people() << '\n';
    return 65;
  }
}
