// Tests ssh_config: which value holds for which host, tokens, Include, Match, and messages.
#include "launcher/transport/ssh_config/ssh_config.h"

#include <doctest/doctest.h>

#include "launcher/transport/ssh_config/ssh_config_parts.h"
#include "unit/transport/ssh_config_helpers.h"

using namespace ds::launcher;

TEST_CASE("without a config: the name itself, port 22, the local user, the default files") {
  const SshSettings s = settings("", "node01");
  CHECK(s.host_name == "node01");
  CHECK(s.port == 22);
  CHECK(s.user == "me");
  CHECK(s.identity_files == std::vector<std::string>{"/home/me/.ssh/id_ed25519",
                                                     "/home/me/.ssh/id_ecdsa",
                                                     "/home/me/.ssh/id_rsa"});
  CHECK_FALSE(s.identities_configured);
  CHECK(s.identity_agent == "/run/agent");
  CHECK(s.known_hosts_files.front() == "/home/me/.ssh/known_hosts");
  CHECK(s.host_key_checking == HostKeyChecking::strict);
}

TEST_CASE("the first value wins; the hostfile's user and port win over all") {
  const char* text =
      "Host n1\n Port 2201\n User first\nHost *\n Port 2202\n User second\n HostName 10.0.0.9\n";
  CHECK(settings(text, "n1").port == 2201);
  CHECK(settings(text, "n2").port == 2202);
  CHECK(settings(text, "n1").user == "first");
  CHECK(settings(text, "n1").host_name == "10.0.0.9");
  const SshSettings s = config(text).resolve(host("n1", "typed", 99), me());
  CHECK(s.user == "typed");
  CHECK(s.port == 99);
}

TEST_CASE("directives before the first Host count for all, and first") {
  CHECK(settings("Port 7\nHost n1\nPort 8\n", "n1").port == 7);
}

TEST_CASE("Host patterns: wildcards, several, negation") {
  const char* text = "Host node* !node7 other\n Port 1000\n";
  CHECK(settings(text, "node1").port == 1000);
  CHECK(settings(text, "node7").port == 22);
  CHECK(settings(text, "other").port == 1000);
  CHECK(settings("Host !n2\n Port 9\n", "n1").port ==
        22);  // negation alone matches nothing, as in ssh
  CHECK(settings("Host n?\n Port 9\n", "n12").port == 22);
}

TEST_CASE("how a line may be written") {
  CHECK(settings("PORT=5\n", "x").port == 5);
  CHECK(settings("  port =\t6  # why\n", "x").port == 6);
  CHECK(settings("Port \"7\"\r\n", "x").port == 7);
  CHECK(settings("# Port 5\n\n\t\nPort 8", "x").port == 8);
  CHECK(settings("IdentityFile \"/keys/my key\"\n", "x").identity_files ==
        std::vector<std::string>{"/keys/my key"});
  const TextPlace place{"f", 1, 1};
  CHECK(parse_config_line("a b\\\"c", place).words == std::vector<std::string>{"b\"c"});
  CHECK(parse_config_line("a 'b c' d#e", place).words == std::vector<std::string>{"b c", "d#e"});
}

TEST_CASE("tokens and ~") {
  CHECK(settings("HostName %h.cluster.example\n", "n1").host_name == "n1.cluster.example");
  const SshSettings s = settings(
      "User bob\nPort 23\nHostName real\nIdentityFile ~/%n/%h/%p/%r/%u/%i/%L/100%%\nIdentityFile "
      "%d/k\nIdentityFile ${CLUSTER}/k\n",
      "n1");
  CHECK(s.identity_files == std::vector<std::string>{"/home/me/n1/real/23/bob/me/1000/login1/100%",
                                                     "/home/me/k", "blue/k"});
  CHECK(s.identities_configured);
  const SshSettings k = settings(
      "HostKeyAlias farm\nUserKnownHostsFile ~/kh_%k /etc/more\nGlobalKnownHostsFile none\n", "n1");
  CHECK(k.known_hosts_files == std::vector<std::string>{"/home/me/kh_farm", "/etc/more"});
  CHECK(k.global_known_hosts_files.empty());
}

TEST_CASE("IdentityFile lines add up, each once; the agent can be named or switched off") {
  CHECK(settings("IdentityFile /a\nIdentityFile /b\nHost n1\nIdentityFile /a\n", "n1")
            .identity_files == std::vector<std::string>{"/a", "/b"});
  CHECK(settings("IdentityFile none\n", "x").identity_files.empty());
  CHECK(settings("IdentityAgent none\n", "x").identity_agent.empty());
  CHECK(settings("IdentityAgent ~/agent\n", "x").identity_agent == "/home/me/agent");
  CHECK(settings("IdentityAgent SSH_AUTH_SOCK\n", "x").identity_agent == "/run/agent");
  CHECK(settings("IdentitiesOnly yes\n", "x").identities_only);
}

TEST_CASE("StrictHostKeyChecking") {
  CHECK(settings("StrictHostKeyChecking ask\n", "x").host_key_checking == HostKeyChecking::strict);
  CHECK(settings("StrictHostKeyChecking accept-new\n", "x").host_key_checking ==
        HostKeyChecking::accept_new);
  CHECK(settings("StrictHostKeyChecking off\n", "x").host_key_checking ==
        HostKeyChecking::accept_any);
  CHECK(message("StrictHostKeyChecking maybe\n") ==
        "config:1: StrictHostKeyChecking is 'maybe', not yes, accept-new, ask or no");
}

TEST_CASE(
    "Include: relative, ~, glob; inside a Host block it counts only there, and the block goes on "
    "behind it") {
  const Files files = {{"/home/me/.ssh/conf.d/a", "Host n1\nPort 11\n"},
                       {"/home/me/.ssh/conf.d/b", "Host n2\nPort 12\n"},
                       {"/home/me/x", "User included\nHost n3\nPort 13\n"}};
  CHECK(settings("Include conf.d/*\nPort 1\n", "n1", files).port == 11);
  CHECK(settings("Include conf.d/*\nPort 1\n", "n2", files).port == 12);
  CHECK(settings("Include conf.d/*\nPort 1\n", "n9", files).port == 1);
  CHECK(settings("Include /no/such/file\nPort 1\n", "n9", files).port == 1);
  const char* text = "Host n1 n3\nInclude ~/x\nHostName inside\n";
  CHECK(settings(text, "n1", files).user == "included");
  CHECK(settings(text, "n1", files).host_name == "inside");
  CHECK(settings(text, "n1", files).port == 22);
  CHECK(settings(text, "n3", files).port == 13);
  CHECK(settings(text, "n2", files).user == "me");
  CHECK(settings("Host n1\nInclude ~/x\n", "n3", files).port == 22);
}

TEST_CASE("an Include of itself ends with an error, not a crash") {
  const Files files = {{"/home/me/.ssh/loop", "Include loop\n"}};
  CHECK_THROWS_AS(settings("Include loop\n", "n1", files), ds::Error);
}

TEST_CASE("Match: all, host, originalhost, user, localuser, negation; others leave a note") {
  CHECK(settings("Host n1\nPort 1\nMatch all\nUser u\n", "n2").user == "u");
  CHECK(settings("Match host n1,n2\nPort 5\n", "n2").port == 5);
  CHECK(settings("Match !host n1\nPort 5\n", "n1").port == 22);
  CHECK(settings("HostName real\nMatch host real originalhost n1\nPort 5\n", "n1").port == 5);
  CHECK(settings("User bob\nMatch user bob localuser me\nPort 5\n", "n1").port == 5);
  const SshSettings s = settings("Match localnetwork 10.0.0.0/8 all\nPort 5\n", "n1");
  CHECK(s.port == 22);
  REQUIRE(s.notes.size() == 1);
  CHECK(s.notes[0].find("config:1: Match localnetwork is not supported") == 0);
}

TEST_CASE("Match exec: the command's end decides, and it runs only where all before it holds") {
  std::vector<std::string> commands;
  LocalUser local = me();
  local.run = [&](const std::string& command) {
    commands.push_back(command);
    return command.starts_with("yes");
  };
  const auto port = [&](const std::string& text, const std::string& name) {
    return config(text).resolve(host(name), local).port;
  };
  const char* text = "Match originalhost n1 exec \"yes %h %n %p %r %u %L %%\"\nPort 5\n";
  CHECK(port(text, "n1") == 5);
  CHECK(commands == std::vector<std::string>{"yes n1 n1 22 me me login1 %"});
  CHECK(port(text, "n2") == 22);
  CHECK(commands.size() == 1);
  CHECK(config(text).runs_commands());
  CHECK_FALSE(config("Match host n1\nPort 5\n").runs_commands());
  CHECK(port("Match exec no\nPort 5\n", "n1") == 22);
  CHECK(port("Match !exec no\nPort 5\n", "n1") == 5);
  CHECK_THROWS_AS(port("HostName $(reboot)\nMatch exec \"yes %h\"\nPort 5\n", "n1"), ds::Error);
}

TEST_CASE("Match final: the file is read again, with the HostName found") {
  const char* text =
      "Host short\nHostName long.example\nHost *.example\nUser dom\n"
      "Match final host *.example\nPort 5\nMatch all\nPort 6\n";
  CHECK(settings(text, "short").port == 6);  // found in the first pass
  CHECK(settings("Host short\nHostName long.example\nMatch final host *.example\nPort 5\n", "short")
            .port == 5);
  CHECK(settings(text, "short").user == "dom");  // Host looks at the new name in the final pass
  CHECK(settings("HostName a.b\nHost a.b\nPort 5\n", "n1").port == 22);  // no Match final: once
  CHECK(settings("Match final all\nPort 7\nIdentityFile /k\n", "n1").identity_files ==
        std::vector<std::string>{"/k"});
  CHECK(settings("Match !final all\nPort 7\n", "n1").port == 7);
  CHECK(settings("Match canonical all\nPort 7\n", "n1").port == 22);
}

TEST_CASE("connection settings") {
  const SshSettings s = settings(
      "ConnectTimeout 1m30s\nConnectionAttempts 3\nAddressFamily inet6\nBindAddress 10.0.0.1\n"
      "ServerAliveInterval 15\nServerAliveCountMax 2\nTCPKeepAlive no\nBatchMode yes\n"
      "CertificateFile ~/c1\nCertificateFile /c2\nKexAlgorithms +x\nPubkeyAcceptedKeyTypes -y\n",
      "n1");
  CHECK(s.connect_timeout == std::chrono::seconds(90));
  CHECK(s.connection_attempts == 3);
  CHECK(s.address_family == AddressFamily::inet6);
  CHECK(s.bind_address == "10.0.0.1");
  CHECK(s.server_alive_interval == std::chrono::seconds(15));
  CHECK(s.server_alive_count_max == 2);
  CHECK_FALSE(s.tcp_keep_alive);
  CHECK(s.batch_mode);
  CHECK(s.certificate_files == std::vector<std::string>{"/home/me/c1", "/c2"});
  CHECK(s.algorithms.kex == "+x");
  CHECK(s.algorithms.public_keys == "-y");
  CHECK(message("ConnectTimeout soon\n").find("config:1: connecttimeout 'soon' is not a time") ==
        0);
  CHECK(message("ConnectionAttempts 0\n").find("is not a number from 1 to") != std::string::npos);
  CHECK(message("AddressFamily ipx\n") ==
        "config:1: AddressFamily is 'ipx', not any, inet or inet6");
}

TEST_CASE("directives that are not honoured are noted, unless nothing is lost") {
  CHECK(settings("ForwardAgent no\nSendEnv LANG\nVerifyHostKeyDNS no\n", "n1").notes.empty());
  const SshSettings s = settings("\nForwardAgent yes\nRemoteCommand tmux a\n", "n1");
  REQUIRE(s.notes.size() == 2);
  CHECK(s.notes[0] == "config:2: forwardagent is ignored: no agent is forwarded to the nodes");
}

TEST_CASE("unknown keywords are ignored; values that make no sense are named with their place") {
  CHECK(message("Frobnicate 3\nSendEnv LANG LC_*\n") == "no error");
  CHECK(message("\nPort ssh\n") == "config:2: port 'ssh' is not a number from 1 to 65535");
  CHECK(message("Port 70000\n").find("config:1: port") == 0);
  CHECK(message("Port\n") == "config:1: port without a value");
  CHECK(message("Host\n") == "config:1: host without a pattern");
  CHECK(message("IdentityFile %q\n").find("config:1: token %q is not known here") == 0);
  CHECK(message("IdentityFile ${NOPE}/k\n") == "config:1: environment variable NOPE is not set");
  CHECK(message("User \"bob\n") == "config:1: a quote is not closed");
  CHECK(message("IdentitiesOnly perhaps\n").find("config:1: identitiesonly is 'perhaps'") == 0);
}

TEST_CASE("the system's file fills only the gaps") {
  SshConfig both = config("Port 5\n");
  both.add("Port 6\nUser sys\nHashKnownHosts yes\n", "/etc/ssh/ssh_config",
           {[](const std::string&) { return std::nullopt; },
            [](const std::string&) { return std::vector<std::string>(); }, "/etc/ssh", "/home/me"});
  const SshSettings s = both.resolve(host("n1"), me());
  CHECK(s.port == 5);
  CHECK(s.user == "sys");
  CHECK(s.hash_known_hosts);
}
