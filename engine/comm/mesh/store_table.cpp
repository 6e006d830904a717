// StoreTable: set, set_new, get, wait, add.
#include "engine/comm/mesh/store_table.h"

namespace ds::comm {

void StoreTable::put(const std::string& key, const std::string& value) {
  const auto [entry, is_new] = values_.try_emplace(key);
  bytes_ += value.size() + (is_new ? key.size() : 0);
  bytes_ -= entry->second.size();
  entry->second = value;
}

void StoreTable::wake(const std::string& key, std::vector<Outgoing>& due) {
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (waiting->second.key != key) {
      ++waiting;
      continue;
    }
    due.push_back({waiting->first, {FrameKind::answer, waiting->second.id, key, values_.at(key)}});
    waiting = waiting_.erase(waiting);
  }
}

std::optional<std::vector<StoreTable::Outgoing>> StoreTable::on(Client client,
                                                                const Frame& question) {
  waiting_.erase(client);
  std::vector<Outgoing> due;
  const auto answer = [&](FrameKind kind, const std::string& value) {
    due.push_back({client, {kind, question.id, question.key, value}});
  };
  const auto found = values_.find(question.key);
  const bool is_set = found != values_.end();
  if (bytes_ + question.key.size() + question.value.size() > kMaxBytes) return std::nullopt;
  switch (question.kind) {
    case FrameKind::set:
      put(question.key, question.value);
      answer(FrameKind::answer, "");
      break;
    case FrameKind::set_new:
      if (!is_set) put(question.key, question.value);
      answer(FrameKind::answer, values_.at(question.key));
      break;
    case FrameKind::get:
      answer(is_set ? FrameKind::answer : FrameKind::absent, is_set ? found->second : "");
      return due;
    case FrameKind::wait:
      if (is_set) {
        answer(FrameKind::answer, found->second);
      } else {
        waiting_[client] = {question.id, question.key};
      }
      return due;
    case FrameKind::add: {
      const std::optional<std::int64_t> step = decode_count(question.value);
      const std::optional<std::int64_t> old = is_set ? decode_count(found->second) : 0;
      if (!step || !old) return std::nullopt;
      // Unsigned, so that a hostile sum wraps instead of being undefined.
      const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(*old) +
                                                 static_cast<std::uint64_t>(*step));
      put(question.key, encode_count(sum));
      answer(FrameKind::answer, encode_count(sum));
      break;
    }
    default:
      return std::nullopt;
  }
  wake(question.key, due);
  return due;
}

}  // namespace ds::comm
