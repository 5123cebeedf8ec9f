/* SPDX-License-Identifier: MIT */
/* MPI's own all-reduce of NUMBERS floats, N times: what bench_ranks --exchange stands beside. Compiled by
 * bench/shared_steps.sh with the MPI's compiler; rank 0 prints one line of JSON, median and best in seconds.
 *
 *   mpirun -n R peer_allreduce NUMBERS N */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 1000 };

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv) {
    static double seconds[MOST_ROUNDS];
    const int numbers = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0;
    int rank, ranks, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    if (numbers < 1 || rounds < 1 || rounds > MOST_ROUNDS)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_library_version(library, &length);
    float *values = calloc((size_t)numbers, sizeof *values);
    if (values == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i <= rounds; i++) { /* the first touches new memory */
        MPI_Barrier(MPI_COMM_WORLD);
        const double began = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, values, numbers, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i > 0)
            seconds[i - 1] = MPI_Wtime() - began;
    }
    qsort(seconds, (size_t)rounds, sizeof *seconds, ascending);
    library[24] = '\0';
    for (char *c = library; *c != '\0'; c++)
        if (*c == ',' || *c == '"')
            *c = '\0';
    if (rank == 0)
        printf("{\"peer\": \"MPI_Allreduce, %s\", \"ranks\": %d, \"parameters\": %d, \"exchange\": %.6f, "
               "\"exchange_best\": %.6f}\n",
               library, ranks, numbers, seconds[rounds / 2], seconds[0]);
    free(values);
    MPI_Finalize();
    return 0;
}
