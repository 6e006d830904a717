// Handshake: HMAC-SHA256 from libcrypto, the acceptor's stages, and the dialer's retries.
#include "engine/comm/mesh/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kMagic = "dslink2\n";
static_assert(kMagic.size() == kMagicBytes);
constexpr std::string_view kLink = "link ";

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

bool has_magic(std::span<const std::byte> bytes) {
  return std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

std::string text_of(const SignedNote& note) {
  return {note.text.data(), ::strnlen(note.text.data(), note.text.size())};
}

bool is_signed(const SignedNote& note, const std::string& key, Side signer, const Hello& dialer,
               const Hello& acceptor) {
  const SignedNote expected = sign(text_of(note), key, signer, dialer, acceptor);
  return CRYPTO_memcmp(&note, &expected, sizeof note) == 0;
}

std::string note_of(std::string_view purpose, std::string_view job) {
  std::string note = fmt::format("{}\n{}", purpose, job);
  note.resize(std::min(note.size(), SignedNote().text.size() - 1));
  return note;
}

// Returns an invalid descriptor and sets `why` when a retry may help.
UniqueFd try_open(const Endpoint& address, const Membership& membership, const std::string& purpose,
                  Deadline deadline, std::string& why) {
  UniqueFd fd = dial(address, deadline);
  // One attempt takes 10 s at most: a program that accepts and sends nothing must not use up the
  // deadline.
  const Deadline patience(std::min(deadline.at(), Clock::now() + 10s));
  const auto send = [&](auto message) {
    return write_all(fd.get(), bytes_of(message), patience) == IoResult::done;
  };
  const auto receive = [&](auto& message) {
    return read_exactly(fd.get(), bytes_of(message), patience) == IoResult::done;
  };
  why = "the connection was closed or timed out before the job key was proven";
  const Hello dialer = make_hello();
  Hello acceptor{};
  if (!send(dialer) || !receive(acceptor)) return {};
  const std::string note = note_of(purpose, membership.job);
  SignedNote answer;
  if (has_magic(acceptor)) {
    if (!send(sign(note, membership.key, Side::dialer, dialer, acceptor)) || !receive(answer))
      return {};
    if (answer == SignedNote()) {
      throw Error(ErrorKind::config, fmt::format("{} refused the job key", address.text()),
                  "give every rank of the job the same DSLAUNCH_JOB_KEY (or none), and check that "
                  "no other job uses MASTER_PORT");
    }
  }
  if (!is_signed(answer, membership.key, Side::acceptor, dialer, acceptor)) {
    why = "the program that answers there is not a rank of this job";
    return {};
  }
  if (!text_of(answer).empty()) {
    throw Error(ErrorKind::config,
                fmt::format("{} refused this rank: {}", address.text(), text_of(answer)));
  }
  return fd;
}

}  // namespace

Hello make_hello() {
  Hello hello{};
  std::memcpy(hello.data(), kMagic.data(), kMagic.size());
  if (RAND_bytes(reinterpret_cast<unsigned char*>(hello.data() + kMagicBytes), kNonceBytes) != 1)
    throw Error(ErrorKind::system, "the system's random number generator failed");
  return hello;
}

SignedNote sign(std::string_view text, const std::string& key, Side signer, const Hello& dialer,
                const Hello& acceptor) {
  SignedNote note;
  text.copy(note.text.data(), note.text.size() - 1);
  std::string all = signer == Side::dialer ? "dialer" : "acceptor";
  for (const Hello* hello : {&dialer, &acceptor})
    all.append(reinterpret_cast<const char*>(hello->data()), hello->size());
  all.append(note.text.data(), note.text.size());
  unsigned int length = 0;
  const unsigned char* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                   reinterpret_cast<const unsigned char*>(all.data()), all.size(),
                                   reinterpret_cast<unsigned char*>(note.mac.data()), &length);
  DS_ASSERT(done != nullptr && length == note.mac.size());
  return note;
}

Handshake::Handshake(const Membership& membership, bool is_rank_0, const Hello& own)
    : membership_(&membership), is_rank_0_(is_rank_0), own_(own) {}

std::vector<std::byte> Handshake::take(std::span<const std::byte> message) {
  DS_ASSERT(message.size() == wanted_);
  wanted_ = 0;
  switch (stage_) {
    case Stage::hello:
      std::ranges::copy(message, theirs_.begin());
      stage_ = has_magic(theirs_) ? Stage::note : Stage::refused;
      if (stage_ == Stage::refused) return {};
      wanted_ = sizeof(SignedNote);
      return copy_of(own_);
    case Stage::note: {
      SignedNote note;
      std::ranges::copy(message, bytes_of(note).begin());
      return check_note(note);
    }
    case Stage::accepted:
    case Stage::refused:
      break;
  }
  return {};
}

std::vector<std::byte> Handshake::check_note(const SignedNote& note) {
  SignedNote answer;
  stage_ = Stage::refused;
  if (is_signed(note, membership_->key, Side::dialer, theirs_, own_)) {
    const std::string refusal = refusal_of(text_of(note));
    answer = sign(refusal, membership_->key, Side::acceptor, theirs_, own_);
    if (refusal.empty()) stage_ = Stage::accepted;
  }
  return copy_of(bytes_of(answer));
}

// Returns an empty text when the dialer is accepted.
std::string Handshake::refusal_of(const std::string& note) {
  purpose_ = note.substr(0, note.find('\n'));
  if (note != note_of(purpose_, membership_->job)) {
    return fmt::format("this is job {}, not {}", membership_->job,
                       note.substr(std::min(note.size(), purpose_.size() + 1)));
  }
  if (purpose_ == kForCoordinator) return is_rank_0_ ? "" : "this rank is not rank 0";
  return purpose_.starts_with(kLink) ? "" : fmt::format("unknown purpose '{}'", purpose_);
}

UniqueFd open_connection(const Endpoint& address, const Membership& membership,
                         const std::string& purpose, Deadline deadline) {
  while (true) {
    std::string why;
    UniqueFd fd = try_open(address, membership, purpose, deadline, why);
    if (fd) return fd;
    if (deadline.passed()) throw Error(ErrorKind::comm, fmt::format("{}: {}", address.text(), why));
    const auto pause = std::min<std::chrono::milliseconds>(100ms, deadline.remaining());
    ::poll(nullptr, 0, static_cast<int>(pause.count()));
  }
}

}  // namespace ds::comm
