// CPU that acts as an accelerator: its device memory is declared out of the host's reach, so jobs
// are planned and run as on a GPU, with the CPU's bits.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/kernels/kernels.h"

namespace ds::test {

class ApartDevice : public Device {
 public:
  explicit ApartDevice(std::unique_ptr<Device> cpu) : cpu_(std::move(cpu)) {}
  [[nodiscard]] std::string description() const override { return cpu_->description(); }
  [[nodiscard]] std::size_t free_bytes(Tier tier) const override { return cpu_->free_bytes(tier); }
  std::unique_ptr<Arena> allocate(Tier tier, std::size_t bytes) override {
    return cpu_->allocate(tier, bytes);
  }
  [[nodiscard]] bool is_host() const override { return false; }
  std::unique_ptr<Stream> make_stream() override { return cpu_->make_stream(); }
  std::unique_ptr<Stream> make_side_stream(const char* name) override {
    return cpu_->make_side_stream(name);
  }
  std::unique_ptr<Stream> make_host_stream(const char* name) override {
    return cpu_->make_host_stream(name);
  }
  std::unique_ptr<Event> make_event() override { return cpu_->make_event(); }
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    cpu_->copy(to, from, bytes, stream);
  }
  void zero(void* data, std::size_t bytes, Stream& stream) override {
    cpu_->zero(data, bytes, stream);
  }

 private:
  std::unique_ptr<Device> cpu_;
};

inline Backend make_apart_backend(const CpuOptions& options) {
  Backend device = make_cpu_backend(options), host = make_cpu_backend(options);
  return {.device = std::make_unique<ApartDevice>(std::move(device.device)),
          .kernels = std::move(device.kernels),
          .host_kernels = std::move(host.kernels)};
}

}  // namespace ds::test
