// RankChannel: the rank's end of the socket pair between a training rank and the agent of its node.
// Says what the rank does, and hands memory to the agent that outlives the rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds {

/// Memory that the agent holds while ranks come and go: a memfd, or a file without a name.
struct KeptFile {
  std::string name{};      // unique on the node
  std::int64_t bytes = 0;  // of the file
  UniqueFd fd;
};

/// What the launcher asks of a rank.
struct RankOrders {
  int saves = 0;       // checkpoints to write
  bool pause = false;  // end the next step together, keep it, and exit with contract::kExitPaused
};

/// The phase that all ranks reach with the first step of an epoch: it has made progress.
inline constexpr std::string_view kFirstStepPhase = "first_step";
/// The phase that all ranks reach when all their states are kept in this epoch: those that earlier
/// epochs have kept are needed no more.
inline constexpr std::string_view kKeptPhase = "kept";

/// Messages are datagrams of text (docs/protocol.md). Nothing blocks but await_held() and kept(): a
/// step that the agent does not take at once is dropped, because a later one replaces it; other
/// messages are sent with the next call. After the agent's end all calls do nothing. Threads:
/// any.
class RankChannel {
 public:
  /// Takes the descriptor that contract::kRankChannel names. Null: there is none.
  static std::unique_ptr<RankChannel> from_environment();
  explicit RankChannel(UniqueFd socket);
  ~RankChannel();
  RankChannel(const RankChannel&) = delete;
  RankChannel& operator=(const RankChannel&) = delete;

  /// `kept`: the newest step that all ranks keep; -1: none. `seconds`: of the step.
  void tell_step(std::int64_t step, std::int64_t steps, double seconds, std::int64_t kept);
  /// A stage of the start or the end, as "met", "loaded".
  void tell_phase(std::string_view name);
  /// `line`: as checkpoint_line.h.
  void tell_checkpoint(std::string_view line);
  /// `line`: as training_facts.h.
  void tell_facts(std::string_view line);

  /// Hands the file to the agent, which holds it until it is dropped or replaced by one of the same
  /// name.
  void keep(const KeptFile& file);
  /// Returns when the agent has confirmed that it holds a file of keep(). Errors: Error{system} if
  /// it has refused the file, has not answered by the deadline, or is gone.
  void await_held(std::string_view name, Deadline deadline);
  void drop(std::string_view name);
  /// Drops what ranks of earlier epochs have handed in.
  void drop_earlier_epochs();
  /// Returns all files that the agent holds, also those of other ranks of the node. Errors:
  /// Error{system} after the deadline.
  std::vector<KeptFile> kept(Deadline deadline);

  /// Returns the orders since the last call.
  RankOrders take_orders();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ds
