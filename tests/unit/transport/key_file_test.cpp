// Tests modes and owners of private keys as operators mount them, ciphers, and authorized_keys.
#include "launcher/transport/ssh/key_file.h"

#include <doctest/doctest.h>

#include <string>

#include "launcher/transport/host_keys/wire_reader.h"

using namespace ds::launcher;

namespace {

constexpr const char* kKey = "AAAAC3NzaC1lZDI1NTE5AAAAINmTc4dgUsgoN17yzQV20roOcSiHkeoQmAPkIWi5Up6q";
constexpr const char* kOther =
    "AAAAC3NzaC1lZDI1NTE5AAAAILEm5yqdlPpF2ezUPtvTkdsiaBtcXQ8UDmexnyoW5XoH";

bool taken(const KeyFile& file, const KeyReader& reader) {
  return key_file_problem(file, reader).empty();
}

}  // namespace

TEST_CASE("on a machine the rule is that of ssh") {
  const KeyReader me{1000, false};
  CHECK(taken({.owner = 1000, .mode = 0600}, me));
  CHECK(taken({.owner = 1000, .mode = 0400}, me));
  CHECK(key_file_problem({.owner = 1000, .mode = 0640}, me) ==
        "its permissions 0640 let others read it");
  CHECK_FALSE(taken({.owner = 1000, .mode = 0604}, me));
  CHECK_FALSE(taken({.owner = 1000, .mode = 0640, .read_only_here = true}, me));
  CHECK(taken({.owner = 0, .mode = 0644}, me));
}

TEST_CASE("a mounted Secret: the group and others may read, never write") {
  // owner 0 with fsGroup; mpi-operator's 0600 and 0644, Trainer's 0640, its fall-back 0400
  for (const unsigned mode : {0400U, 0440U, 0600U, 0640U, 0644U}) {
    CAPTURE(mode);
    for (const unsigned uid : {0U, 1000U})
      CHECK(taken({.owner = 0, .mode = mode, .in_secret = true}, {uid, true}));
    CHECK(taken({.owner = 1000, .mode = mode, .in_secret = true}, {1000, false}));
    // subPath: a file, no link, on a read-only mount
    CHECK(taken({.owner = 0, .mode = mode, .read_only_here = true}, {0, true}));
  }
  CHECK(key_file_problem({.owner = 0, .mode = 0660, .in_secret = true}, {0, true}) ==
        "its permissions 0660 let others write it");
  CHECK_FALSE(taken({.owner = 0, .mode = 0640}, {0, true}));  // a file of the image
}

TEST_CASE("a key that the user cannot read says whose it is") {
  KeyFile file{.owner = 0, .mode = 0600, .readable = false, .in_secret = true};
  CHECK(key_file_problem(file, {1000, true}) ==
        "it cannot be read as user 1000: it belongs to 0, with permissions 0600 "
        "(in a pod, securityContext.fsGroup lets the user read it)");
  CHECK(key_file_problem(file, {1000, false}) ==
        "it cannot be read as user 1000: it belongs to 0, with permissions 0600");
}

TEST_CASE("the cipher of a private key in OpenSSH's form") {
  const auto file = [](std::string_view body, const char* line = "\n") {
    return std::string("-----BEGIN OPENSSH PRIVATE KEY-----") + line + std::string(body) + line +
           "-----END OPENSSH PRIVATE KEY-----" + line;
  };
  const auto begins = [](std::string_view cipher) {
    return base64_encode(std::string("openssh-key-v1\0", 15) + wire_string(cipher) +
                         wire_string("bcrypt") + std::string(24, 'x'));
  };
  CHECK(key_cipher(file(begins("aes256-ctr"))) == "aes256-ctr");
  CHECK(key_cipher(file(begins("none"), "\r\n")) == "none");
  const std::string lines = begins("aes256-gcm@openssh.com");
  CHECK(key_cipher("noise\n" + file(lines.substr(0, 20) + "\n" + lines.substr(20))) ==
        "aes256-gcm@openssh.com");
  for (const std::string& other :
       {std::string(), std::string("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n"), file("no base64!"),
        file(""), file(base64_encode("openssh-key-v2")), file(base64_encode("openssh-key-v1")),
        file(base64_encode(std::string("openssh-key-v1\0\xff\xff", 17))),
        "-----END OPENSSH PRIVATE KEY-----" + file("").substr(0, 40)})
    CHECK(key_cipher(other).empty());
}

TEST_CASE("ciphers by packet are told of before libssh meets them") {
  for (const char* good : {"aes256-ctr", "aes256-cbc", "3des-cbc", "none", ""})
    CHECK(key_cipher_problem(good).empty());
  for (const char* bad : {"aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"})
    CHECK(key_cipher_problem(bad).starts_with("is encrypted by " + std::string(bad)));
}

TEST_CASE("authorized_keys lets a key in") {
  const std::string key = kKey;
  CHECK(authorizes("ssh-ed25519 " + key + "\n", kKey));
  CHECK(authorizes("ssh-ed25519 " + key, kKey));
  CHECK(authorizes("# a\n\n ssh-ed25519\t" + key + " me@here\r\n", kKey));
  CHECK(authorizes("no-pty,command=\"a \\\" b\" ssh-ed25519 " + key, kKey));
  CHECK_FALSE(authorizes("ssh-ed25519 " + key, kOther));
  CHECK_FALSE(authorizes("ssh-ed25519 " + key + "x", kKey));
  CHECK_FALSE(authorizes("# ssh-ed25519 " + key, kKey));
  CHECK_FALSE(authorizes("cert-authority ssh-ed25519 " + key, kKey));
  CHECK_FALSE(authorizes("command=\"echo " + key + " \" ssh-ed25519 " + kOther, kKey));
  CHECK_FALSE(authorizes("ssh-ed25519 \n", ""));
  CHECK_FALSE(authorizes("", kKey));
}

TEST_CASE("the type of a public key") {
  CHECK(key_type_of(kKey) == "ssh-ed25519");
  CHECK(key_type_of("").empty());
  CHECK(key_type_of("no base64!").empty());
  CHECK(key_type_of("////////").empty());
}
