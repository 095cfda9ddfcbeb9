/* Publishing and looking up engine addresses. */
#include "osc_mpix.h"

#include "opal/class/opal_hash_table.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"

typedef struct {
    void *bytes;
    size_t length;
} blob_t;

static opal_hash_table_t blobs; /* process identity -> blob_t; entries stay until the engine stops */
static opal_mutex_t blobs_lock = OPAL_MUTEX_STATIC_INIT;

void ompi_osc_mpix_modex_stop(void)
{
    uint64_t process;
    void *value, *node;
    for (int ret = opal_hash_table_get_first_key_uint64(&blobs, &process, &value, &node); OPAL_SUCCESS == ret;
         ret = opal_hash_table_get_next_key_uint64(&blobs, &process, &value, node, &node)) {
        free(((blob_t *) value)->bytes);
        free(value);
    }
    OBJ_DESTRUCT(&blobs);
}

static int publish(void *context, const void *address, size_t length)
{
    int ret;
    /* Open MPI has committed its own data when components of this framework start, and waits for all
     * processes once more at the end of MPI_Init: until then ours is committed too. */
    OPAL_MODEX_SEND(ret, OPAL_PMIX_GLOBAL, &mca_osc_mpix_component.osc_version, (void *) address, length);
    if (OPAL_SUCCESS == ret) {
        ret = opal_pmix.commit();
    }
    return ret;
}

/* PMIx fetches the data of one process from its server when it is not here yet: no collective. */
static blob_t *fetch(uint64_t process)
{
    opal_process_name_t name = ompi_osc_mpix_unpack_name(process);
    uint8_t *bytes = NULL;
    size_t length = 0;
    int ret;
    OPAL_MODEX_RECV(ret, &mca_osc_mpix_component.osc_version, &name, (void **) &bytes, &length);
    if (OPAL_SUCCESS != ret || NULL == bytes) {
        return NULL;
    }
    blob_t *blob = malloc(sizeof(*blob));
    if (NULL == blob) {
        free(bytes);
        return NULL;
    }
    blob->bytes = bytes;
    blob->length = length;
    return blob;
}

static int peer_address(void *context, uint64_t process, const void **address, size_t *length)
{
    void *known = NULL;
    opal_mutex_lock(&blobs_lock);
    if (OPAL_SUCCESS != opal_hash_table_get_value_uint64(&blobs, process, &known)) {
        known = fetch(process);
        if (NULL != known) {
            opal_hash_table_set_value_uint64(&blobs, process, known);
        }
    }
    opal_mutex_unlock(&blobs_lock);
    if (NULL == known) {
        return -1;
    }
    *address = ((blob_t *) known)->bytes;
    *length = ((blob_t *) known)->length;
    return 0;
}

void ompi_osc_mpix_modex_start(struct mpix_bootstrap *bootstrap)
{
    OBJ_CONSTRUCT(&blobs, opal_hash_table_t);
    opal_hash_table_init(&blobs, 64);
    *bootstrap = (struct mpix_bootstrap){
        .size = sizeof(*bootstrap),
        .process = ompi_osc_mpix_pack_name(OPAL_PROC_MY_NAME),
        .publish = publish,
        .peer_address = peer_address,
    };
}
