#include "launcher/join/tls_session.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/freed.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kIdentity = "dslaunch join 1";
constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";  // SHA-256 is also the hash of the key
constexpr std::array<unsigned char, 2> kCipherNumber = {0x13, 0x01};

using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

const JoinKey& key_of(SSL* ssl) { return *static_cast<const JoinKey*>(SSL_get_app_data(ssl)); }

/// Returns a session for SSL_CTX_set_psk_find_session_callback(3); the caller frees it.
SSL_SESSION* session_of(SSL* ssl) {
  SSL_SESSION* session = SSL_SESSION_new();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipherNumber.data());
  if (session == nullptr || cipher == nullptr ||
      SSL_SESSION_set1_master_key(session, key_of(ssl).data(), JoinKey::kBytes) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t length, SSL_SESSION** found) {
  const std::string_view asked(reinterpret_cast<const char*>(identity), length);
  *found = asked == kIdentity ? session_of(ssl) : nullptr;
  return 1;  // without a session or a certificate the handshake fails
}

int use_session(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* length,
                SSL_SESSION** session) {
  *session = nullptr;
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *length = kIdentity.size();
  if (digest != nullptr && ::EVP_MD_get_type(digest) != NID_sha256) return 1;
  *session = session_of(ssl);
  return *session != nullptr ? 1 : 0;
}

Context make_context(TlsSession::Side side) {
  const bool root = side == TlsSession::Side::root;
  Context context(SSL_CTX_new(root ? ::TLS_server_method() : ::TLS_client_method()));
  const bool good = context != nullptr &&
                    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_ciphersuites(context.get(), kCipher) == 1 &&
                    SSL_CTX_set_num_tickets(context.get(), 0) == 1;
  if (!good) throw Error(ErrorKind::system, "OpenSSL offers no TLS 1.3 here");
  // A peer with a certificate instead of the key is refused: no authority is trusted.
  constexpr int kVerify = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context.get(), root ? SSL_VERIFY_NONE : kVerify, nullptr);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  if (root) SSL_CTX_set_psk_find_session_callback(context.get(), find_session);
  if (!root) SSL_CTX_set_psk_use_session_callback(context.get(), use_session);
  return context;
}

/// Returns the context of a side, one per process: creating it reads OpenSSL's configuration.
SSL_CTX* shared_context(TlsSession::Side side) {
  static const auto of_root = make_context(TlsSession::Side::root);
  static const auto of_joiner = make_context(TlsSession::Side::joiner);
  return side == TlsSession::Side::root ? of_root.get() : of_joiner.get();
}

/// Returns OpenSSL's reason without the version in front of alerts ("sslv3 alert ...").
std::string openssl_reason() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* text = error != 0 ? ERR_reason_error_string(error) : nullptr;
  const std::string_view reason = text != nullptr ? text : "no reason given";
  const std::size_t alert = reason.find("alert ");
  return std::string(alert == std::string_view::npos ? reason : reason.substr(alert));
}

std::string describe_failure(bool established) {
  const std::string reason = openssl_reason();
  if (established) return fmt::format("the TLS stream broke ({})", reason);
  return fmt::format("the other side does not have this job's key, or is not dslaunch (TLS: {})",
                     reason);
}

}  // namespace

void TlsSession::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsSession::TlsSession(Side side, const JoinKey& key)
    : key_(key),
      ssl_(SSL_new(shared_context(side))),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
  if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr)
    throw Error(ErrorKind::system, "OpenSSL has no memory for a connection");
  SSL_set_app_data(ssl_.get(), &key_);
  BIO_set_mem_eof_return(in_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);  // the session owns the BIOs now
  side == Side::root ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  shake();
}

void TlsSession::shake() {
  if (established_ || problem_) return;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return check(result);
  // A certificate would have been refused already. This check proves that the key was used.
  if (SSL_session_reused(ssl_.get()) != 1) {
    problem_ = describe_failure(false);
    return;
  }
  established_ = true;
  write(waiting_);
  waiting_.clear();
}

void TlsSession::check(int result) {
  const int kind = SSL_get_error(ssl_.get(), result);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return;
  if (kind == SSL_ERROR_ZERO_RETURN) {
    ended_ = true;
  } else if (!problem_) {
    problem_ = describe_failure(established_);
  }
}

void TlsSession::write(std::span<const std::byte> plain) {
  if (plain.empty() || problem_) return;
  ERR_clear_error();
  std::size_t wrote = 0;
  const int result = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &wrote);
  if (result != 1) check(result);
}

void TlsSession::receive(std::span<const std::byte> wire, Bytes& plain) {
  if (problem_) return;
  const int taken = BIO_write(in_, wire.data(), static_cast<int>(wire.size()));
  DS_ASSERT(taken == static_cast<int>(wire.size()), "memory takes all");
  shake();
  while (established_ && !problem_ && !ended_) {
    std::array<std::byte, 16384> buffer;  // the maximum of a TLS record
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &got);
    if (result != 1) return check(result);
    plain.insert(plain.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
  }
}

void TlsSession::send(std::span<const std::byte> plain) {
  if (established_) return write(plain);
  waiting_.insert(waiting_.end(), plain.begin(), plain.end());
}

Bytes TlsSession::take_wire() {
  Bytes wire;
  take_wire(wire);
  return wire;
}

std::size_t TlsSession::take_wire(Bytes& into) {
  const std::size_t count = BIO_ctrl_pending(out_);
  if (count == 0) return 0;
  if (into.size() < count) into.resize(count);
  const int got = BIO_read(out_, into.data(), static_cast<int>(count));
  DS_ASSERT(got == static_cast<int>(count), "memory gives all");
  return count;
}

void TlsSession::close() {
  if (!established_ || problem_ || std::exchange(closing_, true)) return;
  ERR_clear_error();
  (void)SSL_shutdown(ssl_.get());
}

}  // namespace ds::launcher
