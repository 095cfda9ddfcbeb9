/* Performance variables osc_mpix_* for MPI_T and tools on top of it: counts of the protocols that operations
 * take. */
#include "osc_mpix.h"

#include "mpi-windows/state/mpix_windows.h"

#include "opal/mca/base/mca_base_pvar.h"

#include <stddef.h>
#include <string.h>

/* A variable that shows one of the engine's counters. Registered with this struct as its `ctx`. */
typedef struct {
    const char *name;
    const char *description;
    size_t offset; /* in struct mpix_engine_traffic */
} counter_t;

#define OPERATIONS(name, NAME, number, means) \
    {"operations_" #name, "Operations by " means, offsetof(struct mpix_engine_traffic, operations[number])},
#define BYTES(name, NAME, number, means) \
    {"bytes_" #name, "Bytes moved by " means, offsetof(struct mpix_engine_traffic, bytes[number])},

static const counter_t counters[] = {
    MPIX_ENGINE_PROTOCOLS(OPERATIONS)
    MPIX_ENGINE_PROTOCOLS(BYTES)
    {"messages_sent", "Requests that this process has sent",
     offsetof(struct mpix_engine_traffic, messages_sent)},
    {"messages_executed", "Requests of other processes that this process has executed",
     offsetof(struct mpix_engine_traffic, messages_executed)},
};

static int read_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    const counter_t *counter = pvar->ctx;
    struct mpix_engine_traffic traffic = {0};
    mpix_engine_t *engine = mpix_host_engine();
    if (NULL != engine) {
        mpix_engine_read_traffic(engine, &traffic);
    }
    uint64_t count;
    memcpy(&count, (const char *) &traffic + counter->offset, sizeof(count));
    *(unsigned long long *) value = count;
    return OMPI_SUCCESS;
}

static int read_table_bytes(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    *(unsigned long long *) value = mpix_window_table_bytes();
    return OMPI_SUCCESS;
}

void ompi_osc_mpix_register_pvars(void)
{
    (void) mca_base_component_pvar_register(
        &mca_osc_mpix_component.osc_version, "rank_table_bytes",
        "Bytes that this process keeps in tables of the ranks of windows, for itself or for its host",
        OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_LEVEL, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        read_table_bytes, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); ++i) {
        (void) mca_base_component_pvar_register(
            &mca_osc_mpix_component.osc_version, counters[i].name, counters[i].description, OPAL_INFO_LVL_4,
            MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
            MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
            read_counter, NULL, NULL, (void *) &counters[i]);
    }
}
