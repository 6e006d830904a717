// What root and agent say to each other: plain structs. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ds::launcher {

using EnvList = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::uint8_t kWireVersion = 1;

/// A point of the steady clock as frames have it.
inline std::uint64_t clock_value(std::chrono::steady_clock::time_point at) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

// Root to agent.

/// What the ranks of one group run.
struct ProgramSpec {
  std::vector<std::string> argv{};
  EnvList env{};             // of this program's ranks; wins over Spec::env
  std::string cwd{};         // empty: the agent's own
  bool at_home = false;      // an empty cwd is the home directory; with login_shell "/" will do
  bool login_shell = false;  // argv is one text for the user's login shell, as sshd runs commands
  friend bool operator==(const ProgramSpec&, const ProgramSpec&) = default;
};
struct RankSpec {
  std::int32_t rank = 0;
  std::int32_t local_rank = 0;
  std::int32_t program = 0;  // of Spec::programs
  EnvList env{};  // this rank's own variables; they win over the program's and over Spec::env
  std::uint8_t sent = 3;   // streams whose output the root wants: 1 stdout, 2 stderr, added up
  bool has_stdin = false;  // its standard input comes in Stdin frames (else it is /dev/null)
  std::string log_file{};  // all it writes goes there too; empty: nowhere
  std::string device{};    // its GPU, as CUDA_VISIBLE_DEVICES names it; empty: none is known
  friend bool operator==(const RankSpec&, const RankSpec&) = default;
};
/// A soft limit of the launcher's shell, by its name in limits.conf ("nofile", "core").
struct ResourceLimit {
  std::string name{};
  std::uint64_t soft = 0;  // UINT64_MAX: unlimited
  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};
/// Whether the ranks of a node get a PID namespace of their own.
enum class Isolate : std::uint8_t { none, if_free, required };
/// Which processors a rank may use.
enum class Bind : std::uint8_t {
  none,  // all that its agent may
  numa,  // those of one NUMA node: its GPU's, or else by turns
  cores  // a share of these for itself
};
/// What becomes of output.
struct OutputSpec {
  std::uint64_t spool_bytes = 0;  // kept on the node while the root takes nothing
  bool drop = false;     // when those are full the oldest lines are dropped (else ranks wait)
  bool stamped = false;  // lines of log files begin with the time
  bool pty = false;      // standard output of the ranks is a terminal, of this size
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  friend bool operator==(const OutputSpec&, const OutputSpec&) = default;
};
/// What a node shall run. The ranks are forked at once and wait for Go before exec.
struct Spec {
  std::int32_t node_rank = 0;
  std::int32_t nodes = 1;
  std::vector<ProgramSpec> programs{};
  EnvList env{};            // for all ranks of this node; wins over the inherited environment
  bool inherit_env = true;  // ranks start from the agent's own environment (else from nothing)
  static constexpr std::uint32_t kOwnUmask = ~0U;  // the agent's own
  std::uint32_t umask = 022;
  std::uint32_t grace_ms = 30000;  // between TERM and KILL when the channel is lost: at most 3 s
  std::uint32_t node_timeout_ms = 8000;  // silence of the root for so long is a loss; 0: never
  std::vector<RankSpec> ranks{};
  bool hold_port = false;       // bind a port for MASTER_PORT and tell it in Ready
  std::uint16_t port = 0;       // that one; 0: any free one
  std::string door_question{};  // not empty: who sends this there before Go gets door_answer
  std::string door_answer{};
  std::string job_cookie{};  // the job's part of DSLAUNCH_COOKIE
  bool keep_agent =
      false;  // the agent says Cleared, not Bye, and waits for the Spec of a new epoch
  Isolate isolate = Isolate::none;
  std::vector<ResourceLimit> limits{};
  OutputSpec output{};
  Bind bind = Bind::none;
  bool tell_binding = false;  // a line for each rank says where it runs
  friend bool operator==(const Spec&, const Spec&) = default;
};
/// All nodes are ready: exec. `env` (MASTER_PORT...) goes to all ranks, over Spec::env, below
/// RankSpec::env.
struct Go {
  EnvList env{};
  friend bool operator==(const Go&, const Go&) = default;
};
/// A signal for the main process of each rank, or of one.
struct Signal {
  std::int32_t signo = 0;
  std::int32_t rank = -1;  // -1: all ranks of the node
  friend bool operator==(const Signal&, const Signal&) = default;
};
/// KILL for everything the job made here, now.
struct Kill {
  friend bool operator==(const Kill&, const Kill&) = default;
};
/// TERM to main processes, KILL to everything after the grace. A second Stop can only shorten it.
struct Stop {
  std::uint32_t grace_ms = 0;
  friend bool operator==(const Stop&, const Stop&) = default;
};
/// Stops the ranks (SIGSTOP to all processes) until Resume; the silence of the root then counts for
/// nothing.
struct Suspend {
  friend bool operator==(const Suspend&, const Suspend&) = default;
};
struct Resume {
  friend bool operator==(const Resume&, const Resume&) = default;
};
/// Once a second, in both directions. Clocks are nanoseconds of the steady clock of whoever speaks:
/// with them the root learns how far the agent's is from its own.
struct Heartbeat {
  std::uint64_t sent = 0;   // now
  std::uint64_t heard = 0;  // `sent` of the last Heartbeat from the other side; 0: none yet
  std::uint64_t held = 0;   // how long ago that came
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
/// So many more bytes may come: of Output frames with their headers to the root, of Stdin to the
/// agent. Without any Credit output is not limited.
struct Credit {
  std::uint64_t bytes = 0;
  bool discard = false;  // nobody waits for the output that the agent holds back
  friend bool operator==(const Credit&, const Credit&) = default;
};
/// Which of these addresses of node 0 can be reached from here? A peer that is sent `question`
/// there answers `answer` if it is node 0's agent. Answered by Probed, as soon as something is
/// known. Without addresses, to node 0: be that no more; answered once it is so.
struct Probe {
  std::uint32_t search = 0;  // Probed names it
  std::vector<std::string> addresses{};
  std::uint16_t port = 0;
  std::string question{};
  std::string answer{};
  std::uint32_t limit_ms = 2000;  // an address that has not answered by then is not reached
  friend bool operator==(const Probe&, const Probe&) = default;
};
/// Instead of Spec: kill what earlier agents of this user have left behind of a job; answered by
/// Swept.
struct Sweep {
  std::string job_cookie{};
  friend bool operator==(const Sweep&, const Sweep&) = default;
};

/// For the standard input of a rank. The agent gives Credit for as much as the ranks have taken; a
/// rank that reads no more counts as having taken it.
struct Stdin {
  static constexpr std::uint64_t kWindow = 256 << 10;  // may come before any Credit
  std::int32_t rank = 0;                               // -1: all ranks of the node that have one
  bool last = false;                                   // the end of the file follows the bytes
  std::span<const std::byte> bytes;                    // as Output::bytes
};
bool operator==(const Stdin& a, const Stdin& b);
/// The root's terminal has this size now.
struct Window {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  friend bool operator==(const Window&, const Window&) = default;
};
/// From now on the root wants these streams of a rank. If that is more than before, the agent
/// answers with an Output of kTail: the last lines that it had not sent.
struct Watch {
  std::int32_t rank = 0;
  std::uint8_t sent = 3;
  friend bool operator==(const Watch&, const Watch&) = default;
};

// Agent to root.

/// An address of a node's interface.
struct NodeAddress {
  std::string address{};
  std::string interface {};  // empty: of none that is up, as behind a translated address
  std::uint32_t prefix = 0;  // bits of its network
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};
/// The first frame.
struct Hello {
  std::uint32_t version = kWireVersion;
  std::string build{};
  std::int32_t pid = 0;
  std::string hostname{};
  std::uint32_t cores = 0;               // by affinity
  std::uint32_t quota_milli = 0;         // cgroup cpu quota in thousandths of a core; 0: none
  std::vector<NodeAddress> addresses{};  // the one by which the launcher came first
  std::string network{};  // equal for agents that have the very same interfaces; empty: not known
  std::vector<std::string> devices{};  // GPUs, as CUDA_VISIBLE_DEVICES names them
  bool devices_limited = false;        // the node's environment names them
  std::uint64_t clock = 0;             // as Heartbeat::sent
  friend bool operator==(const Hello&, const Hello&) = default;
};
/// Ranks are forked and wait for Go. `port` is held for MASTER_PORT, 0 if not asked for.
struct Ready {
  std::uint16_t port = 0;
  friend bool operator==(const Ready&, const Ready&) = default;
};
struct Started {
  std::int32_t rank = 0;
  std::int32_t pid = 0;
  friend bool operator==(const Started&, const Started&) = default;
};
/// Whole lines of one rank, unless a flag says otherwise.
struct Output {
  enum Flags : std::uint8_t {  // 1, 2 and 4 as LineBatch has them
    kPartial = 1,   // does not end in a newline: the line goes on in the next Output of this stream
    kProgress = 2,  // ends in '\r' (so kPartial is set too): to be drawn over by what follows
    kMore = 4,      // inside a line longer than a batch: the rest follows
    kLast = 8,      // this stream has ended; nothing or the rest of a line is in this one
    kTail = 16      // of a rank whose output is not sent: its last lines, once it has ended
  };
  std::int32_t rank = 0;    // -1: a line of the agent itself
  std::uint8_t stream = 1;  // 1 stdout, 2 stderr
  std::uint8_t flags = 0;
  std::uint64_t time = 0;  // when it was read from the rank, by the agent's steady clock
  /// Decoded: a view into the decoder, valid until its next feed() or next().
  std::span<const std::byte> bytes;
};
bool operator==(const Output& a, const Output& b);

/// A rank has ended, or could not be started. It overtakes output that waits; Bye comes after all
/// output.
struct Exited {
  enum class Stage : std::uint8_t { none, fork, chdir, exec, bind };  // where the start failed
  std::int32_t rank = 0;
  std::int32_t wait_status = 0;  // of waitpid(2), if stage is none; -1: nobody could learn it
  Stage stage = Stage::none;
  std::int32_t spawn_errno = 0;
  /// What could not be opened (program or folder) if a stage failed; else why the rank died, as
  /// far as the node knows more than the status ("out of memory: ...", "core dumped: ...").
  std::string detail{};
  std::uint64_t time = 0;  // when, by the agent's steady clock; 0: not known
  friend bool operator==(const Exited&, const Exited&) = default;
};
/// Trouble of the agent itself, one line. The agent ends after it.
struct Problem {
  std::string text{};
  friend bool operator==(const Problem&, const Problem&) = default;
};
/// All ranks have ended, everything they made is gone: the last frame.
struct Bye {
  friend bool operator==(const Bye&, const Bye&) = default;
};
/// The same for one epoch, when Spec says keep_agent: the agent stays and waits for a new Spec.
struct Cleared {
  friend bool operator==(const Cleared&, const Cleared&) = default;
};

/// So many leftovers have been killed.
struct Swept {
  std::uint32_t killed = 0;
  friend bool operator==(const Swept&, const Swept&) = default;
};
/// What a rank wrote into its TORCHELASTIC_ERROR_FILE, at most kMaxErrorFileBytes; comes before its
/// Exited.
struct ErrorFile {
  std::int32_t rank = 0;
  std::string text{};
  friend bool operator==(const ErrorFile&, const ErrorFile&) = default;
};
inline constexpr std::size_t kMaxErrorFileBytes = std::size_t{64} << 10;

/// What has become of some addresses of a Probe.
struct Probed {
  struct Result {
    std::uint16_t index = 0;  // of Probe::addresses
    std::string problem{};    // why it was not reached; empty: it was
    friend bool operator==(const Result&, const Result&) = default;
  };
  std::uint32_t search = 0;  // of the Probe
  std::vector<Result> results{};
  friend bool operator==(const Probed&, const Probed&) = default;
};

using Message = std::variant<Spec, Go, Signal, Kill, Stop, Suspend, Resume, Heartbeat, Credit,
                             Sweep, Probe, Stdin, Window, Watch, Hello, Ready, Started, Output,
                             Exited, Problem, Bye, Cleared, Swept, ErrorFile, Probed>;

}  // namespace ds::launcher
