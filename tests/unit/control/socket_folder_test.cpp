// Tests of socket folders: their order, checks of owner and mode, and names.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/base/error.h"
#include "launcher/control/control_server.h"
#include "launcher/control/job_socket.h"

using namespace ds::launcher;
namespace fs = std::filesystem;

namespace {

class TempFolder {
 public:
  TempFolder() {
    std::string form = fs::temp_directory_path() / "unit_control_XXXXXX";
    REQUIRE(::mkdtemp(form.data()) != nullptr);
    path_ = form;
  }
  ~TempFolder() { fs::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::vector<std::string> folders_with(const std::map<std::string, std::string>& environment) {
  return socket_folders(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        if (found == environment.end()) return std::nullopt;
        return found->second;
      },
      1000);
}

std::string refusal_of(const std::string& path) {
  try {
    return SocketFolder::open(path) ? "opened" : "not there";
  } catch (const ds::Error& error) {
    return error.what();
  }
}

using List = std::vector<std::string>;

}  // namespace

namespace {

std::atomic<int> umask_calls = 0;

}  // namespace

/// Replaces libc's umask: the mask belongs to the whole process, and other threads create files.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++umask_calls;
  return mask;
}

TEST_CASE("the control socket is its owner's alone, and the process's umask is left as it is") {
  const TempFolder folder;
  asio::io_context io;
  umask_calls = 0;
  ControlServer server(io, "00112233aabbccdd", {folder / "sockets"}, {});
  REQUIRE(server.open().empty());
  struct stat facts {};
  REQUIRE(::stat((folder / "sockets/00112233aabbccdd.sock").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777U) == 0600);
  CHECK(umask_calls == 0);
}

TEST_CASE("ended jobs leave their exit codes, the newest ones") {
  const TempFolder folder;
  const SocketFolder sockets = SocketFolder::open_or_make(folder / "sockets");
  sockets.note_end("00112233aabbccdd", 7);
  sockets.note_end("00ffffffaabbccdd", 143);
  const std::vector<EndedJob> all = sockets.ended("00");
  REQUIRE(all.size() == 2);
  CHECK(all[0].id == "00112233aabbccdd");
  CHECK(all[0].code == 7);
  CHECK(all[1].code == 143);
  CHECK(sockets.ended("0011").size() == 1);
  CHECK(sockets.ended("1").empty());
  CHECK(sockets.ids().empty());
  for (int i = 0; i < 10000; ++i) sockets.note_end(fmt::format("{:016x}", 0x1000 + i), 0);
  const std::size_t kept = sockets.ended("").size();
  CHECK(kept >= 3000);
  CHECK(kept <= 8000);
  REQUIRE(sockets.ended(fmt::format("{:016x}", 0x1000 + 9999)).size() == 1);
  CHECK(sockets.ended("0011").empty());
}

TEST_CASE("which folders are looked at") {
  CHECK(folders_with({}) == List{"/run/user/1000/dslaunch", "/tmp/dslaunch-1000"});
  CHECK(folders_with({{"XDG_RUNTIME_DIR", "/run/user/1000"}}) ==
        List{"/run/user/1000/dslaunch", "/tmp/dslaunch-1000"});
  CHECK(folders_with({{"XDG_RUNTIME_DIR", "/x"}}) ==
        List{"/x/dslaunch", "/run/user/1000/dslaunch", "/tmp/dslaunch-1000"});
  CHECK(folders_with({{"XDG_RUNTIME_DIR", "relative"}}).front() == "/run/user/1000/dslaunch");
  CHECK(folders_with({{"XDG_RUNTIME_DIR", "/x"}, {"DSLAUNCH_RUNTIME_DIR", "/y"}}) == List{"/y"});
}

TEST_CASE("a folder is made for its owner alone") {
  const TempFolder temp;
  CHECK(refusal_of(temp / "a") == "not there");
  const SocketFolder folder = SocketFolder::open_or_make(temp / "a");
  struct stat facts {};
  REQUIRE(::stat((temp / "a").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777U) == 0700);
  CHECK(refusal_of(temp / "a") == "opened");
  CHECK(folder.path() == temp / "a");
}

TEST_CASE("folders that others could write to or read are refused, and so are links and files") {
  const TempFolder temp;
  SocketFolder::open_or_make(temp / "a");
  for (const mode_t mode : {0770, 0701, 0755, 01777}) {
    REQUIRE(::chmod((temp / "a").c_str(), mode) == 0);
    CHECK(refusal_of(temp / "a").find("other users have rights there") != std::string::npos);
  }
  REQUIRE(::chmod((temp / "a").c_str(), 0700) == 0);
  fs::create_symlink(temp / "a", temp / "link");
  CHECK(refusal_of(temp / "link").find("a link or a file") != std::string::npos);
  std::ofstream(temp / "file") << "x";
  CHECK(refusal_of(temp / "file").find("a link or a file") != std::string::npos);
  CHECK_THROWS_AS(SocketFolder::open_or_make(temp / "none/a"), ds::Error);
}

TEST_CASE("a folder of another user is refused") {
  if (::geteuid() != 0) return;  // only root can make one; e2e_jobs does it with two users
  const TempFolder temp;
  SocketFolder::open_or_make(temp / "a");
  REQUIRE(::chown((temp / "a").c_str(), 65534, 65534) == 0);
  CHECK(refusal_of(temp / "a").find("belongs to user 65534, not to you") != std::string::npos);
}

TEST_CASE("only sockets are listed, in order; names can be changed and removed") {
  const TempFolder temp;
  const SocketFolder folder = SocketFolder::open_or_make(temp / "a");
  for (const char* name : {"bbbbbbbbbbbbbbbb.sock", "aaaaaaaaaaaaaaaa.sock", "other",
                           "0123456789abcdef", "0123456789abcde.sock", "0123456789abcdeg.sock",
                           "0123456789ABCDEF.sock", "x.sock", ".sock"})
    std::ofstream((temp / "a/") + name) << "";
  CHECK(folder.ids() == List{"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"});
  CHECK(folder.contains("other"));
  CHECK(folder.rename("other", "cccccccccccccccc.sock"));
  CHECK_FALSE(folder.rename("other", "x"));
  folder.remove("aaaaaaaaaaaaaaaa.sock");
  CHECK(folder.ids() == List{"bbbbbbbbbbbbbbbb", "cccccccccccccccc"});
}
