// The documents of a job, in the order in which they can be applied, under a comment.
#include "launcher/manifest/manifest.h"

#include <fmt/format.h>

#include "launcher/manifest/names.h"
#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

bool has_token(const ManifestWish& wish) {
  switch (wish.kind) {
    case ManifestKind::mpijob:
    case ManifestKind::trainjob:
    case ManifestKind::etjob:
      return false;
    case ManifestKind::trainjob_torch:
      return wish.command.empty();  // ranks of dsrunner prove it to each other
    default:
      return true;
  }
}

std::string_view people_name(ManifestKind kind) {
  switch (kind) {
    case ManifestKind::indexed:
      return "Indexed Job";
    case ManifestKind::jobset:
      return "JobSet";
    case ManifestKind::statefulset:
      return "StatefulSet";
    case ManifestKind::lws:
      return "LeaderWorkerSet";
    case ManifestKind::mpijob:
      return "MPIJob of mpi-operator";
    case ManifestKind::trainjob:
      return "TrainJob of Kubeflow Trainer, with a runtime for MPI";
    case ManifestKind::trainjob_torch:
      return "TrainJob of Kubeflow Trainer, on its torch runtime";
    case ManifestKind::etjob:
      return "etjob of et-operator (Arena)";
    case ManifestKind::volcano:
      return "Job of Volcano";
  }
  return "";
}

std::string comment(const ManifestWish& wish) {
  std::string text = fmt::format(
      "# {}, {} x {} ranks: {}.\n"
      "# Made by dslaunch k8s manifest; docs/kubernetes.md says what it needs.\n",
      wish.name, wish.nodes, wish.slots, people_name(wish.kind));
  if (!has_token(wish)) return text;
  if (wish.new_token)
    return text + "# A secret is in it: do not keep it. Another run writes another token.\n";
  const std::string space = wish.space.empty() ? "" : fmt::format("-n {} ", wish.space);
  return text + fmt::format(
                    "# Before, once:\n"
                    "#   openssl rand -hex 32 |\n"
                    "#     kubectl {}create secret generic {} --from-file=token=/dev/stdin\n",
                    space, token_secret(wish));
}

}  // namespace

std::string manifest_text(const ManifestWish& wish) {
  ManifestWish checked = wish;
  if (!has_token(wish)) checked.new_token.reset();
  check_wish(checked);
  std::vector<Yaml> objects = own_objects(checked);
  for (Yaml& object : agent_kind(checked)) objects.push_back(std::move(object));
  for (Yaml& object : operator_kind(checked)) objects.push_back(std::move(object));
  std::string text = comment(checked);
  for (std::size_t i = 0; i < objects.size(); ++i)
    text += (i == 0 ? "" : "---\n") + yaml_text(objects[i]);
  return text;
}

}  // namespace ds::launcher
