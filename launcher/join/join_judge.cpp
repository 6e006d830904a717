// judge_join(): decides for the root whether a node may fill a place of the job.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contract.h"
#include "launcher/join/join_server.h"

namespace ds::launcher {

namespace {

JoinRefused final_refusal(int code, std::string text) { return {true, code, std::move(text)}; }

std::string two_nodes(const JoinHello& hello, const std::string& address, const JoinedNode& other) {
  return fmt::format("two nodes say that they are {}: {} at {} ({}) and {} at {} ({})", hello.place,
                     hello.node.hostname, address, hello.uid, other.hello.node.hostname,
                     other.address, other.hello.uid);
}

std::string names_of(const std::vector<std::string>& places) {
  if (places.size() == 1) return places.front();
  return places.front() + " to " + places.back();
}

std::optional<JoinRefused> misfit(const JoinHello& hello, const JoinTerms& terms) {
  if (hello.version != kJoinVersion)
    return final_refusal(
        contract::kExitUnreachable,
        fmt::format("{}: incompatible dslaunch there (join protocol {:x}, the root "
                    "speaks {:x}); install the same build on all nodes",
                    hello.place, hello.version, kJoinVersion));
  if (hello.job != terms.job)  // not final: the lookup may have returned an old address
    return JoinRefused{false, contract::kExitUnreachable,
                       fmt::format("this is the root of job {}, and {} belongs to job {}",
                                   terms.job, hello.place, hello.job)};
  if (std::find(terms.places.begin(), terms.places.end(), hello.place) == terms.places.end())
    return final_refusal(contract::kExitConfig,
                         fmt::format("{} is no place of job {}, which has {} ({})", hello.place,
                                     terms.job, terms.places.size(), names_of(terms.places)));
  return std::nullopt;
}

}  // namespace

JoinJudgement judge_join(const JoinHello& hello, const std::string& address, const JoinTerms& terms,
                         const std::optional<JoinedNode>& present) {
  JoinJudgement judgement;
  judgement.refusal = misfit(hello, terms);
  if (judgement.refusal) {
    judgement.say = fmt::format("a node at {} was refused: {}", address, judgement.refusal->text);
    return judgement;
  }
  if (!present || present->hello.uid == hello.uid) return judgement;
  const std::string text = two_nodes(hello, address, *present);
  const bool newer = terms.present_is_silent || hello.started >= present->hello.started;
  const char* who =
      terms.present_is_silent ? "; the old one is silent and gives way" : "; the newer one stays";
  (newer ? judgement.fence : judgement.refusal) =
      final_refusal(contract::kExitUnreachable, text + who);
  judgement.say = text + who;
  return judgement;
}

}  // namespace ds::launcher
