// Blanks, tabs, CR and NUL separate words.
#include "launcher/dns/words.h"

namespace ds::launcher {

void for_each_line(std::string_view text, std::string_view comment,
                   FunctionRef<void(std::span<const std::string_view>)> use) {
  constexpr std::string_view kBlank(" \t\r\v\f\0", 6);
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = line.substr(0, line.find_first_of(comment));
    words.clear();
    for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;
         at = line.find_first_not_of(kBlank, at)) {
      const std::size_t stop = std::min(line.find_first_of(kBlank, at), line.size());
      words.push_back(line.substr(at, stop - at));
      at = stop;
    }
    if (!words.empty()) use(words);
  }
}

}  // namespace ds::launcher
