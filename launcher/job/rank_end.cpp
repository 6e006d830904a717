// Decodes wait statuses and failed starts.
#include "launcher/job/rank_end.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "runner/contract.h"

namespace ds::launcher {

RankEnd rank_end(const Exited& exited) {
  const std::string why = std::generic_category().message(exited.spawn_errno);
  switch (exited.stage) {
    case Exited::Stage::none:
      if (exited.wait_status == -1) return {ExitStatus::lost(), {}, exited.detail};
      return {ExitStatus::from_wait_status(exited.wait_status), {}, exited.detail};
    case Exited::Stage::fork:
      return {ExitStatus::exited(1), fmt::format("cannot start a process: {}", why), {}};
    case Exited::Stage::chdir:
      return {ExitStatus::exited(contract::kExitConfig),
              fmt::format("cannot enter {}: {}", exited.detail, why),
              {}};
    case Exited::Stage::exec:
      const bool missing = exited.spawn_errno == ENOENT;
      return {ExitStatus::exited(missing ? contract::kExitNotFound : contract::kExitNotExecutable),
              fmt::format("cannot run {}: {}", exited.detail, missing ? "not found" : why),
              {}};
  }
  return {};
}

std::string describe(const RankEnd& end) {
  if (!end.cause.empty()) return end.cause;
  return end.note.empty() ? end.status.describe()
                          : fmt::format("{}: {}", end.status.describe(), end.note);
}

}  // namespace ds::launcher
