// The stages of a session up to the running command: each is called until it no longer says
// SSH_AGAIN.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "launcher/transport/libssh/session.h"

namespace ds::launcher::libssh {

namespace {

// P-256 first: sshd takes it from OpenSSL, in assembly; its own curve25519 costs a server a tenth
// more CPU for the whole of a session's start.
constexpr const char* kKexAlgorithms =
    "ecdh-sha2-nistp256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp384,ecdh-"
    "sha2-nistp521,"
    "diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group14-sha256";
// AES-GCM first: with AES instructions it is libssh's fastest, and needs no separate MAC.
constexpr const char* kCiphers =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr,aes192-"
    "ctr,aes256-ctr";

}  // namespace

void Session::set_options() {
  const bool no_config = false;
  const int nodelay = 1;
  const unsigned int port = static_cast<unsigned int>(setup_.port);
  ssh_options_set(session_, SSH_OPTIONS_PROCESS_CONFIG,
                  &no_config);  // we have read the files ourselves
  // Neither name nor files are used by libssh: the socket is connected and the key is verified by
  // us, from an index. Left to libssh, known_hosts would be scanned twice a session, and the home
  // folder looked up.
  ssh_options_set(session_, SSH_OPTIONS_HOST, "host");
  ssh_options_set(session_, SSH_OPTIONS_SSH_DIR, "/dev/null");
  ssh_options_set(session_, SSH_OPTIONS_KNOWNHOSTS, "/dev/null");
  ssh_options_set(session_, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
  ssh_options_set(session_, SSH_OPTIONS_PORT, &port);
  ssh_options_set(session_, SSH_OPTIONS_USER, setup_.user.c_str());
  ssh_options_set(session_, SSH_OPTIONS_KEY_EXCHANGE, kKexAlgorithms);
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_C_S, kCiphers);
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_S_C, kCiphers);
  ssh_options_set(session_, SSH_OPTIONS_COMPRESSION, "no");
  ssh_options_set(session_, SSH_OPTIONS_HOSTKEYS, setup_.host_key_algorithms.c_str());
  ssh_options_set(session_, SSH_OPTIONS_NODELAY, &nodelay);  // libssh's default is off
}

const char* Session::stage_name() const {
  switch (stage_) {
    case Stage::handshake:
      return "ssh handshake";
    case Stage::auth:
      return "authentication";
    case Stage::channel:
      return "opening a channel";
    case Stage::exec:
      return "starting the remote command";
    case Stage::running:
      return "running";
    case Stage::ended:
      return "end";
  }
  return "";
}

int Session::handshake() {
  const int rc = ssh_connect(session_);
  if (rc == SSH_AGAIN && !dropped()) return SSH_AGAIN;
  if (rc != SSH_OK) {
    const std::string text = error_text();
    const bool disagreed = text.find("kex error") != std::string::npos;
    fail(ChannelEnd::Kind::unreachable, "ssh handshake failed: " + text, !disagreed);
    return SSH_ERROR;
  }
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session_, &raw) != SSH_OK) {
    fail(ChannelEnd::Kind::unreachable, "the server showed no host key: " + error_text());
    return SSH_ERROR;
  }
  const Key key(raw);
  const char* type = ssh_key_type_to_char(ssh_key_type(raw));
  if (const auto refusal =
          events_.check_host_key({type == nullptr ? "" : type, public_base64(raw)})) {
    fail(ChannelEnd::Kind::unreachable, *refusal);
    return SSH_ERROR;
  }
  enter(Stage::auth, setup_.limits.auth);
  return SSH_OK;
}

int Session::try_identity(const SshIdentity& identity) {
  if (identity.kind == SshIdentity::Kind::file) {
    const Keyring::Entry& entry = keyring_.entry(identity.path);
    return entry.key ? ssh_userauth_publickey(session_, nullptr, entry.key.get()) : SSH_AUTH_DENIED;
  }
  if (!std::exchange(agent_attached_, true)) {
    // libssh waits for the agent without a deadline, so it talks to a relay of ours that always
    // answers.
    const int fd = identity.socket();
    if (fd < 0 || ssh_set_agent_socket(session_, fd) != SSH_OK) return SSH_AUTH_DENIED;
  }
  return ssh_userauth_agent(session_, nullptr);
}

int Session::authenticate() {
  while (identity_ < setup_.identities.size()) {
    const SshIdentity& identity = setup_.identities[identity_];
    const int rc = try_identity(identity);
    if (rc == SSH_AUTH_SUCCESS) {
      events_.on_identity(identity.label);
      enter(Stage::channel, setup_.limits.command);
      return SSH_OK;
    }
    if (dropped()) break;  // too many keys: the server hangs up
    if (rc == SSH_AUTH_AGAIN) return SSH_AGAIN;
    if (rc == SSH_AUTH_PARTIAL) {
      fail(ChannelEnd::Kind::unreachable,
           fmt::format("user {}: {} was accepted, but the server wants a further method, which is "
                       "not supported",
                       setup_.user, identity.label));
      return SSH_ERROR;
    }
    ++identity_;
    agent_attached_ = false;
  }
  fail(ChannelEnd::Kind::unreachable, refusal_text());
  return SSH_ERROR;
}

std::string Session::refusal_text() {
  std::string tried;
  for (std::size_t i = 0; i < setup_.identities.size() && i <= identity_; ++i)
    tried += (i == 0 ? "" : ", ") + setup_.identities[i].label;
  std::string text = tried.empty() ? fmt::format("no key to try for user {}", setup_.user)
                                   : fmt::format("authentication refused for user {}; tried: {}",
                                                 setup_.user, tried);
  if (dropped()) {
    text += "; the server hung up (" + error_text() +
            "): name the right key by IdentityFile and set IdentitiesOnly yes";
  } else if (!setup_.identities.empty()) {
    const int methods = ssh_userauth_list(session_, nullptr);
    std::string names;
    const auto add = [&](int bit, const char* name) {
      if ((methods & bit) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
    };
    add(SSH_AUTH_METHOD_PUBLICKEY, "publickey");
    add(SSH_AUTH_METHOD_PASSWORD, "password");
    add(SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive");
    add(SSH_AUTH_METHOD_HOSTBASED, "hostbased");
    add(SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi");
    if (!names.empty()) text += "; the server takes: " + names;
  }
  return setup_.identities_note.empty() ? text : text + "; " + setup_.identities_note;
}

int Session::open_channel() {
  if (channel_ == nullptr) {
    channel_ = ssh_channel_new(session_);
    DS_ASSERT(channel_ != nullptr, "ssh_channel_new fails only without memory");
    callbacks_.userdata = this;
    callbacks_.channel_data_function = on_data;
    callbacks_.channel_exit_status_function = on_exit_status;
    callbacks_.channel_exit_signal_function = on_exit_signal;
    callbacks_.channel_close_function = on_close;
    ssh_callbacks_init(&callbacks_);
    ssh_set_channel_callbacks(channel_, &callbacks_);
  }
  const int rc = ssh_channel_open_session(channel_);
  if (rc == SSH_AGAIN && !dropped()) return SSH_AGAIN;
  if (rc != SSH_OK) {
    fail(ChannelEnd::Kind::unreachable, "the server refused a channel (" + error_text() +
                                            "): its MaxSessions, or a limit of the account?");
    return SSH_ERROR;
  }
  enter(Stage::exec, setup_.limits.command);
  return SSH_OK;
}

int Session::exec() {
  const int rc = ssh_channel_request_exec(channel_, setup_.command.c_str());
  if (rc == SSH_AGAIN && !dropped()) return SSH_AGAIN;
  if (rc != SSH_OK) {
    fail(ChannelEnd::Kind::no_agent, "the server would not run a command: " + error_text());
    return SSH_ERROR;
  }
  poll_ = ssh_event_new();
  DS_ASSERT(poll_ != nullptr && ssh_event_add_session(poll_, session_) == SSH_OK);
  enter(Stage::running, {});
  events_.on_open();
  return SSH_OK;
}

}  // namespace ds::launcher::libssh
