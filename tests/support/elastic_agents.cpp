// Stands for the agents of an elastic job: starts its ranks with rank channels, membership after
// membership, and holds the memory that they hand in.
//
// elastic_agents OUT SCRIPT COMMAND...
//
// SCRIPT: memberships, separated by ';': NODES:RANKS_PER_NODE and how it ends, for example
// "a,b:2 kill 1 at 5; a,b:2 lose b at 9; a:3 flip 0 at 11; a,c:2 pause at 14; a:1 end". Each event
// happens after rank 0 has finished that step: kill ends all ranks, the given one first; lose also
// drops what that node holds; flip changes a byte of the rank's own copy of the newest complete
// step, fliphead one of that copy's header, flipall of all its copies, flipsteps of all its copies
// of all complete steps. Memory of nodes that the next membership lacks is dropped. The output of
// rank R in epoch E goes to OUT.eE.rR.out. Prints for each epoch "epoch E exits CODE,...", "epoch E
// phase NAME SECONDS" of rank 0 since its start, and "epoch E first_step SECONDS" since the event
// before, and "epoch E begins to keep beside N files on node NODE", which earlier epochs left. The
// rest of the environment is the caller's.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/contract.h"
#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "engine/base/rank_message.h"
#include "engine/base/rank_socket.h"
#include "engine/base/split.h"
#include "engine/keep/kept_slot.h"

namespace {

using namespace ds;

constexpr auto kLongestEpoch = std::chrono::seconds(120);

struct Phase {
  std::vector<std::string> nodes{};
  int per_node = 1;
  std::string event{};  // kill, lose, flip, pause, end
  std::string whom{};
  std::int64_t step = 0;
  [[nodiscard]] int ranks() const { return static_cast<int>(nodes.size()) * per_node; }
};

struct HeldFile {
  int epoch = 0;
  std::int64_t bytes = 0;
  UniqueFd fd{};
};
using NodeMemory = std::map<std::string, HeldFile>;

struct RankProcess {
  pid_t process = -1;
  UniqueFd socket{};
};

[[noreturn]] void refuse(std::string_view what) {
  fmt::print(stderr, "elastic_agents: {}\n", what);
  std::exit(2);
}

std::int64_t number_in(std::string_view text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<Phase> parse_script(std::string_view script) {
  std::vector<Phase> phases;
  for (std::string_view part : split(script, ';')) {
    std::vector<std::string> words;
    for (const std::string_view word : split(part, ' '))
      if (!word.empty()) words.emplace_back(word);
    if (words.size() < 2) refuse(fmt::format("'{}' is no membership", part));
    Phase& phase = phases.emplace_back();
    const std::size_t colon = words[0].find(':');
    for (const std::string_view node : split(std::string_view(words[0]).substr(0, colon), ','))
      phase.nodes.emplace_back(node);
    phase.per_node = static_cast<int>(number_in(words[0].substr(colon + 1)));
    phase.event = words[1];
    if (phase.event != "end" && phase.event != "pause") phase.whom = words.at(2);
    if (phase.event != "end") phase.step = number_in(words.back());
  }
  return phases;
}

int free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    refuse("no free port");
  return ntohs(at.sin_port);
}

/// One membership while it runs.
class Epoch {
 public:
  Epoch(std::string out, int number, const Phase& phase, std::map<std::string, NodeMemory>& memory,
        Clock::time_point event)
      : out_(std::move(out)), number_(number), phase_(phase), memory_(memory), event_(event) {}

  /// Returns when the event happened.
  Clock::time_point run(char** command) {
    started_ = Clock::now();
    const int port = free_port();
    for (int rank = 0; rank < phase_.ranks(); ++rank) start(rank, port, command);
    const Deadline deadline = Deadline::after(kLongestEpoch);
    while (open_ > 0 && !deadline.passed()) serve();
    if (open_ > 0) fmt::print("epoch {} timed out\n", number_);
    if (open_ > 0) end_all();
    std::vector<int> codes;
    for (const RankProcess& rank : ranks_) {
      int status = 0;
      ::waitpid(rank.process, &status, 0);
      codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    fmt::print("epoch {} exits {}\n", number_, fmt::join(codes, ","));
    if (phase_.event == "lose") memory_.erase(phase_.whom);
    if (phase_.event.starts_with("flip")) flip();
    return happened_.value_or(Clock::now());
  }

 private:
  [[nodiscard]] const std::string& node_of(std::size_t rank) const {
    return phase_.nodes[rank / static_cast<std::size_t>(phase_.per_node)];
  }

  void start(int rank, int port, char** command) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) refuse("no sockets");
    const pid_t process = ::fork();
    if (process == 0) {
      ::fcntl(pair[1], F_SETFD, 0);
      const auto set = [](const char* name, int value) {
        ::setenv(name, std::to_string(value).c_str(), 1);
      };
      set(contract::kRank, rank);
      set(contract::kWorldSize, phase_.ranks());
      set(contract::kLocalRank, rank % phase_.per_node);
      set(contract::kLocalWorldSize, phase_.per_node);
      set(contract::kEpoch, number_);
      set(contract::kMasterPort, port);
      set(contract::kRankChannel, pair[1]);
      ::setenv(contract::kNodeRank, node_of(static_cast<std::size_t>(rank)).c_str(), 1);
      const std::string path = fmt::format("{}.e{}.r{}.out", out_, number_, rank);
      const int output = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      ::dup2(output, 1);
      ::dup2(output, 2);
      ::execvp(command[0], command);
      ::_exit(127);
    }
    ::close(pair[1]);
    ranks_.push_back({process, UniqueFd(pair[0])});
    ++open_;
  }

  void serve() {
    std::vector<pollfd> polls;
    for (const RankProcess& rank : ranks_) polls.push_back({rank.socket.get(), POLLIN, 0});
    ::poll(polls.data(), polls.size(), 1000);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (polls[i].revents == 0 || !ranks_[i].socket) continue;
      Datagram datagram = receive_datagram(ranks_[i].socket.get());
      if (datagram.ended) {
        ranks_[i].socket.reset();
        --open_;
        const bool ends_itself = phase_.event == "end" || phase_.event == "pause";
        if (!happened_ && !ends_itself) end_all();  // it failed, which ends the job
      } else if (datagram.kind == Datagram::Kind::whole) {
        take(i, std::move(datagram));
      }
    }
  }

  void take(std::size_t rank, Datagram datagram) {
    const std::optional<RankMessage> message = parse_rank_message(datagram.text);
    if (!message) return fmt::print("bad message: {}\n", datagram.text);
    NodeMemory& node = memory_[node_of(rank)];
    if (const auto* file = std::get_if<KeepFile>(&*message)) {
      const auto is_own = [&](const auto& held) { return held.second.epoch == number_; };
      if (std::ranges::none_of(node, is_own))
        fmt::print("epoch {} begins to keep beside {} files on node {}\n", number_, node.size(),
                   node_of(rank));
      node[file->name] = {number_, file->bytes, std::move(datagram.fd)};
      send_datagram(ranks_[rank].socket.get(), encode(FileHeld{file->name}));
    }
    if (const auto* file = std::get_if<DropFile>(&*message)) node.erase(file->name);
    if (std::holds_alternative<DropEarlier>(*message))
      std::erase_if(node, [&](const auto& file) { return file.second.epoch < number_; });
    if (const auto* asked = std::get_if<AskKept>(&*message)) answer(rank, asked->id, node);
    if (rank != 0) return;
    if (const auto* phase = std::get_if<PhaseBegun>(&*message))
      fmt::print("epoch {} phase {} {:.3f}\n", number_, phase->name,
                 seconds_of(Clock::now() - started_));
    if (const auto* step = std::get_if<StepDone>(&*message)) on_step(*step);
  }

  void answer(std::size_t rank, std::int64_t id, const NodeMemory& node) {
    const int socket = ranks_[rank].socket.get();
    const auto send = [&](const RankMessage& message, int fd) {
      while (send_datagram(socket, encode(message), fd) == Sent::not_now) {
        pollfd writable{socket, POLLOUT, 0};
        ::poll(&writable, 1, 100);
      }
    };
    for (const auto& [name, file] : node)
      send(FileKept{.id = id, .bytes = file.bytes, .name = name}, file.fd.get());
    send(KeptEnd{.id = id, .files = static_cast<std::int64_t>(node.size())}, -1);
  }

  // A node that is lost before the epoch has kept its states would be a second loss in one epoch.
  void on_step(const StepDone& done) {
    if (!std::exchange(has_stepped_, true) && number_ > 0)
      fmt::print("epoch {} first_step {:.3f}\n", number_, seconds_of(Clock::now() - event_));
    if (phase_.event == "end" || done.step < phase_.step || done.kept < 0 || happened_) return;
    happened_ = Clock::now();
    if (phase_.event == "pause") {
      send_datagram(ranks_.back().socket.get(), encode(RankMessage(PauseOrder{})));
      return;
    }
    if (phase_.event == "kill")
      ::kill(ranks_[static_cast<std::size_t>(number_in(phase_.whom))].process, SIGKILL);
    end_all();
  }

  void end_all() {
    for (const RankProcess& rank : ranks_) ::kill(rank.process, SIGKILL);
  }

  /// Changes a byte of the rank's share of the newest complete step that has two copies of it, or
  /// of all such steps (flipsteps): of its own copy, or of both (flipall, flipsteps).
  void flip() {
    std::map<std::int64_t, std::set<int>> ranks;  // with a share of this epoch, by step
    std::map<std::int64_t, std::vector<int>> copies;
    std::map<std::int64_t, int> known;  // copies of the rank's share, by step
    for (const auto& [node, held] : memory_) {
      for (const auto& [name, file] : held) {
        const auto share = KeptSlot(UniqueFd(::dup(file.fd.get()))).read();
        if (!share || file.epoch != number_) continue;
        ranks[share->head.state.step].insert(share->part.rank);
        if (share->part.rank != number_in(phase_.whom)) continue;
        ++known[share->head.state.step];
        const bool is_own = phase_.event == "flip" || phase_.event == "fliphead";
        if (is_own && name.find("own") == std::string::npos) continue;
        copies[share->head.state.step].push_back(file.fd.get());
      }
    }
    std::erase_if(ranks, [&](const auto& step) {
      return static_cast<int>(step.second.size()) < phase_.ranks() || known[step.first] < 2;
    });
    if (ranks.empty()) return fmt::print("nothing to flip\n");
    for (auto step = ranks.rbegin(); step != ranks.rend(); ++step) {
      for (const int file : copies[step->first]) flip_byte(file, step->first);
      if (phase_.event != "flipsteps") return;
    }
  }

  void flip_byte(int file, std::int64_t step) const {
    char byte = 0;
    const off_t at = phase_.event == "fliphead" ? 40 : KeptSlot::kPieces + 2;
    if (::pread(file, &byte, 1, at) != 1) return;
    byte = static_cast<char>(byte ^ 1);
    if (::pwrite(file, &byte, 1, at) == 1) fmt::print("flipped step {}\n", step);
  }

  const std::string out_;
  const int number_;
  const Phase& phase_;
  std::map<std::string, NodeMemory>& memory_;
  const Clock::time_point event_;
  Clock::time_point started_{};
  std::vector<RankProcess> ranks_;
  int open_ = 0;
  bool has_stepped_ = false;
  std::optional<Clock::time_point> happened_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) refuse("usage: elastic_agents OUT SCRIPT COMMAND...");
  const std::vector<Phase> phases = parse_script(argv[2]);
  std::map<std::string, NodeMemory> memory;
  Clock::time_point event = Clock::now();
  for (std::size_t i = 0; i < phases.size(); ++i) {
    std::erase_if(memory, [&](const auto& node) {
      const std::vector<std::string>& stay = phases[i].nodes;
      return std::find(stay.begin(), stay.end(), node.first) == stay.end();
    });
    event = Epoch(argv[1], static_cast<int>(i), phases[i], memory, event).run(argv + 3);
    std::fflush(stdout);
  }
}
