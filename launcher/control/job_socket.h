// The private socket of a job (docs/jobs.md): the folders in which it lies, and the messages on it
// with their frames.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Variable with the one folder to use, instead of the default folders.
inline constexpr const char* kSocketFolderVariable = "DSLAUNCH_RUNTIME_DIR";

/// Returns the folders in which a job of this user may have its socket, the preferred one first:
/// only $DSLAUNCH_RUNTIME_DIR if it is set; otherwise $XDG_RUNTIME_DIR/dslaunch,
/// /run/user/UID/dslaunch and /tmp/dslaunch-UID. All are searched because a job without a login
/// session has no runtime folder and a job that outlives its session loses it. Pure.
std::vector<std::string> socket_folders(
    const std::function<std::optional<std::string>(const std::string&)>& variable, uid_t uid);

struct EndedJob {
  std::string id;
  int code = 0;
};

/// An open folder that belongs to the user and that no other user can read or write. All operations
/// use its descriptor: nobody can replace the folder, and its path may be longer than a socket
/// address.
class SocketFolder {
 public:
  /// Opens the folder. Returns nothing if it does not exist.
  /// Errors:  Error{system} naming the problem: another owner, rights for others, not a folder.
  static std::optional<SocketFolder> open(const std::string& path);
  /// Opens the folder, and creates it with mode 0700 if it does not exist.
  static SocketFolder open_or_make(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns an address of the file `name` for bind(2) and connect(2), valid while this object
  /// lives.
  [[nodiscard]] std::string address_of(const std::string& name) const;
  /// Returns the sorted ids of the jobs that have sockets there; they may be dead.
  [[nodiscard]] std::vector<std::string> ids() const;
  [[nodiscard]] bool contains(const std::string& name) const;
  void remove(const std::string& name) const { ::unlinkat(fd_.get(), name.c_str(), 0); }
  /// Returns false if the rename fails.
  [[nodiscard]] bool rename(const std::string& from, const std::string& to) const {
    return ::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0;
  }
  /// Notes in the file "ended" that job `id` ended with `code`. Notes of about 3,000 jobs are kept.
  void note_end(const std::string& id, int code) const;
  /// Returns the ended jobs whose ids begin with `typed`, the oldest first.
  [[nodiscard]] std::vector<EndedJob> ended(std::string_view typed) const;

 private:
  SocketFolder(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

/// Returns the socket name "ID.sock" of an id.
std::string socket_name(const std::string& id);

/// Protocol version. Every request begins with it; a job refuses other versions.
inline constexpr std::uint32_t kControlVersion = 4;

// Requests. `fields` are in the order on the socket.
struct InfoRequest {
  std::uint32_t version = kControlVersion;
  auto fields() { return std::tie(version); }
};
struct SignalRequest {  // acts as if the launcher itself had received the signal
  std::uint32_t version = kControlVersion;
  std::int32_t signo = 0;
  std::int64_t grace_ms = -1;  // -1: the job's own grace
  auto fields() { return std::tie(version, signo, grace_ms); }
};
struct OutputRequest {  // answered by the kept output, Caught, and then new output if requested
  std::uint32_t version = kControlVersion;
  std::int32_t rank = -1;  // -1: all ranks and the launcher's own lines
  bool follow = false;     // continue until JobDone, with the launcher's own lines
  auto fields() { return std::tie(version, rank, follow); }
};
struct WaitRequest {  // answered only by JobDone
  std::uint32_t version = kControlVersion;
  auto fields() { return std::tie(version); }
};
struct CheckpointRequest {  // answered by Accepted, then CheckpointOutcome or JobDone
  std::uint32_t version = kControlVersion;
  auto fields() { return std::tie(version); }
};
struct ScaleRequest {  // answered by Scaled or Refused
  std::uint32_t version = kControlVersion;
  std::int32_t nodes = -1;  // that the job shall have at most; -1: as before
  std::vector<std::string> add{};     // hosts, as --host lists them
  std::vector<std::string> remove{};  // names of hosts
  auto fields() { return std::tie(version, nodes, add, remove); }
};

// Answers.
struct JobInfo {
  std::string id{};     // 16 hexadecimal digits
  std::string state{};  // starting, running, stopping
  std::uint32_t pid = 0;
  std::uint64_t started_ms = 0;  // ms since 1970
  std::uint32_t ranks = 0;
  std::uint32_t ranks_left = 0;
  std::uint32_t nodes = 0;
  std::string host{};    // host name of the launcher's machine
  std::string folder{};  // working directory of the ranks
  std::string log{};     // output file of a detached job; empty: not detached
  std::vector<std::string> command{};
  bool trains = false;       // the job runs a train.toml, not a command
  std::string phase{};       // of a training, the latest one that all ranks have begun; empty: none
  std::int64_t step = -1;    // last finished step of a training; -1: none
  std::int64_t kept = -1;    // newest step of a training that all ranks keep in memory; -1: none
  std::string checkpoint{};  // newest complete checkpoint of a training; empty: none known
  auto fields() {
    return std::tie(id, state, pid, started_ms, ranks, ranks_left, nodes, host, folder, log,
                    command, trains, phase, step, kept, checkpoint);
  }
};
struct RankOutput {
  std::int32_t rank = 0;  // -1: a line of the launcher itself, without a newline
  std::uint8_t stream = 1;
  std::uint8_t flags = 0;                 // as in launcher/logs/line_batcher.h
  std::string prefix{};                   // prefix of its lines
  std::span<const std::byte> bytes = {};  // after decoding: valid until the decoder is used again
  auto fields() { return std::tie(rank, stream, flags, prefix, bytes); }
};
struct Skipped {  // bytes that this client lost because it was too slow
  std::uint64_t bytes = 0;
  auto fields() { return std::tie(bytes); }
};
struct Caught {  // end of the kept output
  auto fields() { return std::tie(); }
};
struct CheckpointOutcome {
  bool saved = false;
  std::int64_t step = 0;
  std::string folder{};
  std::string details{};  // if saved: bytes and times; otherwise the reason
  auto fields() { return std::tie(saved, step, folder, details); }
};
struct Accepted {
  auto fields() { return std::tie(); }
};
struct Refused {
  std::string reason{};
  auto fields() { return std::tie(reason); }
};
struct Scaled {
  std::string text{};  // what changes
  auto fields() { return std::tie(text); }
};
struct JobDone {
  std::int32_t code = 0;
  auto fields() { return std::tie(code); }
};

using ControlMessage =
    std::variant<InfoRequest, SignalRequest, OutputRequest, WaitRequest, CheckpointRequest, JobInfo,
                 RankOutput, Skipped, Caught, CheckpointOutcome, Accepted, Refused, JobDone,
                 ScaleRequest, Scaled>;

/// Maximum size of a frame. Output is sent in smaller frames.
inline constexpr std::size_t kMaxControlFrame = std::size_t{1} << 20;

/// Appends one frame: 32-bit length of the rest (little endian), message number, fields.
void encode_control(const ControlMessage& message, Bytes& out);

/// Decodes a byte stream into messages.
class ControlDecoder {
 public:
  void feed(std::span<const std::byte> bytes);
  /// Returns the next message; nothing if more bytes are needed or the stream is broken().
  std::optional<ControlMessage> next();
  /// Returns whether the stream is malformed; nothing can follow.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  Bytes buffer_;
  std::size_t taken_ = 0;
  bool broken_ = false;
};

}  // namespace ds::launcher
