#include "launcher/agent/rank_channels.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/rank_socket.h"

namespace ds::launcher {
namespace {

/// Datagrams that are read from one rank before the others have their turn.
constexpr int kReadsInTurn = 64;
/// Reads of what a rank left behind: more than a socket holds (about 280 datagrams).
constexpr int kLastDatagrams = 4096;

}  // namespace

ChannelPair make_channel_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw_errno("cannot make a socket for a rank (see ulimit -n)", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

RankChannels::RankChannels(std::vector<End> ends, std::uint32_t epoch) : epoch_(epoch) {
  for (End& end : ends)
    ranks_.push_back({.rank = end.rank, .fd = std::move(end.fd), .news = NewsOfRank(end.rank)});
}

void RankChannels::add_polls(std::vector<pollfd>& polled) {
  first_poll_ = polled.size();
  polled_ = true;
  for (const Rank& rank : ranks_)
    polled.push_back(
        {rank.fd.get(), static_cast<short>(rank.waits() ? POLLIN | POLLOUT : POLLIN), 0});
}

void RankChannels::turn(const std::vector<pollfd>& polled, KeptStore& store,
                        Clock::time_point now) {
  if (!std::exchange(polled_, false)) return;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const short ready = polled[first_poll_ + i].revents;
    if (!ranks_[i].fd || ready == 0) continue;
    if ((ready & POLLOUT) != 0) write_some(ranks_[i], store);
    read_some(ranks_[i], kReadsInTurn, store, now);
  }
}

Clock::time_point RankChannels::wake_at() const {
  Clock::time_point first = Clock::time_point::max();
  for (const Rank& rank : ranks_) first = std::min(first, rank.news.due());
  return first;
}

void RankChannels::order(const OrderRank& order, const KeptStore& store) {
  for (Rank& rank : ranks_) {
    if (!rank.fd || (order.rank != -1 && order.rank != rank.rank)) continue;
    (order.order == OrderRank::Order::save ? rank.save : rank.pause) = true;
    write_some(rank, store);
  }
}

void RankChannels::ended(std::int32_t rank, KeptStore& store, Clock::time_point now) {
  const auto ended = std::ranges::find(ranks_, rank, &Rank::rank);
  if (ended == ranks_.end()) return;
  read_some(*ended, kLastDatagrams, store, now);
  ended->news.hurry();
}

std::vector<Message> RankChannels::take_messages(Clock::time_point now) {
  std::vector<Message> messages;
  for (Rank& rank : ranks_)
    if (auto news = rank.news.take(now)) messages.emplace_back(std::move(*news));
  return messages;
}

void RankChannels::read_some(Rank& rank, int datagrams, KeptStore& store, Clock::time_point now) {
  for (int i = 0; i < datagrams && rank.fd; ++i) {
    Datagram datagram = receive_datagram(rank.fd.get());
    if (datagram.ended) {
      rank.fd.reset();
      return rank.forget();
    }
    if (datagram.kind == Datagram::Kind::none) return;
    // A message that is not known may be one of a later version.
    if (auto message = parse_rank_message(datagram.text))
      take(rank, *message, std::move(datagram.fd), store, now);
  }
}

void RankChannels::take(Rank& rank, RankMessage& message, UniqueFd fd, KeptStore& store,
                        Clock::time_point now) {
  if (const auto* step = std::get_if<StepDone>(&message)) {
    rank.news.add(*step);
  } else if (const auto* phase = std::get_if<PhaseBegun>(&message)) {
    rank.news.add(*phase, now);
  } else if (const auto* told = std::get_if<CheckpointTold>(&message)) {
    rank.news.add(*told);
  } else if (const auto* facts = std::get_if<FactsTold>(&message)) {
    rank.news.add(*facts);
  } else if (const auto* file = std::get_if<KeepFile>(&message)) {
    keep(rank, *file, std::move(fd), store);
  } else if (const auto* dropped = std::get_if<DropFile>(&message)) {
    store.drop(dropped->name);
  } else if (std::holds_alternative<DropEarlier>(message)) {
    store.drop_before(epoch_);
  } else if (const auto* question = std::get_if<AskKept>(&message)) {
    rank.answer = Answer{.id = question->id};
    for (const auto& [name, stored] : store.files()) rank.answer->names.push_back(name);
    write_some(rank, store);
  }
}

// A rank that does not read its replies counts the file as not held.
void RankChannels::keep(Rank& rank, const KeepFile& file, UniqueFd fd, KeptStore& store) {
  std::string problem = store.keep(file.name, {std::move(fd), file.bytes, rank.rank, epoch_});
  if (!problem.empty() && !std::exchange(rank.told_problem, true))
    lines_.push_back(fmt::format("rank {}: {}", rank.rank, problem));
  if (rank.replies.size() >= KeptStore::kMaxOfRank) return;
  if (problem.empty()) {
    rank.replies.emplace_back(FileHeld{file.name});
  } else {
    rank.replies.emplace_back(FileRefused{file.name, std::move(problem)});
  }
  write_some(rank, store);
}

void RankChannels::write_some(Rank& rank, const KeptStore& store) {
  const auto send = [&](const RankMessage& message, int fd = -1) {
    const Sent sent = send_datagram(rank.fd.get(), encode(message), fd);
    // The end of the channel is found by a read, after what was sent before.
    if (sent == Sent::never) rank.forget();
    return sent == Sent::yes;
  };
  if (rank.save && !send(SaveOrder{})) return;
  rank.save = false;
  if (rank.pause && !send(PauseOrder{})) return;
  rank.pause = false;
  for (; !rank.replies.empty(); rank.replies.pop_front())
    if (!send(rank.replies.front())) return;
  while (rank.answer) {
    Answer& answer = *rank.answer;
    if (answer.names.empty()) {
      if (send(KeptEnd{answer.id, answer.sent})) rank.answer.reset();
      return;
    }
    const std::string name = answer.names.front();
    const auto stored = store.files().find(name);
    if (stored != store.files().end()) {  // It may have been dropped meanwhile.
      const StoredFile& file = stored->second;
      if (!send(FileKept{answer.id, file.bytes, name}, file.fd.get())) return;
      ++answer.sent;
    }
    answer.names.pop_front();
  }
}

}  // namespace ds::launcher
