#include "launcher/pmix/pmix_host.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "launcher/mpi/fence_gather.h"
#include "launcher/pmix/job_info.h"
#include "launcher/pmix/notice.h"

namespace ds::launcher {
namespace {

PmixHost* the_host = nullptr;

}  // namespace

char* copy_of(const std::string& text) {
  char* const copy = static_cast<char*>(std::malloc(std::max<std::size_t>(text.size(), 1)));
  if (copy != nullptr) std::memcpy(copy, text.data(), text.size());
  return copy;
}
void free_copy(void* text) { std::free(text); }

PmixHost& PmixHost::the() { return *the_host; }

PmixHost& PmixHost::make(int fd, const Spec& spec) {
  static PmixHost host;
  host.fd_ = fd;
  host.answers_fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  host.mpi_ = spec.mpi;
  for (const RankSpec& rank : spec.ranks) host.own_ranks_.push_back(rank.rank);
  the_host = &host;
  return host;
}

void PmixHost::write(const Message& message) {
  const Bytes frame = encode({}, message);
  const std::lock_guard lock(write_mutex_);
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t count = ::write(fd_, frame.data() + done, frame.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

void PmixHost::answer_soon(pmix_op_cbfunc_t done, void* call) {
  const std::lock_guard lock(mutex_);
  answers_.push_back({done, call});
  ::eventfd_write(answers_fd_.get(), 1);
}

void PmixHost::answer_later() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    ::eventfd_read(answers_fd_.get(), &count);
    answers.swap(answers_);
  }
  for (const Answer& answer : answers) answer.done(PMIX_SUCCESS, answer.call);
}

/// Returns the number of the request.
std::uint64_t PmixHost::add(Asked asked, std::chrono::seconds limit) {
  if (limit.count() > 0) asked.due = Clock::now() + limit;
  const std::lock_guard lock(mutex_);
  asked_[++last_id_] = asked;
  if (limit.count() > 0) ::eventfd_write(answers_fd_.get(), 1);
  return last_id_;
}

std::optional<PmixHost::Asked> PmixHost::take_asked(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(id);
  if (found == asked_.end()) return std::nullopt;
  const Asked asked = found->second;
  asked_.erase(found);
  return asked;
}

Clock::time_point PmixHost::wake_at() {
  const std::lock_guard lock(mutex_);
  Clock::time_point first = Clock::time_point::max();
  for (const auto& [id, asked] : asked_) first = std::min(first, asked.due);
  return first;
}

void PmixHost::time_out(Clock::time_point now) {
  std::map<std::uint64_t, Asked> late;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& each : asked_)
      if (each.second.due <= now) late.insert(each);
    for (const auto& [id, asked] : late) asked_.erase(id);
  }
  for (const auto& [id, asked] : late) {
    if (asked.answer != nullptr)
      asked.answer(PMIX_ERR_TIMEOUT, nullptr, 0, asked.call, nullptr, nullptr);
    if (asked.found == nullptr) continue;
    write(NameAsk{.rank = asked.rank, .id = id, .kind = NameAsk::Kind::cancel});
    asked.found(PMIX_ERR_TIMEOUT, nullptr, 0, asked.call);
  }
}

/// Returns the ranks, ascending; empty: all of the job.
std::vector<std::int32_t> PmixHost::ranks_of(const pmix_proc_t* procs, std::size_t count) const {
  std::set<std::int32_t> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    if (procs[i].rank == PMIX_RANK_WILDCARD) return {};
    ranks.insert(static_cast<std::int32_t>(procs[i].rank));
  }
  if (std::ssize(ranks) == mpi_.size) return {};
  return {ranks.begin(), ranks.end()};
}

bool PmixHost::all_are_here(const std::vector<std::int32_t>& ranks) const {
  if (ranks.empty()) return std::ssize(own_ranks_) == mpi_.size;
  return std::ranges::all_of(
      ranks, [&](std::int32_t rank) { return std::ranges::count(own_ranks_, rank) > 0; });
}

void PmixHost::join(const std::string& kind, const pmix_proc_t* procs, std::size_t count,
                    std::string data, Finish finish, void* call) {
  FenceIn message{.ranks = ranks_of(procs, count)};
  message.name = fmt::format("{} {}", kind, rank_list(message.ranks));
  const bool here = all_are_here(message.ranks);
  {
    const std::lock_guard lock(mutex_);
    waiting_[message.name] = {finish, call, here ? std::move(data) : std::string()};
  }
  if (here) return write(message);
  for (std::size_t at = 0; data.size() - at > kFenceFrameBytes; at += kFenceFrameBytes) {
    FenceIn piece = message;
    piece.last = false;
    piece.data = data.substr(at, kFenceFrameBytes);
    write(piece);
  }
  const std::size_t rest = data.size() % kFenceFrameBytes;
  message.data = data.substr(data.size() - (rest == 0 && !data.empty() ? kFenceFrameBytes : rest));
  write(message);
}

void PmixHost::take(FenceOut&& message) {
  Waiting done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(message.name);
    if (found == waiting_.end()) return;
    found->second.data += message.data;
    if (!message.last) return;
    done = std::move(found->second);
    waiting_.erase(found);
  }
  done.finish(done.call, PMIX_SUCCESS, message.number, std::move(done.data));
}

void PmixHost::take(const PmixNotice& message) { notify_clients(message.data); }

void PmixHost::refuse(const pmix_proc_t* proc, const char* what) {
  write(PmixLine{.rank = static_cast<std::int32_t>(proc->rank),
                 .text = fmt::format("{} is not supported by dslaunch", what)});
}

void PmixHost::set_step(const pmix_proc_t& proc, PmixRank::Step step) {
  write(PmixRank{.rank = static_cast<std::int32_t>(proc.rank), .step = step});
}

}  // namespace ds::launcher
