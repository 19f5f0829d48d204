// MPI program that measures a ping-pong and an allreduce between two ranks of one machine. Its
// output is for `jitterfly compare-measured`.
//
//   mpicc -O2 -o measured_allreduce measured_allreduce.c
//   mpiexec -n 2 ./measured_allreduce SAMPLES [MILLISECONDS]
//
// Rank 0 writes measured_pingpong.txt, in the format of OSU's latency test: medians, so that noise
// has no part in them. Then it writes measured_times.txt: how long each of SAMPLES allreduces of 8
// bytes took.
//
// A simulated allreduce begins at a moment that has nothing to do with the noise. So do these:
// their begins are drawn beforehand, MILLISECONDS apart on average (10), evenly from half to one
// and a half of that. Both ranks wait for each in a loop that reads the clock, as a program that
// computes would. A rank that is not running at that moment begins late, which is part of what is
// measured. An allreduce ends with its last rank; the ranks of one machine read one clock. They
// exchange nothing in between: each keeps its own ends. Where one of them had not finished the last
// allreduce, the next one is left out and counted: MILLISECONDS should be so long that this is
// rare.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { kTrials = 4001, kLargest = 65536, kMost = 1000000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// CPU time of this process, in seconds.
static double used(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
         1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, count, sizeof(double), ascending);
  return values[count / 2];
}

// Half of a round trip, and how long a send keeps the sender busy.
static void ping_pong(int rank, int bytes, double* half, double* send) {
  static char buffer[kLargest];
  static double trips[kTrials], sends[kTrials];
  for (int i = 0; i < kTrials; ++i) {
    const double begin = now();
    if (rank == 0) {
      MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      sends[i] = now() - begin;
      MPI_Recv(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      trips[i] = now() - begin;
    } else {
      MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) {
    *half = median(trips, kTrials) / 2;
    *send = median(sends, kTrials);
  }
}

static uint64_t state = 88172645463325252u;  // xorshift64 (Marsaglia 2003)

static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) * 0x1p-53;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int samples = argc == 2 || argc == 3 ? atoi(argv[1]) : 0;
  const double apart = argc == 3 ? 1e-3 * atof(argv[2]) : 10e-3;
  if (ranks != 2 || samples < 2 || samples > kMost || !(apart > 0)) {
    if (rank == 0) {
      fprintf(stderr, "usage: mpiexec -n 2 %s SAMPLES (2 to %d) [MILLISECONDS]\n", argv[0], kMost);
    }
    MPI_Finalize();
    return 2;
  }
  // A rank stays where its noise was recorded.
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(rank, &own);
  if (sched_setaffinity(0, sizeof(own), &own) != 0) perror("sched_setaffinity");

  FILE* file = rank == 0 ? fopen("measured_pingpong.txt", "w") : NULL;
  double half = 0, send = 0, overhead = 0;
  if (file) {
    fprintf(file, "# OSU MPI Latency Test\n# written by measured_allreduce.c: medians of %d\n",
            kTrials);
    fprintf(file, "# Size          Latency (us)\n");
  }
  for (int bytes = 1; bytes <= kLargest; bytes *= 2) {
    ping_pong(rank, bytes, &half, &send);
    if (file) fprintf(file, "%-14d  %.4f\n", bytes, 1e6 * half);
    if (bytes == 8) overhead = send;
  }
  if (file) fclose(file);
  if (rank == 0) printf("%.0fns\n", 1e9 * overhead);

  double* begins = malloc(samples * sizeof(double));
  double *ends = malloc(samples * sizeof(double)), *others = malloc(samples * sizeof(double));
  double first = now() + 0.1, given = 1, result;
  MPI_Bcast(&first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < samples; ++i) begins[i] = first += apart * (0.5 + uniform());
  double share = -used(), elapsed = -now(), shares[2];
  for (int i = 0; i < samples; ++i) {
    while (now() < begins[i]) {
    }
    MPI_Allreduce(&given, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    ends[i] = now();
  }
  share = (share + used()) / (elapsed + now());
  MPI_Gather(&share, 1, MPI_DOUBLE, shares, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Send(ends, samples, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(others, samples, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    file = fopen("measured_times.txt", "w");
    int passed = 0;
    double last = 0;
    fprintf(file, "# allreduce of 8 bytes on 2 ranks, microseconds; begins %g ms apart\n",
            1e3 * apart);
    for (int i = 0; i < samples; ++i) {
      const int late = last >= begins[i];
      last = ends[i] > others[i] ? ends[i] : others[i];
      passed += late;
      if (!late) fprintf(file, "%.2f\n", 1e6 * (last - begins[i]));
    }
    fprintf(file, "# share of its CPU that a rank had: %.1f %%, %.1f %%\n", 1e2 * shares[0],
            1e2 * shares[1]);
    fprintf(file, "# left out, as the one before had not ended: %d of %d\n", passed, samples);
    fclose(file);
  }
  free(begins);
  free(ends);
  free(others);
  MPI_Finalize();
  return 0;
}
