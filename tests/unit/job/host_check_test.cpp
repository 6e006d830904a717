// What a node that may join says of itself, and why it is refused.
#include "launcher/job/host_check.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "engine/base/training_facts.h"

using namespace ds;
using namespace ds::launcher;

namespace {

const std::string kJob = one_line_of_facts(
    "build = 7f3e\ndata = 1/2\nkernels = cpu avx512\nlibraries = x\noptimizer.lr = 0.001\n");

/// The problem of a node whose facts are these.
std::string with(const std::string& lines) {
  return host_problem({.output = "note\nfacts: " + one_line_of_facts(lines) + "\n"}, kJob);
}

}  // namespace

TEST_CASE("a node whose facts are those of the job fits, and so does any before they are known") {
  CHECK(host_problem({.output = "facts: " + kJob + "\n"}, kJob).empty());
  CHECK(host_problem({.output = "facts: build = 1%n"}, "").empty());
  CHECK(host_problem({}, kJob).empty());
}

TEST_CASE("the difference is named, and what to do") {
  CHECK(with("build = 11\nkernels = cpu avx2\n") ==
        "another build of dsrunner is there (id 11, the job has 7f3e); install the same one there");
  CHECK(with("build = 7f3e\nkernels = cpu avx2\ndata = 9/9\n")
            .starts_with("its processor or GPU computes with other instructions ('cpu avx2', the "
                         "job with 'cpu avx512')"));
  CHECK(with("build = 7f3e\nkernels = cpu avx512\ndata = 9/9\n") ==
        "its data is not that of the job (9/9, the job has 1/2); copy the same files there");
  CHECK(with("build = 7f3e\ndata = 1/2\nkernels = cpu avx512\nlibraries = x\n"
             "optimizer.lr = 0.1\nmodel.hidden = \x1b[1m\n") ==
        "its configuration is not that of the job (model.hidden: ?[1m, the job has not set; "
        "optimizer.lr: 0.1, the job has 0.001); copy the same file there");
}

TEST_CASE("a program that is missing, fails or takes too long") {
  CHECK(host_problem({.end = {.wait_status = -1,
                              .stage = Exited::Stage::exec,
                              .spawn_errno = ENOENT,
                              .detail = "/opt/train"}},
                     "")
            .starts_with("cannot run /opt/train: "));
  CHECK(host_problem({.end = {.wait_status = -1,
                              .stage = Exited::Stage::chdir,
                              .spawn_errno = ENOENT,
                              .detail = "/data"}},
                     "")
            .starts_with("cannot enter the working directory '/data'"));
  const Exited config{.wait_status = 65 << 8};
  CHECK(host_problem({.end = config, .errors = "dsrunner: needs 2 GiB\n  hint: use less\n"}, "") ==
        "needs 2 GiB; use less");
  CHECK(host_problem({.end = config}, "") == "the check of its program failed: exited 65");
  CHECK(host_problem({.end = {.wait_status = 9, .detail = "not done within 60 s"}}, "") ==
        "the check of its program failed: killed by SIGKILL: not done within 60 s");
  CHECK(host_problem({.end = {.wait_status = 64 << 8},
                      .errors = "dsrunner: unknown option '--check=facts'\n"},
                     "") == "an older build of dsrunner is there; install the same one there");
}
