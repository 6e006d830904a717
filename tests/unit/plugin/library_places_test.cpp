// Where NVIDIA's libraries are looked for, on machines made of words.
#include "engine/device/cuda/library_places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace ds::cuda;

namespace {

const LibraryNames kNames = library_names(13);

struct Machine {
  std::map<std::string, std::string> variables;
  std::set<std::string> files;
  std::map<std::string, std::string> links{};

  [[nodiscard]] Surroundings surroundings() const {
    return {.variable =
                [this](const char* name) {
                  const auto found = variables.find(name);
                  return found == variables.end() ? std::string() : found->second;
                },
            .entries =
                [this](const std::string& folder) {
                  std::set<std::string> names;
                  for (const std::string& file : files) {
                    if (!file.starts_with(folder + "/")) continue;
                    const std::string rest = file.substr(folder.size() + 1);
                    names.insert(rest.substr(0, rest.find('/')));
                  }
                  return std::vector<std::string>(names.begin(), names.end());
                },
            .exists =
                [this](const std::string& path) {
                  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
                    return file == path || file.starts_with(path + "/");
                  });
                },
            .real_path =
                [this](const std::string& path) {
                  const auto found = links.find(path);
                  return found == links.end() ? path : found->second;
                }};
  }
  [[nodiscard]] std::vector<std::string> files_of(const LibraryName& library) const {
    return places_of(library, surroundings()).files;
  }
};

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("with nothing there, the dynamic loader is asked, and the places looked in are known") {
  const Machine machine{.variables = {}, .files = {}};
  const Places places = places_of(kNames.cudnn, machine.surroundings());
  CHECK(places.files == Paths{"libcudnn.so.9"});
  const auto has = [&](const char* folder) {
    return std::count(places.looked.begin(), places.looked.end(), folder) == 1;
  };
  CHECK(has("/usr/local/cuda/lib64"));
  CHECK(has("/usr/lib/x86_64-linux-gnu"));
}

TEST_CASE("a variable names the file or its folder, and nothing else is looked at") {
  const Machine machine{.variables = {{"DSLAUNCH_NCCL", "/own"}, {"DSLAUNCH_CUDNN", "/x/c.so"}},
                        .files = {"/own/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"}};
  CHECK(machine.files_of(kNames.nccl) == Paths{"/own/libnccl.so.2"});
  CHECK(machine.files_of(kNames.cudnn) == Paths{"/x/c.so"});  // said when it cannot be opened
}

TEST_CASE("toolkit trees: CUDA_HOME first, the newest of /usr/local before the others") {
  const Machine machine{.variables = {{"CUDA_HOME", "/opt/toolkit"}},
                        .files = {"/opt/toolkit/targets/x86_64-linux/lib/libcublasLt.so.13",
                                  "/usr/local/cuda-13.0/lib64/libcublasLt.so.13",
                                  "/usr/local/cuda-13.1/lib64/libcublasLt.so.13",
                                  "/usr/local/cuda/lib64/libcublasLt.so.12",
                                  "/usr/lib/x86_64-linux-gnu/libcublasLt.so.13"}};
  CHECK(machine.files_of(kNames.cublas_lt) ==
        Paths{"/opt/toolkit/targets/x86_64-linux/lib/libcublasLt.so.13",
              "/usr/local/cuda-13.1/lib64/libcublasLt.so.13",
              "/usr/local/cuda-13.0/lib64/libcublasLt.so.13",
              "/usr/lib/x86_64-linux-gnu/libcublasLt.so.13", "libcublasLt.so.13"});
}

TEST_CASE("NVIDIA's wheels: one folder for the toolkit, one for each other library") {
  const std::string packages = "/srv/env/lib/python3.11/site-packages";
  const Machine machine{.variables = {{"VIRTUAL_ENV", "/srv/env"}},
                        .files = {packages + "/nvidia/cu13/lib/libcublasLt.so.13",
                                  packages + "/nvidia/cublas/lib/libcublasLt.so.12",
                                  packages + "/nvidia/cudnn/lib/libcudnn.so.9",
                                  packages + "/nvidia/nccl/lib/libnccl.so.2"}};
  CHECK(machine.files_of(kNames.cublas_lt).front() ==
        packages + "/nvidia/cu13/lib/libcublasLt.so.13");
  CHECK(machine.files_of(kNames.cudnn).front() == packages + "/nvidia/cudnn/lib/libcudnn.so.9");
  CHECK(machine.files_of(kNames.nccl).front() == packages + "/nvidia/nccl/lib/libnccl.so.2");
}

TEST_CASE("a plugin of CUDA 12 takes the libraries of CUDA 12") {
  const LibraryNames names = library_names(12);
  const std::string packages = "/srv/env/lib/python3.11/site-packages";
  const Machine machine{.variables = {{"VIRTUAL_ENV", "/srv/env"}},
                        .files = {"/usr/local/cuda-12.4/lib64/libnvrtc.so.12",
                                  packages + "/nvidia/cu13/lib/libcublasLt.so.13",
                                  packages + "/nvidia/cublas/lib/libcublasLt.so.12"}};
  CHECK(machine.files_of(names.cublas_lt).front() ==
        packages + "/nvidia/cublas/lib/libcublasLt.so.12");
  CHECK(machine.files_of(names.nvrtc).front() == "/usr/local/cuda-12.4/lib64/libnvrtc.so.12");
  CHECK(names.cublas_lt.least == 120400);
}

TEST_CASE("Pythons are found without running one") {
  const auto found = [](const Machine& machine, const char* folder) {
    const Paths folders = python_package_folders(machine.surroundings());
    return std::count(folders.begin(), folders.end(), folder) == 1;
  };
  // python3 on PATH: its own tree, and the tree that a virtual environment links to.
  const Machine linked{
      .variables = {{"PATH", "/none:/env/bin:/usr/bin"}},
      .files = {"/env/bin/python3", "/env/lib/python3.12/site-packages/a",
                "/base/lib/python3.12/site-packages/b", "/usr/lib/python3/dist-packages/c"},
      .links = {{"/env/bin/python3", "/base/bin/python3.12"}}};
  CHECK(found(linked, "/env/lib/python3.12/site-packages"));
  CHECK(found(linked, "/base/lib/python3.12/site-packages"));
  CHECK(found(linked, "/usr/lib/python3/dist-packages"));
  const Machine other{
      .variables = {{"CONDA_PREFIX", "/conda"}, {"PYTHONPATH", "/given"}, {"HOME", "/home/ada"}},
      .files = {"/conda/lib/python3.10/site-packages/a",
                "/opt/venv/lib64/python3.9/site-packages/b",
                "/home/ada/.local/lib/python3.11/site-packages/c",
                "/usr/local/lib/python3.11/dist-packages/d",
                "/home/ada/.pyenv/versions/3.12.1/lib/python3.12/site-packages/e"}};
  for (const char* const folder :
       {"/given", "/conda/lib/python3.10/site-packages", "/opt/venv/lib64/python3.9/site-packages",
        "/home/ada/.local/lib/python3.11/site-packages", "/usr/local/lib/python3.11/dist-packages",
        "/home/ada/.pyenv/versions/3.12.1/lib/python3.12/site-packages"})
    CHECK_MESSAGE(found(other, folder), folder);
}

TEST_CASE("versions as people write them") {
  CHECK(library_version_text(130100) == "13.1.0");
  CHECK(library_version_text(91900) == "9.19.0");
  CHECK(library_version_text(22809) == "2.28.9");
}
