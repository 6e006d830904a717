// What libssh found in two lists is kept, by the lists' text (linker option --wrap, so only where
// it is static): it takes both apart, word by word, seventeen times a session.
#include "launcher/transport/libssh/matched_lists.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

extern "C" {
// As libssh declares them: include/libssh/token.h, which is not installed.
char* __real_ssh_find_matching(const char* available, const char* preferred);
char* __real_ssh_find_all_matching(const char* available, const char* preferred);
}

namespace {

using Match = char* (*)(const char* available, const char* preferred);

/// The last answers of one of libssh's functions. Bounded: hosts may show any lists they like.
class KeptMatches {
 public:
  explicit KeptMatches(Match match) : match_(match) {}

  char* operator()(const char* available, const char* preferred) {
    if (available == nullptr || preferred == nullptr) return nullptr;
    const std::string_view has(available);
    const std::string_view wants(preferred);
    if (has.size() > kLongest || wants.size() > kLongest) return match_(available, preferred);
    for (const Entry& entry : entries_)
      if (entry.wants == wants && entry.has == has && entry.known) return copy(entry.found);
    Entry& entry = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    char* const found = match_(available, preferred);
    entry = {std::string(has), std::string(wants), {}, true};
    if (found != nullptr) entry.found = found;
    return found;
  }

 private:
  struct Entry {
    std::string has;
    std::string wants;
    std::optional<std::string> found;
    bool known = false;
  };
  static constexpr std::size_t kLongest = 2048;
  static constexpr std::size_t kEntries = 32;

  static char* copy(const std::optional<std::string>& text) {
    return text ? ::strdup(text->c_str()) : nullptr;
  }

  Match match_;
  std::array<Entry, kEntries> entries_;
  std::size_t next_ = 0;
};

}  // namespace

extern "C" char* __wrap_ssh_find_matching(const char* available, const char* preferred) {
  static KeptMatches kept(__real_ssh_find_matching);
  return kept(available, preferred);
}

namespace ds::launcher::libssh {

char* all_matching(const char* available, const char* preferred) {
  static KeptMatches kept(__real_ssh_find_all_matching);
  return kept(available, preferred);
}

}  // namespace ds::launcher::libssh
