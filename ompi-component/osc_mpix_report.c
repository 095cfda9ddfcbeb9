/* A report of each process's windows for `mpix-rma check`: one file per process, in the directory that
 * MPIX_RMA_CHECK names. */
#include "osc_mpix_window.h"

#include "opal/util/proc.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int asked_for, made;

void ompi_osc_mpix_count_query(void)
{
    atomic_fetch_add_explicit(&asked_for, 1, memory_order_relaxed);
}

void ompi_osc_mpix_count_window(void)
{
    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
}

/* Called before the engine is destroyed; `engine` is NULL if none was opened. Writes a line of words and
 * numbers in the order in which `mpix-rma check` reads them. */
void ompi_osc_mpix_write_report(mpix_engine_t *engine)
{
    const char *directory = getenv("MPIX_RMA_CHECK");
    if (NULL == directory || '\0' == *directory) {
        return;
    }
    struct mpix_engine_traffic traffic = {0};
    if (NULL != engine) {
        mpix_engine_read_traffic(engine, &traffic);
    }
    char path[4096];
    snprintf(path, sizeof(path), "%s/%u.%d", directory, (unsigned) OPAL_PROC_MY_NAME.vpid, (int) getpid());
    FILE *file = fopen(path, "w");
    if (NULL == file) {
        return;
    }
    fprintf(file, "%u %d %d", (unsigned) OPAL_PROC_MY_NAME.vpid, atomic_load(&asked_for), atomic_load(&made));
    for (size_t i = 0; i < sizeof(traffic.operations) / sizeof(traffic.operations[0]); ++i) {
        fprintf(file, " %" PRIu64, traffic.operations[i]);
    }
    fprintf(file, "\n");
    fclose(file);
}
