// Compares collectives of two local processes with a plain socket that moves the same bytes both
// ways: ratios of one run, in turn. Usage: comm_bench [megabytes] [rounds]
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/mesh/socket.h"
#include "engine/comm/pieces.h"
#include "engine/comm/rendezvous.h"
#include "support/wait_readable.h"

using namespace ds;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kRanks = 2;

Deadline soon() { return Deadline::after(60s); }

struct Bench {
  std::size_t bytes;  // sent by each rank to the other
  int rounds;
};

double milliseconds_of(const std::function<void()>& body) {
  const auto begun = Clock::now();
  body();
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

void blocking(int fd, std::byte* data, std::size_t bytes, bool sending) {
  while (bytes > 0) {
    const ssize_t moved =
        sending ? ::send(fd, data, bytes, MSG_NOSIGNAL) : ::recv(fd, data, bytes, 0);
    if (moved <= 0) throw Error(ErrorKind::comm, "the plain socket broke");
    data += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
}

// Moves bytes in both directions at once with one blocking thread each: the kernel's rate.
void plain_exchange(int fd, std::vector<std::byte>& out, std::vector<std::byte>& in,
                    std::size_t bytes) {
  std::thread sender([&] { blocking(fd, out.data(), bytes, true); });
  blocking(fd, in.data(), bytes, false);
  sender.join();
}

struct Row {
  const char* name;
  std::function<void()> run;
  std::vector<double> times{};
};

void print(const Row& row, const Row& plain, std::size_t bytes) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row.times.size(); ++i)
    ratios.push_back(plain.times[i] / row.times[i]);
  std::vector<double> times = row.times;
  std::sort(times.begin(), times.end());
  std::sort(ratios.begin(), ratios.end());
  const double median = times[times.size() / 2];
  fmt::print(
      "{:<24} median {:8.2f} ms  {:6.2f} GB/s each way  rate/plain {:.2f} (from {:.2f} to "
      "{:.2f})\n",
      row.name, median, static_cast<double>(bytes) / median / 1e6, ratios[ratios.size() / 2],
      ratios.front(), ratios.back());
}

void run_rank(int rank, int port, UniqueFd plain_socket, const Bench& bench) {
  const auto collectives = make_collectives(
      {.rank = rank, .world_size = kRanks, .master_addr = "127.0.0.1", .master_port = port});
  const auto group = collectives->make_group({"world", 0, {0, 1}}, soon());
  const std::size_t bytes = bench.bytes;
  std::vector<std::byte> out(kRanks * bytes, std::byte{1}), in(kRanks * bytes, std::byte{2});
  const auto sent = cut_pieces(std::span<const std::byte>(out), kRanks);
  const auto pieces = cut_pieces(std::span(in), kRanks);
  std::vector<Row> rows;
  rows.push_back(
      {"plain socket, 2 threads", [&] { plain_exchange(plain_socket.get(), out, in, bytes); }});
  rows.push_back({"all_gather", [&] { group->all_gather(pieces, soon()); }});
  rows.push_back({"all_to_all", [&] { group->all_to_all(sent, pieces, soon()); }});
  for (int round = -1; round < bench.rounds; ++round) {
    for (Row& row : rows) {
      group->barrier(soon());
      const double time = milliseconds_of(row.run);
      if (round >= 0) row.times.push_back(time);  // the first round warms up
    }
  }
  std::vector<double> barriers;
  for (int i = 0; i < 200; ++i)
    barriers.push_back(milliseconds_of([&] { group->barrier(soon()); }));
  std::sort(barriers.begin(), barriers.end());
  if (rank != 0) return;
  fmt::print("two processes, {} MB each way, {} rounds\n", bytes / 1'000'000, bench.rounds);
  for (const Row& row : rows) print(row, rows.front(), bytes);
  fmt::print("barrier                  median {:.1f} us\n", barriers[barriers.size() / 2] * 1000);
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench{.bytes = (argc > 1 ? std::stoul(argv[1]) : 100) * 1'000'000,
                    .rounds = argc > 2 ? std::stoi(argv[2]) : 7};
  const UniqueFd listener = comm::listen_on({"127.0.0.1", 0});
  UniqueFd dialed = comm::dial(comm::local_endpoint(listener.get()), soon());
  test::wait_readable(listener.get(), soon());
  UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  UniqueFd probe = comm::listen_on({"127.0.0.1", 0});
  const int port = comm::local_endpoint(probe.get()).port;
  probe.reset();
  int failures = 0;
  for (int rank = 0; rank < 2; ++rank) {
    if (::fork() != 0) continue;
    try {
      UniqueFd socket = std::move(rank == 0 ? dialed : accepted);
      ::fcntl(socket.get(), F_SETFL, 0);
      run_rank(rank, port, std::move(socket), bench);
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.for_people());
      std::fflush(nullptr);
      ::_exit(1);
    }
    std::fflush(nullptr);
    ::_exit(0);
  }
  for (int status = 0; ::wait(&status) > 0;) failures += status == 0 ? 0 : 1;
  return failures == 0 ? 0 : 1;
}
