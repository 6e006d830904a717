// TraceFile: a partial file, renamed at the end.
#include "engine/monitor/trace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ds {

// A part that a killed job left is removed.
TraceFile::TraceFile(const std::string& folder)
    : path_(fmt::format("{}/{}", folder, kTraceName)), partial_(path_ + ".partial") {
  ::unlink(partial_.c_str());
  file_ = RecordFile::create(partial_);
}

void TraceFile::append(std::string_view text) {
  if (problem_.empty() && !file_.append(text)) give_up(file_.problem());
}

bool TraceFile::finish() {
  if (problem_.empty() && std::rename(partial_.c_str(), path_.c_str()) != 0)
    give_up(fmt::format("{}: {}", path_, std::strerror(errno)));
  return problem_.empty();
}

void TraceFile::give_up(std::string why) {
  problem_ = std::move(why);
  ::unlink(partial_.c_str());
}

}  // namespace ds
