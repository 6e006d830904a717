// Coordinator: what rank 0 keeps for all ranks: who has come to each group, the first fault of each
// group, and the last report of each rank. Pure but for its lock: requests in, answers out.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/bytes.h"
#include "engine/comm/rank_report.h"

namespace ds::comm {

enum class Request : std::uint64_t {
  // A member has come: mesh, size of the group, place in it, card, and from place 0 the ranks.
  // Answered with the places that are absent; when none is, with the cards of all members.
  meet = 1,
  fault = 2,  // mesh, why a member gives up; answered with the first reason that any member gave
  report = 3  // rank, RankReport; answered with the Findings
};

class Coordinator {
 public:
  /// `patience`: as in find_hangs().
  Coordinator(int world_size, Clock::duration patience, Clock::time_point now = Clock::now());

  /// Answers a request; returns nothing when it is malformed. Threads: any.
  std::optional<std::string> answer(std::string_view request, Clock::time_point now = Clock::now());

 private:
  struct Mesh {
    std::vector<int> ranks;                      // from place 0
    std::map<std::uint64_t, std::string> cards;  // by place
    std::string fault;
  };

  std::optional<std::string> meet(ByteReader& request);
  std::optional<std::string> take_fault(ByteReader& request);
  std::optional<std::string> take_report(ByteReader& request, Clock::time_point now);
  Mesh* find_mesh(const std::string& name);
  void forgive_suspension(Clock::time_point now);

  const Clock::duration patience_;
  std::mutex mutex_;  // guards all below
  std::map<std::string, Mesh> meshes_;
  std::vector<Observed> observed_;  // by rank
  Clock::time_point last_request_, judged_at_{};
  std::string findings_;
};

}  // namespace ds::comm
