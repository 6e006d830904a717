// One pass over the bytes; values are compared only where one may begin.
#include "launcher/logs/redactor.h"

#include <algorithm>

#include "engine/base/split.h"

namespace ds::launcher {

Redactor::Redactor(const std::vector<std::string>& values) {
  for (const std::string& value : values)
    for (const std::string_view line : split(value, '\n'))
      if (line.size() >= kShortest) values_.emplace_back(line);
  std::ranges::sort(values_, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  for (const std::string& value : values_)
    begins_[static_cast<unsigned char>(value.front())] = true;
}

std::size_t Redactor::replace(std::string_view text, bool whole, std::string& shown) const {
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const std::string_view rest = text.substr(at);
    const auto found = std::ranges::find_if(values_, [&](const std::string& value) {
      if (rest.starts_with(value)) return true;
      return !whole && rest.size() < value.size() && std::string_view(value).starts_with(rest);
    });
    if (found == values_.end()) {
      ++at;
      continue;
    }
    shown.append(text, copied, at - copied);
    if (rest.size() < found->size()) return at;  // more bytes are needed to decide
    shown += "***";
    at += found->size();
    copied = at;
  }
  shown.append(text, copied);
  return text.size();
}

std::string_view Redactor::pass(int rank, int stream, std::string_view text, bool last) {
  shown_.clear();
  std::string joined;
  const auto held = held_.find({rank, stream});
  if (held != held_.end()) {
    joined = std::move(held->second);
    held_.erase(held);
    joined += text;
    text = joined;
  }
  const std::size_t done = replace(text, last, shown_);
  if (done < text.size()) held_[{rank, stream}] = text.substr(done);
  return shown_;
}

std::string Redactor::clean(std::string_view text) const {
  std::string shown;
  replace(text, true, shown);
  return shown;
}

}  // namespace ds::launcher
