/* A PMIx client that prints what its server answers. Compiled by the tests against libpmix-dev.
 *
 *   pmix_client connect        all ranks connect, and disconnect
 *   pmix_client event          rank 0 sends an event to the job; the others print it
 *   pmix_client group          all ranks make a group with a context id, then rank 0 and the last one
 *   pmix_client modex MS STAY  rank 0 publishes a key and exits, without a fence; the last rank asks after MS milliseconds, and
 *                              rank 1 exits after STAY milliseconds
 *   pmix_client absent MS      rank 0 publishes nothing and exits after 300 ms; rank 1 and the last rank ask after MS milliseconds
 *   pmix_client slow           rank 0 publishes nothing and exits after 4 s; the last rank asks, with a limit of 1 s
 *   pmix_client names          ranks publish names, wait for them, look them up and withdraw them
 *   pmix_client spawn          asks for another process
 *   pmix_client binding        what each rank is bound to, as the server says and as the kernel does
 */
#define _GNU_SOURCE
#include <pmix.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t own;
static uint32_t size;
static volatile int event_came;

static void wait_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void say(const char* what, const char* text) {
  printf("rank %u %s: %s\n", own.rank, what, text);
  fflush(stdout);
}

static void say_status(const char* what, pmix_status_t status) {
  say(what, status == PMIX_SUCCESS ? "done" : PMIx_Error_string(status));
}

static pmix_proc_t proc_of(pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, own.nspace, rank);
  return proc;
}

/* Prints a key of a rank; `directive` may be NULL. */
static void show_key(const char* what, pmix_rank_t rank, const char* key, const char* directive) {
  const int second = 1;
  const pmix_proc_t proc = proc_of(rank);
  pmix_value_t* value = NULL;
  pmix_info_t info;
  const bool yes = true;
  pmix_status_t status;
  PMIX_INFO_CONSTRUCT(&info);
  if (directive != NULL && strcmp(directive, PMIX_TIMEOUT) == 0)
    PMIX_INFO_LOAD(&info, directive, &second, PMIX_INT);
  else if (directive != NULL)
    PMIX_INFO_LOAD(&info, directive, &yes, PMIX_BOOL);
  status = PMIx_Get(&proc, key, &info, directive != NULL, &value);
  if (status == PMIX_SUCCESS && value->type == PMIX_STRING)
    say(what, value->data.string);
  else
    say_status(what, status);
}

static void fence(void) {
  const pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD);
  say_status("fence", PMIx_Fence(&all, 1, NULL, 0));
}

static void connect_all(void) {
  const pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD);
  say_status("connect", PMIx_Connect(&all, 1, NULL, 0));
  say_status("disconnect", PMIx_Disconnect(&all, 1, NULL, 0));
}

static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t infos,
                     pmix_info_t* results, size_t result_count, pmix_event_notification_cbfunc_fn_t done, void* data) {
  size_t i;
  char text[200];
  (void)handler, (void)results, (void)result_count;
  for (i = 0; i < infos; ++i)
    if (strcmp(info[i].key, "probe.word") == 0) {
      snprintf(text, sizeof text, "%d from %u: %s", code, source->rank, info[i].value.data.string);
      say("event", text);
    }
  event_came = 1;
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void send_event(void) {
  pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 7;
  pmix_info_t info;
  int tries;
  if (own.rank != 0) PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
  fence();
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, "probe.word", "hello", PMIX_STRING);
  if (own.rank == 0) say_status("notify", PMIx_Notify_event(code, &own, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL));
  for (tries = 0; own.rank != 0 && !event_came && tries < 1000; ++tries) wait_ms(10);
  fence();
}

static void make_group(const char* name, const pmix_proc_t* members, size_t count) {
  pmix_info_t info, *results = NULL;
  size_t i, result_count = 0;
  const bool yes = true;
  pmix_status_t status;
  char text[100];
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
  status = PMIx_Group_construct(name, members, count, &info, 1, &results, &result_count);
  if (status != PMIX_SUCCESS) return say_status(name, status);
  for (i = 0; i < result_count; ++i)
    if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) {
      snprintf(text, sizeof text, "context %zu", results[i].value.data.size);
      say(name, text);
    }
  status = PMIx_Group_destruct(name, NULL, 0);
  snprintf(text, sizeof text, "destruct %s", name);
  say_status(text, status);
}

static void make_groups(void) {
  pmix_proc_t* all = calloc(size, sizeof *all);
  pmix_proc_t ends[2];
  uint32_t i;
  for (i = 0; i < size; ++i) all[i] = proc_of(i);
  make_group("everyone", all, size);
  ends[0] = all[0], ends[1] = all[size - 1];
  if (own.rank == 0 || own.rank == size - 1) make_group("ends", ends, 2);
  free(all);
}

static void publish_key(void) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, "word of 0", PMIX_STRING);
  PMIx_Put(PMIX_GLOBAL, "probe.key", &value);
  say_status("commit", PMIx_Commit());
}

static void publish(const char* text, const char* name, const char* value, pmix_persistence_t how) {
  pmix_info_t infos[2];
  PMIX_INFO_CONSTRUCT(&infos[0]);
  PMIX_INFO_CONSTRUCT(&infos[1]);
  PMIX_INFO_LOAD(&infos[0], name, value, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_PERSISTENCE, &how, PMIX_PERSIST);
  say_status(text, PMIx_Publish(infos, 2));
}

/* Prints what is found. `seconds`: waits at most so long; -1: does not wait. */
static void look_up(const char* text, const char* name, int seconds) {
  pmix_info_t infos[2];
  pmix_pdata_t wanted;
  pmix_status_t status;
  char found[200];
  const bool yes = true;
  PMIX_PDATA_CONSTRUCT(&wanted);
  PMIX_LOAD_KEY(wanted.key, name);
  PMIX_INFO_CONSTRUCT(&infos[0]);
  PMIX_INFO_CONSTRUCT(&infos[1]);
  PMIX_INFO_LOAD(&infos[0], PMIX_WAIT, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
  status = PMIx_Lookup(&wanted, 1, infos, seconds < 0 ? 0 : 2);
  if (status != PMIX_SUCCESS || wanted.value.type != PMIX_STRING) return say_status(text, status);
  snprintf(found, sizeof found, "%s of %u", wanted.value.data.string, wanted.proc.rank);
  say(text, found);
}

static void use_names(void) {
  char* name[] = {"probe.name", NULL};
  const bool is_last = own.rank == size - 1;
  if (own.rank == 0) {
    wait_ms(300); /* the last rank waits for it meanwhile */
    publish("publish", *name, "port", PMIX_PERSIST_SESSION);
    publish("twice", *name, "other", PMIX_PERSIST_SESSION);
    publish("once", "probe.once", "first", PMIX_PERSIST_FIRST_READ);
  }
  if (is_last) look_up("waited", *name, 20);
  fence();
  look_up("lookup", *name, -1);
  fence();
  if (is_last) look_up("first", "probe.once", -1);
  if (is_last) look_up("second", "probe.once", -1);
  if (is_last) look_up("missing", "probe.missing", 1);
  fence();
  if (own.rank == 0) say_status("unpublish", PMIx_Unpublish(name, NULL, 0));
  fence();
  if (is_last) look_up("withdrawn", *name, -1);
}

static void spawn(void) {
  pmix_app_t app;
  char space[PMIX_MAX_NSLEN + 1];
  char* argv[] = {"true", NULL};
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = "true", app.argv = argv, app.maxprocs = 1;
  say_status("spawn", PMIx_Spawn(NULL, 0, &app, 1, space));
}

/* Prints the processors of this process as the kernel lists them. */
static void show_affinity(void) {
  char line[4096];
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "Cpus_allowed_list:\t", 19) == 0) {
      line[strcspn(line, "\n")] = 0;
      say("kernel", line + 19);
    }
  if (file != NULL) fclose(file);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const long ms = argc > 2 ? atol(argv[2]) : 0;
  pmix_proc_t all;
  pmix_value_t* value = NULL;
  if (PMIx_Init(&own, NULL, 0) != PMIX_SUCCESS) return 2;
  all = proc_of(PMIX_RANK_WILDCARD);
  if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) return 3;
  size = value->data.uint32;
  if (strcmp(what, "connect") == 0) connect_all();
  if (strcmp(what, "event") == 0) send_event();
  if (strcmp(what, "group") == 0) make_groups();
  if (strcmp(what, "modex") == 0 && own.rank == 0) publish_key();
  /* The library does not answer a request of the node of rank 0 that comes before PMIx_Init of rank 0. */
  if (strcmp(what, "absent") == 0) fence();
  if (strcmp(what, "absent") == 0 && own.rank == 0) wait_ms(300);
  if (strcmp(what, "modex") == 0 || strcmp(what, "absent") == 0) {
    if (own.rank == size - 1 || (own.rank == 1 && *what == 'a')) {
      wait_ms(ms);
      show_key("key", 0, "probe.key", NULL);
    }
  }
  if (strcmp(what, "slow") == 0 && own.rank == 0) wait_ms(4000);
  if (strcmp(what, "slow") == 0 && own.rank == size - 1) show_key("key", 0, "probe.key", PMIX_TIMEOUT);
  if (strcmp(what, "modex") == 0 && own.rank == 1) wait_ms(argc > 3 ? atol(argv[3]) : 0);
  if (strcmp(what, "names") == 0) use_names();
  if (strcmp(what, "spawn") == 0) spawn();
  if (strcmp(what, "binding") == 0) {
    show_affinity();
    show_key("cpuset", own.rank, PMIX_CPUSET, PMIX_OPTIONAL);
    show_key("locality", own.rank, PMIX_LOCALITY_STRING, PMIX_OPTIONAL);
    show_key("locality of 0", 0, PMIX_LOCALITY_STRING, PMIX_OPTIONAL);
  }
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 4;
}
