// Bench: the backends under test, and how an op runs on one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/stage.h"
#include "engine/kernels/kernels.h"

namespace ds::conformance {

/// How a backend is made. An accelerator's is made once per process; a CPU's for every Bench.
struct Options {
  int threads = 2;
  std::string isa = "auto";
  bool guarded = false;      // through a Stage, as on an accelerator
  bool accelerator = false;  // the plugin's device
};

/// One configuration under test.
struct Subject {
  std::string name;
  Options options;
};

/// Returns the instruction sets of this CPU.
std::vector<Subject> cpu_subjects();

/// Returns the subjects that $DS_TEST_BACKEND names. Unset or cpu: every instruction set (separate
/// ctest entries vary DNNL_MAX_CPU_ISA); guarded: the same, with memory as on an accelerator; cuda:
/// the plugin's device (open_cuda_plugin(); DSLAUNCH_CUDA_PLUGIN names an emulated one). Fails the
/// test if there is no such device.
std::vector<Subject> subjects();

/// Returns whether subjects() run on an accelerator.
bool on_accelerator();

/// Returns whether $DS_TEST_SMALL is set: for devices with slow arithmetic (emulated, or under a
/// sanitizer). Repeated or large cases then run once or are skipped.
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
