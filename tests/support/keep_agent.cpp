// Stands for the agents of a job: starts its ranks with rank channels, holds the memory that they
// hand in, and at the end says what it contains.
//
// keep_agent OUT RANKS RANKS_PER_NODE PAUSE_AT COMMAND...
//
// Rank R's output goes to OUT.R.out. PAUSE_AT: asks the last rank to pause after that step; 0:
// never; with KEEP_AGENT_SAVES set, it is asked for a checkpoint just before. With
// KEEP_AGENT_REFUSES set, no file is held. Prints "process RANK ID" for each rank at once; at the
// end "exit RANK CODE" for each rank; "kept STEP", the newest that rank 0 told; "slot NAME RANK
// STEP BYTES", or "slot NAME none"; "complete own STEP" and "complete ward STEP", the newest step
// whose own copies (those of wards) join and verify. The rest of the environment is the caller's.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/rank_message.h"
#include "engine/base/rank_socket.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/keep/kept_slot.h"

namespace {

using namespace ds;

struct Rank {
  pid_t process = -1;
  UniqueFd socket;
};

struct Setup {
  std::string out;
  int ranks = 0, per_node = 0;
  std::int64_t pause_at = 0;
  char** command = nullptr;
};

struct Held {
  std::map<std::string, UniqueFd> files;
  std::int64_t kept = -1;
  bool drops = false;
};

[[noreturn]] void become_rank(const Setup& setup, int rank, int socket) {
  const auto set = [](const char* name, int value) {
    ::setenv(name, std::to_string(value).c_str(), 1);
  };
  set(contract::kRank, rank);
  set(contract::kWorldSize, setup.ranks);
  set(contract::kLocalRank, rank % setup.per_node);
  set(contract::kLocalWorldSize,
      std::min(setup.per_node, setup.ranks - rank / setup.per_node * setup.per_node));
  set(contract::kNodeRank, rank / setup.per_node);
  set(contract::kRankChannel, socket);
  const std::string path = fmt::format("{}.{}.out", setup.out, rank);
  const int output = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execvp(setup.command[0], setup.command);
  ::_exit(127);
}

std::vector<Rank> start_ranks(const Setup& setup) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < setup.ranks; ++rank) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
    const pid_t process = ::fork();
    if (process == 0) {
      ::fcntl(pair[1], F_SETFD, 0);
      become_rank(setup, rank, pair[1]);
    }
    ::close(pair[1]);
    fmt::print("process {} {}\n", rank, process);
    ranks.push_back({process, UniqueFd(pair[0])});
  }
  std::fflush(stdout);
  return ranks;
}

/// Returns the step that a message tells; 0: none.
std::int64_t take(int socket, Datagram datagram, Held& held) {
  static const bool refuses = std::getenv("KEEP_AGENT_REFUSES") != nullptr;
  const std::optional<RankMessage> message = parse_rank_message(datagram.text);
  if (!message) fmt::print("bad message: {}\n", datagram.text);
  if (!message) return 0;
  if (const auto* file = std::get_if<KeepFile>(&*message)) {
    if (!refuses) held.files[file->name] = std::move(datagram.fd);
    send_datagram(socket, encode(refuses ? RankMessage(FileRefused{file->name, "not today"})
                                         : RankMessage(FileHeld{file->name})));
  }
  if (const auto* file = std::get_if<DropFile>(&*message)) held.files.erase(file->name);
  held.drops = held.drops || std::holds_alternative<DropEarlier>(*message);
  const auto* step = std::get_if<StepDone>(&*message);
  if (step == nullptr) return 0;
  held.kept = step->kept;
  return step->step;
}

void serve(const Setup& setup, std::vector<Rank>& ranks, Held& held) {
  bool is_asked = setup.pause_at == 0;
  for (std::size_t open = ranks.size(); open > 0;) {
    std::vector<pollfd> polls;
    for (const Rank& rank : ranks) polls.push_back({rank.socket.get(), POLLIN, 0});
    ::poll(polls.data(), polls.size(), 1000);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (polls[i].revents == 0) continue;
      Datagram datagram = receive_datagram(ranks[i].socket.get());
      if (datagram.ended) {
        ranks[i].socket.reset();
        --open;
        continue;
      }
      if (datagram.kind != Datagram::Kind::whole) continue;
      const std::int64_t step = take(ranks[i].socket.get(), std::move(datagram), held);
      if (is_asked || step < setup.pause_at) continue;
      if (std::getenv("KEEP_AGENT_SAVES") != nullptr)
        send_datagram(ranks.back().socket.get(), encode(RankMessage(SaveOrder{})));
      send_datagram(ranks.back().socket.get(), encode(RankMessage(PauseOrder{})));
      is_asked = true;
    }
  }
}

/// Checks the bytes of all pieces.
bool verifies(const KeptShare& share, int fd) {
  std::vector<char> bytes;
  for (const TensorEntry& tensor : share.part.tensors) {
    for (const StateEntry& state : tensor.states) {
      for (const Piece& piece : state.pieces) {
        bytes.resize(static_cast<std::size_t>(piece.elements) * 4);
        if (::pread(fd, bytes.data(), bytes.size(), KeptSlot::kPieces + piece.at) !=
            std::ssize(bytes))
          return false;
        if (XXH3_64bits(bytes.data(), bytes.size()) != piece.checksum) return false;
      }
    }
  }
  return true;
}

/// Prints the newest step whose shares, of files with `word` in their names, join.
void print_complete(const char* word, std::map<std::string, KeptShare>& shares, int ranks) {
  std::int64_t newest = -1;
  for (auto& [name, first] : shares) {
    std::map<int, ChunkPart> parts;
    for (auto& [other, share] : shares) {
      const bool belongs =
          share.head.state.step == first.head.state.step && other.find(word) != std::string::npos;
      if (!belongs) continue;
      if (!(share.head == first.head && share.run == first.run && share.epoch == first.epoch))
        fmt::print("{} and {} have different heads\n", name, other);
      parts[share.part.rank] = share.part;
    }
    std::vector<ChunkPart> all;
    for (auto& [rank, part] : parts) all.push_back(part);
    if (static_cast<int>(all.size()) != ranks) continue;
    try {
      join_parts(first.head, all);
      newest = std::max(newest, first.head.state.step);
    } catch (const Error& error) {
      fmt::print("{}\n", error.what());
    }
  }
  fmt::print("complete {} {}\n", word, newest);
}

void print_slots(const Held& held, int ranks) {
  std::map<std::string, KeptShare> shares;
  for (const auto& [name, fd] : held.files) {
    struct stat facts {};
    ::fstat(fd.get(), &facts);
    const std::optional<KeptShare> share = KeptSlot(UniqueFd(::dup(fd.get()))).read();
    if (!share || !verifies(*share, fd.get())) {
      fmt::print("slot {} {}\n", name, share ? "damaged" : "none");
      continue;
    }
    fmt::print("slot {} {} {} {}\n", name, share->part.rank, share->head.state.step, facts.st_size);
    shares.emplace(name, *share);
  }
  print_complete("own", shares, ranks);
  print_complete("ward", shares, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const Setup setup{.out = argv[1],
                    .ranks = std::atoi(argv[2]),
                    .per_node = std::atoi(argv[3]),
                    .pause_at = std::atoll(argv[4]),
                    .command = argv + 5};
  std::vector<Rank> ranks = start_ranks(setup);
  Held held;
  serve(setup, ranks, held);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    int status = 0;
    ::waitpid(ranks[rank].process, &status, 0);
    fmt::print("exit {} {}\n", rank,
               WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  fmt::print("kept {}\n", held.kept);
  if (held.drops) fmt::print("earlier epochs dropped\n");
  print_slots(held, setup.ranks);
}
