// require_agreement(): finds the majority.
#include "engine/comm/notes.h"

#include <map>

#include "engine/base/error.h"

namespace ds {
namespace {

// Returns the value that more than half of the ranks have, or the first rank's without a majority.
std::string expected_of(const std::vector<std::string>& values) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& value : values) {
    if (++counts[value] * 2 > values.size()) return value;
  }
  return values.front();
}

}  // namespace

void require_agreement(Group& group, const std::string& what, const std::string& digest,
                       Deadline deadline) {
  group.about("agreement on " + what);
  const std::vector<std::string> values = exchange_notes(group, digest, deadline);
  const std::string expected = expected_of(values);
  std::string different;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected) continue;
    different += fmt::format("{}rank {} has {}", different.empty() ? "" : ", ",
                             group.spec().ranks[i], values[i]);
  }
  if (different.empty()) return;
  throw Error(
      ErrorKind::config,
      fmt::format("the {} differs between ranks: {}, the others {}", what, different, expected),
      "start every rank with the same binary, the same configuration file and the same overrides");
}

}  // namespace ds
