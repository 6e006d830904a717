// StoreClient: requests to the store, one at a time.
#include "engine/comm/mesh/store_client.h"

#include "engine/base/error.h"
#include "engine/comm/mesh/socket.h"

namespace ds::comm {

StoreClient::StoreClient(const Invitation& door, Deadline deadline)
    : where_(fmt::format("{}:{}", door.name, door.port)), fd_(visit(door, "store", deadline)) {
  watch_peer(fd_.get());
}

// Returns nothing when the answer is late. Skips, by its id, an answer to an earlier request that
// timed out.
std::optional<Frame> StoreClient::ask(Frame question, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  question.id = ++last_id_;
  const auto gone = [&] {
    return Error(ErrorKind::comm, fmt::format("the store of rank 0 at {} is gone", where_),
                 "rank 0 ended or its machine was lost; see the last lines of its output");
  };
  if (!fd_) throw gone();
  // A partly sent request would corrupt every later one, so the connection is closed.
  if (!send_frame(fd_.get(), question, deadline)) {
    fd_.reset();
    throw gone();
  }
  while (wait_readable(fd_.get(), deadline)) {
    Frame answer;
    // A frame that has begun gets 2 s to end: giving up in its middle would lose the position in
    // the stream.
    const Deadline end(std::max(deadline.at(), Clock::now() + std::chrono::seconds(2)));
    if (!read_frame(fd_.get(), answer, end)) {
      fd_.reset();
      throw gone();
    }
    if (answer.id == question.id) return answer;
  }
  return std::nullopt;
}

Frame StoreClient::must_ask(Frame question, Deadline deadline) {
  std::optional<Frame> answer = ask(std::move(question), deadline);
  if (!answer)
    throw Error(ErrorKind::comm, fmt::format("the store of rank 0 at {} does not answer", where_));
  return *std::move(answer);
}

void StoreClient::set(const std::string& key, const std::string& value, Deadline deadline) {
  must_ask({FrameKind::set, 0, key, value}, deadline);
}

std::string StoreClient::set_new(const std::string& key, const std::string& value,
                                 Deadline deadline) {
  return must_ask({FrameKind::set_new, 0, key, value}, deadline).value;
}

std::optional<std::string> StoreClient::get(const std::string& key, Deadline deadline) {
  Frame answer = must_ask({FrameKind::get, 0, key, {}}, deadline);
  if (answer.kind == FrameKind::absent) return std::nullopt;
  return std::move(answer.value);
}

std::optional<std::string> StoreClient::wait(const std::string& key, Deadline deadline) {
  std::optional<Frame> answer = ask({FrameKind::wait, 0, key, {}}, deadline);
  if (!answer) return std::nullopt;
  return std::move(answer->value);
}

std::int64_t StoreClient::add(const std::string& key, std::int64_t step, Deadline deadline) {
  const Frame answer = must_ask({FrameKind::add, 0, key, encode_count(step)}, deadline);
  return decode_count(answer.value).value_or(0);
}

}  // namespace ds::comm
