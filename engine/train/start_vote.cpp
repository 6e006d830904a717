#include "engine/train/start_vote.h"

#include <chrono>
#include <optional>
#include <thread>

#include "engine/base/error.h"

namespace ds {
namespace {

constexpr std::chrono::milliseconds kCauseLeavesFirst{500};

}  // namespace

SaveOutcome StartVote::together(std::string_view about, const Work& work) {
  SaveOutcome outcome;
  std::optional<Error> own;
  try {
    work(outcome);
  } catch (const std::exception& caught) {
    own = as_error(caught);
    if (own->kind() == ErrorKind::comm) throw *own;  // the others know: the group has failed
    outcome.fail(own->for_people());
    leave();
  }
  SaveOutcome all;
  try {
    all = gather_outcomes(world_, outcome, about);
  } catch (const Error&) {
    if (own) throw *own;
    throw;
  }
  if (own) throw *own;
  if (all.why().empty()) return all;
  // A launcher that saw this rank end first would take it for the cause.
  std::this_thread::sleep_for(kCauseLeavesFirst);
  throw Error(ErrorKind::comm,
              fmt::format("rank {} could not start: {}", all.rank, std::string(all.why())));
}

}  // namespace ds
