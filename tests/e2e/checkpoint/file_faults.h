// Text format in which the campaign passes file faults to libsave_faults.so, and its parser.
//
//   DS_SAVE_FAULTS=RANK/CALL/FILE/FIRST/COUNT/WHAT/NUMBER;...
//
// RANK: the calling rank. CALL: open, write, sync, rename, unlink, mkdir, truncate, close, any.
// FILE: chunk, part, manifest, latest, folder, other; save: the first three; any. FIRST: the first
// matching call that is affected, from 1. COUNT: number of affected calls; 0: all from FIRST on.
// WHAT:
//   error      the call fails with errno NUMBER            short  a write moves a third
//   delay      it takes NUMBER milliseconds longer          flip   one bit of a write changes
//   space      writes together move NUMBER bytes, then ENOSPC
//   kill-self  SIGKILL to the process; kill-all: to its group; kill-root: to DS_SAVE_FAULTS_ROOT;
//              NUMBER 0: before the call, 1: after it, 2: with half of a write done
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

struct FileFault {
  int rank = 0;
  std::string call{}, file{};
  int first = 1, count = 1;
  std::string what{};
  long number = 0;
};

inline constexpr int kBefore = 0, kAfter = 1, kTorn = 2;

/// Parses the text. Entries of another form are ignored.
inline std::vector<FileFault> parse_file_faults(std::string_view text) {
  std::vector<FileFault> faults;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string one(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    FileFault fault;
    char call[16], file[16], what[16];
    if (std::sscanf(one.c_str(), "%d/%15[^/]/%15[^/]/%d/%d/%15[^/]/%ld", &fault.rank, call, file,
                    &fault.first, &fault.count, what, &fault.number) != 7)
      continue;
    fault.call = call;
    fault.file = file;
    fault.what = what;
    faults.push_back(fault);
  }
  return faults;
}

inline std::string file_fault_text(const FileFault& fault) {
  char text[160];
  std::snprintf(text, sizeof text, "%d/%s/%s/%d/%d/%s/%ld", fault.rank, fault.call.c_str(),
                fault.file.c_str(), fault.first, fault.count, fault.what.c_str(), fault.number);
  return text;
}

/// Returns whether a fault's FILE matches files of this kind.
inline bool means_file(std::string_view file, std::string_view kind) {
  const bool is_content = kind == "chunk" || kind == "part" || kind == "manifest";
  return file == "any" || file == kind || (file == "save" && is_content);
}

/// Returns the kind of a checkpoint file, as FILE above, from its path.
inline std::string_view kind_of_file(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has(".chunk")) return "chunk";
  if (has("part")) return "part";
  if (has("manifest")) return "manifest";
  if (has("latest")) return "latest";
  return has("step-") ? "folder" : "other";
}

}  // namespace ds::test
