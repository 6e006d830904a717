#include "launcher/copy/source_paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher::copy {
namespace {

constexpr std::size_t kShownBytes = 200;  // of a path, in an error

/// The braces of one group and the commas between its words, as places in a text.
struct BraceGroup {
  std::size_t begin = 0;
  std::vector<std::size_t> ends{};  // of each word: a comma, at last the closing brace
};

/// Returns the first group that has a comma. A backslash takes the meaning from the next character.
std::optional<BraceGroup> first_group(const std::string& text) {
  std::optional<BraceGroup> first;
  std::vector<BraceGroup> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '{') {
      open.push_back({at});
    } else if (text[at] == ',' && !open.empty()) {
      open.back().ends.push_back(at);
    } else if (text[at] == '}' && !open.empty()) {
      BraceGroup group = std::move(open.back());
      open.pop_back();
      const bool counts = !group.ends.empty() && (!first || group.begin < first->begin);
      group.ends.push_back(at);
      if (counts) first = std::move(group);
    }
  }
  return first;
}

void add_matches(const std::string& word, std::vector<std::string>& names) {
  glob_t found{};
  if (::glob(word.c_str(), GLOB_TILDE, nullptr, &found) != 0) names.push_back(word);
  for (std::size_t i = 0; i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
}

}  // namespace

std::vector<std::string> expand_braces(const std::string& text) {
  std::vector<std::string> words;
  std::vector<std::string> waiting = {text};  // the next one is the last
  while (!waiting.empty()) {
    const std::string word = std::move(waiting.back());
    waiting.pop_back();
    const auto group = first_group(word);
    if (!group) {
      if (!word.empty()) words.push_back(word);
      continue;
    }
    if (words.size() + waiting.size() + group->ends.size() > kMostWords)
      throw Error(ErrorKind::config,
                  fmt::format("cannot expand {}: its braces stand for more than {} paths; get the "
                              "files with several commands, or their folder with -r",
                              text.substr(0, kShownBytes), kMostWords));
    for (std::size_t i = group->ends.size(); i-- > 0;) {
      const std::size_t begin = (i == 0 ? group->begin : group->ends[i - 1]) + 1;
      waiting.push_back(word.substr(0, group->begin) + word.substr(begin, group->ends[i] - begin) +
                        word.substr(group->ends.back() + 1));
    }
  }
  return words.empty() ? std::vector<std::string>{text} : words;
}

std::vector<std::string> expand_patterns(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    struct stat known {};
    if (::lstat(path.c_str(), &known) == 0)
      names.push_back(path);
    else  // glob(3) has GLOB_BRACE, but then it leaves out words that match nothing
      for (const std::string& word : expand_braces(path)) add_matches(word, names);
  }
  return names;
}

bool may_hide_size(const struct stat& known) {
  return known.st_blocks == 0 && known.st_size <= static_cast<off_t>(kPage);
}

std::shared_ptr<const Bytes> read_whole(const std::string& place, const struct stat& known,
                                        std::size_t most, std::string& problem) {
  constexpr std::size_t kAtOnce = std::size_t{64} << 10;
  const UniqueFd file(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto bytes = std::make_shared<Bytes>();
  std::size_t size = 0;
  ssize_t got = -1;
  struct stat now {};
  if (file && ::fstat(file.get(), &now) == 0) {
    if (now.st_dev != known.st_dev || now.st_ino != known.st_ino) {
      problem = "changed while it was listed";
      return nullptr;
    }
    do {
      bytes->resize(size + kAtOnce);
      got = ::read(file.get(), bytes->data() + size, kAtOnce);
      if (got > 0) size += static_cast<std::size_t>(got);
    } while (got > 0 && size <= most);
  }
  bytes->resize(size);
  if (got == 0) return bytes;
  problem = got < 0 ? std::strerror(errno) : "does not tell its size, and is too large";
  return nullptr;
}

}  // namespace ds::launcher::copy
