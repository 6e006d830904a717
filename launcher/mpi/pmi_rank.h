// The server's end of one rank's PMI connection: requests in, steps and replies out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "launcher/mpi/pmi_line.h"
#include "launcher/wire/mpi_messages.h"

namespace ds::launcher {

/// What a rank is told of its job.
struct PmiIdentity {
  std::string space{};      // name of the key-value space
  std::int32_t size = 0;    // ranks of the job
  std::int32_t appnum = 0;  // number of the rank's program
  std::int32_t rank = 0;
};

// Steps that a request causes.
struct PmiReply {  // bytes for the rank
  std::string text{};
  friend bool operator==(const PmiReply&, const PmiReply&) = default;
};
/// Which pairs a request means.
enum class PmiScope : std::uint8_t {
  job,   // the key-value space, which fences pass on to all nodes
  node,  // attributes of the node: other ranks of the node see them at once
};
struct PmiPut {  // the owner of the pairs answers by put_reply()
  PmiScope scope = PmiScope::job;
  std::string key{};
  std::string value{};
  friend bool operator==(const PmiPut&, const PmiPut&) = default;
};
struct PmiGet {  // the owner of the pairs answers by get_reply()
  PmiScope scope = PmiScope::job;
  std::string key{};
  bool waits = false;  // for a rank that puts the key
  friend bool operator==(const PmiGet&, const PmiGet&) = default;
};
struct PmiName {  // the rank waits until name_reply()
  NameAsk::Kind kind = NameAsk::Kind::publish;
  std::string name{};
  std::string port{};  // that is published
  friend bool operator==(const PmiName&, const PmiName&) = default;
};
struct PmiJoin {  // the rank waits in a fence until release()
  friend bool operator==(const PmiJoin&, const PmiJoin&) = default;
};
struct PmiLeave {  // the rank has finalized: it joins no more fences; `text` is the reply
  std::string text{};
  friend bool operator==(const PmiLeave&, const PmiLeave&) = default;
};
struct PmiRefusal {  // of a service that does not exist here; `text` is the reply
  std::string what{};
  std::string text{};
  friend bool operator==(const PmiRefusal&, const PmiRefusal&) = default;
};
struct PmiFailure {  // ends the job; `text` follows the name of the rank
  std::int32_t code = 1;
  std::string text{};
  bool is_abort = false;  // the rank has called abort, and waits to be stopped
  friend bool operator==(const PmiFailure&, const PmiFailure&) = default;
};
using PmiStep = std::variant<PmiReply, PmiPut, PmiGet, PmiName, PmiJoin, PmiLeave, PmiRefusal,
                             PmiFailure>;

/// Longest names, as get_maxes reports them and as Hydra has them.
inline constexpr std::size_t kPmiMaxSpace = 256;
inline constexpr std::size_t kPmiMaxKey = 64;
inline constexpr std::size_t kPmiMaxValue = 1024;

/// Speaks PMI-1 or PMI-2, as the rank's `init` says. Both begin with a line.
/// Source: the client of MPICH (src/pmi/src/pmi_v1.c, pmi_v2.c) and its lists of messages
///         (src/pmi/maint/pmi-1.1.txt, pmi-2.0.txt).
/// Promise: any bytes give steps. After a PmiFailure there are none. A request that comes before
///          the answer to the last one is a PmiFailure.
class PmiRank {
 public:
  explicit PmiRank(PmiIdentity identity) : identity_(std::move(identity)) {}

  void feed(std::string_view bytes) {
    if (!failed_) reader_.feed(bytes);
  }
  /// Returns the step of the next whole request. It is answered before the next call, unless the
  /// rank waits.
  std::optional<PmiStep> next();

  // Replies to the last request.
  /// `problem` says without blanks why the pair is refused; empty if it was put.
  [[nodiscard]] std::string put_reply(std::string_view problem) const;
  /// `value`: null if there is no such key.
  std::string get_reply(const std::string* value);
  /// Leaves a get without an answer for now: no rank has put the key yet.
  void wait_for_pair() { waits_ = Waits::pair; }
  /// Ends the rank's wait for an answer about a name.
  std::string name_reply(const NameAnswer& answer);
  /// Ends the rank's wait in a fence.
  std::string release();

  [[nodiscard]] bool is_ready() const { return version_ != 0; }
  [[nodiscard]] bool has_left() const { return left_; }
  [[nodiscard]] bool waits_in_fence() const { return waits_ == Waits::fence; }
  [[nodiscard]] bool waits_for_name() const { return waits_ == Waits::name; }
  /// Returns whether a request has begun and is not whole.
  [[nodiscard]] bool is_inside_request() const { return reader_.is_inside(); }

 private:
  enum class Waits : std::uint8_t { no, fence, pair, name };

  PmiStep answer(const PmiRequest& request);
  PmiStep answer_init(const PmiRequest& request);
  /// Return nothing if the version of PMI does not have the command.
  std::optional<PmiStep> answer_pmi1(const PmiRequest& request);
  std::optional<PmiStep> answer_pmi2(const PmiRequest& request);
  std::optional<PmiStep> refuse(const PmiRequest& request);
  PmiStep put(PmiScope scope, const PmiRequest& request) const;
  PmiStep get(PmiScope scope, const PmiRequest& request);
  PmiStep ask(NameAsk::Kind kind, const PmiRequest& request);
  PmiStep join();
  PmiStep leave();
  [[nodiscard]] std::string problem_of(const PmiRequest& request) const;
  /// Returns the reply to the last request. `rest`: "NAME=VALUE" or nothing.
  [[nodiscard]] std::string reply(std::string_view problem, std::string_view rest = {}) const;

  PmiIdentity identity_;
  PmiReader reader_;
  int version_ = 0;     // of PMI; 0: `init` has not come
  std::string name_;    // of the reply to the last request
  std::string thread_;  // of the last request of PMI-2, which the reply repeats
  Waits waits_ = Waits::no;
  bool left_ = false;    // has finalized
  bool failed_ = false;  // nothing more is taken
};

}  // namespace ds::launcher
