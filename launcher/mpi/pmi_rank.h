// The server's end of one rank's PMI-1 connection: requests in, replies and steps out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/mpi/pmi_line.h"

namespace ds::launcher {

/// What a rank is told of its job.
struct PmiIdentity {
  std::string space{};      // name of the key-value space
  std::int32_t size = 0;    // ranks of the job
  std::int32_t appnum = 0;  // number of the rank's program
};

// Steps that a request causes.
struct PmiReply {  // bytes for the rank
  std::string text{};
  friend bool operator==(const PmiReply&, const PmiReply&) = default;
};
struct PmiPut {  // answered by the owner of the key-value space
  std::string key{};
  std::string value{};
  friend bool operator==(const PmiPut&, const PmiPut&) = default;
};
struct PmiGet {  // answered by the owner of the key-value space
  std::string key{};
  friend bool operator==(const PmiGet&, const PmiGet&) = default;
};
struct PmiJoin {  // the rank waits in a fence
  friend bool operator==(const PmiJoin&, const PmiJoin&) = default;
};
struct PmiLeave {  // the rank has finalized: it joins no more fences
  friend bool operator==(const PmiLeave&, const PmiLeave&) = default;
};
struct PmiRefusal {  // of a service that does not exist here
  std::string what{};
  friend bool operator==(const PmiRefusal&, const PmiRefusal&) = default;
};
struct PmiFailure {  // ends the connection and the job; `text` follows the name of the rank
  std::int32_t code = 1;
  std::string text{};
  friend bool operator==(const PmiFailure&, const PmiFailure&) = default;
};
using PmiStep = std::variant<PmiReply, PmiPut, PmiGet, PmiJoin, PmiLeave, PmiRefusal, PmiFailure>;

/// Longest names, as get_maxes reports them and as Hydra has them.
inline constexpr std::size_t kPmiMaxSpace = 256;
inline constexpr std::size_t kPmiMaxKey = 64;
inline constexpr std::size_t kPmiMaxValue = 1024;

/// Returns a reply "cmd=NAME rc=0 msg=success REST", or with rc=-1 and `problem`, which has no
/// blanks.
std::string pmi_result(std::string_view name, std::string_view problem, std::string_view rest = {});

/// Source: the client of MPICH (src/pmi/simple/simple_pmi.c) and its list of messages
///         (src/pmi/maint/pmi-1.1.txt).
/// Promise: any bytes give steps. After a PmiFailure there are none. No step follows PmiJoin before
///          release().
class PmiRank {
 public:
  explicit PmiRank(PmiIdentity identity) : identity_(std::move(identity)) {}

  /// Takes bytes of the rank and returns the steps that they cause, in order.
  std::vector<PmiStep> take(std::string_view bytes);
  /// Ends the rank's wait in a fence; returns the reply.
  std::string release();
  /// Returns whether the rank waits in a fence.
  [[nodiscard]] bool waits() const { return waits_; }
  /// Returns whether a request has begun and is not whole.
  [[nodiscard]] bool is_inside_request() const { return reader_.is_inside(); }

 private:
  PmiStep answer(const PmiRequest& request);
  PmiStep answer_init(const PmiRequest& request);
  [[nodiscard]] PmiStep answer_put(const PmiRequest& request) const;
  [[nodiscard]] PmiStep answer_get(const PmiRequest& request) const;
  [[nodiscard]] std::string problem_of(const PmiRequest& request) const;

  PmiIdentity identity_;
  PmiReader reader_;
  bool ready_ = false;   // `init` was accepted
  bool waits_ = false;   // in a fence
  bool left_ = false;    // has finalized
  bool failed_ = false;  // nothing more is taken
};

}  // namespace ds::launcher
