// Messages between root and agent, as plain structs. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "launcher/wire/mpi_messages.h"

namespace ds::launcher {

using EnvList = KeyValues;

/// Version of the messages: a hash of the field lists (fields.h), so every change of a list
/// changes it. Older builds say 1.
extern const std::uint32_t kWireVersion;

/// Returns a point of the steady clock as frames carry it: nanoseconds.
inline std::uint64_t clock_value(std::chrono::steady_clock::time_point at) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

// Root to agent.

/// The program of one group of ranks.
struct ProgramSpec {
  std::vector<std::string> argv{};
  EnvList env{};              // for this program's ranks; overrides Spec::env
  std::string cwd{};          // working directory; empty: the agent's own
  bool at_home = false;       // an empty cwd means the home directory, or "/" if that is missing
  bool login_shell = false;   // argv is one text for the user's login shell, as sshd runs commands
  bool rank_channel = false;  // its ranks get a channel to the agent (engine/base/rank_channel.h)
  friend bool operator==(const ProgramSpec&, const ProgramSpec&) = default;
};
struct RankSpec {
  std::int32_t rank = 0;
  std::int32_t local_rank = 0;
  std::int32_t program = 0;  // index into Spec::programs
  EnvList env{};             // this rank's own variables; they override the program's and Spec::env
  std::uint8_t sent = 3;     // streams whose output the root wants, as a sum: 1 stdout, 2 stderr
  bool has_stdin = false;    // standard input comes in Stdin frames (else it is /dev/null)
  std::string log_file{};    // file on the node that gets a copy of all output; empty: none
  std::string device{};      // the rank's GPU, as in CUDA_VISIBLE_DEVICES; empty: not known
  friend bool operator==(const RankSpec&, const RankSpec&) = default;
};
/// A soft limit of the launcher's shell. `name` is as in limits.conf ("nofile", "core").
struct ResourceLimit {
  std::string name{};
  std::uint64_t soft = 0;  // UINT64_MAX: unlimited
  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};
/// Whether the ranks of a node get a PID namespace: no, if nothing prevents it, or as a must.
enum class Isolate : std::uint8_t { none, if_free, required };
/// Processors that a rank may use.
enum class Bind : std::uint8_t {
  none,   // all that its agent may use
  numa,   // all of one NUMA node: the one of its GPU, else the ranks take the nodes in turn
  cores,  // a share of that NUMA node, for this rank alone
  level   // by parts of the node, as LevelBinding says
};
/// Kinds of parts of a node, from the whole of it to the smallest.
enum class Level : std::uint8_t { node, socket, numa, l3cache, core, hwthread };
/// Ranks go round the parts `map` of their node, and each gets parts `to` there.
struct LevelBinding {
  Level map = Level::node;
  Level to = Level::node;
  std::uint16_t width = 1;     // parts `to` for each rank
  std::uint16_t per_part = 0;  // ranks that a part `map` gets before the next; 0: one in each round
  bool fill = false;           // ranks are numbered part by part
  friend bool operator==(const LevelBinding&, const LevelBinding&) = default;
};
/// How the agent treats output.
struct OutputSpec {
  std::uint64_t spool_bytes = 0;  // size of the spool on the node, used while the root grants none
  bool drop = false;              // a full spool drops its oldest lines (else ranks wait)
  bool stamped = false;           // lines of log files begin with the time
  bool pty = false;               // standard output of the ranks is a terminal of this size
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  friend bool operator==(const OutputSpec&, const OutputSpec&) = default;
};
/// The work of one node. Ranks start when Go comes.
struct Spec {
  std::int32_t node_rank = 0;
  std::int32_t nodes = 1;
  std::vector<ProgramSpec> programs{};
  EnvList env{};            // for all ranks of this node; overrides the inherited environment
  bool inherit_env = true;  // ranks inherit the agent's environment (else nothing)
  static constexpr std::uint32_t kOwnUmask = ~0U;
  std::uint32_t umask = 022;             // kOwnUmask: the agent's own
  std::uint32_t grace_ms = 30000;        // from TERM to KILL after a loss of the root, at most 3 s
  std::uint32_t node_timeout_ms = 8000;  // silence of the root after which it is lost; 0: never
  std::vector<RankSpec> ranks{};
  bool hold_port = false;       // bind a port for MASTER_PORT and report it in Ready
  std::uint16_t port = 0;       // the port to bind; 0: any free one
  std::string door_question{};  // not empty: a peer that sends it to that port before Go ...
  std::string door_answer{};    // ... gets this answer
  std::string job_cookie{};     // the job's part of DSLAUNCH_COOKIE
  bool keep_agent = false;      // send Cleared, not Bye, and wait for the Spec of a new epoch
  Isolate isolate = Isolate::none;
  std::vector<ResourceLimit> limits{};
  OutputSpec output{};
  Bind bind = Bind::none;
  LevelBinding level{};       // if bind is Bind::level
  bool tell_binding = false;  // print for each rank where it runs
  bool leave = false;         // background processes of a program that has ended stay alive
  MpiSpec mpi{};
  friend bool operator==(const Spec&, const Spec&) = default;
};
/// Starts the ranks: all nodes are ready. `env` (MASTER_PORT...) is for all ranks. It overrides
/// Spec::env; RankSpec::env overrides it. `suspended`: programs stop before their first
/// instruction, and the node is as after Suspend.
struct Go {
  EnvList env{};
  bool suspended = false;
  friend bool operator==(const Go&, const Go&) = default;
};
/// A signal for the main process of every rank, or of one rank.
struct Signal {
  std::int32_t signo = 0;
  std::int32_t rank = -1;  // -1: every rank of the node
  friend bool operator==(const Signal&, const Signal&) = default;
};
/// Kills everything that the job has started on this node, at once.
struct Kill {
  friend bool operator==(const Kill&, const Kill&) = default;
};
/// Sends TERM to main processes, and KILL to everything after the grace. A second Stop can only
/// shorten the grace.
struct Stop {
  std::uint32_t grace_ms = 0;
  friend bool operator==(const Stop&, const Stop&) = default;
};
/// Stops all processes of the ranks (SIGSTOP) until Resume. The root may be silent until then.
struct Suspend {
  friend bool operator==(const Suspend&, const Suspend&) = default;
};
struct Resume {
  friend bool operator==(const Resume&, const Resume&) = default;
};
/// Sent in both directions, once a second. Clocks are nanoseconds of the sender's steady clock;
/// from them the root learns the offset of the agent's clock.
struct Heartbeat {
  std::uint64_t sent = 0;   // now
  std::uint64_t heard = 0;  // `sent` of the last Heartbeat of the other side; 0: none yet
  std::uint64_t held = 0;   // time since that Heartbeat came
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
/// Allows so many more bytes. To the agent: of Output frames, headers included; output is unlimited
/// until the first Credit. To the root: of Stdin.
struct Credit {
  std::uint64_t bytes = 0;
  bool discard = false;  // drop the output that the agent holds back
  friend bool operator==(const Credit&, const Credit&) = default;
};
/// Asks which addresses of node 0 this node can reach. The agent sends `question` to each address;
/// node 0's agent replies `answer`. Answered by Probed, as results come. Without addresses: the
/// agent stops dialing and listening, then sends Probed.
struct Probe {
  std::uint32_t search = 0;  // number of this search, repeated in Probed
  std::vector<std::string> addresses{};
  std::uint16_t port = 0;
  std::string question{};
  std::string answer{};
  std::uint32_t limit_ms = 2000;  // an address without an answer by then is not reached
  friend bool operator==(const Probe&, const Probe&) = default;
};
/// Comes instead of Spec: kills what earlier agents of a job have left behind on this node, stopped
/// and lost agents included. Answered by Swept.
struct Sweep {
  std::string job_cookie{};
  std::vector<std::int32_t> lost{};  // pids of this host's agents that the root has given up
  friend bool operator==(const Sweep&, const Sweep&) = default;
};
/// Bytes for the standard input of a rank. The agent grants Credit for what the ranks have read; a
/// rank that has closed its input counts as having read everything.
struct Stdin {
  static constexpr std::uint64_t kWindow = 256 << 10;  // bytes allowed before any Credit
  std::int32_t rank = 0;                               // -1: every rank that reads standard input
  bool last = false;                                   // end of file after these bytes
  std::span<const std::byte> bytes;                    // as Output::bytes
};
bool operator==(const Stdin& a, const Stdin& b);
/// The new size of the launcher's terminal.
struct Window {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  friend bool operator==(const Window&, const Window&) = default;
};
/// Selects the streams of a rank that the agent sends from now on. If a stream is added, the agent
/// replies with an Output of kTail: the last lines that it had not sent.
struct Watch {
  std::int32_t rank = 0;
  std::uint8_t sent = 3;
  friend bool operator==(const Watch&, const Watch&) = default;
};
/// An order for a rank that has a rank channel.
struct OrderRank {
  enum class Order : std::uint8_t { save, pause };  // as SaveOrder and PauseOrder of rank_message.h
  std::int32_t rank = -1;                           // -1: every rank of the node
  Order order = Order::save;
  friend bool operator==(const OrderRank&, const OrderRank&) = default;
};
/// Asks an agent without a Spec whether the first rank of a Spec could run on its node. Answered by
/// Checked, unless a Spec comes before.
struct Check {
  Spec spec{};
  bool runs = false;  // the program is one that only checks: run it; else only look for it
  std::uint32_t limit_ms = 0;  // for the program
  friend bool operator==(const Check&, const Check&) = default;
};
// Agent to root.

/// An address of a node's interface.
struct NodeAddress {
  std::string address{};
  std::string interface {};  // empty: on no interface of this node, as behind NAT
  std::uint32_t prefix = 0;  // length of the network prefix in bits
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};
/// The first frame of an agent. Every version begins with `version` and `build`, so that a root of
/// another version can read them.
struct Hello {
  std::uint32_t version = kWireVersion;
  std::string build{};
  std::int32_t pid = 0;
  std::string hostname{};
  std::uint32_t cores = 0;               // processors that the agent may use (affinity)
  std::uint32_t quota_milli = 0;         // cgroup CPU quota in thousandths of a core; 0: none
  std::vector<NodeAddress> addresses{};  // first the address that the launcher connected to
  std::string network{};               // equal for agents in one network namespace; empty: unknown
  std::vector<std::string> devices{};  // GPUs, as in CUDA_VISIBLE_DEVICES
  bool devices_limited = false;        // `devices` comes from the node's environment
  std::uint16_t sockets = 1;           // with processors that the agent may use
  std::uint16_t numa_nodes = 1;
  std::uint16_t core_threads = 1;  // hardware threads of a core
  std::uint64_t clock = 0;         // as Heartbeat::sent
  friend bool operator==(const Hello&, const Hello&) = default;
};
/// The agent has accepted its Spec. `port` is held for MASTER_PORT, 0 if none was asked for.
struct Ready {
  std::uint16_t port = 0;
  friend bool operator==(const Ready&, const Ready&) = default;
};
struct Started {
  std::int32_t rank = 0;
  std::int32_t pid = 0;
  friend bool operator==(const Started&, const Started&) = default;
};
/// Output of one rank: whole lines, unless a flag says otherwise.
struct Output {
  enum Flags : std::uint8_t {  // 1, 2 and 4 as in LineBatch
    kPartial = 1,   // does not end in a newline: the line goes on in the next Output of this stream
    kProgress = 2,  // ends in '\r' (kPartial is set too): what follows overwrites it
    kMore = 4,      // inside a line longer than a batch: the rest follows
    kLast = 8,      // the stream has ended; holds nothing or the rest of a line
    kTail = 16,     // the last lines of a rank whose output was not sent
    kLogs = 32      // of rank -1: how many log files of the node are incomplete, and why
  };
  std::int32_t rank = 0;    // -1: a line of the agent itself
  std::uint8_t stream = 1;  // 1 stdout, 2 stderr
  std::uint8_t flags = 0;
  std::uint64_t time = 0;  // when the agent read it, on the agent's steady clock
  /// After decoding a view into the decoder, valid until its next feed() or next().
  std::span<const std::byte> bytes;
};
bool operator==(const Output& a, const Output& b);

/// A rank has ended or could not be started. Exited overtakes waiting output; Bye comes after all
/// output.
struct Exited {
  /// Where the start failed; hold: the program cannot be stopped after exec.
  enum class Stage : std::uint8_t { none, fork, chdir, exec, bind, hold };
  std::int32_t rank = 0;
  std::int32_t wait_status = 0;  // of waitpid(2), if stage is none; -1: not known
  Stage stage = Stage::none;
  std::int32_t spawn_errno = 0;
  /// If a stage failed: the program or directory that could not be opened. Else the cause of death,
  /// if the node knows more than the status ("out of memory: ...", "core dumped: ...").
  std::string detail{};
  std::uint64_t time = 0;  // of the end, on the agent's steady clock; 0: not known
  friend bool operator==(const Exited&, const Exited&) = default;
};
/// An error of the agent, in one line. The agent ends after it.
struct Problem {
  std::string text{};
  friend bool operator==(const Problem&, const Problem&) = default;
};
/// The last frame: all ranks have ended and nothing of them is left (but see Spec::leave).
struct Bye {
  /// Background processes killed after programs that ended by themselves.
  std::uint32_t killed = 0;
  friend bool operator==(const Bye&, const Bye&) = default;
};
/// Comes instead of Bye if Spec has keep_agent: the agent stays and waits for the next Spec.
struct Cleared {
  friend bool operator==(const Cleared&, const Cleared&) = default;
};
/// The number of leftover processes that were killed.
struct Swept {
  std::uint32_t killed = 0;
  friend bool operator==(const Swept&, const Swept&) = default;
};
/// The content of a rank's TORCHELASTIC_ERROR_FILE, at most kMaxErrorFileBytes. Comes before the
/// rank's Exited.
struct ErrorFile {
  std::int32_t rank = 0;
  std::string text{};
  friend bool operator==(const ErrorFile&, const ErrorFile&) = default;
};
inline constexpr std::size_t kMaxErrorFileBytes = std::size_t{64} << 10;

/// The answer to Check.
struct Checked {
  Exited end{};          // wait_status 0: the program exists, or has run and finds nothing wrong
  std::string output{};  // of the program: what it wrote, at most kMaxCheckBytes each
  std::string errors{};
  friend bool operator==(const Checked&, const Checked&) = default;
};
inline constexpr std::size_t kMaxCheckBytes = std::size_t{64} << 10;

/// Results for some addresses of a Probe.
struct Probed {
  struct Result {
    std::uint16_t index = 0;  // into Probe::addresses
    std::string problem{};    // why the address was not reached; empty: it was reached
    friend bool operator==(const Result&, const Result&) = default;
  };
  std::uint32_t search = 0;  // as in Probe
  std::vector<Result> results{};
  friend bool operator==(const Probed&, const Probed&) = default;
};

/// What a rank has told on its rank channel since the last RankNews of it.
struct RankNews {
  struct Phase {
    std::string name{};
    std::uint64_t time = 0;  // of its begin, on the agent's steady clock
    friend bool operator==(const Phase&, const Phase&) = default;
  };
  std::int32_t rank = 0;
  std::int64_t step = -1;  // finished; -1: it has told none yet. The numbers are as in StepDone
  std::int64_t steps = 0;
  std::int64_t micros = 0;
  std::int64_t kept = -1;
  std::vector<Phase> phases{};
  std::vector<std::string> checkpoints{};  // lines as in checkpoint_line.h
  std::string facts{};                     // as in training_facts.h; empty: it has told none
  friend bool operator==(const RankNews&, const RankNews&) = default;
};

using Message =
    std::variant<Spec, Go, Signal, Kill, Stop, Suspend, Resume, Heartbeat, Credit, Sweep, Probe,
                 Stdin, Window, Watch, FenceOut, OrderRank, Check, Hello, Ready, Started, Output,
                 Exited, Problem, Bye, Cleared, Swept, ErrorFile, Probed, FenceIn, FenceWaits,
                 MpiFailed, RankNews, Checked, MpiInit, ModexAsk, ModexAnswer, PmixNotice,
                 NameAsk, NameAnswer, PmixReady, PmixRank, PmixLine>;

}  // namespace ds::launcher
