/* An MPI program that checks what it gets against known sums. Compiled by the tests with mpicc.
 *
 *   mpi_checks all            every check below; rank 0 prints "all checks passed, N ranks"
 *   mpi_checks collectives    those that work between any ranks
 *   mpi_checks nodes          the same, and that ranks of a node find each other
 *   mpi_checks abort CODE     rank 1 calls MPI_Abort, the others wait in a barrier
 *   mpi_checks wrong          rank 1 sends to a rank that does not exist
 *   mpi_checks early CODE     rank 1 exits with CODE, without MPI_Finalize, while the others work
 *   mpi_checks names          rank 0 publishes a name, which the others find
 *   mpi_checks connect        rank 0 accepts a connection of the last rank, which finds it by name
 *   mpi_checks spawn          asks for another process, which must fail
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void check(int good, const char* what) {
  if (good) return;
  printf("rank %d: wrong: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 99);
}

static void check_collectives(void) {
  const long sum = (long)size * (size - 1) / 2;
  long own = rank, got = -1;
  int i;
  long* all = calloc((size_t)size, sizeof(long));
  long* each = calloc((size_t)size, sizeof(long));

  got = rank == 0 ? 4711 : 0;
  MPI_Bcast(&got, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  check(got == 4711, "bcast");
  got = -1;
  MPI_Reduce(&own, &got, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  check(rank != 0 || got == sum, "reduce");
  MPI_Allreduce(&own, &got, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(got == sum, "allreduce");
  MPI_Gather(&own, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  for (i = 0; i < size; ++i) check(rank != 0 || all[i] == i, "gather");
  for (i = 0; i < size; ++i) each[i] = 100 + i;
  MPI_Scatter(each, 1, MPI_LONG, &got, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  check(got == 100 + rank, "scatter");
  for (i = 0; i < size; ++i) each[i] = 1000 * rank + i;
  MPI_Alltoall(each, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
  for (i = 0; i < size; ++i) check(all[i] == 1000L * i + rank, "alltoall");
  MPI_Scan(&own, &got, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(got == (long)rank * (rank + 1) / 2, "scan");
  MPI_Barrier(MPI_COMM_WORLD);
  free(all);
  free(each);
}

/* More than fits into an eager message. */
static void check_large(void) {
  const int count = 1 << 18;
  double* values = malloc(sizeof(double) * (size_t)count);
  int i;
  for (i = 0; i < count; ++i) values[i] = rank + i;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (i = 0; i < count; ++i)
    if (values[i] != (double)size * (size - 1) / 2 + (double)size * i) break;
  check(i == count, "allreduce of 2 MiB");
  free(values);
}

static void check_window(void) {
  long* memory = NULL;
  long got = -1, value = 7000 + rank;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Win window;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = 500 + rank;
  memory[1] = -1;
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_LONG, next, 1, 1, MPI_LONG, window);
  MPI_Get(&got, 1, MPI_LONG, next, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  check(got == 500 + next, "get from a window");
  check(memory[1] == 7000 + before, "put to a window");
  MPI_Win_free(&window);
}

static void check_nodes(int expected) {
  MPI_Comm node;
  int on_node = 0, own = 1, sum = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  check(expected == 0 || on_node == expected, "ranks that share memory");
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, node);
  check(sum == on_node, "allreduce among ranks that share memory");
  MPI_Comm_free(&node);
}

/* Says which program this rank runs, and with which folder and variable. */
static void tell(void) {
  char folder[4096] = "?";
  int found = 0;
  int* number = NULL;
  const char* a = getenv("A");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  if (!getcwd(folder, sizeof folder)) folder[0] = '?';
  printf("rank %d of %d: program %d in %s, A=%s\n", rank, size, found ? *number : -1, folder,
         a ? a : "");
}

static void check_names(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Publish_name("checks.service", MPI_INFO_NULL, "a_port=1");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Lookup_name("checks.service", MPI_INFO_NULL, port);
  check(strcmp(port, "a_port=1") == 0, "the published port");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Unpublish_name("checks.service", MPI_INFO_NULL, "a_port=1");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Lookup_name("checks.service", MPI_INFO_NULL, port) != MPI_SUCCESS, "a name that was withdrawn");
}

static void check_connect(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm other;
  int sent = 4711, got = 0;
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("checks.connect", MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    MPI_Send(&sent, 1, MPI_INT, 0, 1, other);
    MPI_Comm_disconnect(&other);
    MPI_Unpublish_name("checks.connect", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  } else if (rank == size - 1) {
    MPI_Lookup_name("checks.connect", MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    check(got == sent, "the number from the other side");
    MPI_Comm_disconnect(&other);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* deed = argc > 1 ? argv[1] : "all";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  const char* locals = getenv("LOCAL_WORLD_SIZE");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (getenv("WORLD_SIZE")) check(atoi(getenv("WORLD_SIZE")) == size, "size of the world");
  if (getenv("RANK")) check(atoi(getenv("RANK")) == rank, "number of the rank");
  if (strcmp(deed, "abort") == 0) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, number);
    sleep(60);
  }
  if (strcmp(deed, "early") == 0) {
    if (rank == 1) _exit(number);
    sleep(60);
  }
  if (strcmp(deed, "spawn") == 0) {
    MPI_Comm other;
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other,
                   MPI_ERRCODES_IGNORE);
  }
  if (strcmp(deed, "wrong") == 0 && rank == 1)
    MPI_Send(&size, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  if (strcmp(deed, "tell") == 0) tell();
  if (strcmp(deed, "names") == 0) check_names();
  if (strcmp(deed, "connect") == 0) check_connect();
  check_collectives();
  check_large();
  if (strcmp(deed, "all") == 0) check_window();
  if (strcmp(deed, "collectives") != 0) check_nodes(locals ? atoi(locals) : 0);
  if (rank == 0) printf("all checks passed, %d ranks\n", size);
  MPI_Finalize();
  return 0;
}
