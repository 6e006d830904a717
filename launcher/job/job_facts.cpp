#include "launcher/job/job_facts.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

template <std::size_t N>
std::array<unsigned char, N> random_bytes() {
  std::array<unsigned char, N> random{};
  if (::getrandom(random.data(), N, 0) != static_cast<ssize_t>(N))
    throw_errno("cannot get random bytes", errno);
  return random;
}

}  // namespace

std::uint64_t random_job_id() {
  return std::bit_cast<std::uint64_t>(random_bytes<sizeof(std::uint64_t)>());
}

std::string random_secret() {
  const auto bytes = random_bytes<16>();
  return {bytes.begin(), bytes.end()};
}

JobIdentity new_identity(std::uint64_t id) {
  JobIdentity identity;
  identity.id = id != 0 ? id : random_job_id();
  for (const unsigned char byte : random_bytes<32>()) identity.key += fmt::format("{:02x}", byte);
  identity.mpi_space = "dslaunch-";
  for (const unsigned char byte : random_bytes<16>())
    identity.mpi_space += fmt::format("{:02x}", byte);
  return identity;
}

bool is_ignored(int signo) {
  struct sigaction old {};
  return ::sigaction(signo, nullptr, &old) == 0 && old.sa_handler == SIG_IGN;
}

bool same_file(int fd, int other_fd) {
  struct stat a {
  }, b{};
  if (::fstat(fd, &a) != 0 || ::fstat(other_fd, &b) != 0) return false;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string own_address_towards(const std::string& address) {
  asio::error_code error;
  const asio::ip::address there = asio::ip::make_address(address, error);
  if (error) return {};
  asio::io_context io;
  asio::ip::udp::socket socket(io);
  const asio::ip::udp::endpoint endpoint(there, 9);
  socket.connect(endpoint, error);
  if (error) return {};
  const auto own = socket.local_endpoint(error);
  return error ? std::string() : own.address().to_string();
}

bool is_rank_of(const Placement& placement, int node, int rank) {
  return rank >= 0 && rank < placement.world_size() &&
         placement.ranks[static_cast<std::size_t>(rank)].node_rank == node;
}

std::string version_reason(const std::string& host, const Hello& hello) {
  const bool known = !hello.build.empty() && hello.build.size() < 40 &&
                     std::all_of(hello.build.begin(), hello.build.end(),
                                 [](unsigned char c) { return std::isgraph(c) != 0; });
  const std::string build = known ? " " + hello.build : "";
  return fmt::format(
      "{}: incompatible dslaunch{} there (protocol {:x}, this one speaks {:x}); install this build "
      "there, or name it with --agent-path",
      host, build, hello.version, kWireVersion);
}

std::string bind_problem(const std::string& host, Bind bind, std::size_t ranks,
                         const Hello& hello) {
  if (bind != Bind::cores || ranks <= hello.cores) return {};
  return fmt::format(
      "{}: {} ranks cannot have a processor each with --bind cores: they may use {} there (hint: "
      "fewer ranks, or --bind numa)",
      host, ranks, hello.cores);
}

Screens look_at_screens(int out_fd, int err_fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* variable = std::getenv("TERM");
  const std::string terminal = variable == nullptr ? "" : variable;
  const Window window = terminal_size(out_fd, err_fd).value_or(Window{24, 80});
  return {.out_is_terminal = ::isatty(out_fd) == 1,
          .err_is_terminal = ::isatty(err_fd) == 1,
          .no_colour = (no_colour != nullptr && *no_colour != '\0') || terminal == "dumb",
          .rows = window.rows,
          .columns = window.columns,
          .terminal = terminal.empty() ? "xterm" : terminal};
}

std::optional<Window> terminal_size(int fd, int other_fd) {
  for (const int each : {fd, other_fd}) {
    winsize size{};
    if (::ioctl(each, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
      return Window{size.ws_row, size.ws_col};
  }
  return std::nullopt;
}

void make_log_folders(const std::vector<std::string>& files) {
  std::string last;
  for (const std::string& file : files) {
    const std::string folder = std::filesystem::path(file).parent_path();
    if (file.empty() || folder == last) continue;
    last = folder;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0)
      error = std::error_code(errno, std::generic_category());
    if (error)
      throw Error(ErrorKind::config,
                  fmt::format("cannot write log files into {}: {}", folder, error.message()),
                  "--log-dir DIR is on this machine, --log-dir node:DIR on each node");
  }
}

}  // namespace ds::launcher
