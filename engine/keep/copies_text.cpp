#include "engine/keep/copies_text.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "engine/base/error.h"
#include "engine/checkpoint/manifest_text.h"

namespace ds {
namespace {

constexpr std::string_view kCopiesMark = "kept-copies 1";

/// Takes numbers and strings from a text. A string is preceded by its size.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : rest_(text) {}

  std::uint64_t number() {
    const std::size_t end = rest_.find('\n');
    std::uint64_t number = 0;
    const char* const first = rest_.data();
    const char* const last = first + std::min(end, rest_.size());
    const auto [stop, error] = std::from_chars(first, last, number);
    is_whole_ = is_whole_ && end != std::string_view::npos && error == std::errc() && stop == last;
    rest_.remove_prefix(is_whole_ ? end + 1 : rest_.size());
    return number;
  }
  std::string_view string() {
    const std::uint64_t size = number();
    is_whole_ = is_whole_ && size <= rest_.size();
    if (!is_whole_) return {};
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] bool is_at_end() const { return is_whole_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_whole_ = true;
};

void add(std::string& text, std::uint64_t number) { text += fmt::format("{}\n", number); }
void add(std::string& text, std::string_view string) {
  add(text, std::uint64_t{string.size()});
  text += string;
}

/// Returns whether the part may belong to the head.
bool belong_together(const Manifest& head, const ChunkPart& part) {
  return part.rank < head.world_size && head.chunks.empty();
}

}  // namespace

std::string copies_text(const std::vector<KeptCopy>& copies) {
  std::map<std::string, std::size_t> heads;
  std::vector<std::string> in_order;
  std::string list;
  for (const KeptCopy& copy : copies) {
    const auto [head, is_new] =
        heads.try_emplace(manifest_text(copy.share.head), in_order.size());
    if (is_new) in_order.push_back(head->first);
    add(list, copy.file);
    add(list, copy.share.run);
    add(list, copy.share.epoch);
    add(list, std::uint64_t{head->second});
    add(list, part_text(copy.share.part));
  }
  std::string text;
  add(text, kCopiesMark);
  add(text, std::uint64_t{in_order.size()});
  for (const std::string& head : in_order) add(text, head);
  add(text, std::uint64_t{copies.size()});
  return text + list;
}

std::vector<KeptCopy> parse_copies(std::string_view text, int node) {
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::comm,
                 fmt::format("the description of what node {} keeps is broken: {}", node, why));
  };
  Bytes bytes(text);
  if (bytes.string() != kCopiesMark) throw refuse("it has another form");
  std::vector<KeptCopy> copies;
  try {
    std::vector<Manifest> heads;
    for (std::uint64_t left = bytes.number(); left > 0 && bytes.is_whole(); --left)
      heads.push_back(parse_head(bytes.string()));
    for (std::uint64_t left = bytes.number(); left > 0 && bytes.is_whole(); --left) {
      KeptCopy& copy = copies.emplace_back(KeptCopy{.node = node});
      copy.file = bytes.string();
      copy.share.run = bytes.string();
      copy.share.epoch = bytes.number();
      const std::uint64_t head = bytes.number();
      if (head >= heads.size()) throw refuse("a head is missing");
      copy.share.head = heads[head];
      copy.share.part = parse_part(bytes.string());
      if (!belong_together(copy.share.head, copy.share.part))
        throw refuse("a part does not belong to its head");
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::comm) throw;
    throw refuse(error.what());
  }
  if (!bytes.is_at_end()) throw refuse("it is truncated");
  return copies;
}

}  // namespace ds
