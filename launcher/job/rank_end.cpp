// Decodes wait statuses and failed starts.
#include "launcher/job/rank_end.h"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "engine/base/contract.h"

namespace ds::launcher {

namespace {

// The system's message for E2BIG does not mention that a single argument may be too long.
constexpr std::string_view kTooBig =
    " (one word may have 128 KiB, all words and variables what `getconf ARG_MAX` says); give it by "
    "standard input or in a file";

/// Describes a program that exec did not find, or whose interpreter or library is missing.
std::string why_missing(const Exited& exited) {
  if (exited.spawn_errno == ELIBACC)
    return "its interpreter (#! line, or loader) is not there; a line of DOS ends in \\r";
  return exited.detail.find('/') == std::string::npos ? "not found in PATH" : "not found";
}

}  // namespace

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
              fmt::format("cannot enter the working directory '{}': {}; create it on that node or "
                          "choose another with --wdir",
                          exited.detail, why),
              {}};
    case Exited::Stage::bind:
      return {ExitStatus::exited(1),
              fmt::format("cannot be bound to its processors (--bind): {}", why),
              {}};
    case Exited::Stage::exec:
      const bool missing = exited.spawn_errno == ENOENT || exited.spawn_errno == ELIBACC;
      const std::string reason = missing                       ? why_missing(exited)
                                 : exited.spawn_errno == E2BIG ? why + std::string(kTooBig)
                                                               : why;
      return {ExitStatus::exited(missing ? contract::kExitNotFound : contract::kExitNotExecutable),
              fmt::format("cannot run {}: {}", exited.detail, reason),
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
