/* Agreement of the processes of a communicator on the windows that the component takes. Parameters may differ
 * from process to process, and an engine may fail to start at some. */
#include "osc_mpix_window.h"

#include <pthread.h>
#include <stdint.h>

struct agreement {
    int open; /* nonzero: all engines are open */
    struct ompi_osc_mpix_choice choice;
};

/* The key of an attribute that holds a communicator's agreement, if the component takes all windows there. All
 * processes of a communicator must find the same value, so the value depends only on earlier window creations
 * on the communicator. Other agreements depend on the info objects of each window. */
static int key = MPI_KEYVAL_INVALID;

static int key_of_agreement(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (MPI_KEYVAL_INVALID == key) {
        (void) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    }
    const int found = key;
    pthread_mutex_unlock(&lock);
    return found;
}

void ompi_osc_mpix_forget_agreements(void)
{
    key = MPI_KEYVAL_INVALID;
}

/* The agreement is packed into the attribute's value, because no delete callback could free allocated memory:
 * MPI_Finalize deletes the attributes of MPI_COMM_WORLD after the component is closed. */
_Static_assert(sizeof(void *) == 8, "an agreement fits into an attribute");

static void *packed(const struct agreement *agreed)
{
    const uint64_t low = (0 != agreed->open ? 1u : 0u) | (unsigned) agreed->choice.maps_memory << 1;
    return (void *) (uintptr_t) ((uint64_t) (uint32_t) agreed->choice.priority << 32 | low);
}

static void unpack(void *value, struct agreement *agreed)
{
    const uint64_t word = (uintptr_t) value;
    agreed->open = (int) (word & 1);
    agreed->choice = (struct ompi_osc_mpix_choice){
        .windows = osc_mpix_windows_all,
        .maps_memory = (int) (word >> 1 & 1),
        .priority = (int) (uint32_t) (word >> 32),
    };
}

static bool is_wanted(const struct agreement *agreed, int flavor)
{
    return 0 <= ompi_osc_mpix_window_priority(&agreed->choice, flavor);
}

/* Opens the engine if this process's parameters give the window to the component. The reduction also shows
 * that every process has published its address. Processes whose engines have been started a different number
 * of times do not find each other's addresses. */
static int agree(struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor,
                 struct agreement *agreed)
{
    struct ompi_osc_mpix_choice *choice = &agreed->choice;
    ompi_osc_mpix_own_choice(choice, info, flavor);
    agreed->open = is_wanted(agreed, flavor) && OMPI_SUCCESS == ompi_osc_mpix_engine_open();
    if (1 == ompi_comm_size(comm)) {
        return OMPI_SUCCESS;
    }
    const int start_count = ompi_osc_mpix_engine_start_count();
    int least[] = {agreed->open,      choice->windows,   choice->maps_memory, choice->priority,
                   choice->info_asks, choice->at_server, start_count,               -start_count};
    if (MPI_SUCCESS != PMPI_Allreduce(MPI_IN_PLACE, least, 8, MPI_INT, MPI_MIN, comm)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    agreed->open = least[0] && least[6] == -least[7];
    *choice = (struct ompi_osc_mpix_choice){
        .windows = least[1],
        .maps_memory = least[2],
        .priority = least[3],
        .info_asks = least[4],
        .at_server = least[5],
    };
    if (osc_mpix_windows_all == choice->windows) {
        (void) PMPI_Comm_set_attr(comm, key_of_agreement(), packed(agreed));
    }
    return OMPI_SUCCESS;
}

int ompi_osc_mpix_agreed_priority(struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor)
{
    struct agreement agreed;
    void *value = NULL;
    int known = 0;
    if (MPI_SUCCESS == PMPI_Comm_get_attr(comm, key_of_agreement(), &value, &known) && known) {
        unpack(value, &agreed);
    } else {
        known = 0;
    }
    const bool must_open = known && !agreed.open && is_wanted(&agreed, flavor);
    if ((!known || must_open) && OMPI_SUCCESS != agree(comm, info, flavor, &agreed)) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    return agreed.open ? ompi_osc_mpix_window_priority(&agreed.choice, flavor) : OMPI_ERR_NOT_SUPPORTED;
}
