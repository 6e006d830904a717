// BatchLoader: one thread, one step ahead; what it reads is copied into the program's inputs.
#include "engine/train/batch_loader.h"

#include <pthread.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/helper_thread.h"

namespace ds {

BatchLoader::BatchLoader(const Source& source, std::span<const MicroBatch> micro_batches,
                         std::span<const std::span<const BatchInput>> inputs)
    : source_(source) {
  const auto size = static_cast<std::size_t>(source.batch.micro);
  DS_ASSERT(micro_batches.size() == inputs.size());
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    Micro micro{.virtual_rank = micro_batches[m].virtual_rank,
                .micro_step = micro_batches[m].micro_step,
                .inputs = {inputs[m].begin(), inputs[m].end()},
                .samples = std::vector<std::int64_t>(size)};
    for (BatchInput& input : micro.inputs) {
      if (!input.memory || input.name == input::kSamples) continue;
      DS_ASSERT(input.memory.dtype == DType::i32);
      micro.numbers.emplace_back(static_cast<std::size_t>(input.memory.elements()));
      input.memory.data = micro.numbers.back().data();
    }
    micros_.push_back(std::move(micro));
  }
  for (const Micro& micro : micros_) {
    for (std::int64_t b = 0; b < source.batch.micro; ++b) {
      offsets_.push_back(source.batch.sample(0, micro.micro_step, micro.virtual_rank, b));
      taken_.push_back({.virtual_rank = micro.virtual_rank, .micro_step = micro.micro_step});
    }
  }
  places_.resize(offsets_.size());
  ascending_.resize(offsets_.size());
  std::iota(ascending_.begin(), ascending_.end(), std::size_t{0});
  std::ranges::sort(ascending_, {}, [this](std::size_t at) { return offsets_[at]; });
  const SignalsBlocked blocked;  // the main thread handles them
  thread_ = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchLoader::begin(std::int64_t first) {
  {
    const std::scoped_lock lock(mutex_);
    asked_ = first;
  }
  changed_.notify_all();
}

void BatchLoader::wait(std::int64_t first) {
  std::unique_lock lock(mutex_);
  asked_ = first;
  changed_.notify_all();
  changed_.wait(lock, [&] { return read_ == first; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void BatchLoader::copy(std::size_t micro, std::span<const BatchInput> inputs) const {
  const Micro& from = micros_.at(micro);
  for (const BatchInput& input : inputs) {
    if (!input.memory) continue;
    if (input.name == input::kSamples) {
      std::ranges::copy(from.samples, static_cast<std::int64_t*>(input.memory.data));
      continue;
    }
    const Tensor read = memory_of(from.inputs, input.name);
    DS_ASSERT(read && read.elements() == input.memory.elements());
    std::copy_n(static_cast<const std::int32_t*>(read.data), read.elements(),
                static_cast<std::int32_t*>(input.memory.data));
  }
}

void BatchLoader::run() {
  ::pthread_setname_np(::pthread_self(), "ds-data");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stops_ || asked_ != read_; });
    if (stops_) return;
    const std::int64_t first = asked_;
    lock.unlock();
    std::exception_ptr error;
    try {
      read(first);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = std::move(error);
    read_ = first;
    changed_.notify_all();
  }
}

void BatchLoader::read(std::int64_t first) {
  std::this_thread::sleep_for(source_.delay);
  const auto size = static_cast<std::size_t>(source_.batch.micro);
  // A mixture finds an earlier sample by going through all samples since the first one.
  for (const std::size_t at : ascending_) {
    const std::int64_t sample = first + offsets_[at];
    places_[at] = {source_.data.place_of(sample, source_.seed), sample};
    micros_[at / size].samples[at % size] = sample;
    taken_[at].sample = sample;
    taken_[at].offset = places_[at].place;
  }
  // On a disk that takes long to answer, all requests of the step are under way before the first is
  // waited for.
  for (const SamplePlace sample : places_) source_.data.will_need(sample);
  std::span<const SamplePlace> rest = places_;
  for (const Micro& micro : micros_) {
    source_.data.fill(rest.first(micro.samples.size()), micro.inputs);
    rest = rest.subspan(micro.samples.size());
  }
}

}  // namespace ds
