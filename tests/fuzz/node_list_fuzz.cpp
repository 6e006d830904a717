// Any bytes as a node list: names that fold into an expression which gives them again, or what is
// wrong and where.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "fuzz/check_text.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/host_ranges.h"

using namespace ds::launcher;

namespace {

using Names = std::vector<std::string>;

/// Commas outside of brackets separate expressions.
Names split(std::string_view list) {
  Names out(1);
  int depth = 0;
  for (const char c : list) {
    depth += (c == '[' ? 1 : 0) - (c == ']' ? 1 : 0);
    if (c == ',' && depth == 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

bool can_fold(const Names& names) {
  return names.size() <= 512 && std::ranges::all_of(names, [](const std::string& name) {
           return !name.empty() && name.find_first_of(":[],") == std::string::npos;
         });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto result = expand_host_ranges(text);
  if (const auto* problem = std::get_if<RangeProblem>(&result)) {
    DS_ASSERT(problem->offset <= size && !problem->message.empty());
    ds::test::check_for_terminal(problem->hint);
    return 0;
  }
  const Names& names = std::get<Names>(result);
  DS_ASSERT(!names.empty() && names.size() <= kMaxHosts);
  if (!can_fold(names)) return 0;
  std::multiset<std::string> again;
  for (const std::string& part : split(fold_names(names))) {
    const auto unfolded = expand_host_ranges(part);
    DS_ASSERT(std::holds_alternative<Names>(unfolded), "what was folded can be read");
    for (const std::string& name : std::get<Names>(unfolded)) again.insert(name);
  }
  const std::set<std::string> once(names.begin(), names.end());
  DS_ASSERT(std::ranges::equal(again, once), "exactly these names, each once");
  return 0;
}
