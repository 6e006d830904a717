// CoordinatorClient: requests as texts, one at a time.
#include "engine/comm/mesh/coordinator_client.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

constexpr Clock::duration kAnswer = 5s;
constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{64} << 20;

ByteWriter request_of(Request kind) {
  ByteWriter request;
  request.put(static_cast<std::uint64_t>(kind));
  return request;
}

IoResult read_text(int fd, std::string& text, Deadline deadline) {
  std::string length(8, '\0');
  const IoResult result = read_exactly(fd, std::as_writable_bytes(std::span(length)), deadline);
  const std::uint64_t bytes = ByteReader(length).number();
  if (result != IoResult::done || bytes > kMostAnswerBytes)
    return result == IoResult::late ? result : IoResult::closed;
  text.resize(bytes);
  return read_exactly(fd, std::as_writable_bytes(std::span(text)), deadline);
}

}  // namespace

CoordinatorClient::CoordinatorClient(const Endpoint& master, Membership membership,
                                     Deadline deadline)
    : membership_(std::move(membership)) {
  connect(master, deadline);
  rank_0_ = peer_endpoint(fd_.get());
  own_endpoint_ = local_endpoint(fd_.get());
}

void CoordinatorClient::connect(const Endpoint& to, Deadline deadline) {
  fd_ = open_connection(to, membership_, kForCoordinator, deadline);
  watch_peer(fd_.get());
}

std::string CoordinatorClient::ask(ByteWriter& request, Deadline deadline) {
  std::string text = request.take(), answer;
  if (own_) {
    std::optional<std::string> own_answer = own_->answer(text);
    DS_ASSERT(own_answer.has_value(), "rank 0 understands its own requests");
    return *std::move(own_answer);
  }
  const std::lock_guard lock(mutex_);
  text = ByteWriter().put(text).take();
  if (!fd_) connect(rank_0_, deadline);
  IoResult result = write_all(fd_.get(), std::as_bytes(std::span(text)), deadline);
  if (result == IoResult::done) result = read_text(fd_.get(), answer, deadline);
  if (result == IoResult::done) return answer;
  fd_.reset();  // a late answer would be taken for that of the next request
  if (result == IoResult::late)
    throw Error(ErrorKind::comm, fmt::format("rank 0 at {} does not answer", rank_0_.text()));
  throw Error(ErrorKind::comm, fmt::format("rank 0 at {} is gone", rank_0_.text()),
              "rank 0 ended or its machine was lost; see the last lines of its output");
}

// Asks again until all have come, at most 5 times a second in the end. Rank 0 says whom it waits
// for.
CoordinatorClient::Meeting CoordinatorClient::meet(const std::string& mesh, const GroupSpec& spec,
                                                   int place, std::string_view card,
                                                   Deadline deadline) {
  const Clock::time_point begun = Clock::now();
  auto word_at = begun + 5s;
  for (auto pause = 1ms;; pause = std::min(pause * 2, 200ms)) {
    ByteWriter request = request_of(Request::meet);
    request.put(mesh).put(std::uint64_t{spec.ranks.size()});
    request.put(static_cast<std::uint64_t>(place)).put(card);
    for (std::size_t i = 0; i < spec.ranks.size() && place == 0; ++i)
      request.put(static_cast<std::uint64_t>(spec.ranks[i]));
    const bool is_last = deadline.passed();
    // A short time, because the hang guard may wait to ask.
    const std::string answer = ask(request, Deadline::after(kAnswer));
    ByteReader in(answer);
    Meeting meeting;
    for (std::uint64_t absent = in.number(); absent > 0 && in.is_good(); --absent)
      meeting.absent.push_back(spec.ranks.at(in.number()));
    while (meeting.absent.empty() && in.is_good() && !in.is_done())
      meeting.cards.push_back(in.text());
    if (meeting.absent.empty() || is_last) return meeting;
    if (const auto waited = Clock::now() - begun; own_ && begun + waited >= word_at) {
      fmt::print(stderr, "no answer from rank {} after {:.3g} s; still waiting ({} absent)\n",
                 meeting.absent[0], seconds_of(waited), meeting.absent.size());
      word_at = begun + 2 * waited;
    }
    ::poll(nullptr, 0, static_cast<int>(std::min(pause, deadline.remaining()).count()));
  }
}

std::string CoordinatorClient::report_fault(const std::string& mesh, const std::string& why,
                                            Deadline deadline) {
  ByteWriter request = request_of(Request::fault);
  return ask(request.put(mesh).put(why), deadline);
}

Findings CoordinatorClient::report(int rank, const RankReport& report, Deadline deadline) {
  ByteWriter request = request_of(Request::report);
  request.put(static_cast<std::uint64_t>(rank)).put(encode(report));
  return decode_findings(ask(request, deadline)).value_or(Findings());
}

}  // namespace ds::comm
