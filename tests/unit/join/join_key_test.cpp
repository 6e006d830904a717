// Keys from secrets, and the order of the places where a secret is looked for.
#include "launcher/join/join_key.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

namespace fs = std::filesystem;

struct Home {
  Home() {
    char name[] = "/tmp/ds_join_key.XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder = name;
    fs::create_directory(folder / ".ssh");
  }
  ~Home() { fs::remove_all(folder); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  [[nodiscard]] FoundJoinKey find(const std::optional<std::string>& file = {}) const {
    return find_join_key(file, folder.string(),
                         [this](const std::string& name) -> std::optional<std::string> {
                           const auto found = environment.find(name);
                           if (found == environment.end()) return std::nullopt;
                           return found->second;
                         });
  }
  fs::path folder;
  std::map<std::string, std::string> environment;
};

TEST_CASE("HKDF-SHA256 of the secret") {
  // python3: hmac.new(hmac.new(b"dslaunch", b"the secret of a test", "sha256").digest(),
  //                   b"join transport 1\x01", "sha256").hexdigest()
  CHECK(JoinKey::from_secret("the secret of a test").hex() ==
        "0ebc2b80b4531a4a8095ddd9f8ce6d9c4c611f71f906201a0327e3e6a5635634");
  CHECK(JoinKey::from_secret("sixteen bytes: a") != JoinKey::from_secret("sixteen bytes: b"));
}

TEST_CASE("hexadecimal and back") {
  const JoinKey key = JoinKey::random();
  REQUIRE(JoinKey::from_hex(key.hex()));
  CHECK(*JoinKey::from_hex(key.hex()) == key);
  CHECK_FALSE(JoinKey::from_hex("12"));
  CHECK_FALSE(JoinKey::from_hex(std::string(64, 'g')));
  CHECK(JoinKey::random() != key);
}

TEST_CASE("a named file, the token, the token's file, a mounted key: in this order") {
  Home home;
  CHECK_THROWS_WITH_AS(home.find(), doctest::Contains("no secret was found"), Error);
  home.write(".ssh/id_rsa", "-----BEGIN EC PRIVATE KEY-----\n");
  CHECK(home.find().source.ends_with("/.ssh/id_rsa"));
  home.write("token_file", "the token of a file\n");
  home.environment["DSLAUNCH_TOKEN_FILE"] = (home.folder / "token_file").string();
  CHECK(home.find().key == JoinKey::from_secret("the token of a file"));
  home.environment["DSLAUNCH_TOKEN"] = " the token of the environment\n";
  CHECK(home.find().key == JoinKey::from_secret("the token of the environment"));
  home.write("named", "the token of a named file");
  CHECK(home.find((home.folder / "named").string()).key ==
        JoinKey::from_secret("the token of a named file"));
}

TEST_CASE("what is named must be there and say something") {
  Home home;
  CHECK_THROWS_WITH_AS(home.find("/nowhere/key"), doctest::Contains("there is no key file"), Error);
  CHECK_THROWS_WITH_AS(home.find(home.folder.string()), doctest::Contains("key file"), Error);
  home.write("empty", " \n");
  CHECK_THROWS_WITH_AS(home.find((home.folder / "empty").string()), doctest::Contains("is empty"),
                       Error);
  home.environment["DSLAUNCH_TOKEN"] = "";
  CHECK_THROWS_WITH_AS(home.find(), doctest::Contains("is empty"), Error);
}

TEST_CASE(
    "a secret that can be guessed offline is refused, with the command that makes a good one") {
  CHECK_THROWS_AS(JoinKey::from_secret(""), Error);
  CHECK_THROWS_AS(JoinKey::from_secret("fifteen bytes.."), Error);
  CHECK_NOTHROW(JoinKey::from_secret("sixteen bytes..."));
  Home home;
  home.environment["DSLAUNCH_TOKEN"] = "hunter2";
  try {
    (void)home.find();
    FAIL("taken");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    CHECK(std::string(error.what()) ==
          "the token in DSLAUNCH_TOKEN has 7 bytes; fewer than 16 can be guessed from a recorded "
          "handshake");
    CHECK(error.hint() == "make a good one with: openssl rand -hex 32");
  }
}

TEST_CASE("the token leaves the environment") {
  ::setenv("DSLAUNCH_TOKEN", "hidden", 1);
  hide_join_token();
  CHECK(std::getenv("DSLAUNCH_TOKEN") == nullptr);
  hide_join_token();
}

}  // namespace
}  // namespace ds::launcher
