/* Publication and look-up of engine addresses. */
#include "osc_mpix.h"
#include "osc_mpix_versions.h"

/* The most recently returned address. The engine copies it. */
static uint8_t *given = NULL;

void ompi_osc_mpix_modex_stop(void)
{
    free(given);
    given = NULL;
}

static int publish(void *context, const void *address, size_t length)
{
    int ret;
    /* Open MPI has already committed its own data when components of this framework start. It synchronises
     * all processes again at the end of MPI_Init, by when this data is committed too. */
    OPAL_MODEX_SEND(ret, OSC_MPIX_MODEX_GLOBAL, &mca_osc_mpix_component.osc_version, (void *) address,
                    length);
    if (OPAL_SUCCESS == ret) {
        ret = ompi_osc_mpix_modex_commit();
    }
    return ret;
}

/* PMIx fetches the data of one process from its server on demand, without a collective call. */
static int peer_address(void *context, uint64_t process, const void **address, size_t *length)
{
    opal_process_name_t name = ompi_osc_mpix_unpack_name(process);
    uint8_t *bytes = NULL;
    int ret;
    OPAL_MODEX_RECV(ret, &mca_osc_mpix_component.osc_version, &name, (void **) &bytes, length);
    if (OPAL_SUCCESS != ret || NULL == bytes) {
        return -1;
    }
    free(given);
    *address = given = bytes;
    return 0;
}

void ompi_osc_mpix_modex_start(struct mpix_bootstrap *bootstrap)
{
    *bootstrap = (struct mpix_bootstrap){
        .size = sizeof(*bootstrap),
        .process = ompi_osc_mpix_pack_name(OPAL_PROC_MY_NAME),
        .publish = publish,
        .peer_address = peer_address,
    };
}
