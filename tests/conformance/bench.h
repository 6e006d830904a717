// The backends under test, and what runs an op on one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/stage.h"
#include "engine/kernels/kernels.h"

namespace ds::conformance {

/// How to make a backend. An accelerator's is made once in a process; a CPU's for every Bench.
struct Options {
  int threads = 2;
  std::string isa = "auto";
  bool guarded = false;      // through a Stage, as on an accelerator
  bool accelerator = false;  // the plugin's
};

/// One configuration under test.
struct Subject {
  std::string name;
  Options options;
};

/// The instruction sets of this CPU.
std::vector<Subject> cpu_subjects();

/// What $DS_TEST_BACKEND names. Unset or cpu: every instruction set (DNNL_MAX_CPU_ISA multiplies
/// them by separate ctest entries); guarded: the same, with memory as on an accelerator; cuda: the
/// plugin's device (open_cuda_plugin(); DSLAUNCH_CUDA_PLUGIN names an emulated one). Fails the test
/// when there is no such device.
std::vector<Subject> subjects();

/// Whether subjects() are an accelerator's.
bool on_accelerator();

/// $DS_TEST_SMALL: for devices on which arithmetic is slow (emulated, or watched by a sanitizer).
/// What repeats work or is large is done once, or left out.
bool small_cases();

/// A backend with its workspace.
class Bench {
 public:
  Bench(const Options& options, const Kernels::Extents& extents);
  ~Bench();  // checks the workspace's guards
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  template <class Op>
  void run(const Op& op) {
    if (!stage_) return kernels().run(op, *stream_);
    check(stage_->run(op, [&](const Op& moved) { kernels().run(moved, *stream_); }));
  }
  Kernels& kernels() { return *backend_->kernels; }

 private:
  void make_workspace(std::size_t bytes);
  void check(const std::string& wrong) const;
  [[nodiscard]] std::string workspace_guards() const;

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Stage> stage_;
  std::size_t bytes_ = 0;
  bool accelerator_ = false;
};

}  // namespace ds::conformance
