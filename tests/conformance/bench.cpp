// Bench: selects the backends under test, guards the workspace, and counts operations that ran on
// an accelerator.
#include "conformance/bench.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "conformance/accelerator.h"

namespace ds::conformance {
namespace {

constexpr std::size_t kChunk = 1 << 20;

/// Operations that an accelerator finished with intact guards.
std::int64_t accelerator_operations = 0;

std::string wanted_backend() {
  const char* name = std::getenv("DS_TEST_BACKEND");
  return name == nullptr || *name == '\0' ? "cpu" : name;
}

std::shared_ptr<Backend> backend_of(const Options& options) {
  if (options.accelerator) return accelerator_backend();
  return std::make_shared<Backend>(
      make_cpu_backend({.threads = options.threads, .isa = options.isa}));
}

/// Reports at the end how many operations ran on an accelerator; none is a failure.
struct Count : doctest::IReporter {
  explicit Count(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats&) override {
    if (!on_accelerator()) return;
    fmt::print("accelerator operations executed: {}\n", accelerator_operations);
    std::fflush(stdout);
    if (accelerator_operations == 0) {
      fmt::print("FAILED: DS_TEST_BACKEND={}, but no operation ran on it\n", wanted_backend());
      std::exit(1);
    }
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("accelerator_count", 1, Count);

}  // namespace

bool on_accelerator() { return wanted_backend() == "cuda"; }

bool small_cases() { return std::getenv("DS_TEST_SMALL") != nullptr; }

std::vector<Subject> cpu_subjects() {
  std::vector<Subject> all{{"avx2", {.isa = "avx2"}}};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    all.push_back({"avx512", {.isa = "avx512"}});
  }
  return all;
}

std::vector<Subject> subjects() {
  const std::string wanted = wanted_backend();
  if (wanted == "cuda") {
    require_accelerator();
    return {{wanted, {.accelerator = true}}};
  }
  REQUIRE_MESSAGE((wanted == "cpu" || wanted == "guarded"),
                  "DS_TEST_BACKEND is " << wanted << "; it can be cpu, guarded or cuda");
  std::vector<Subject> all = cpu_subjects();
  for (Subject& subject : all) subject.options.guarded = wanted == "guarded";
  return all;
}

Bench::Bench(const Options& options, const Kernels::Extents& extents)
    : backend_(backend_of(options)),
      stream_(backend_->device->make_stream()),
      accelerator_(options.accelerator) {
  make_workspace(backend_->kernels->workspace_bytes(extents));
  if (options.guarded || options.accelerator) {
    stage_ = std::make_unique<Stage>(*backend_->device, *stream_, kernels().heads_layout());
  }
}

/// Fills the workspace with NaN: stale scratch must not reach a result.
void Bench::make_workspace(std::size_t bytes) {
  Device& device = *backend_->device;
  bytes_ = bytes;
  arena_ = device.allocate(Tier::device, bytes_ + 2 * Stage::kGuard);
  const std::size_t all = arena_->bytes(), chunk = std::min(all, kChunk);
  const std::unique_ptr<Arena> nan = device.allocate(Tier::pinned_host, chunk);
  std::memset(nan->data(), 0xFF, chunk);
  for (std::size_t at = 0; at < all; at += chunk) {
    device.copy(arena_->data() + at, nan->data(), std::min(chunk, all - at), *stream_);
  }
  stream_->synchronize();
  kernels().set_workspace(arena_->data() + Stage::kGuard, bytes_);
}

std::string Bench::workspace_guards() const {
  Device& device = *backend_->device;
  const std::unique_ptr<Arena> copy = device.allocate(Tier::pinned_host, 2 * Stage::kGuard);
  std::byte* after = copy->data() + Stage::kGuard;
  device.copy(copy->data(), arena_->data(), Stage::kGuard, *stream_);
  device.copy(after, arena_->data() + Stage::kGuard + bytes_, Stage::kGuard, *stream_);
  stream_->synchronize();
  const auto spoiled = [](const std::byte* guard) {
    return std::any_of(guard, guard + Stage::kGuard,
                       [](std::byte b) { return b != std::byte{0xFF}; });
  };
  return spoiled(copy->data()) ? "written before the workspace"
         : spoiled(after)      ? "written after the workspace"
                               : "";
}

Bench::~Bench() {
  const std::string wrong = workspace_guards();
  CAPTURE(bytes_);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

void Bench::check(const std::string& wrong) const {
  CHECK_MESSAGE(wrong.empty(), wrong);
  if (accelerator_) ++accelerator_operations;
}

}  // namespace ds::conformance
