/* Publication and look-up of engine addresses. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "osc_mpix.h"
#include "osc_mpix_versions.h"

/* The longest wait for the answer to a query, in seconds. The process's daemon answers, so this is no wait
 * for the process itself. The data of a process that has ended may be gone; then no answer comes. */
#define LONGEST_WAIT 20

/* A query for an address. One that was not answered in time stays in the list: PMIx may still answer it, and
 * the next call need not wait. */
struct query {
    struct query *next;
    uint64_t process;
    int start_count; /* when the query was made */
    osc_mpix_pmix_name_t name; /* PMIx reads name and key until it answers */
    char *key;
    bool is_asking; /* PMIx has not returned from the call that asks */
    bool is_late;   /* a call has stopped waiting for the answer */
    bool is_answered;
    uint8_t *bytes; /* NULL: the process has published no address */
    size_t length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the queries */
static pthread_cond_t answer_arrived;                    /* waits by CLOCK_MONOTONIC */
static pthread_once_t is_initialised = PTHREAD_ONCE_INIT;
static struct query *queries = NULL;

/* The number of times that the engine has been started in this process, in sessions one after the other. It
 * is a part of the key, because PMIx keeps a value that it has looked up. */
static int start_count;

/* The most recently returned address. The engine copies it. */
static uint8_t *given = NULL;

static bool is_complete(const struct query *query)
{
    return query->is_answered && !query->is_asking;
}

/* Removes and frees the query that `*place` refers to. */
static void discard(struct query **place)
{
    struct query *query = *place;
    *place = query->next;
    free(query->key);
    free(query->bytes);
    free(query);
}

/* PMIx may still answer the queries that remain. */
void ompi_osc_mpix_modex_stop(void)
{
    struct query **place = &queries;
    pthread_mutex_lock(&lock);
    while (NULL != *place) {
        if (is_complete(*place)) {
            discard(place);
        } else {
            place = &(*place)->next;
        }
    }
    pthread_mutex_unlock(&lock);
    free(given);
    given = NULL;
}

void ompi_osc_mpix_modex_answered(void *context, const void *bytes, size_t length)
{
    struct query *query = context;
    uint8_t *copy = NULL != bytes && 0 != length ? malloc(length) : NULL;
    if (NULL != copy) {
        memcpy(copy, bytes, length);
    }
    pthread_mutex_lock(&lock);
    query->bytes = copy;
    query->length = length;
    query->is_answered = true;
    pthread_cond_broadcast(&answer_arrived);
    pthread_mutex_unlock(&lock);
}

/* Returns NULL if there is no memory. */
static char *key_of_address(void)
{
    char *component = mca_base_component_to_string(&mca_osc_mpix_component.osc_version);
    char *key = NULL;
    if (NULL != component && 0 > asprintf(&key, "%s.%d", component, start_count)) {
        key = NULL;
    }
    free(component);
    return key;
}

static int publish(void *context, const void *address, size_t length)
{
    int ret;
    char *key = key_of_address();
    if (NULL == key) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    /* Open MPI has already committed its own data when components of this framework start. It synchronises
     * all processes again at the end of MPI_Init, after this data has been committed. */
    OPAL_MODEX_SEND_STRING(ret, OSC_MPIX_MODEX_GLOBAL, key, (void *) address, length);
    free(key);
    if (OPAL_SUCCESS == ret) {
        ret = ompi_osc_mpix_modex_commit();
    }
    return ret;
}

/* Returns the place of the query of this process since the engine's last start, or of the end of the list. The
 * lock is held. */
static struct query **find(uint64_t process)
{
    struct query **place = &queries;
    while (NULL != *place && ((*place)->process != process || (*place)->start_count != start_count)) {
        place = &(*place)->next;
    }
    return place;
}

/* Returns the place of this query, which is in the list. The lock is held. */
static struct query **place_of(const struct query *query)
{
    struct query **place = &queries;
    while (*place != query) {
        place = &(*place)->next;
    }
    return place;
}

static struct query *new_query(uint64_t process)
{
    opal_process_name_t name = ompi_osc_mpix_unpack_name(process);
    struct query *query = calloc(1, sizeof(*query));
    if (NULL == query) {
        return NULL;
    }
    query->process = process;
    query->start_count = start_count;
    query->key = key_of_address();
    if (NULL == query->key) {
        free(query);
        return NULL;
    }
    ompi_osc_mpix_pmix_name(&name, &query->name);
    return query;
}

/* Asks for the address of this process. If that fails, there is no query in the list. The lock is held, but
 * not while PMIx is called, which may answer at once. */
static void ask(uint64_t process)
{
    struct query *query = new_query(process);
    int ret;
    if (NULL == query) {
        return;
    }
    query->is_asking = true;
    *find(process) = query;
    pthread_mutex_unlock(&lock);
    ret = ompi_osc_mpix_modex_ask(&query->name, query->key, query);
    pthread_mutex_lock(&lock);
    query->is_asking = false;
    if (OPAL_SUCCESS != ret) {
        discard(place_of(query));
    }
    pthread_cond_broadcast(&answer_arrived);
}

/* Waits for the answer to the query of this process. Returns whether the process has published data. The lock
 * is held. Other threads may discard the query meanwhile. */
static bool await_answer(uint64_t process)
{
    struct query **place = find(process);
    struct timespec end;
    int waited = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += LONGEST_WAIT;
    while (NULL != *place && !is_complete(*place) && !(*place)->is_late && ETIMEDOUT != waited) {
        waited = pthread_cond_timedwait(&answer_arrived, &lock, &end);
        place = find(process);
    }
    if (NULL == *place || !is_complete(*place)) {
        if (NULL != *place) {
            (*place)->is_late = true;
        }
        return false;
    }
    if (NULL == (*place)->bytes) {
        discard(place);
        return false;
    }
    return true;
}

/* PMIx fetches the data of one process from its server on demand, without a collective call. */
static int await_address(void *context, uint64_t process)
{
    bool found;
    pthread_mutex_lock(&lock);
    if (NULL == *find(process)) {
        ask(process);
    }
    found = await_answer(process);
    pthread_mutex_unlock(&lock);
    return found ? 0 : -1;
}

/* Takes the answer to the query of this process out of the list. */
static int peer_address(void *context, uint64_t process, const void **address, size_t *length)
{
    struct query **place;
    pthread_mutex_lock(&lock);
    place = find(process);
    free(given);
    given = NULL;
    if (NULL != *place && is_complete(*place)) {
        given = (*place)->bytes;
        *length = (*place)->length;
        (*place)->bytes = NULL; /* given away */
        discard(place);
    }
    pthread_mutex_unlock(&lock);
    *address = given;
    return NULL != given ? 0 : -1;
}

static void initialise(void)
{
    pthread_condattr_t by_monotonic_clock;
    pthread_condattr_init(&by_monotonic_clock);
    pthread_condattr_setclock(&by_monotonic_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&answer_arrived, &by_monotonic_clock);
    pthread_condattr_destroy(&by_monotonic_clock);
}

void ompi_osc_mpix_modex_start(struct mpix_bootstrap *bootstrap, int number)
{
    start_count = number;
    pthread_once(&is_initialised, initialise);
    *bootstrap = (struct mpix_bootstrap){
        .size = sizeof(*bootstrap),
        .process = ompi_osc_mpix_pack_name(OPAL_PROC_MY_NAME),
        .publish = publish,
        .peer_address = peer_address,
        .await_address = await_address,
    };
}
