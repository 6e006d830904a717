// Stages of a session up to the login: each is called again until it is finished.
#include <fmt/format.h>

#include <cctype>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "launcher/transport/libssh/session.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher::libssh {

namespace {

constexpr std::size_t kMostSaid = 300;

// P-256 first: sshd computes it by OpenSSL, in assembly. sshd's own curve25519 costs the server a
// tenth more CPU for the whole start of a session.
constexpr const char* kKexAlgorithms =
    "ecdh-sha2-nistp256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp384,ecdh-"
    "sha2-nistp521,"
    "diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group14-sha256";
// AES-GCM first: it is libssh's fastest cipher with AES instructions, and needs no separate MAC.
constexpr const char* kCiphers =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr,aes192-"
    "ctr,aes256-ctr";
// libssh's own defaults; set only if the user changes them.
constexpr const char* kMacs =
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512";
constexpr const char* kPublicKeys =
    "ssh-ed25519-cert-v01@openssh.com,ecdsa-sha2-nistp521-cert-v01@openssh.com,"
    "ecdsa-sha2-nistp384-cert-v01@openssh.com,ecdsa-sha2-nistp256-cert-v01@openssh.com,"
    "rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-256-cert-v01@openssh.com,ssh-ed25519,"
    "ecdsa-sha2-nistp521,ecdsa-sha2-nistp384,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256";

}  // namespace

bool Session::set_options() {
  const bool no_config = false;
  const int nodelay = 1;
  const auto port = static_cast<unsigned int>(login_.settings->port);
  bool good = true;
  const auto set = [&](ssh_options_e option, const void* value) {
    good = ssh_options_set(session_, option, value) == SSH_OK && good;
  };
  // libssh uses neither the name nor its files: the socket is connected, and we verify the host key
  // from an index. libssh would scan known_hosts twice a session and look the home folder up.
  set(SSH_OPTIONS_PROCESS_CONFIG, &no_config);
  set(SSH_OPTIONS_HOST, "host");
  set(SSH_OPTIONS_SSH_DIR, "/dev/null");
  set(SSH_OPTIONS_KNOWNHOSTS, "/dev/null/none");  // cannot be opened
  set(SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null/none");
  set(SSH_OPTIONS_PORT, &port);
  set(SSH_OPTIONS_USER, login_.settings->user.c_str());
  set(SSH_OPTIONS_COMPRESSION, "no");
  set(SSH_OPTIONS_NODELAY, &nodelay);  // libssh's default is off
  const SshAlgorithms& wanted = login_.settings->algorithms;
  set(SSH_OPTIONS_KEY_EXCHANGE, change_algorithms(kKexAlgorithms, wanted.kex).c_str());
  const std::string ciphers = change_algorithms(kCiphers, wanted.ciphers);
  set(SSH_OPTIONS_CIPHERS_C_S, ciphers.c_str());
  set(SSH_OPTIONS_CIPHERS_S_C, ciphers.c_str());
  if (!wanted.macs.empty()) {
    const std::string macs = change_algorithms(kMacs, wanted.macs);
    set(SSH_OPTIONS_HMAC_C_S, macs.c_str());
    set(SSH_OPTIONS_HMAC_S_C, macs.c_str());
  }
  if (!wanted.public_keys.empty())
    set(SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES,
        change_algorithms(kPublicKeys, wanted.public_keys).c_str());
  set(SSH_OPTIONS_HOSTKEYS, login_.host_key_algorithms.c_str());
  return good;
}

/// Returns true once it is finished.
bool Session::handshake() {
  (void)login_.socket.release();  // libssh owns it now, and closes it
  const int rc = ssh_connect(session_);
  if (rc == SSH_AGAIN && !dropped()) return false;
  if (rc != SSH_OK) {
    const std::string text = error_text();
    // A server with too many logins under way hangs up before or during the key exchange.
    const bool fault =
        text.find("kex error") != std::string::npos || text.find("rotocol") != std::string::npos;
    const bool hung_up = text.find("onnection reset") != std::string::npos ||
                         text.find("disconnected") != std::string::npos;
    fail(ChannelEnd::Kind::unreachable, stage::kKeyExchange,
         hung_up ? "the server hung up" : "key exchange failed: " + text, !fault);
    return false;
  }
  if (!check_host_key()) return false;
  state_ = State::auth;
  limit_stage(stage::kLogin, login_.limits.auth);
  return true;
}

bool Session::check_host_key() {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session_, &raw) != SSH_OK) {
    fail(ChannelEnd::Kind::unreachable, stage::kHostKey,
         "the server showed no host key: " + error_text());
    return false;
  }
  const SshKey key(raw);
  const char* type = ssh_key_type_to_char(ssh_key_type(raw));
  const auto refusal = events_.check_host_key({type == nullptr ? "" : type, public_base64(raw)});
  if (refusal) fail(ChannelEnd::Kind::unreachable, stage::kHostKey, *refusal);
  return !refusal;
}

int Session::try_identity(const SshIdentity& identity) {
  if (!identity.agent_socket) {
    const SshKeyring::Entry& entry = identity.certificate.empty()
                                         ? keyring_.entry(identity.path)
                                         : keyring_.certified(identity.path, identity.certificate);
    if (!entry.key) return SSH_AUTH_DENIED;
    return ssh_userauth_publickey(session_, nullptr, entry.key.get());
  }
  if (!std::exchange(agent_attached_, true)) {
    // libssh waits for the agent without a deadline, so it gets a relay that always answers.
    const int fd = identity.agent_socket();
    if (fd < 0 || ssh_set_agent_socket(session_, fd) != SSH_OK) return SSH_AUTH_DENIED;
  }
  return ssh_userauth_agent(session_, nullptr);
}

/// Returns true once logged in.
bool Session::authenticate() {
  while (identity_ < login_.identities.size()) {
    const SshIdentity& identity = login_.identities[identity_];
    const int rc = try_identity(identity);
    if (rc == SSH_AUTH_SUCCESS) {
      events_.on_identity(identity.label);
      logged_in();
      return true;
    }
    if (dropped()) break;  // the server hangs up after too many keys
    if (rc == SSH_AUTH_AGAIN) return false;
    if (rc == SSH_AUTH_PARTIAL) {
      fail(ChannelEnd::Kind::unreachable, stage::kLogin,
           fmt::format("user {}: {} was accepted, but the server wants a further method, which is "
                       "not supported",
                       login_.settings->user, identity.label));
      return false;
    }
    ++identity_;
    agent_attached_ = false;
  }
  fail(ChannelEnd::Kind::unreachable, stage::kLogin, refusal_text());
  return false;
}

/// Returns the last message that the server sent for people (RFC 4252, 5.4), in one line: the
/// reason of pam_nologin and its like, or the site's notice.
std::string Session::banner_text() const {
  char* const banner = ssh_get_issue_banner(session_);
  if (banner == nullptr) return {};
  std::string line;
  for (const char* at = banner; *at != '\0'; ++at) {
    const bool blank = std::isspace(static_cast<unsigned char>(*at)) != 0;
    if (!blank) line += *at;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  ssh_string_free_char(banner);
  while (line.ends_with(' ')) line.pop_back();
  return printable_text(line, kMostSaid);
}

std::string Session::refusal_text() {
  std::string tried;
  for (std::size_t i = 0; i < login_.identities.size() && i <= identity_; ++i)
    tried += (i == 0 ? "" : ", ") + login_.identities[i].label;
  std::string text = tried.empty() ? fmt::format("no key to try for user {}", login_.settings->user)
                                   : fmt::format("authentication refused for user {}; tried: {}",
                                                 login_.settings->user, tried);
  if (dropped()) {
    const std::string why = error_text();
    const std::string said = banner_text();
    text += "; the server hung up" + (why == kHungUp ? "" : " (" + why + ")");
    if (!said.empty()) text += fmt::format("; it says: \"{}\"", said);
    if (why.find("Too many authentication failures") != std::string::npos)
      text += "; name the right key by IdentityFile and set IdentitiesOnly yes";
  } else if (!login_.identities.empty()) {
    const std::pair<int, const char*> known[] = {
        {SSH_AUTH_METHOD_PUBLICKEY, "publickey"},
        {SSH_AUTH_METHOD_PASSWORD, "password"},
        {SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive"},
        {SSH_AUTH_METHOD_HOSTBASED, "hostbased"},
        {SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi"}};
    const int methods = ssh_userauth_list(session_, nullptr);
    std::string names;
    for (const auto& [bit, name] : known)
      if ((methods & bit) != 0) names.append(names.empty() ? "" : ", ").append(name);
    if (!names.empty()) text += "; the server takes: " + names;
  }
  return login_.identities_note.empty() ? text : text + "; " + login_.identities_note;
}

}  // namespace ds::launcher::libssh
