# Sourced by tests: the exact environment that each substrate gives its pods: names, subdomain, variables, mounted files.
#   substrate_pod KIND JOB INDEX COUNT [options of create] -- COMMAND...   makes the pod JOB.INDEX
#   substrate_words KIND JOB COUNT     the options by which the pods' one line names its peers, if it must
# Kinds: indexed (Indexed Job), jobset, statefulset, lws (LeaderWorkerSet), volcano, torch (Kubeflow Trainer's torch
# runtime), plain (any pods with names). The versions and files of the projects that these follow stand in the manual pages
# under docs/; all are given what kubelet gives: KUBERNETES_* and HOSTNAME come from podctl.

substrates="indexed jobset statefulset lws volcano torch plain"

substrate_words() {
  case $1 in
    indexed | jobset | statefulset) echo "--nnodes $3" ;;
    plain) echo "--peers $2-{0..$(($3 - 1))}.$2" ;;
  esac
}

# The host name of pod INDEX.
substrate_host() {
  case $1 in
    jobset | torch) echo "$2-node-0-$3" ;;
    lws) if [ "$3" = 0 ]; then echo "$2-0"; else echo "$2-0-$3"; fi ;;
    volcano) echo "$2-worker-$3" ;;
    *) echo "$2-$3" ;;
  esac
}

substrate_pod() {
  local kind=$1 job=$2 index=$3 count=$4 given=() i hosts=
  shift 4
  case $kind in
    indexed) given=(--env "JOB_COMPLETION_INDEX=$index") ;;
    jobset) # the last by downward API from the pod's annotations and labels
      given=(--env "JOB_COMPLETION_INDEX=$index" --env "POD_IP=@POD_IP@" --env "POD_UID=uid-of-$job-$index"
             --env "JOBSET_NAME=$job" --env JOBSET_RESTART=0) ;;
    statefulset) ;;
    lws)
      given=(--env "LWS_LEADER_ADDRESS=$job-0.$job.default" --env "LWS_GROUP_SIZE=$count" --env "LWS_WORKER_INDEX=$index") ;;
    volcano) # plugin svc: variables and /etc/volcano, names with the job's own service
      for ((i = 0; i < count; i++)); do hosts+="${hosts:+,}$job-worker-$i.$job"; done
      mkdir -p "$PODS/volcano.$job"
      echo "$hosts" | tr ',' '\n' > "$PODS/volcano.$job/worker.host"
      given=(--env "VC_TASK_INDEX=$index" --env "VK_TASK_INDEX=$index" --env "VC_WORKER_HOSTS=$hosts"
             --env "VC_WORKER_NUM=$count" --config "/etc/volcano=$PODS/volcano.$job" 0644) ;;
    torch)
      given=(--env "JOB_COMPLETION_INDEX=$index" --env "PET_NNODES=$count" --env PET_NPROC_PER_NODE=1
             --env "PET_NODE_RANK=$index" --env "PET_MASTER_ADDR=$job-node-0-0.$job" --env PET_MASTER_PORT=29500) ;;
    plain) ;;
    *) echo "substrate_pod: unknown kind '$kind'" >&2; return 64 ;;
  esac
  podctl create "$job.$index" --hostname "$(substrate_host "$kind" "$job" "$index")" --subdomain "$job" \
    ${given[@]+"${given[@]}"} "$@"
}
