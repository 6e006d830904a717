// Messages of the rank channel, between a training rank and the agent of its node: one datagram of
// text each, a word and its fields (docs/protocol.md). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ds {

// Rank to agent.
struct StepDone {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  std::int64_t micros = 0;  // time of the step
  std::int64_t kept = -1;   // newest step that all ranks keep; -1: none
  friend bool operator==(const StepDone&, const StepDone&) = default;
};
struct PhaseBegun {
  std::string name{};
  friend bool operator==(const PhaseBegun&, const PhaseBegun&) = default;
};
struct CheckpointTold {
  std::string line{};  // as checkpoint_line.h
  friend bool operator==(const CheckpointTold&, const CheckpointTold&) = default;
};
struct FactsTold {  // by rank 0
  std::string line{};  // as training_facts.h
  friend bool operator==(const FactsTold&, const FactsTold&) = default;
};
/// Comes with the descriptor of the file.
struct KeepFile {
  std::int64_t bytes = 0;
  std::string name{};
  friend bool operator==(const KeepFile&, const KeepFile&) = default;
};
struct DropFile {
  std::string name{};
  friend bool operator==(const DropFile&, const DropFile&) = default;
};
struct DropEarlier {  // files of earlier epochs
  friend bool operator==(const DropEarlier&, const DropEarlier&) = default;
};
struct AskKept {
  std::int64_t id = 0;  // repeated in the answer
  friend bool operator==(const AskKept&, const AskKept&) = default;
};

// Agent to rank.
/// Answers KeepFile: the agent holds the file.
struct FileHeld {
  std::string name{};
  friend bool operator==(const FileHeld&, const FileHeld&) = default;
};
/// Answers KeepFile: the agent has refused the file and closed it.
struct FileRefused {
  std::string name{};
  std::string why{};
  friend bool operator==(const FileRefused&, const FileRefused&) = default;
};
/// Comes with the descriptor of the file.
struct FileKept {
  std::int64_t id = 0;
  std::int64_t bytes = 0;
  std::string name{};
  friend bool operator==(const FileKept&, const FileKept&) = default;
};
struct KeptEnd {
  std::int64_t id = 0;
  std::int64_t files = 0;  // that were sent
  friend bool operator==(const KeptEnd&, const KeptEnd&) = default;
};
struct SaveOrder {
  friend bool operator==(const SaveOrder&, const SaveOrder&) = default;
};
struct PauseOrder {
  friend bool operator==(const PauseOrder&, const PauseOrder&) = default;
};

using RankMessage =
    std::variant<StepDone, PhaseBegun, CheckpointTold, FactsTold, KeepFile, DropFile, DropEarlier,
                 AskKept, FileHeld, FileRefused, FileKept, KeptEnd, SaveOrder, PauseOrder>;

/// Longest datagram. A longer line of a checkpoint is cut.
inline constexpr std::size_t kMaxRankMessage = 8192;
/// Longest name of a file or phase.
inline constexpr std::size_t kMaxKeptName = 64;

/// Returns true for 1 to kMaxKeptName letters, digits and "-_./:+".
bool is_kept_name(std::string_view name);

/// Returns the datagram. The message must have valid names; a line loses its control bytes and what
/// exceeds kMaxRankMessage.
std::string encode(const RankMessage& message);
/// The same into `out`, without an allocation if it has the room.
void encode(const RankMessage& message, std::string& out);

/// Returns nothing for any text that encode() does not make.
std::optional<RankMessage> parse_rank_message(std::string_view text);

/// Returns a line "WORD: FIELDS" for each message, as in docs/protocol.md.
std::string describe_rank_messages();

}  // namespace ds
