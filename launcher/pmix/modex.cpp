// Direct modex: a rank of one node asks for what a rank of another node has published.
#include <memory>

#include "launcher/pmix/pmix_host.h"

namespace ds::launcher {

void PmixHost::ask(const pmix_proc_t& proc, std::chrono::seconds limit, pmix_modex_cbfunc_t reply,
                   void* call) {
  const std::uint64_t id = add({.answer = reply, .call = call}, limit);
  write(ModexAsk{.rank = static_cast<std::int32_t>(proc.rank), .id = id});
}

void PmixHost::take(ModexAnswer&& message) {
  const std::optional<Asked> asked = take_asked(message.id);
  if (!asked || asked->answer == nullptr) return;
  char* const data = copy_of(message.data);
  asked->answer(message.status, data, message.data.size(), asked->call, free_copy, data);
}

void PmixHost::take(const ModexAsk& message) {
  auto* const question = new Question{message};
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    questions_.insert(question);
    ended = ended_.contains(message.rank);
  }
  const auto take_data = [](pmix_status_t status, char* data, std::size_t size, void* call) {
    const std::unique_ptr<Question> asked(static_cast<Question*>(call));
    const bool fits = size <= kMaxData;
    the().answer(asked.get(), fits ? status : PMIX_ERR_OUT_OF_RESOURCE,
                 fits && data != nullptr ? std::string(data, size) : std::string());
  };
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, mpi_.space.c_str(), static_cast<pmix_rank_t>(message.rank));
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, take_data, question);
  if (status != PMIX_SUCCESS) {
    const std::unique_ptr<Question> owned(question);
    return answer(question, status, {});
  }
  if (ended) give_up_after_pending(message.rank);
}

/// Sends the answer, unless the request was given up.
void PmixHost::answer(Question* question, pmix_status_t status, std::string&& data) {
  {
    const std::lock_guard lock(mutex_);
    if (questions_.erase(question) == 0) return;
  }
  write(ModexAnswer{.node = question->ask.node,
                    .id = question->ask.id,
                    .status = status,
                    .data = std::move(data)});
}

void PmixHost::rank_ended(std::int32_t rank) {
  {
    const std::lock_guard lock(mutex_);
    ended_.insert(rank);
  }
  give_up_after_pending(rank);
}

/// Gives up the requests that the library cannot answer. Its thread does one thing after another,
/// so when it calls back, it has answered all earlier requests for which it has the data.
void PmixHost::give_up_after_pending(std::int32_t rank) {
  pmix_proc_t nobody;  // To deregister it does nothing.
  PMIX_LOAD_PROCID(&nobody, mpi_.space.c_str(), static_cast<pmix_rank_t>(mpi_.size));
  const auto call_back = [](pmix_status_t /*status*/, void* call) {
    const std::unique_ptr<std::int32_t> ended(static_cast<std::int32_t*>(call));
    the().give_up(*ended);
  };
  PMIx_server_deregister_client(&nobody, call_back, std::make_unique<std::int32_t>(rank).release());
}

void PmixHost::give_up(std::int32_t rank) {
  std::vector<Question*> open;
  {
    const std::lock_guard lock(mutex_);
    for (Question* each : questions_)
      if (each->ask.rank == rank) open.push_back(each);
  }
  for (Question* each : open) answer(each, PMIX_ERR_NOT_FOUND, {});
}

}  // namespace ds::launcher
