// Messages of NCCL's failures.
#include "engine/comm/nccl/texts.h"

#include <fmt/format.h>

#include <string_view>

namespace ds::comm {

std::string error_text(const NcclApi& api, ncclComm_t comm, ncclResult_t code) {
  const char* const name = api.get_error_string(code);
  const char* const last = api.get_last_error(comm);
  std::string_view more = last != nullptr ? last : "";
  while (more.ends_with('\n')) more.remove_suffix(1);
  return fmt::format("{}{}", name != nullptr ? name : "unknown error",
                     more.empty() ? "" : fmt::format(" (NCCL says: {})", more));
}

std::string start_text(const GroupSpec& spec, std::span<const std::string> failures) {
  std::string text;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].empty()) continue;
    text += fmt::format("{}rank {}: {}", text.empty() ? "" : "; ", spec.ranks[i], failures[i]);
  }
  return text;
}

}  // namespace ds::comm
